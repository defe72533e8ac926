"""What a sandbox is made with, and the requests that both kinds of sandboxes make."""
import binascii
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._network import told_of
from ._types import CommandResult

Data = Union[bytes, bytearray, memoryview, str]
Remote = Union[str, bytes, "os.PathLike[str]"]  # a path of the sandbox; names are bytes, in a str as os.fsdecode gives them
Local = Union[str, "os.PathLike[str]"]  # a path of this machine

START_PATIENCE = 60.0  # seconds
WINDOW = 1 << 20  # bytes of output that may be on the way
NO_TIMEOUT = 0xffff_fffe  # milliseconds: 49 days
KEPT = 16 << 20  # of streamed output that the result still holds, for each stream


# ---- what makes no sense is refused here, in this package's words ----

def whole(name: str, value: Any) -> None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)) or \
            (isinstance(value, float) and value.is_integer()):
        return
    raise TypeError(f"{name} must be a whole number, not {value!r}")


def paths(name: str, value: Any) -> List[str]:
    if isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} must be a list of paths: {name}=[{value!r}]")
    return [os.path.abspath(one) for one in value]


def variables(env: Optional[Mapping[str, str]]) -> Optional[Dict[str, str]]:
    if env is None:
        return None
    if not isinstance(env, Mapping):
        raise TypeError(f'env must map names to values, as {{"HOME": "/tmp"}}, not {type(env).__name__}')
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"env must map str to str, not {name!r} to {value!r}")
    return dict(env)


def line(command: Any) -> str:
    if isinstance(command, str):
        return command
    if isinstance(command, (list, tuple)):
        raise TypeError("command must be a line for bash, not a list: shlex.join makes a line of words")
    raise TypeError(f"command must be a str, not {type(command).__name__}: {command!r}")


def isolation_of(given: Optional[str]) -> str:
    chosen = given or os.environ.get("CAY_ISOLATION") or "process"
    if chosen not in ("process", "library"):
        raise ValueError(f'isolation must be "process" or "library", not {chosen!r}')
    return chosen


def path_param(name: str, path: Remote) -> Dict[str, str]:
    """The member of a request for this path; JSON carries no bytes, so a path that is not UTF-8 goes as base64."""
    raw = os.fspath(path)
    if isinstance(raw, str):
        try:
            raw.encode()
            return {name: raw}
        except UnicodeEncodeError:
            raw = raw.encode("utf-8", "surrogateescape")
    return {f"{name}Base64": encode(raw)}


@dataclass
class Mount:
    """A directory or one file of this machine, for `mounts=`."""

    host_path: Local
    writable: bool = False
    copy_on_write: bool = False


def mount_params(host_path: Local, path: Remote, writable: bool, copy_on_write: bool = False) -> Dict[str, Any]:
    params = {**path_param("hostPath", os.path.abspath(host_path)), **path_param("path", path), "writable": writable}
    return {**params, "copyOnWrite": True} if copy_on_write else params


def apply_params(path: Remote, only: Optional[Sequence[str]]) -> Dict[str, Any]:
    return path_param("path", path) if only is None else {**path_param("path", path), "only": list(only)}


def creation_mounts(mounts: Optional[Mapping[str, Union[Local, Mount]]]) -> List[Dict[str, Any]]:
    if mounts is not None and not isinstance(mounts, Mapping):
        raise TypeError('mounts must map paths of the sandbox to directories: mounts={"/data": "data"}')
    made = []
    for path, given in (mounts or {}).items():
        if not isinstance(given, (Mount, str, os.PathLike)):
            raise TypeError(f"mounts: {path}: must be a path or a Mount, not {type(given).__name__}")
        mount = given if isinstance(given, Mount) else Mount(given)
        made.append(mount_params(mount.host_path, path, mount.writable, mount.copy_on_write))
    return made


def creation_files(files: Optional[Mapping[str, Any]]) -> Mapping[str, Any]:
    if files is not None and not isinstance(files, Mapping):
        raise TypeError('files must map paths of the sandbox to contents: files={"data.csv": "1,2"}')
    for path, data in (files or {}).items():
        if not isinstance(data, (str, bytes, bytearray, memoryview, os.PathLike)):
            raise TypeError(f"files: {path}: must be str, bytes or a path, not {type(data).__name__}")
    return files or {}


NET = {"preset": "preset", "allow": "allow", "deny": "deny", "rules": "rules", "hosts": "hosts", "connections": "connections",
       "sent_bytes": "sentBytes", "received_bytes": "receivedBytes", "bytes_per_second": "bytesPerSecond",
       "connect_timeout_ms": "connectTimeoutMs", "idle_timeout_ms": "idleTimeoutMs", "secrets": "secrets", "ca_file": "caFile", "crl_file": "crlFile",
       "record_file": "recordFile", "replay_file": "replayFile", "cache_file": "cacheFile"}
