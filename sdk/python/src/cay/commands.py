"""Commands of a sandbox."""
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._options import Collected, Data, Remote, command_result, run_params, start_params, terminal_params
from ._rpc import Link
from ._types import CommandResult, RunningCommand, running_command
from .process import Process
from .terminal import Terminal

Output = Callable[[Any], Any]  # of text; of bytes with binary=True


class Commands:
    """Shell commands in a sandbox. They share its files and processes, and several may run at once."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def run(self, command: str, *, stdin: Optional[Data] = None, cwd: Optional[Remote] = None,
            env: Optional[Mapping[str, str]] = None, timeout_ms: Optional[int] = None,
            on_stdout: Optional[Output] = None, on_stderr: Optional[Output] = None, check: bool = False,
            binary: bool = False, fuel: Optional[int] = None) -> CommandResult:
        """Runs a line for bash, and waits until it has ended.

        The result has its output and exit code; 124 is the timeout. on_stdout and on_stderr get the text as it comes,
        in this thread; the command waits for them. check=True makes failure an exception, as CommandResult.check does.
        What the command leaves in the background lives on, and later commands can reach it; its output is then
        discarded. It ends with a command that timed out or was cancelled. Ctrl-C ends the command.

        Output that is not UTF-8 has U+FFFD in it; with binary=True `stdout_bytes` and `stderr_bytes` hold it as it was, and
        on_stdout and on_stderr get bytes. `fuel` is the most WebAssembly operations; the result says how many were used.
        """
        stream = on_stdout is not None or on_stderr is not None
        params = run_params(command, stdin, cwd, env, timeout_ms, stream, binary, fuel)
        result = self._run(params, {"stdout": on_stdout, "stderr": on_stderr}, binary)
        return result.check() if check else result

    def start(self, command: str, *, cwd: Optional[Remote] = None, env: Optional[Mapping[str, str]] = None,
              timeout_ms: Optional[int] = None) -> Process:
        """Runs a line for bash and does not wait for it: a server, or a program that is written to while it runs.

        It runs until it ends, is killed or the sandbox ends, unless `timeout_ms` says how long it may take.
        """
        return Process(self._link, start_params(command, cwd, env, timeout_ms), command)

    def list(self) -> "List[RunningCommand]":
        """The commands of this sandbox that are running now, with the process ids that they have in it."""
        return [running_command(one) for one in self._link.call("run.list", {})["runs"]]

    def terminal(self, command: str = "exec bash", *, rows: int = 24, cols: int = 80, cwd: Optional[Remote] = None,
                 env: Optional[Mapping[str, str]] = None, timeout_ms: Optional[int] = None) -> Terminal:
        """Runs a line for bash on a terminal of its own, and does not wait for it."""
        return Terminal(self._link, terminal_params(command, rows, cols, cwd, env, timeout_ms))

    def _run(self, params: Dict[str, Any], outputs: Dict[str, Optional[Output]], binary: bool) -> CommandResult:
        if "stream" not in params:
            return command_result(self._link.run("run", params, "run.cancel", {}), params.get("encoding", "utf8"), binary)
        items = self._link.inbox()
        encoding = params.get("encoding", "utf8")
        collected = Collected(encoding, binary)
        number = self._link.start("run", params, items.put)
        try:
            while True:
                kind, value = items.get()
                if kind == "error":
                    raise value
                if kind == "result":
                    result = command_result(value, encoding, binary)
                    return collected.put_into(result)
                self._take(number, collected, value, outputs)
        except BaseException:  # of a callback, or Ctrl-C: the command has no caller any more
            if self._link.death is None:
                self._link.start("run.cancel", {"id": number})
            raise

    def _take(self, number: int, collected: Collected, params: Dict[str, Any],
              outputs: Dict[str, Optional[Output]]) -> None:
        name, text = collected.add(params)
        output = outputs[name]
        if output is not None and text:
            output(text)
        taken = collected.acknowledge(params)
        if taken:
            self._link.start("run.ack", {"id": number, "bytes": taken})
