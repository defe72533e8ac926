"""A server, and the JSON-RPC spoken with it.

A Channel is one server: a process (_process_channel.py), or a library in this one (_library.py). All sandboxes of a program share
one, which stays warm until the program ends; tools have one of their own. A Link (_rpc.py) is one sandbox or set of tools of a
Channel.

The Channel knows no Link, so a Link without references is collected, and with it the sandbox ends. A fork leaves the child with
links that are dead and closed, and the parent's untouched; sandboxes that the child makes have a server of its own.
"""
import binascii
import itertools
import json
import os
import threading
import weakref
from typing import Any, Callable, Dict, Optional, Tuple

from ._errors import SandboxDied, from_wire
from ._inbox import Inbox, Item

Deliver = Callable[[Item], None]
Answer = Callable[[Any, Optional[str]], None]
Ask = Callable[[Dict[str, Any], Answer, bool], None]  # True: in this thread, if that can be

LINE_MAX = 64 << 20  # bytes of a request that the server reads
MESSAGE_MAX = 1 << 20  # characters of an error
KILLED = "the sandbox was killed"

decode_json = json.JSONDecoder().decode


def ignore(_item: Item) -> None:
    pass


channels: "weakref.WeakSet[Channel]" = weakref.WeakSet()  # of this program


class Party:
    """The part of a Link that its Channel knows: why calls are impossible, and the function for its callbacks."""

    def __init__(self, name: str) -> None:
        self.name = name  # of the sandbox in its server; "" when the server is its own
        self.death: Optional[str] = None
        self.killing = False  # its end is wanted, and no news
        self.answer: Ask = _refuse
        self.network: Optional[Callable[[str, Dict[str, Any]], None]] = None  # for net.ask and net.decision


