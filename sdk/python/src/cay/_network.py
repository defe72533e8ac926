"""What this process decides, or is told, about the network of a sandbox.

    def ask(question):
        return question["host"].endswith(".example.com")

    Sandbox(net={"ask": ask, "decision": print})

Both functions get one mapping: event, host, address, port, reason; a decision also allowed, and where they are known rule, method, path and
secret. They may be coroutine functions.
"""
import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

from ._errors import SandboxError
from .callbacks import Callbacks, is_coroutine_function

if TYPE_CHECKING:
    from ._rpc import Link

Told = Callable[[Dict[str, Any]], Any]


def told_of(net: Optional[Mapping[str, Any]]) -> Dict[str, Told]:
    """The functions among the members of `net`."""
    functions = {name: net[name] for name in ("ask", "decision") if net and net.get(name) is not None}
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"net: {name} must be a function, not {type(function).__name__}")
    return functions


def attend(link: "Link", callbacks: Callbacks, functions: Mapping[str, Told]) -> None:
    if not functions:
        return
    awaited = {word: is_coroutine_function(function) for word, function in functions.items()}
    start = link.start  # bound: the link is there as long as its sandbox is asked about

    def told(method: str, params: Dict[str, Any]) -> None:
        number = params.pop("ask", None)
        params.pop("sandbox", None)

        def answer(result: Any, why: Optional[str]) -> None:
            """A function that fails is a no."""
            if number is not None:
                try:
                    start("net.answer", {"ask": number, "allow": why is None and bool(result)})
                except SandboxError:
                    pass  # the sandbox is gone, and its question with it

        word = "decision" if number is None else "ask"
        if word in functions:
            callbacks.start(functools.partial(functions[word], params), awaited[word], {}, answer)

    link.attend_network(told)
