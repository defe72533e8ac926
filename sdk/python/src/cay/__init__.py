"""Run unreviewed shell commands in a sandbox.

    from cay import Sandbox

    with Sandbox() as sandbox:
        print(sandbox.commands.run("echo hello | tr a-z A-Z").stdout)
"""
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
from .tools import Tool, ToolEvent, ToolFailed, Tools
from .workspaces import WorkspaceError, WorkspaceProcess, Workspaces, WorkspaceSession

if TYPE_CHECKING:
    from .aio import AsyncSandbox
    from .aio_process import AsyncProcess
    from .aio_terminal import AsyncTerminal
    from .aio_tools import AsyncTools
    from .aio_workspaces import AsyncWorkspaces

__all__ = ["AsyncProcess", "AsyncSandbox", "AsyncTerminal", "AsyncTools", "AsyncWorkspaces", "BinaryNotFound", "Callback", "Change", "CommandFailed",
           "CommandResult", "FileInfo", "Display", "Mount", "Process", "PythonError", "PythonFailed", "PythonResult", "RunningCommand", "Sandbox",
           "SandboxDied", "SandboxError", "SandboxTimeout", "Session", "Snapshot", "Terminal", "Tool", "ToolEvent", "ToolFailed", "Tools",
           "TraceEvent", "Usage", "ValueTooLarge", "WorkspaceError", "WorkspaceProcess", "WorkspaceSession", "Workspaces", "__version__"]


def __getattr__(name: str) -> object:
    if name == "AsyncSandbox":  # asyncio takes longer to import than a sandbox to start
        from .aio import AsyncSandbox
        return AsyncSandbox
    if name == "AsyncProcess":
        from .aio_process import AsyncProcess
        return AsyncProcess
    if name == "AsyncTerminal":
        from .aio_terminal import AsyncTerminal
        return AsyncTerminal
    if name == "AsyncTools":
        from .aio_tools import AsyncTools
        return AsyncTools
    if name == "AsyncWorkspaces":
        from .aio_workspaces import AsyncWorkspaces
        return AsyncWorkspaces
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