SECRET = ("name", "value", "hosts", "query", "body", "placeholder")


def _net_secret(given: Any) -> Dict[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"net: a secret must be a mapping, not {type(given).__name__}")
    unknown = sorted(set(given) - set(SECRET))
    if unknown:
        raise TypeError(f"net: a secret does not know {unknown[0]!r}; there are {', '.join(SECRET)}")
    if isinstance(given.get("hosts"), (str, bytes)):
        raise TypeError("net: the hosts of a secret must be a list of texts, not one text")
    return {name: list(value) if name == "hosts" else value for name, value in given.items() if value is not None}


def _net_member(name: str, value: Any) -> Any:
    if name == "hosts":
        return dict(value)
    if name == "secrets":
        return [_net_secret(one) for one in value]
    if name.endswith("_file"):
        return os.path.abspath(value)
    return list(value) if name in ("allow", "deny", "rules") else value


def net_params(net: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """The network of a sandbox as `create` takes it."""
    if net is None:
        return None
    if not isinstance(net, Mapping):
        raise TypeError(f"net must be a mapping, not {type(net).__name__}")
    unknown = sorted(set(net) - set(NET) - {"ask", "decision"})
    if unknown:
        raise TypeError(f"net: does not know {unknown[0]!r}; there are {', '.join(NET)}, ask, decision")
    told = {"ask" if name == "ask" else "decisions": True for name in told_of(net)}
    for name in ("allow", "deny"):
        if isinstance(net.get(name), (str, bytes)):
            raise TypeError(f"net: {name} must be a list of texts, not one text")
    return {**told, **{NET[name]: _net_member(name, value) for name, value in net.items() if value is not None and name in NET}}


def image_param(image: Local) -> Dict[str, Any]:
    """An image as `create` takes it: the name of an installed one, or a file."""
    if isinstance(image, str) and re.fullmatch("[a-z0-9-]+", image):
        return {"image": image}
    return path_param("image", os.path.abspath(image))


def create_params(timeout_ms: int, fs_limit_bytes: int, memory_limit_bytes: Optional[int],
                  output_limit_bytes: Optional[int], process_limit: Optional[int], env: Optional[Mapping[str, str]],
                  wasm_dir: Optional[str], packages: Sequence[Any] = (), fuel_limit: Optional[int] = None,
                  code_limit_bytes: Optional[int] = None, image: Optional[Local] = None,
                  cpu_ms: Optional[int] = None, background_ms: Optional[int] = None,
                  net: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    for name, value in (("timeout_ms", timeout_ms), ("fs_limit_bytes", fs_limit_bytes), ("process_limit", process_limit),
                        ("memory_limit_bytes", memory_limit_bytes), ("output_limit_bytes", output_limit_bytes),
                        ("fuel_limit", fuel_limit), ("code_limit_bytes", code_limit_bytes),
                        ("cpu_ms", cpu_ms), ("background_ms", background_ms)):
        whole(name, value)
    given = {"timeoutMs": timeout_ms, "fsLimitBytes": fs_limit_bytes, "memoryLimitBytes": memory_limit_bytes,
             "outputLimitBytes": output_limit_bytes, "processLimit": process_limit, "fuelLimit": fuel_limit,
             "codeLimitBytes": code_limit_bytes, "cpuMs": cpu_ms, "backgroundMs": background_ms, "net": net_params(net),
             "env": variables(env), "wasmDir": os.path.abspath(wasm_dir) if wasm_dir else None, "packages": paths("packages", packages) or None}
    if image is not None:
        given.update(image_param(image))
    return {name: value for name, value in given.items() if value is not None}


def as_bytes(data: Data) -> bytes:
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"data must be bytes or str, not {type(data).__name__}")


def encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def decode(text: Union[str, bytes]) -> bytes:
    if isinstance(text, bytes):
        return text  # from a library
    return binascii.a2b_base64(text)


def _stdin(data: Data, binary: bool) -> Tuple[str, str]:
    """The text, and its encoding on the way."""
    if isinstance(data, str) and not binary:
        return data, "utf8"
    raw = as_bytes(data)
    if binary:
        return encode(raw), "base64"
    try:
        return raw.decode(), "utf8"
    except UnicodeDecodeError:
        return encode(raw), "base64"


def run_params(command: str, stdin: Optional[Data], cwd: Optional[Remote], env: Optional[Mapping[str, str]],
               timeout_ms: Optional[int], stream: bool, binary: bool = False, fuel: Optional[int] = None) -> Dict[str, Any]:
    whole("timeout_ms", timeout_ms)
    whole("fuel", fuel)
    params: Dict[str, Any] = {"command": line(command)}
    if binary:
        params["encoding"] = "base64"
    if stdin is not None:
        params["stdin"], encoding = _stdin(stdin, binary)
        if encoding != "utf8":
            params["encoding"] = encoding
    if cwd is not None:
        params.update(path_param("cwd", cwd))
    if env is not None:
        params["env"] = variables(env)
    if timeout_ms is not None:
        params["timeoutMs"] = timeout_ms
    if fuel is not None:
        params["fuel"] = fuel
    if stream:
        params["stream"], params["window"] = True, WINDOW
    return params


def terminal_params(command: str, rows: int, cols: int, cwd: Optional[Remote], env: Optional[Mapping[str, str]],
                    timeout_ms: Optional[int]) -> Dict[str, Any]:
    params = run_params(command, None, cwd, env, timeout_ms, True)
    return {**params, "encoding": "base64", "inputOpen": True, "tty": {"rows": rows, "cols": cols}}


def start_params(command: str, cwd: Optional[Remote], env: Optional[Mapping[str, str]],
                 timeout_ms: Optional[int]) -> Dict[str, Any]:
    params = run_params(command, None, cwd, env, timeout_ms if timeout_ms is not None else NO_TIMEOUT, False)
    return {**params, "encoding": "base64", "stream": True, "inputOpen": True, "announce": True}


class Collected:
    """Streamed output, put together for the result."""

    def __init__(self, encoding: str, binary: bool = False) -> None:
        import codecs
        self.is_base64, self.binary = encoding == "base64", binary
        self.parts: Dict[str, List[Any]] = {"stdout": [], "stderr": []}  # of str, or bytes when binary
        self.sizes = {"stdout": 0, "stderr": 0}
        decoder = codecs.getincrementaldecoder("utf-8")
        self.decoders = {name: decoder("replace") for name in self.parts}
        self.unacknowledged = 0

    def add(self, params: Dict[str, Any]) -> Tuple[str, Any]:
        """The stream and the text of one piece; its bytes when binary."""
        name, piece = params["stream"], params["data"]
        if self.is_base64:
            piece = decode(piece)
            if not self.binary:
                piece = self.decoders[name].decode(piece)
        room = KEPT - self.sizes[name]
        if room > 0:
            self.parts[name].append(piece[:room])
        self.sizes[name] += len(piece)
        return name, piece

    def text(self, name: str) -> str:
        """What came so far."""
        parts = list(self.parts[name])
        return b"".join(parts).decode(errors="replace") if self.binary else "".join(parts)

    def acknowledge(self, params: Dict[str, Any]) -> int:
        """Bytes to be acknowledged now; 0: not yet worth a call."""
        self.unacknowledged += params["bytes"]
        if self.unacknowledged < WINDOW // 2:
            return 0
        taken, self.unacknowledged = self.unacknowledged, 0
        return taken

    def put_into(self, result: CommandResult) -> CommandResult:
        result.stdout, result.stderr = self.text("stdout"), self.text("stderr")
        if self.binary:
            result.stdout_bytes, result.stderr_bytes = b"".join(self.parts["stdout"]), b"".join(self.parts["stderr"])
        result.stdout_truncated, result.stderr_truncated = (self.sizes[name] > KEPT for name in ("stdout", "stderr"))
        return result


def _library_result(reply: Tuple[Any, ...], binary: bool) -> CommandResult:
    _, _, code, stdout, stderr, ms, end, detail, fuel, cut = reply
    return CommandResult(stdout.decode(errors="replace"), stderr.decode(errors="replace"), code, ms, bool(cut & 1), bool(cut & 2),
                         end, detail, fuel or None, stdout if binary else None, stderr if binary else None)


def command_result(reply: Any, encoding: str = "utf8", binary: bool = False) -> CommandResult:
    if isinstance(reply, tuple):
        return _library_result(reply, binary)
    stdout, stderr = reply["stdout"], reply["stderr"]
    raw = (None, None)
    if encoding == "base64":
        raw = decode(stdout), decode(stderr)
        stdout, stderr = (output.decode(errors="replace") for output in raw)
    return CommandResult(stdout, stderr, reply["exitCode"], reply["executionTimeMs"],
                         reply.get("stdoutTruncated", False), reply.get("stderrTruncated", False),
                         reply.get("end", "exit"), reply.get("detail", ""), reply.get("fuel"),
                         *(raw if binary else (None, None)))
