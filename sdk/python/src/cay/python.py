"""Python in a sandbox: sessions that keep their variables."""
import json
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._channel import decode_json
from ._errors import CommandFailed, SandboxError, SandboxTimeout
from ._options import Local, decode, encode, path_param, whole
from ._rpc import Link, wait_for_end
from .callbacks import Callback, Callbacks, Function, in_callback
from .display import Display, Displays, OnDisplay, read_display

Output = Callable[[str], Any]
Trace = Callable[["TraceEvent"], Any]


@dataclass
class PythonError:
    """The exception that ended an evaluation. Not an exception itself: see PythonResult.check."""

    type: str  # "ZeroDivisionError"
    message: str
    traceback: str
    line: Optional[int]  # in the code that was run


@dataclass
class TraceEvent:
    """One step of code that is traced."""

    type: str  # "line", "call", "return", "exception"
    line: int
    function: str
    file: str
    locals: Dict[str, str] = field(default_factory=dict)  # repr of those that changed
    details: Dict[str, Any] = field(default_factory=dict)


@dataclass
class PythonResult:
    """What an evaluation wrote, gave and ended with."""

    outcome: str  # "value", "exception", "exit", "stopped"
    stdout: str
    stderr: str
    execution_time_ms: float
    value: Any = field(default=None, repr=False)  # of the last expression, when it is JSON; ValueTooLarge when that is too long
    repr: Optional[str] = None  # of it, always
    error: Optional[PythonError] = None
    exit_code: Optional[int] = None  # of SystemExit
    end: str = "exit"  # when stopped: "time", "cancelled", "signal", "trap"
    undone: bool = False  # the session was rolled back
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    detail: str = ""
    fuel: Optional[int] = None  # WebAssembly operations, when they were counted
    repr_truncated: bool = False
    value_too_large: bool = False  # the value is JSON, but longer than value_limit_bytes
    bundle: Optional[Display] = None  # the value in all its forms, with display=True
    displays: List[Display] = field(default_factory=list)  # what display() was called with, with display=True
    bundle_too_large: bool = False  # longer than display_limit_bytes

    @property
    def ok(self) -> bool:
        """It ran to its end, or exited with 0."""
        return self.outcome == "value" or (self.outcome == "exit" and self.exit_code == 0)

    @property
    def timed_out(self) -> bool:
        """It was ended because its time was up."""
        return self.end == "time"

    @property
    def results(self) -> List[Display]:
        """What a notebook shows below the cell: `displays`, and the value's `bundle`."""
        return self.displays + ([self.bundle] if self.bundle is not None else [])

    def check(self) -> "PythonResult":
        """This result; SandboxTimeout or PythonFailed when it is not ok."""
        if self.timed_out:
            raise SandboxTimeout(f"the code was ended after {self.execution_time_ms:.0f} ms")
        if not self.ok:
            raise PythonFailed(self)
        return self


class ValueTooLarge(SandboxError):
    """The value of an evaluation that was longer than value_limit_bytes was asked for."""


def _get_value(result: PythonResult) -> Any:
    if result.value_too_large:
        raise ValueTooLarge("E2BIG: the value was not sent, because its JSON is longer than value_limit_bytes (1 MiB by default): "
                            "pass a larger limit to run(), or let the code write the value to a file")
    return result.__dict__["value"]


def _set_value(result: PythonResult, value: Any) -> None:
    result.__dict__["value"] = value


PythonResult.value = property(  # a value that is too large is told from none
    _get_value, _set_value, doc="Of the last expression, when it is JSON; None without one. ValueTooLarge when its JSON is too long.")


class PythonFailed(CommandFailed):
    """Code run with check=True raised an exception, exited or was stopped; `result` says all."""

    def __init__(self, result: PythonResult) -> None:
        what = f"{result.error.type}: {result.error.message}" if result.error else f"ended by {result.end}"
        if result.outcome == "exit":
            what = f"SystemExit: {result.exit_code}"
        SandboxError.__init__(self, what)
        self.result = result  # type: ignore[assignment]


def _guest_json(text: Optional[bytes]) -> Any:
    if text is None:
        return None
    try:
        value = decode_json(text.decode())
        if b"\\ud" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except ValueError:  # the guest made it, or half a surrogate pair is in it: no JSON that every reader takes
        return None


