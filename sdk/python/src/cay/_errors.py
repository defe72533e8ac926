"""What can go wrong. A command that fails is no exception unless `check=True` asks for one."""
import errno as _errno
import re
from typing import TYPE_CHECKING, Any, Dict, Optional

if TYPE_CHECKING:
    from ._types import CommandResult

INVALID_PARAMS = -32602


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


def _parameter(wire: str) -> str:
    if wire in ("valueMax", "displayMax"):
        return wire.replace("Max", "_limit_bytes")
    return re.sub(r"[A-Z]", lambda c: "_" + c[0].lower(), wire)


def from_wire(error: Dict[str, Any]) -> SandboxError:
    """The exception for an error of the server, with the names of parameters as this package has them."""
    message = error["message"]
    if error["code"] == INVALID_PARAMS:
        message = re.sub(r"^(\w+?)(?:Base64)?(?=[:, ])", lambda m: _parameter(m[1]), message)
    return SandboxError(message, error["code"])


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
