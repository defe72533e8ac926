"""The interpreter itself: documentation of builtins, hashes, its console for asyncio, its end."""
import inspect
import json
import os
import pathlib
import pydoc
import subprocess
import sys
import tempfile

import each

ODD = "a text that no module of the library contains"


def python(*arguments, env=None, **options):
    return subprocess.run([sys.executable, *arguments], env=os.environ | (env or {}), capture_output=True, text=True, **options)


def test_builtins_have_docstrings_and_signatures():
    assert str(inspect.signature(sorted)) == "(iterable, /, *, key=None, reverse=False)"
    assert "dict() -> new empty dictionary" in pydoc.render_doc(dict)
    missing = [name for name in dir(str) if name.islower() and not name.startswith("_") and not inspect.getdoc(getattr(str, name))]
    assert not missing, missing


def hashes(**env):
    code = f"import json; print(json.dumps([hash(x) for x in ({ODD!r}, {ODD.encode()!r}, 'a', 12, 1.5)]))"
    return json.loads(python("-c", code, env=env).stdout)


def test_each_process_has_a_hash_seed():
    first, second = hashes(), hashes()
    assert first[0] != second[0] and first[0] == first[1] and first[2:] == second[2:]
    assert hash(ODD) not in (first[0], second[0]) and hash(ODD) == hash("".join(ODD)) == hash(ODD.encode())


def test_hash_seeds_by_request():
    assert hashes(PYTHONHASHSEED="5") == hashes(PYTHONHASHSEED="5") != hashes(PYTHONHASHSEED="6")
    assert hashes(PYTHONHASHSEED="random")[2] != hashes(PYTHONHASHSEED="random")[2]


def test_what_the_image_holds_is_found():
    """By names that are made here: equal text has equal hashes, wherever it was made."""
    for name, module in list(sys.modules.items()):
        made = bytearray(name.encode()).decode()
        assert sys.modules[made] is module
        for attribute in list(vars(module)):
            assert bytearray(attribute.encode()).decode() in vars(module)
    assert {"".join(["x", str(i)]): i for i in range(1000)}["x" + str(999)] == 999
    assert {ODD, 1}.isdisjoint({ODD.upper()}) and ODD in frozenset([ODD[:5] + ODD[5:]])


def test_console_of_asyncio():
    code = "import asyncio\nx = await asyncio.sleep(0.01, 20)\nprint(x + 1)\n1/0\nasync def f(): return 'awaited'\nawait f()\nexit(4)\n"
    done = python("-m", "asyncio", input=code)
    assert done.returncode == 4 and "21" in done.stdout and "'awaited'" in done.stdout, done
    assert "ZeroDivisionError" in done.stderr and "exiting asyncio REPL" in done.stderr, done


def test_end_of_the_console_of_asyncio():
    assert python("-m", "asyncio", input="async def leave(): raise SystemExit(5)\nawait leave()\n").returncode == 5
    done = python("-m", "asyncio", input="import asyncio\nprint(40 + 2)\n")
    assert done.returncode == 0 and "42" in done.stdout, done


def test_customization_by_files():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "sitecustomize.py").write_text("print('site')")
        own = pathlib.Path(folder, "lib/python3.13/site-packages")
        own.mkdir(parents=True)
        (own / "usercustomize.py").write_text("print('user')")
        code = "import site; print(site.USER_BASE)"
        done = python("-c", code, env={"PYTHONPATH": folder, "PYTHONUSERBASE": folder})
        assert done.stdout == f"site\nuser\n{folder}\n", done
        assert python("-s", "-c", code, env={"PYTHONUSERBASE": folder}).stdout == f"{folder}\n"


def test_callbacks_of_the_collector_do_not_see_the_end():
    done = python("-c", "import gc, re; note = [].append; gc.callbacks.append(lambda *a: note(re.compile))")
    assert (done.returncode, done.stderr) == (0, "")


each.run(globals())