def _library_result(reply: Tuple[Any, ...]) -> PythonResult:
    _, _, outcome, stdout, stderr, ms, text, shown, problem, code, end, undone, detail, fuel, cut, bundle = reply
    value, shown_as = (_guest_json(made) for made in (text, bundle))
    error = PythonError(problem[0], problem[1], problem[2], problem[3] or None) if problem else None
    return PythonResult(outcome, stdout, stderr, ms, value, shown, error, code, end, undone, bool(cut & 1), bool(cut & 2), detail,
                        fuel or None, bool(cut & 4), bool(cut & 8), read_display(shown_as), bundle_too_large=bool(cut & 16))


def python_result(reply: Any) -> PythonResult:
    if isinstance(reply, tuple):
        return _library_result(reply)
    given = reply.get("error")
    error = PythonError(given["type"], given["message"], given.get("traceback", ""), given.get("line")) if given else None
    return PythonResult(reply["outcome"], reply["stdout"], reply["stderr"], reply["executionTimeMs"], reply.get("value"),
                        reply.get("repr"), error, reply.get("exitCode"), reply.get("end", "exit"),
                        reply.get("undone", False), reply.get("stdoutTruncated", False),
                        reply.get("stderrTruncated", False), reply.get("detail", ""), reply.get("fuel"),
                        reply.get("reprTruncated", False), reply.get("valueTooLarge", False), read_display(reply.get("bundle")),
                        bundle_too_large=reply.get("bundleTooLarge", False))


def unencodable(code: str) -> Optional[PythonResult]:
    """What running this code gives when it is no Unicode: half a surrogate pair has no UTF-8, and is in no program."""
    try:
        code.encode()
    except UnicodeEncodeError as problem:
        line = code.count("\n", 0, problem.start) + 1
        traceback = f'  File "<code>", line {line}\nSyntaxError: {problem}\n'
        return PythonResult("exception", "", "", 0.0, error=PythonError("SyntaxError", str(problem), traceback, line))
    return None


def trace_event(params: Dict[str, Any]) -> TraceEvent:
    event = params["event"] if isinstance(params["event"], dict) else {"type": str(params["event"])}
    context = params.get("context")
    names = context.get("locals", {}) if isinstance(context, dict) else {}
    details = {k: v for k, v in event.items() if k not in ("type", "function", "file")}
    return TraceEvent(str(event.get("type")), params["line"], str(event.get("function", "")), str(event.get("file", "")),
                      names, details)


def in_line(wait: bool = True) -> Dict[str, bool]:
    """Whether a request waits for others in its session. In a callback it does not: they may wait for that callback."""
    return {} if wait and not in_callback.get() else {"wait": False}


_MEMBERS = {"timeout_ms": "timeoutMs", "trace_max": "traceMax", "fuel": "fuel", "value_limit_bytes": "valueMax", "stdin": "stdin",
            "trace_filter": "traceFilter", "display_limit_bytes": "displayMax"}
_NUMBERS = ("timeout_ms", "trace_max", "fuel", "value_limit_bytes", "display_limit_bytes")


def eval_params(code: str, session: str, stdin: Optional[str], timeout_ms: Optional[int], stream: bool,
                trace: Sequence[str], trace_filter: Optional[str], trace_max: Optional[int],
                fuel: Optional[int] = None, wait: bool = True,
                value_limit_bytes: Optional[int] = None, display: bool = False,
                display_limit_bytes: Optional[int] = None) -> Dict[str, Any]:
    if not isinstance(code, str):
        raise TypeError(f"code must be a str, not {type(code).__name__}")
    if isinstance(trace, str):
        raise TypeError(f"trace must be a list of words: trace=[{trace!r}]")
    params: Dict[str, Any] = {"code": code, **in_line(wait)}
    if session:
        params["session"] = session
    if stream:
        params["stream"] = True
    if display:
        params["display"] = True
    if trace:
        params["trace"] = list(trace)
    for name, value in (("timeout_ms", timeout_ms), ("trace_max", trace_max), ("fuel", fuel), ("value_limit_bytes", value_limit_bytes),
                        ("stdin", stdin), ("trace_filter", trace_filter), ("display_limit_bytes", display_limit_bytes)):
        if value is not None:
            params[_MEMBERS[name]] = value
            if name in _NUMBERS:
                whole(name, value)
    return params


def check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a session must be a str, not {type(name).__name__}")


STATE_PIECE = 16 << 20  # bytes: base64 of it fits into a line


def state_pieces(state: bytes) -> Iterator[Dict[str, Any]]:
    """The requests that load a state, which may be longer than a line."""
    if not isinstance(state, (bytes, bytearray, memoryview)):
        raise TypeError(f"the state must be the bytes of save_state, not {type(state).__name__}")
    view = memoryview(state).cast("B")
    for offset in range(0, max(len(view), 1), STATE_PIECE):
        end = offset + STATE_PIECE
        yield {"data": encode(view[offset:end]), "offset": offset, "more": end < len(view)}


