"""WebAssembly tools: modules that take JSON and give JSON, and ask for capabilities.

    from cay import Tools

    with Tools(database="tools.db", user="me") as tools:
        print(tools.call("todo", {"action": "list"}))
"""
import json
import os
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Type, Union

from ._binary import command
from ._errors import SandboxError
from ._options import encode
from ._rpc import Link
from ._options import Local

Config = Union[Mapping[str, Any], Local]


class ToolFailed(SandboxError):
    """A call that did not end well: `tool_code` is the cause ("timeout", "forbidden", ...)."""

    def __init__(self, name: str, tool_code: str, why: str, result: Any) -> None:
        super().__init__(f"{name}: {tool_code}: {why}")
        self.name = name
        self.tool_code = tool_code
        self.why = why
        self.result = result


@dataclass
class Tool:
    """A tool, and whether it may be called."""

    name: str
    module: str  # the file
    entrypoint: str
    configured: bool  # else it is there by convention: wasm/<name>_tool.wasm
    code: str  # "ok", or why its module is refused
    why: str
    timeout_ms: int
    fuel: int  # 0: not counted
    allow: List[str] = field(default_factory=list)  # its capabilities


@dataclass
class ToolEvent:
    """An entry that is due."""

    kind: str  # "task", "wakeup", "reminder"
    id: int
    user_id: str
    name: str  # of a reminder: its title
    prompt: Optional[str]
    due_at: int  # seconds since 1970
    missed: int  # moments of a recurring one that passed since, and are not delivered


def _read(config: Config) -> Dict[str, Any]:
    if isinstance(config, Mapping):
        return dict(config)
    with open(os.fspath(config), encoding="utf-8") as file:
        whole: Dict[str, Any] = json.load(file)
    return whole


# ---- what goes to the server and comes from it; AsyncTools says the same ----

def open_params(config: Optional[Config], dir: Optional[Local], database: Optional[Local], audit: Optional[Local],
                user: Optional[str], rounds: int, allow_placeholders: bool) -> Dict[str, Any]:
    params: Dict[str, Any] = {"rounds": rounds, "allowPlaceholders": allow_placeholders, "dir": os.path.abspath(dir or ".")}
    if config is not None:
        params["config"] = _read(config)
    for name, path in (("database", database), ("audit", audit)):
        if path is not None:
            params[name] = os.path.abspath(path)
    if user is not None:
        params["user"] = user
    return params


def call_params(name: str, input: Optional[Mapping[str, Any]], user: Optional[str],
                timeout_ms: Optional[int]) -> Dict[str, Any]:
    params: Dict[str, Any] = {"name": name, "input": dict(input or {})}
    if user is not None:
        params["user"] = user
    if timeout_ms is not None:
        params["timeoutMs"] = timeout_ms
    return params


def call_result(name: str, answer: Dict[str, Any]) -> Any:
    if answer["code"] != "ok":
        raise ToolFailed(name, answer["code"], answer.get("why", ""), answer["result"])
    return answer["result"]


def list_result(answer: Dict[str, Any]) -> List[Tool]:
    return [Tool(name=one["name"], module=one["module"], entrypoint=one["entrypoint"], configured=one["configured"],
                 code=one["code"], why=one["why"], timeout_ms=one["timeoutMs"], fuel=one["fuel"], allow=one["allow"])
            for one in answer["tools"]]


def check_params(module: bytes, entrypoint: Optional[str]) -> Dict[str, Any]:
    params = {"data": encode(module)}
    if entrypoint is not None:
        params["entrypoint"] = entrypoint
    return params


def check_result(answer: Dict[str, Any]) -> Optional[str]:
    return None if answer["code"] == "ok" else f"{answer['code']}: {answer['why']}"


def due_result(answer: Dict[str, Any]) -> List[ToolEvent]:
    return [ToolEvent(kind=one["kind"], id=one["id"], user_id=one["userId"], name=one["name"],
                      prompt=one.get("prompt"), due_at=one["dueAt"], missed=one["missed"])
            for one in answer["events"]]


class Tools:
    """A set of tools, in a process of its own. Any thread may use it; several calls may run at once."""

    def __init__(self, config: Optional[Config] = None, *, dir: Optional[Local] = None,
                 database: Optional[Local] = None, audit: Optional[Local] = None, user: Optional[str] = None,
                 rounds: int = 0, allow_placeholders: bool = False, binary: Optional[str] = None) -> None:
        """`config` is a configuration or the path of one: tools.settings.sandbox of it is read; None: the defaults.
        `dir` is where relative paths of modules start. `database` holds the tools' rows, `audit` the log of decisions.
        With `rounds`, a tool is called again with the answer of its capability, so many times at most."""
        params = open_params(config, dir, database, audit, user, rounds, allow_placeholders)
        self._link = Link(command(binary), own=True)
        try:
            self._link.call("tools.open", params)
        except BaseException:
            self._link.close()
            raise

    def call(self, name: str, input: Optional[Mapping[str, Any]] = None, *, user: Optional[str] = None,
             timeout_ms: Optional[int] = None) -> Any:
        """What the tool gives, or what the capability gave that it asked for. ToolFailed when it does not end well.
        Ctrl-C ends the call."""
        answer = self._link.inbox()
        number = self._link.start("tools.call", call_params(name, input, user, timeout_ms), answer.put)
        try:
            kind, value = answer.get()
        except BaseException:  # Ctrl-C: it has no caller any more
            if self._link.death is None:
                self._link.start("tools.cancel", {"id": number})
            raise
        if kind == "error":
            raise value
        return call_result(name, value)

    def list(self) -> "List[Tool]":
        """The tools, whether their modules are fit, and their capabilities."""
        return list_result(self._link.call("tools.list", {}))

    def check(self, module: bytes, entrypoint: Optional[str] = None) -> Optional[str]:
        """None when these bytes are a tool, else why not: "module_has_import: ..."."""
        return check_result(self._link.call("tools.check", check_params(module, entrypoint)))

    def due(self) -> "List[ToolEvent]":
        """The tasks, wake-ups and reminders that are due now, each given once."""
        return due_result(self._link.call("tools.due", {}))

    def close(self) -> None:
        """Ends its process. Twice is fine."""
        self._link.kill()

    def __enter__(self) -> "Tools":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cay.Tools {self._link!r}>"
