"""What the client does for code in the sandbox: functions of this process, by name.

    def weather(city: str, days: int = 1) -> dict:
        "The weather of a city."
        ...

    with Sandbox(callbacks={"weather": weather}) as sandbox:
        sandbox.python.run("print(await weather(city='Oslo'))")

The JSON Schema of the arguments is read from the type hints, the description from the docstring; a Callback says them itself.
Arguments arrive as they are annotated: a dataclass as an instance, an Enum as a member. Results may be such, too. A
function may be a coroutine function. Calls that come at once run at once: plain functions in threads, coroutines in one event loop.
"""
import contextvars
import dataclasses
import threading
import typing
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Set, Tuple, Union

from ._rpc import describe_exception

if TYPE_CHECKING:  # these take longer to import than a sandbox to start
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

Function = Callable[..., Any]
THREADS = 128


@dataclasses.dataclass
class Callback:
    """A function with its description for code in the sandbox. `parameters` is a JSON Schema (an object)."""

    function: Function
    description: Optional[str] = None
    parameters: Optional[Dict[str, Any]] = None


# ---- schemas ----

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", list: "array",
          tuple: "array", dict: "object"}


def _union(parts: Any) -> Dict[str, Any]:
    schemas = [schema_of(part) for part in parts]
    if all(list(s) == ["type"] and isinstance(s["type"], str) for s in schemas):
        return {"type": [s["type"] for s in schemas]}
    return {"anyOf": schemas}


def _object(fields: Mapping[str, Any], required: List[str]) -> Dict[str, Any]:
    schema: Dict[str, Any] = {"type": "object", "properties": {name: schema_of(hint) for name, hint in fields.items()},
                              "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def _generic(origin: Any, hint: Any) -> Dict[str, Any]:
    import inspect
    parts = typing.get_args(hint)
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        return {"type": "array", "prefixItems": [schema_of(part) for part in parts], "minItems": len(parts), "maxItems": len(parts)}
    if origin in (list, tuple, set, frozenset) or (inspect.isclass(origin) and issubclass(origin, typing.Sequence)):
        return {"type": "array", "items": schema_of(parts[0])} if parts else {"type": "array"}
    if inspect.isclass(origin) and issubclass(origin, typing.Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1])} if len(parts) == 2 else {"type": "object"}
    return _union(parts) if _is_union(origin) else {}


def _is_union(origin: Any) -> bool:
    return origin is Union or getattr(origin, "__name__", "") == "UnionType"


