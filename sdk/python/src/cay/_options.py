"""What a sandbox is made with, and the requests that both kinds of sandboxes make."""
import binascii
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._types import CommandResult

Data = Union[bytes, bytearray, memoryview, str]

START_PATIENCE = 60.0  # seconds
WINDOW = 1 << 20  # bytes of output that may be on the way
KEPT = 16 << 20  # of streamed output that the result still holds, for each stream


def create_params(timeout_ms: int, fs_limit_bytes: int, memory_limit_bytes: Optional[int],
                  output_limit_bytes: Optional[int], process_limit: Optional[int], env: Optional[Mapping[str, str]],
                  wasm_dir: Optional[str], packages: Sequence[Any] = (), fuel_limit: Optional[int] = None,
                  code_limit_bytes: Optional[int] = None) -> Dict[str, Any]:
    given = {"timeoutMs": timeout_ms, "fsLimitBytes": fs_limit_bytes, "memoryLimitBytes": memory_limit_bytes,
             "outputLimitBytes": output_limit_bytes, "processLimit": process_limit, "fuelLimit": fuel_limit,
             "codeLimitBytes": code_limit_bytes,
             "env": dict(env) if env is not None else None, "wasmDir": wasm_dir,
             "packages": [os.path.abspath(one) for one in packages] or None}
    return {name: value for name, value in given.items() if value is not None}


def as_bytes(data: Data) -> bytes:
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"data must be bytes or str, not {type(data).__name__}")


def encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def decode(text: str) -> bytes:
    return binascii.a2b_base64(text)


def _stdin(data: Data) -> Tuple[str, str]:
    """The text, and its encoding on the way."""
    if isinstance(data, str):
        return data, "utf8"
    raw = as_bytes(data)
    try:
        return raw.decode(), "utf8"
    except UnicodeDecodeError:
        return encode(raw), "base64"


def run_params(command: str, stdin: Optional[Data], cwd: Optional[str], env: Optional[Mapping[str, str]],
               timeout_ms: Optional[int], stream: bool) -> Dict[str, Any]:
    params: Dict[str, Any] = {"command": command}
    if stdin is not None:
        params["stdin"], encoding = _stdin(stdin)
        if encoding != "utf8":
            params["encoding"] = encoding
    if cwd is not None:
        params["cwd"] = cwd
    if env is not None:
        params["env"] = dict(env)
    if timeout_ms is not None:
        params["timeoutMs"] = timeout_ms
    if stream:
        params["stream"], params["window"] = True, WINDOW
    return params


def terminal_params(command: str, rows: int, cols: int, cwd: Optional[str], env: Optional[Mapping[str, str]],
                    timeout_ms: Optional[int]) -> Dict[str, Any]:
    params = run_params(command, None, cwd, env, timeout_ms, True)
    return {**params, "encoding": "base64", "inputOpen": True, "tty": {"rows": rows, "cols": cols}}


class Collected:
    """Streamed output, put together for the result."""

    def __init__(self, encoding: str) -> None:
        import codecs
        self.is_base64 = encoding == "base64"
        self.parts: Dict[str, List[str]] = {"stdout": [], "stderr": []}
        self.sizes = {"stdout": 0, "stderr": 0}
        decoder = codecs.getincrementaldecoder("utf-8")
        self.decoders = {name: decoder("replace") for name in self.parts}
        self.unacknowledged = 0

    def add(self, params: Dict[str, Any]) -> Tuple[str, str]:
        """The stream and the text of one piece."""
        name, text = params["stream"], params["data"]
        if self.is_base64:
            text = self.decoders[name].decode(decode(text))
        room = KEPT - self.sizes[name]
        if room > 0:
            self.parts[name].append(text[:room])
        self.sizes[name] += len(text)
        return name, text

    def acknowledge(self, params: Dict[str, Any]) -> int:
        """Bytes to be acknowledged now; 0: not yet worth a call."""
        self.unacknowledged += params["bytes"]
        if self.unacknowledged < WINDOW // 2:
            return 0
        taken, self.unacknowledged = self.unacknowledged, 0
        return taken

    def put_into(self, result: CommandResult) -> CommandResult:
        result.stdout, result.stderr = ("".join(self.parts[name]) for name in ("stdout", "stderr"))
        result.stdout_truncated, result.stderr_truncated = (self.sizes[name] > KEPT for name in ("stdout", "stderr"))
        return result


def command_result(reply: Dict[str, Any], encoding: str = "utf8") -> CommandResult:
    stdout, stderr = reply["stdout"], reply["stderr"]
    if encoding == "base64":
        stdout, stderr = (decode(text).decode(errors="replace") for text in (stdout, stderr))
    return CommandResult(stdout, stderr, reply["exitCode"], reply["executionTimeMs"],
                         reply.get("stdoutTruncated", False), reply.get("stderrTruncated", False),
                         reply.get("end", "exit"), reply.get("detail", ""))
