"""`cay python` and `cay image`."""


def test_code_and_its_arguments(t):
    r = t.cay("python", "-c", "import sys; print(sys.argv[1:], sys.platform)", "one", "-x", "--timeout")
    assert r.code == 0 and r.text == "['one', '-x', '--timeout'] linux\n", r


def test_a_script_of_this_machine_is_copied_in(t):
    t.path("dir/script.py", "import sys\nprint(__file__, sys.argv, open('data.txt').read())\nsys.exit(7)\n")
    t.path("data.txt", "42")
    r = t.cay("python", "--in", "data.txt", "dir/script.py", "a b", "--json")
    assert r.code == 7 and "'script.py', 'a b', '--json'] 42" in r.text, r


def test_standard_input_is_a_program_or_input(t):
    assert t.cay("python", "-", "x", input=b"import sys; print(sys.argv)").text == "['-', 'x']\n"
    assert t.cay("python", "-c", "print(input()[::-1])", input=b"abc\n").text == "cba\n"
    assert t.cay("python", input=b"print(6 * 7)\n").text == "42\n"


def test_an_exception_is_a_traceback_and_exit_code_1(t):
    r = t.cay("python", "-c", "def f():\n  return 1 / 0\nf()")
    assert r.code == 1 and "ZeroDivisionError: division by zero" in r.errors and "in f" in r.errors, r
    r = t.cay("python", "-c", "import sys; sys.exit('why')")
    assert r.code == 1 and r.errors.startswith("why\n"), r


def test_modules_and_options_of_python(t):
    r = t.cay("python", "-m", "json.tool", input=b'{"a":[1,2]}')
    assert r.code == 0 and '"a": [' in r.text, r
    r = t.cay("python", "-u", "-W", "error", "-c", "print(1)")
    assert r.text == "1\n", r
    r = t.cay("python", "-I", "-O", "-c", "import sys; print(sys.flags.isolated, sys.flags.optimize, __debug__)")
    assert r.text == "1 1 False\n", r
    assert t.cay("python", "--version").text.startswith("Python 3.13"), r


def test_options_of_run_come_first(t):
    r = t.cay("python", "--timeout", "200ms", "-c", "while True: pass")
    assert r.code == 124 and "200 ms" in r.errors.replace("ms", " ms").replace("  ", " "), r
    r = t.cay("python", "-e", "NAME=value", "-C", "/tmp", "-c", "import os; print(os.environ['NAME'], os.getcwd())")
    assert r.text == "value /tmp\n", r
    r = t.cay("python", "--memory", "64M", "-c", "'a' * 10**9")
    assert r.code == 1 and "MemoryError" in r.errors, r
    r = t.cay("python", "--memroy", "64M", "-c", "1")
    assert r.code == 125 and "no option --memroy" in r.errors, r
    r = t.cay("python", "--help")
    assert r.code == 0 and "usage: cay python" in r.text, r


def test_nothing_of_this_machine_is_there(t):
    t.path("secret.txt", "s")
    r = t.cay("python", "-c", "import os; print(os.path.exists('secret.txt'), os.listdir('/home'), os.getuid())")
    assert r.text == "False ['agent'] 1000\n", r


def test_python_in_the_shell_is_the_same(t):
    t.path("tool", "#!/usr/bin/env python3\nimport sys\nprint('tool', sys.stdin.read().upper(), end='')\n", 0o755)
    r = t.run("--in", "tool", "echo word | ./tool; python -c 'print(1)' && python3.13 -c 'print(2)'")
    assert r.code == 0 and r.text == "tool WORD\n1\n2\n", r