class Pieces:
    """Streamed output, put together for the result, and handed on."""

    def __init__(self, on_stdout: Optional[Output], on_stderr: Optional[Output]) -> None:
        self.outputs = {"stdout": on_stdout, "stderr": on_stderr}
        self.parts: Dict[str, List[str]] = {"stdout": [], "stderr": []}

    @property
    def wanted(self) -> bool:
        return any(self.outputs.values())

    def add(self, params: Dict[str, Any]) -> Any:
        name, text = params["stream"], params["data"]
        self.parts[name].append(text)
        output = self.outputs[name]
        return output(text) if output is not None else None

    def put_into(self, result: PythonResult) -> PythonResult:
        if self.wanted:
            result.stdout, result.stderr = "".join(self.parts["stdout"]), "".join(self.parts["stderr"])
        return result


class Session:
    """Variables that live from one run to the next. One run at a time: others wait in line."""

    language: Optional[str] = None  # None: Python

    def __init__(self, link: Link, name: str) -> None:
        self._link = link
        self.name = name

    def run(self, code: str, *, stdin: Optional[str] = None, timeout_ms: Optional[int] = None,
            on_stdout: Optional[Output] = None, on_stderr: Optional[Output] = None, on_trace: Optional[Trace] = None,
            trace: Sequence[str] = (), trace_filter: Optional[str] = None, trace_max: Optional[int] = None,
            check: bool = False, fuel: Optional[int] = None, wait: bool = True,
            value_limit_bytes: Optional[int] = None, display: bool = False, on_display: Optional[OnDisplay] = None,
            display_limit_bytes: Optional[int] = None) -> PythonResult:
        """Runs code, in which top-level `await` is allowed, and waits until it has ended.

        The value is that of the last statement, if it is an expression. An exception of the code is a result, unless
        check=True asks for one here. on_stdout and on_stderr get the text as it comes, in this thread. on_trace gets
        events, of "line", "call", "return", "exception"; with "locals" also the variables that changed. `fuel` is the most
        WebAssembly operations, in a sandbox that has a fuel_limit; the result says how many were used.

        repr and value have at most value_limit_bytes each (1 MiB; at most 64 MiB): a longer repr is cut, a longer value is
        not sent, and asking the result for it raises ValueTooLarge.

        With display=True the result has what a notebook would show: `displays`, which display() was called with, and the
        value's `bundle`; each is a Display with its forms by MIME type. on_display gets them as they come, in this thread.
        All of them together have at most display_limit_bytes (16 MiB; at most 64 MiB).

        Runs of one session that come from several threads wait in line, in their order; timeout_ms begins with the turn.
        With wait=False a session that is busy is SandboxError EBUSY. In a callback it always is, because the session may
        be waiting for that callback.
        """
        pieces, displays = Pieces(on_stdout, on_stderr), Displays(on_display, display)
        if on_trace is not None and not trace:
            trace = ("line",)
        params = eval_params(code, self.name, stdin, timeout_ms, pieces.wanted, trace, trace_filter, trace_max,
                             fuel, wait, value_limit_bytes, displays.wanted, display_limit_bytes)
        if self.language is not None:
            params["language"] = self.language
        result = unencodable(code) or pieces.put_into(self._run(params, pieces, on_trace, displays))
        result.displays = displays.shown
        return result.check() if check else result

    def _run(self, params: Dict[str, Any], pieces: Pieces, on_trace: Optional[Trace], displays: Displays) -> PythonResult:
        if not pieces.wanted and not displays.wanted and "trace" not in params:
            return python_result(self._link.run("python.eval", params, "python.cancel", self._named()))
        items = self._link.inbox()
        number = self._link.start("python.eval", params, items.put)
        try:
            while True:
                kind, value = items.get()
                if kind == "error":
                    raise value
                if kind == "result":
                    return python_result(value)
                if "bundle" in value:
                    displays.add(value)
                elif "event" not in value:
                    pieces.add(value)
                elif on_trace is not None:
                    on_trace(trace_event(value))
        except SandboxError:
            raise
        except BaseException:  # of a callback, or Ctrl-C
            if self._link.death is None:
                self._link.start("python.cancel", self._named(id=number))
                wait_for_end(items)
            raise

    def _named(self, **more: Any) -> Dict[str, Any]:
        return {"session": self.name, **more} if self.name else more

    def cancel(self) -> bool:
        """Ends what runs, from another thread; runs that wait in line go on. False: nothing ran."""
        return bool(self._link.call("python.cancel", self._named())["cancelled"])

    def save_state(self) -> bytes:
        """The variables as bytes; SandboxError names what cannot be stored."""
        return decode(self._link.call("python.saveState", self._named(**in_line()))["data"])

    def load_state(self, state: bytes) -> None:
        """Puts variables of save_state into this session. Bytes that are damaged or foreign change nothing."""
        for piece in state_pieces(state):
            self._link.call("python.loadState", self._named(**piece, **in_line()))

    def clear_state(self) -> None:
        """Forgets all variables."""
        self._link.call("python.clearState", self._named(**in_line()))

    def fork(self, name: str) -> "Session":
        """A copy with everything that is in memory: lambdas and generators too. Open files go on where they are; sockets
        and pipes to other processes do not."""
        check_name(name)
        self._link.call("python.fork", self._named(to=name))
        kinds = {None: Session, "javascript": JavaScriptSession, "typescript": TypeScriptSession}
        return kinds[self.language](self._link, name)

    def close(self) -> None:
        """Ends the session, and what runs in it. Its variables are gone; a later run begins anew."""
        self._link.call("python.close", self._named())

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._link.death is not None:
            return
        try:
            self.close()
        except SandboxError as problem:
            if problem.errno_name != "ENOENT":  # it never ran, or was closed
                raise

    def __repr__(self) -> str:
        return f"<cay.Session {self.name!r}>"


