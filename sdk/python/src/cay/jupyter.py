"""A kernel for Jupyter whose cells run in a sandbox. It needs the package ipykernel.

    python -m cay.jupyter install --user
    jupyter lab                            # the kernel is called "Python (cay)"

A kernel is one sandbox with one session. Interrupting ends the cell; restarting makes a new sandbox. input() finds the end of
its input, and lines that begin with ! or % are not part of Python.
"""
import argparse
import json
import os
import sys
import tempfile
from typing import Any, Dict, List, Optional

from ._errors import SandboxError
from ._version import __version__
from .aio import AsyncSandbox
from .display import Display
from .python import PythonResult

try:
    from ipykernel.kernelapp import IPKernelApp
    from ipykernel.kernelbase import Kernel
except ImportError:
    raise ImportError("cay.jupyter needs the package ipykernel: pip install ipykernel") from None

NAMES = {"python": "Python (cay)", "javascript": "JavaScript (cay)", "typescript": "TypeScript (cay)"}
FILES = {"python": (".py", "text/x-python"), "javascript": (".js", "text/javascript"), "typescript": (".ts", "text/typescript")}


class CayKernel(Kernel):  # type: ignore[misc]
    """A sandbox behind Jupyter's messages. Its options are JSON in CAY_JUPYTER: `language`, and arguments of AsyncSandbox."""

    implementation = "cay"
    implementation_version = __version__
    banner = "cay: code runs in a sandbox"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._options: Dict[str, Any] = json.loads(os.environ.get("CAY_JUPYTER", "{}"))
        self._language: str = self._options.pop("language", "python")
        extension, mime = FILES[self._language]
        self.language_info = {"name": self._language, "mimetype": mime, "file_extension": extension}
        self._sandbox: Optional[AsyncSandbox] = None

    async def _session(self) -> Any:
        if self._sandbox is None:
            self._sandbox = await AsyncSandbox(**self._options)
        if self._language == "python":
            return self._sandbox.python
        return self._sandbox.js if self._language == "javascript" else self._sandbox.ts

    def _send(self, kind: str, content: Dict[str, Any]) -> None:
        self.send_response(self.iopub_socket, kind, content)

    def _display(self, display: Display) -> None:
        if display.kind == "clear":
            self._send("clear_output", {"wait": display.wait})
            return
        transient = {"display_id": display.id} if display.id is not None else {}
        kind = "update_display_data" if display.kind == "update" else "display_data"
        self._send(kind, {"data": display.data, "metadata": display.metadata, "transient": transient})

    def _stream(self, name: str) -> Any:
        return lambda text: self._send("stream", {"name": name, "text": text})

    async def do_execute(self, code: str, silent: bool, store_history: bool = True, user_expressions: Any = None,
                         allow_stdin: bool = False, **_: Any) -> Dict[str, Any]:
        """Runs a cell."""
        try:
            session = await self._session()
            shows = {"display": True, "on_display": self._display} if self._language == "python" and not silent else {}
            outputs = {} if silent else {"on_stdout": self._stream("stdout"), "on_stderr": self._stream("stderr")}
            result = await session.run(code, **outputs, **shows)
        except SandboxError as problem:
            return self._failed(type(problem).__name__, str(problem), [str(problem)], silent)
        return self._answer(result, silent)

    def _answer(self, result: PythonResult, silent: bool) -> Dict[str, Any]:
        if result.error is not None:
            lines = (result.error.traceback or result.error.message).splitlines()
            return self._failed(result.error.type, result.error.message, lines, silent)
        if result.outcome == "stopped":
            why = "the session was rolled back to before the cell" if result.undone else "its variables stay"
            return self._failed("Stopped", result.end, [f"ended by {result.end}: {why}"], silent)
        if result.outcome == "exit" and result.exit_code != 0:
            return self._failed("SystemExit", str(result.exit_code), [f"SystemExit: {result.exit_code}"], silent)
        shown = result.bundle
        if shown is None and result.repr is not None and self._language != "python":
            shown = Display({"text/plain": result.repr})
        if shown is not None and not silent:
            self._send("execute_result", {"data": shown.data, "metadata": shown.metadata, "execution_count": self.execution_count})
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _failed(self, name: str, text: str, lines: List[str], silent: bool) -> Dict[str, Any]:
        error = {"ename": name, "evalue": text, "traceback": lines}
        if not silent:
            self._send("error", error)
        return {"status": "error", "execution_count": self.execution_count, **error}

    async def interrupt_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """Ends the cell that runs."""
        if self._sandbox is not None:
            await (await self._session()).cancel()
        self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

    async def do_shutdown(self, restart: bool) -> Dict[str, Any]:
        """Ends the sandbox."""
        if self._sandbox is not None:
            await self._sandbox.kill()
            self._sandbox = None
        return {"status": "ok", "restart": restart}


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cay.jupyter", description="A kernel for Jupyter whose cells run in a sandbox.")
    commands = parser.add_subparsers(dest="command", required=True)
    install = commands.add_parser("install", help="make the kernel known to Jupyter")
    where = install.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user")
    where.add_argument("--prefix", help="below this folder; without either: of this environment")
    install.add_argument("--name", help="of the kernel (cay-LANGUAGE)")
    install.add_argument("--language", choices=sorted(NAMES), default="python")
    install.add_argument("--timeout-ms", type=int, help="of each cell")
    install.add_argument("--memory-limit", type=int, metavar="BYTES", help="of all its processes")
    install.add_argument("--allow-net", action="append", metavar="HOST[:PORT]", help="let cells connect there")
    run = commands.add_parser("run", help="run as the kernel of a connection (Jupyter does this)")
    run.add_argument("-f", dest="connection", required=True)
    return parser


def _kernel_options(given: argparse.Namespace) -> Dict[str, Any]:
    options: Dict[str, Any] = {"language": given.language}
    if given.timeout_ms is not None:
        options["timeout_ms"] = given.timeout_ms
    if given.memory_limit is not None:
        options["memory_limit_bytes"] = given.memory_limit
    if given.allow_net:
        options["net"] = {"allow": given.allow_net}
    return options


def _install(given: argparse.Namespace) -> None:
    from jupyter_client.kernelspec import KernelSpecManager

    spec = {
        "argv": [sys.executable, "-m", "cay.jupyter", "run", "-f", "{connection_file}"],
        "display_name": NAMES[given.language],
        "language": given.language,
        "interrupt_mode": "message",
        "env": {"CAY_JUPYTER": json.dumps(_kernel_options(given))},
    }
    prefix = None if given.user else given.prefix or sys.prefix
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w") as file:
            json.dump(spec, file, indent=1)
        place = KernelSpecManager().install_kernel_spec(folder, given.name or f"cay-{given.language}", user=given.user, prefix=prefix)
    print(place)


def main(arguments: Optional[List[str]] = None) -> None:
    """The command `python -m cay.jupyter`."""
    given = _arguments().parse_args(arguments)
    if given.command == "install":
        _install(given)
    else:
        IPKernelApp.launch_instance(argv=["-f", given.connection], kernel_class=CayKernel)


if __name__ == "__main__":
    main()
