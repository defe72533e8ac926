import asyncio
import zipfile

import pytest

from cay import AsyncSandbox, Sandbox, SandboxError


def wheel(tmp_path, name="thing-1.0-py3-none-any.whl", files=None):
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in (files or {"thing/__init__.py": "value = 42\n", "thing/data.txt": "inside",
                                     "thing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
                                     "thing-1.0.data/scripts/say": "#!/usr/bin/env python3\nimport thing; print(thing.value)\n"}).items():
            archive.writestr(file, text)
    return path


def test_a_wheel(tmp_path):
    with Sandbox(packages=[wheel(tmp_path)]) as sandbox:
        assert sandbox.python.run("import thing; thing.value").value == 42
        code = "import importlib.resources as r, importlib.metadata as m; [r.files('thing').joinpath('data.txt').read_text(), m.version('thing')]"
        assert sandbox.python.run(code).value == ["inside", "1.0"]
        assert sandbox.commands.run("say; python3 -c 'import thing; print(thing.__file__)'").stdout == \
            "42\n/usr/local/lib/python3.13/dist-packages/thing/__init__.py\n"


def test_path_files_of_a_wheel(tmp_path):
    path = wheel(tmp_path, files={"thing-1.0.dist-info/METADATA": "Name: thing\nVersion: 1.0\n", "more/inner.py": "y = 2\n", "thing.pth": "more\nimport sys; sys.read = getattr(sys, 'read', 0) + 1\n"})
    with Sandbox(packages=[path]) as sandbox:
        code = "import inner, sys; [inner.y, sys.read]"
        assert sandbox.python.run(code).value == [2, 1]
        assert sandbox.python.session("another").run(code).value == [2, 1]
        with sandbox.python.fork("copy") as copy:
            assert copy.run(code).value == [2, 1]


def test_folders_and_modules(tmp_path):
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("from .part import f")
    (package / "part.py").write_text("def f(): return 'mine'")
    loose = tmp_path / "loose"
    loose.mkdir()
    (loose / "one.py").write_text("x = 1")
    (tmp_path / "single.py").write_text("y = 2")
    with Sandbox() as sandbox:
        for path in (package, loose, tmp_path / "single.py"):
            sandbox.files.install(path)
        assert sandbox.python.run("import mine, one, single; [mine.f(), one.x, single.y]").value == ["mine", 1, 2]


@pytest.mark.parametrize("name, files, why", [
    ("fast-1.0-cp313-cp313-manylinux_2_17_x86_64.whl", None, "pure Python"),
    ("sly-1.0-py3-none-any.whl", {"sly/core.so": "x"}, "machine code"),
    ("out-1.0-py3-none-any.whl", {"../../etc/x.py": "x"}, "leads out"),
])
def test_refusals(tmp_path, name, files, why):
    with pytest.raises(SandboxError, match=why):
        Sandbox(packages=[wheel(tmp_path, name, files)])


def test_malformed_packages(tmp_path, leaves_nothing):
    (tmp_path / "bad.whl").write_text("no zip")
    for path in (tmp_path / "bad.whl", tmp_path / "none.whl"):
        with pytest.raises(SandboxError):
            Sandbox(packages=[path])


def test_asyncio(tmp_path):
    async def main():
        async with AsyncSandbox(packages=[wheel(tmp_path)]) as sandbox:
            assert (await sandbox.python.run("import thing; thing.value")).value == 42

    asyncio.run(main())