def schema_of(hint: Any) -> Dict[str, Any]:
    """The JSON Schema of values of this type; {} accepts everything."""
    import enum
    import inspect
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    if hint is None:
        return {"type": "null"}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin = typing.get_origin(hint)
    if origin is not None:
        return _generic(origin, hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint)
        must = [f.name for f in dataclasses.fields(hint)
                if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
        return _object({f.name: hints[f.name] for f in dataclasses.fields(hint)}, must)
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if hasattr(hint, "__required_keys__"):  # TypedDict
        return _object(typing.get_type_hints(hint), sorted(hint.__required_keys__))
    return {}


def _parameters(function: Function) -> Dict[str, Any]:
    import inspect
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # a name that cannot be found: then without types
        hints = {}
    fields, required, open_ended = {}, [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            fields[parameter.name] = hints.get(parameter.name, Any)
            if parameter.default is parameter.empty:
                required.append(parameter.name)
    schema = _object(fields, required)
    if open_ended:
        del schema["additionalProperties"]
    return schema


def describe(name: str, callback: Union[Function, Callback]) -> Dict[str, Any]:
    """What the sandbox is told."""
    import inspect
    given = callback if isinstance(callback, Callback) else Callback(callback)
    if not callable(given.function):
        raise TypeError(f"the callback {name} is no function")
    text = given.description if given.description is not None else inspect.getdoc(given.function)
    return {"name": name, "description": text or "",
            "parameters": given.parameters if given.parameters is not None else _parameters(given.function)}


# ---- calls ----

class Callbacks:
    """The functions of one sandbox, and where they run. It does not know the sandbox."""

    def __init__(self, loop: "Optional[asyncio.AbstractEventLoop]" = None) -> None:
        self._functions: Dict[str, Tuple[Function, bool]] = {}  # and whether it is a coroutine function
        self._lock = threading.Lock()
        self._pool: "Optional[ThreadPoolExecutor]" = None
        self._own_loop = loop is None
        self._tasks: "Set[asyncio.Future[None]]" = set()  # asyncio itself refers to them weakly
        self._loop = loop  # of an AsyncSandbox; else one of our own, when first needed

    def add(self, callbacks: Mapping[str, Union[Function, Callback]]) -> List[Dict[str, Any]]:
        from ._convert import adapted  # inspect takes a while to import
        if not isinstance(callbacks, Mapping):
            raise TypeError(f'callbacks must map names to functions, as {{"price": price}}, not {type(callbacks).__name__}')
        described = [describe(name, callback) for name, callback in callbacks.items()]
        for name, callback in callbacks.items():
            function = adapted(callback.function if isinstance(callback, Callback) else callback)
            self._functions[name] = function, is_coroutine_function(function)
        return described

    def remove(self, name: str) -> None:
        self._functions.pop(name, None)

    def handle(self, params: Dict[str, Any], answer: "Answer", here: bool = False) -> None:
        """Starts the call. `answer` takes the result, or why there is none. `here`: this thread may run the function; it waits
        for the code that calls."""
        known = self._functions.get(params["name"])
        if known is None:
            answer(None, f"no callback {params['name']} here")
        else:
            function, is_coroutine = known
            self.start(function, is_coroutine, params["arguments"], answer, here)

    def start(self, function: Function, is_coroutine: bool, arguments: Dict[str, Any], answer: "Answer", here: bool = False) -> None:
        """Calls a function where its kind belongs: in the event loop or in a thread."""
        if is_coroutine:
            import asyncio
            call = _await(function, arguments, answer, self._own_loop)
            try:
                if not self._own_loop and asyncio._get_running_loop() is self._loop:
                    self._tasks.add(task := asyncio.ensure_future(call))
                    task.add_done_callback(self._tasks.discard)
                else:
                    asyncio.run_coroutine_threadsafe(call, self._event_loop())
            except BaseException:
                call.close()
                raise
        elif here:
            _call_here(function, arguments, answer)
        else:
            self._threads().submit(_call, function, arguments, answer)

    def _threads(self) -> "ThreadPoolExecutor":
        with self._lock:
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor
                self._pool = ThreadPoolExecutor(THREADS, "cay-callback")
            return self._pool

    def _event_loop(self) -> "asyncio.AbstractEventLoop":
        with self._lock:
            if self._loop is None:
                import asyncio
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="cay-callbacks", daemon=True).start()
            return self._loop


def is_coroutine_function(function: Function) -> bool:
    import inspect
    return inspect.iscoroutinefunction(function)


def _is_the_clients(problem: BaseException) -> bool:
    """Not raised by the function: its task is cancelled, or Ctrl-C interrupts the client's loop. Where asyncio handles
    SIGINT, that cancels the main task in place of raising here."""
    import asyncio
    import signal
    if isinstance(problem, KeyboardInterrupt):
        return (threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    return isinstance(problem, asyncio.CancelledError)


Answer = Callable[[Any, Optional[str]], None]  # called once: the result, or why there is none


# The function of a callback runs here, and code in the sandbox may be waiting for it.
in_callback: "contextvars.ContextVar[bool]" = contextvars.ContextVar("cay_in_callback", default=False)


def _call(function: Function, arguments: Dict[str, Any], answer: Answer) -> None:
    """In a thread of the pool, which SystemExit and KeyboardInterrupt do not end."""
    in_callback.set(True)
    try:
        result = function(**arguments)
    except BaseException as problem:
        answer(None, describe_exception(problem))
    else:
        answer(result, None)


def _call_here(function: Function, arguments: Dict[str, Any], answer: Answer) -> None:
    """In the thread that runs the code: what interrupts that interrupts the code, too."""
    token = in_callback.set(True)
    try:
        result = function(**arguments)
    except BaseException as problem:
        answer(None, describe_exception(problem))
        if isinstance(problem, KeyboardInterrupt) and _is_the_clients(problem):
            raise
    else:
        answer(result, None)
    finally:
        in_callback.reset(token)


async def _await(function: Function, arguments: Dict[str, Any], answer: Answer, own_loop: bool) -> None:
    in_callback.set(True)  # in the context of this task
    try:
        result = await function(**arguments)
    except BaseException as problem:
        answer(None, describe_exception(problem))
        if not own_loop and _is_the_clients(problem):
            raise
    else:
        answer(result, None)
