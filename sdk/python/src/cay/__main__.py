"""The command `cay`, as `python -m cay` and as what the wheel installs: the program itself, in place of this one."""
import os
import sys

from ._binary import find
from ._errors import BinaryNotFound


def main() -> None:
    """Runs the `cay` program with the arguments of this one, or `cay jupyter`, which is part of this package."""
    if sys.argv[1:2] == ["jupyter"]:
        from .jupyter import main as jupyter
        jupyter(sys.argv[2:])
        return
    try:
        program = find()
    except BinaryNotFound as problem:
        sys.exit(f"cay: {problem}")
    os.execv(program, ["cay", *sys.argv[1:]])


if __name__ == "__main__":
    main()
