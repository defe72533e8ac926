"""Run unreviewed shell commands in a sandbox.

    from cay import Sandbox

    with Sandbox() as sandbox:
        print(sandbox.commands.run("echo hello | tr a-z A-Z").stdout)
"""
import importlib
from typing import TYPE_CHECKING

from ._errors import BinaryNotFound, CommandFailed, SandboxDied, SandboxError, SandboxTimeout
from ._options import Mount
from ._types import CommandResult, FileInfo, RunningCommand, Usage
from ._version import __version__
from .callbacks import Callback
from .process import Process
from .display import Display
from .python import PythonError, PythonFailed, PythonResult, Session, TraceEvent, ValueTooLarge
from .sandbox import Sandbox
from .snapshot import Change, Snapshot
from .terminal import Terminal

if TYPE_CHECKING:
    from .aio import AsyncSandbox
    from .aio_process import AsyncProcess
    from .aio_terminal import AsyncTerminal
    from .aio_tools import AsyncTools
    from .aio_workspaces import AsyncWorkspaces
    from .tools import Tool, ToolEvent, ToolFailed, Tools
    from .workspaces import WorkspaceError, WorkspaceProcess, Workspaces, WorkspaceSession

__all__ = ["AsyncProcess", "AsyncSandbox", "AsyncTerminal", "AsyncTools", "AsyncWorkspaces", "BinaryNotFound", "Callback", "Change", "CommandFailed",
           "CommandResult", "FileInfo", "Display", "Mount", "Process", "PythonError", "PythonFailed", "PythonResult", "RunningCommand", "Sandbox",
           "SandboxDied", "SandboxError", "SandboxTimeout", "Session", "Snapshot", "Terminal", "Tool", "ToolEvent", "ToolFailed", "Tools",
           "TraceEvent", "Usage", "ValueTooLarge", "WorkspaceError", "WorkspaceProcess", "WorkspaceSession", "Workspaces", "__version__"]


# Imported when they are first asked for: asyncio takes longer to import than a sandbox to start.
_LATER = {
    "AsyncSandbox": "aio", "AsyncProcess": "aio_process", "AsyncTerminal": "aio_terminal", "AsyncTools": "aio_tools",
    "AsyncWorkspaces": "aio_workspaces",
    "Tool": "tools", "ToolEvent": "tools", "ToolFailed": "tools", "Tools": "tools",
    "WorkspaceError": "workspaces", "WorkspaceProcess": "workspaces", "Workspaces": "workspaces", "WorkspaceSession": "workspaces",
}


def __getattr__(name: str) -> object:
    if name in ("tools", "workspaces"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
