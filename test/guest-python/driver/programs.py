"""python3 out of a booted interpreter."""

import os
import tempfile

from driver import *


def test_commands_modules_scripts_and_standard_input():
    assert program("-c", "import sys; print(sys.argv)", "a", "-b").stdout == "['-c', 'a', '-b']\n"
    assert program("-m", "json.tool", "--compact", input='{"a" : 1}').stdout == '{"a":1}\n'
    assert program("-", "x", input="import sys; print(sys.argv, __name__)").stdout == "['-', 'x'] __main__\n"
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script.py")
        with open(script, "w") as file:
            file.write(
                "import sys\nimport beside\nprint(sys.argv[1:], sys.path[0], __file__, beside.x)\nsys.exit(7)\n"
            )
        with open(os.path.join(folder, "beside.py"), "w") as file:
            file.write("x = 5\n")
        done = program(script, "1", "2", folder=folder)
        assert (done.stdout, done.returncode) == (f"['1', '2'] {folder} {script} 5\n", 7), done
        assert program(folder, folder=folder).returncode == 1


def test_errors_and_exit_codes():
    done = program("-c", "def f(): 1/0\nf()")
    assert (
        done.returncode == 1
        and done.stderr.endswith("ZeroDivisionError: division by zero\n")
        and 'File "<string>", line 1, in f' in done.stderr
    ), done
    assert program("-c", "import sys; sys.exit('no')").returncode == 1
    assert program("-c", "import os; os._exit(9)").returncode == 9
    assert program("/nonexistent.py").returncode == 2
    assert program("-c").returncode == 2
    assert program("--nonsense").returncode == 2
    assert program("-c", "raise KeyboardInterrupt").returncode in (-2, 130)


def test_options_are_honoured():
    assert program("-V").stdout.startswith("Python 3.13")
    assert program("-h").stdout.startswith("usage: python3")
    assert (
        program("-u", "-c", "import sys; print(sys.stdout.line_buffering, sys.stdout.write_through)").stdout
        == "False True\n"
    )
    assert (
        program("-q", "-B", "-c", "import sys; print(sys.flags.quiet, sys.dont_write_bytecode)").stdout
        == "1 True\n"
    )
    assert program("-W", "error", "-c", "import warnings; warnings.warn('x')").returncode == 1
    assert program("-P", "-c", "import sys; print('' in sys.path)").stdout == "False\n"
    assert program("-i", "-c", "x = 5", input="print(x + 1)\n").stdout == "6\n"


def test_variables_are_read_anew():
    code = "import os, sys; print(os.environ['COLOUR'], os.getenv('COLOUR'), '/extra' in sys.path, len(os.environ) == len({*os.environ}))"
    assert program("-c", code, COLOUR="blue", PYTHONPATH="/extra:/more").stdout == "blue blue True True\n"
    assert (
        program(
            "-c",
            "import subprocess; print(subprocess.run(['sh', '-c', 'echo $COLOUR'], capture_output=True, text=True).stdout)",
            COLOUR="red",
        ).stdout
        == "red\n\n"
    )
    assert program("-c", "print('\\u20ac')", PYTHONIOENCODING="latin-1:replace").stdout == "?\n"


def test_options_the_image_lacks_start_cold():
    options = {
        "-E": "ignore_environment",
        "-I": "isolated",
        "-O": "optimize",
        "-S": "no_site",
        "-Xdev": "dev_mode",
    }
    for option, flag in options.items():
        done = program(option, "-c", f"import sys; print(int(sys.flags.{flag}), sys.executable)")
        if NATIVE:
            assert done.returncode == 126 and "/usr/libexec/cay/python3" in done.stderr, done
        else:
            assert done.stdout == "1 /usr/bin/python3\n", done
    hashes = {program("-c", "print(hash('a'))", PYTHONHASHSEED="7").stdout for _ in range(2)}
    assert len(hashes) == 1


def test_the_end_of_a_program_runs_what_waits_for_it():
    code = "import atexit, sys\natexit.register(print, 'atexit')\nclass A:\n    def __del__(self): print('deleted')\na = A()\nsys.stdout.write('last ')"
    assert program("-c", code).stdout == "last atexit\ndeleted\n"
    with tempfile.TemporaryDirectory() as folder:
        program("-c", f"f = open('{folder}/out', 'w'); f.write('flushed')", folder=folder)
        with open(f"{folder}/out") as file:
            assert file.read() == "flushed"


def test_sessions_leave_no_trace_in_programs():
    code = "import builtins, sys; print(hasattr(builtins, 'invoke'), sorted(n for n in globals() if n[:2] != '__'))"
    assert program("-c", code).stdout == "False ['builtins', 'sys']\n"


def test_random_numbers_differ_between_processes():
    assert (
        program("-c", "import random; print(random.random())").stdout
        != program("-c", "import random; print(random.random())").stdout
    )


def test_packages_that_came_after_the_image_are_found():
    code = (
        "import importlib, os, sys, site\ntry:\n    import brand_new\nexcept ImportError:\n    pass\n"
        "print(site.getsitepackages()[0] in sys.path)"
    )
    assert program("-c", code).stdout == "True\n"