def open_params(name: str, language: Optional[str], image: Local) -> Dict[str, Any]:
    return {"session": name, "language": language or "python", **path_param("image", os.path.abspath(image))}


def open_image(link: Link, name: str, language: Optional[str], image: Optional[Local]) -> None:
    if image is not None:
        link.call("python.open", open_params(name, language, image))


class Python(Session):
    """The first session of a sandbox, and the way to others."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, "")

    def session(self, name: str, *, image: Optional[Local] = None) -> Session:
        """The session of this name, to be used with `with` or closed; it begins with its first run. With the file of an
        `image` that `cay image build` made, it begins as that, at once; then there must be none of this name."""
        open_image(self._link, name, self.language, image)
        return Session(self._link, name)


class JavaScriptSession(Session):
    """As Session, of JavaScript. `repr` is what util.inspect writes."""

    language = "javascript"


class JavaScript(JavaScriptSession):
    """sandbox.js: a session of JavaScript, and the way to others."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, "js")

    def session(self, name: str, *, image: Optional[Local] = None) -> JavaScriptSession:
        """As Python.session, with an image of JavaScript."""
        open_image(self._link, name, self.language, image)
        return JavaScriptSession(self._link, name)


class TypeScriptSession(JavaScriptSession):
    """As JavaScriptSession, of TypeScript. Types are not checked."""

    language = "typescript"


class TypeScript(TypeScriptSession):
    """sandbox.ts: a session of TypeScript, and the way to others."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, "ts")

    def session(self, name: str, *, image: Optional[Local] = None) -> TypeScriptSession:
        """As Python.session, with an image of TypeScript."""
        open_image(self._link, name, self.language, image)
        return TypeScriptSession(self._link, name)


class CallbackTable:
    """sandbox.callbacks: what code in the sandbox may ask of this process."""

    def __init__(self, link: Link, callbacks: Callbacks) -> None:
        self._link = link
        self._callbacks = callbacks

    def add(self, callbacks: Mapping[str, Union[Function, Callback]]) -> None:
        """Adds functions by name; one of a name that is there is replaced."""
        described = self._callbacks.add(callbacks)
        self._link.channel.read_in_background()  # what a command left behind may call one, too
        self._link.call("callbacks.set", {"callbacks": described})

    def remove(self, name: str) -> None:
        """Takes one back. Calls that are under way are still answered."""
        self._link.call("callbacks.remove", {"name": name})
        self._callbacks.remove(name)

    def register(self, function: Any = None, *, name: Optional[str] = None, description: Optional[str] = None) -> Any:
        """A decorator: adds the function by its own name, or by `name`, and leaves it as it is."""
        def add(given: Function) -> Function:
            self.add({name or given.__name__: Callback(given, description)})
            return given

        return add if function is None else add(function)


__all__ = ["CallbackTable", "JavaScript", "JavaScriptSession", "Python", "PythonError", "PythonFailed", "PythonResult", "Session", "TraceEvent", "TypeScript", "TypeScriptSession"]