def test_an_image_is_built_and_described(t):
    r = t.cay("image", "build", "-c", "import fractions", "f.image")
    assert r.code == 0 and "MiB of memory" in r.text, r
    r = t.cay("image", "info", "f.image")
    assert r.code == 0 and r.text.startswith("f.image: "), r
    data = (t.dir / "f.image").read_bytes()
    t.path("cut.image", data[: len(data) // 2])
    t.path("bad.image", data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])
    t.path("none.image", "no image at all")
    for name in ("cut.image", "bad.image", "none.image"):
        r = t.cay("image", "info", name)
        assert r.code == 1 and name in r.errors, r
    r = t.cay("image", "info", "nowhere.image")
    assert r.code == 1 and "no file" in r.errors, r
    r = t.cay("image", "build", "-c", "import nothing_of_that_name", "x.image")
    assert r.code == 1 and "nothing_of_that_name" in r.errors and not (t.dir / "x.image").exists(), r
    assert t.cay("image", "paint", "x").code == 2
    assert t.cay("image").code == 2
    assert "usage: cay image" in t.cay("image", "--help").text


def test_an_image_keeps_what_is_open(t):
    code = "import builtins; builtins.f = open('/etc/passwd'); f.readline(); builtins.t = __import__('tempfile').TemporaryFile()"
    r = t.cay("image", "build", "-c", code, "open.image")
    assert r.code == 0 and t.cay("image", "info", "open.image").code == 0, r
    data = (t.dir / "open.image").read_bytes()
    assert data.count(b"/etc/passwd\0", 0, 1400) == 1, data[:1400]
    t.path("bad.image", data.replace(b"/etc/passwd\0", b"/etc/shadow\0", 1))
    r = t.cay("image", "info", "bad.image")
    assert r.code == 1 and "damaged" in r.errors, r
    r = t.cay("image", "build", "--install", "-c", code, "installed.image")
    assert r.code == 1 and "files are open" in r.errors and not (t.dir / "installed.image").exists(), r


def wheel(t, name="thing-1.0-py3-none-any.whl", extra=()):
    import zipfile
    path = t.path(name, "")
    files = {"thing/__init__.py": "value = 42\ndef main(): print('ran', value)\n", "thing-1.0.dist-info/METADATA": "Name: thing\nVersion: 1.0\n",
             "thing-1.0.dist-info/entry_points.txt": "[console_scripts]\nthing = thing:main\n", **dict(extra)}
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
    return str(path)


def test_packages_are_there_from_the_start(t):
    t.path("mine/__init__.py", "x = 1\n")
    r = t.cay("python", "--wheel", wheel(t), "--wheel", "mine", "-c", "import mine, thing; print(mine.x, thing.value)")
    assert r.code == 0 and r.text == "1 42\n", r
    r = t.cay("run", "--wheel", "thing-1.0-py3-none-any.whl", "thing; ls -l $(which thing) | cut -c1-10")
    assert r.code == 0 and r.text == "ran 42\n-rwxr-xr-x\n", r


def test_path_files_of_packages_are_read(t):
    files = {"more/inner.py": "y = 2\n", "thing.pth": "more\nimport sys; sys.read = getattr(sys, 'read', 0) + 1\n"}
    r = t.cay("python", "--wheel", wheel(t, extra=files.items()), "-c", "import inner, sys; print(inner.y, sys.read)")
    assert r.code == 0 and r.text == "2 1\n", r
    r = t.cay("image", "build", "-c", "import inner, sys", "--wheel", "thing-1.0-py3-none-any.whl", "my.image")
    assert r.code == 0, r
    r = t.cay("python", "--image", "my.image", "--wheel", "thing-1.0-py3-none-any.whl", "-c", "print(inner.y, sys.read)")
    assert r.code == 0 and r.text == "2 1\n", r


def test_programs_begin_as_an_image(t):
    r = t.cay("image", "build", "-c", "import json\nx = 20\ndef f(): return x + 1\n", "my.image")
    assert r.code == 0, r
    assert t.cay("python", "--image", "my.image", "-c", "x += 1; print(f(), 'json' in dir())").text == "22 True\n"
    assert t.cay("run", "--image", "my.image", "python3 -c 'print(x)'; echo 'print(f())' | python3").text == "20\n21\n"
    t.path("script.py", "import sys; print(f(), __name__, sys.argv)\n")
    assert t.cay("python", "--image", "my.image", "script.py", "a").text == "21 __main__ ['script.py', 'a']\n"
    r = t.cay("image", "build", "--language", "javascript", "-c", "let x = 1; var y = 2; globalThis.z = 3", "js.image")
    assert r.code == 0, r
    assert t.cay("js", "--image", "js.image", "-p", "x + y + z").text == "6\n"
    assert "MiB" in t.cay("image", "info", "js.image").text


def test_images_that_no_program_can_begin_as(t):
    t.path("junk", "no image")
    assert t.cay("image", "build", "-c", "f = open('/tmp/f', 'w')", "open.image").code == 0
    for image, why in (("nothing", "there is no file nothing"), ("junk", "junk"), ("open.image", "files are open in the image")):
        r = t.cay("python", "--image", image, "-c", "1")
        assert r.code == 125 and r.errors.startswith("cay: --image: ") and why in r.errors, r
    r = t.cay("python", "--image", "open.image", "--fuel", "10M", "-c", "1")
    assert r.code == 125 and "--fuel" in r.errors, r
    r = t.cay("image", "build", "-c", "1 / 0", "bad.image")
    assert r.code != 0 and "ZeroDivisionError" in r.errors, r


def test_packages_that_are_refused(t):
    for path, why in ((wheel(t, "fast-1-cp313-cp313-linux_x86_64.whl"), "linux_x86_64"), (wheel(t, "sly-1-py3-none-any.whl", {"a.so": ""}.items()), "machine code"),
                      (wheel(t, "out-1-py3-none-any.whl", {"../x.py": ""}.items()), "leads out"), ("nothing", "is no wheel, no archive of npm, no folder and no module")):
        r = t.cay("python", "--wheel", path, "-c", "1")
        assert r.code == 125 and why in r.errors and r.errors.startswith("cay: --package: "), r


def test_an_image_has_packages_imported(t):
    r = t.cay("image", "build", "--python", "-c", "import json, re, thing", "--wheel", wheel(t), "my.image")
    assert r.code == 0 and "MiB" in r.text, r
    r = t.cay("image", "build", "-c", "import thing", "other.image")
    assert r.code != 0 and "thing" in r.errors, r


def test_a_script_finds_the_modules_beside_it(t):
    t.path("dir/a.py", "import helper\nfrom pack.inner import value\nprint(helper.double(value), __file__)\n")
    t.path("dir/helper.py", "from second import twice\ndef double(x): return twice * x\n")
    t.path("dir/second.py", "twice = 2\n")
    t.path("dir/secret.py", "password = 'x'\n")
    t.path("dir/notes.txt", "helper\n")
    t.path("dir/pack/__init__.py", "")
    t.path("dir/pack/inner.py", "import third\nvalue = 21 * third.one\n")
    t.path("dir/third.py", "one = 1\n")
    r = t.cay("python", str(t.dir / "dir" / "a.py"))
    assert (r.code, r.text) == (0, "42 /home/agent/a.py\n"), r
    t.path("dir/b.py", "import os; print(sorted(os.listdir('.')))  # helper\n")
    r = t.cay("python", str(t.dir / "dir" / "b.py"))
    assert r.text == "['b.py', 'helper.py', 'second.py']\n", r
    t.path("a.py", "import helper; print(helper.double(21), __file__)")
    t.path("helper.py", "def double(x): return 2 * x\n")
    r = t.cay("python", "a.py")
    assert r.text == "42 /home/agent/a.py\n", r


def test_a_script_that_is_not_there_is_named_as_it_was_typed(t):
    for command, name in (("python", "nope.py"), ("python", "dir/nope.py"), ("js", "../nope.js")):
        r = t.cay(command, name)
        assert (r.code, r.errors) == (125, f"cay: {name}: No such file or directory\n"), r
    t.path("folder/x", "")
    r = t.cay("python", "folder")
    assert r.code == 125 and r.errors.startswith("cay: folder: it is a directory\n  --mount"), r
    t.path("in.py", "print(5)")
    r = t.cay("python", "--in", "in.py:/home/agent/inside.py", "inside.py")
    assert (r.code, r.text) == (0, "5\n"), r


def test_a_script_of_javascript_finds_the_files_that_it_names(t):
    t.path("dir/a.js", "const b = require('./b'); const { v } = require(`./lib/v.js`);\nconsole.log(b.x + v, __filename, require('./c.json').c)\n")
    t.path("dir/b.js", "exports.x = require('./sub').y\n")
    t.path("dir/sub/index.js", "exports.y = require('../one.cjs')\n")
    t.path("dir/one.cjs", "module.exports = 1\n")
    t.path("dir/lib/v.js", "exports.v = 41 // './secret.txt' './.hidden.js' '../../outside.js'\n")
    t.path("dir/c.json", '{"c": "json"}')
    for name in ("dir/secret.txt", "dir/.hidden.js", "outside.js", "dir/other.js"):
        t.path(name, "secret")
    r = t.cay("js", str(t.dir / "dir" / "a.js"))
    assert (r.code, r.text) == (0, "42 /home/agent/a.js json\n"), r
    t.path("dir/all.js", "console.log(require('fs').readdirSync('.', { recursive: true }).sort().join(' ')) // './b'\n")
    r = t.cay("js", str(t.dir / "dir" / "all.js"))
    assert r.text == "all.js b.js one.cjs sub sub/index.js\n", r
    t.path("mod/package.json", '{"type": "module"}')
    t.path("mod/main.js", "import { x } from './x.js'\nconsole.log(x, (await import('./y.ts')).y)\n")
    t.path("mod/x.js", "export const x = 5\n")
    t.path("mod/y.ts", "import { z } from './z.js'\nexport const y: number = z\n")
    t.path("mod/z.ts", "export const z: number = 6\n")
    r = t.cay("js", str(t.dir / "mod" / "main.js"))
    assert (r.code, r.text) == (0, "5 6\n"), r
    t.path("t.ts", "import { q } from './q'\nconst n: number = q\nconsole.log(n)\n")
    t.path("q.ts", "export const q: number = 7\n")
    r = t.cay("js", "t.ts")
    assert (r.code, r.text) == (0, "7\n"), r
