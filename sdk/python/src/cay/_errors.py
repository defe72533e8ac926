"""What can go wrong. A command that fails is no exception unless `check=True` asks for one."""
import errno as _errno
import re
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._types import CommandResult


class SandboxError(Exception):
    """The sandbox refused.

    errno       the number, as of OSError: errno.ENOENT; None when there is none
    errno_name  its name: "ENOENT"
    code        of JSON-RPC: 1, or -32602 for arguments that make no sense
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
        name = re.match(r"E[A-Z0-9]+(?=:)", message)
        self.errno_name: Optional[str] = name[0] if name else None
        self.errno: Optional[int] = getattr(_errno, name[0], None) if name else None


class SandboxTimeout(SandboxError, TimeoutError):
    """A command reached its timeout (with check=True), or a sandbox did not start in time."""

    def __init__(self, message: str, result: "Optional[CommandResult]" = None) -> None:
        SandboxError.__init__(self, message)
        self.result = result


class CommandFailed(SandboxError):
    """A command run with check=True did not exit with 0; `result` has its output."""

    def __init__(self, message: str, result: "CommandResult") -> None:
        super().__init__(message)
        self.result = result


class SandboxDied(SandboxError):
    """The sandbox is gone: killed, crashed, or left behind by a fork."""


class BinaryNotFound(SandboxError, RuntimeError):
    """There is no `cay` program."""