class Channel:
    """A server, and the callers that wait."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.numbers = itertools.count(1)
        self.reading = threading.RLock()
        self.sleepers: Dict[Inbox, None] = {}  # callers that wait while another thread reads
        self.last_call = 0.0
        self.background: Optional[threading.Thread] = None
        self.warm = False  # it has made a sandbox
        self.state = threading.RLock()  # a collection may begin, and end in _release, wherever memory is taken
        self.waiting: Dict[int, Tuple[Deliver, Party]] = {}
        self.parties: "weakref.WeakValueDictionary[str, Party]" = weakref.WeakValueDictionary()
        self.death: Optional[str] = None  # why calls are impossible
        self.killing = False

    @property
    def pid(self) -> int:
        """Of the process that it is in."""
        raise NotImplementedError

    def write(self, line: bytes, patience: float = -1) -> None:
        """Sends a line, and waits until it is sent."""
        raise NotImplementedError

    def write_later(self, line: bytes) -> None:
        """Where waiting is not possible: in a collection."""
        raise NotImplementedError

    def receive(self, timeout: Optional[float] = None) -> bool:
        """By the thread that holds `reading`: waits for messages, and hands them on. False: none came, in time or any more."""
        raise NotImplementedError

    def abandon(self) -> None:
        """It does not answer: it ends by force."""
        raise NotImplementedError

    def read_on(self) -> None:
        """The thread of a channel: reads while no caller does."""
        raise NotImplementedError

    # ---- callers ----

    def expect(self, number: int, deliver: Deliver, party: Party) -> None:
        with self.state:
            if self.death is not None or party.death is not None:
                raise SandboxDied(party.death or self.death or KILLED)
            self.waiting[number] = (deliver, party)

    def step_down(self) -> None:
        """Another one that waits reads on."""
        while self.reading._is_owned():  # type: ignore[attr-defined]
            self.reading.release()
        for inbox in list(self.sleepers):
            inbox.ring()
            return

    def read_in_background(self) -> None:
        if self.background is None:
            with self.state:
                if self.background is None and self.death is None:
                    thread = threading.Thread(target=self.read_on, name="cay-reader", daemon=True)
                    thread.start()
                    self.background = thread

    def attend(self, _loop: Any) -> None:
        """An event loop waits for messages."""
        self.read_in_background()

    def die(self, why: str) -> None:
        with self.state:
            if self.death is None:
                self.death = KILLED if self.killing else why
            waiting, self.waiting = self.waiting, {}
            why = self.death
        for deliver, party in waiting.values():
            deliver(("error", SandboxDied(party.death or why)))

    def bury(self, party: Party) -> None:
        """Its callers have no answer to expect any more."""
        with self.state:
            party.death = party.death or KILLED
            left = {number: deliver for number, (deliver, whose) in self.waiting.items() if whose is party}
            for number in left:
                del self.waiting[number]
        for deliver in left.values():
            deliver(("error", SandboxDied(party.death)))


def _refuse(_params: Dict[str, Any], answer: Answer, _here: bool) -> None:
    answer(None, "no callbacks here")


# ---- messages ----

def _plain(value: Any) -> Any:
    from ._convert import plain  # takes a while to import, and is seldom needed
    return plain(value)


def _bytes_as_base64(value: Any) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def _encoder(default: Callable[[Any], Any]) -> Callable[[Any], str]:
    """As JSONEncoder(...).encode, which makes the encoder in C anew for each text."""
    try:
        make = json.encoder.c_make_encoder(None, default, json.encoder.encode_basestring, None, ":", ",", False, False, False)
        return lambda value: "".join(make(value, 0))
    except (AttributeError, TypeError):
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default).encode


encode_json = _encoder(_bytes_as_base64)
_encode_result = _encoder(_plain)


def result_json(result: Any) -> Tuple[bytes, Optional[str]]:
    """The result of a callback as JSON, or why it is none."""
    try:
        text = _encode_result(result).encode()
    except Exception as problem:
        return b"", f"the callback's result is not JSON: {describe_exception(problem)}"
    if len(text) > LINE_MAX:
        return b"", f"the callback's result is longer than {LINE_MAX} bytes"
    return text, None


def reason(why: str) -> str:
    """As UTF-8 can carry it, which has no half of a surrogate pair."""
    return why[:MESSAGE_MAX].encode(errors="backslashreplace").decode()


def response(number: Any, result: Any, why: Optional[str]) -> bytes:
    """The line that answers a request of the server: the result, or why there is none."""
    head = b'{"jsonrpc":"2.0","id":' + encode_json(number).encode()
    if why is None:
        text, why = result_json(result)
    if why is None:
        return head + b',"result":' + text + b"}\n"
    return head + b',"error":' + encode_json({"code": 1, "message": reason(why)}).encode() + b"}\n"


def describe_exception(problem: BaseException) -> str:
    """Its type and text, also when it cannot say the latter."""
    name = type(problem).__name__
    try:
        text = str(problem)
    except Exception:
        return name
    return f"{name}: {text}" if text else name


def _serve(channel: Channel, message: Dict[str, Any]) -> None:
    """A request of the server, which may be answered later and by another thread. It is always answered: code in the
    sandbox waits."""
    def answer(result: Any, why: Optional[str]) -> None:
        channel.write(response(message["id"], result, why))

    if message["method"] != "callback":
        answer(None, f"no method {message['method']} here")
        return
    party = channel.parties.get(message["params"].get("sandbox", ""))
    try:
        (_refuse if party is None else party.answer)(message["params"], answer, False)
    except Exception as problem:  # no thread for it, or its event loop is closed
        answer(None, f"the callback cannot be called: {describe_exception(problem)}")


_NOBODY = (ignore, Party(""))


def dispatch(channel: Channel, line: bytes) -> None:
    message = decode_json(line.decode())
    number = message.get("id")
    if "method" in message:
        if number is not None:
            _serve(channel, message)
        elif message["method"] in ("net.ask", "net.decision"):
            party = channel.parties.get(message["params"].get("sandbox", ""))
            if party is not None and party.network is not None:
                party.network(message["method"], message["params"])
        elif "id" in message["params"]:  # else it is about nothing that we asked
            with channel.state:
                deliver, _ = channel.waiting.get(message["params"]["id"], _NOBODY)
            deliver(("output", message["params"]))
        return
    with channel.state:
        deliver, party = channel.waiting.pop(number, _NOBODY)
    if "error" not in message:
        deliver(("result", message["result"]))
    elif party.killing:
        deliver(("error", SandboxDied(KILLED)))
    else:
        deliver(("error", from_wire(message["error"])))
