"""A client of the gRPC service (`cay serve --grpc`). It needs the package grpcio.

    from cay.service import Service

    with Service("127.0.0.1:50051") as service:
        print(service.execute("console.log(6 * 7)").output)
"""
import dataclasses
import enum
from typing import Any, Iterator, Optional, Sequence, Tuple, Type, TypeVar, Union

from ._errors import SandboxError
from ._proto import decode, encode, field

_PATH = "/prodisco.sandbox.v1.SandboxService/"
_LARGEST = 64 << 20
M = TypeVar("M")


class State(enum.IntEnum):
    """How far an execution is."""

    UNSPECIFIED = 0
    PENDING = 1
    RUNNING = 2
    COMPLETED = 3
    FAILED = 4
    CANCELLED = 5
    TIMEOUT = 6


# ---- what the service answers ----

@dataclasses.dataclass(frozen=True)
class CacheEntry:
    """Code that has run once and can be run again by its name."""

    name: str = field(1, str)
    description: str = field(2, str)
    created_at_ms: int = field(3, int)
    content_hash: str = field(4, str)


@dataclasses.dataclass(frozen=True)
class Executed:
    """What came of Service.execute. `cached` is set when the code is new in the cache."""

    success: bool = field(1, bool)
    output: str = field(2, str)
    error: Optional[str] = field(3, str, optional=True)
    execution_time_ms: int = field(4, int)
    cached: Optional[CacheEntry] = field(5, CacheEntry)


@dataclasses.dataclass(frozen=True)
class Result:
    """The end of an execution. `state` is one of State."""

    success: bool = field(1, bool)
    error: Optional[str] = field(2, str, optional=True)
    execution_time_ms: int = field(3, int)
    state: int = field(4, int)
    cached: Optional[CacheEntry] = field(5, CacheEntry)


@dataclasses.dataclass(frozen=True)
class Chunk:
    """A piece of Service.stream: `output`, `error_output`, or at last `result`; the others are None."""

    execution_id: str = field(1, str)
    output: Optional[str] = field(2, str, optional=True)
    error_output: Optional[str] = field(3, str, optional=True)
    result: Optional[Result] = field(4, Result)
    timestamp_ms: int = field(5, int)


@dataclasses.dataclass(frozen=True)
class Execution:
    """An execution now: its state, its output from the offset on, both lengths, and the result once there is one."""

    execution_id: str = field(1, str)
    state: int = field(2, int)
    output: str = field(3, str)
    error_output: str = field(4, str)
    output_length: int = field(5, int)
    error_output_length: int = field(6, int)
    result: Optional[Result] = field(7, Result)


@dataclasses.dataclass(frozen=True)
class Cancelled:
    """Whether the execution is cancelled, its state, and why it is not."""

    success: bool = field(1, bool)
    state: int = field(2, int)
    message: Optional[str] = field(3, str, optional=True)


@dataclasses.dataclass(frozen=True)
class ExecutionInfo:
    """A line of Service.executions."""

    execution_id: str = field(1, str)
    state: int = field(2, int)
    started_at_ms: int = field(3, int)
    finished_at_ms: Optional[int] = field(4, int, optional=True)
    code_preview: str = field(5, str)
    is_cached: bool = field(6, bool)
    cached_name: Optional[str] = field(7, str, optional=True)


@dataclasses.dataclass(frozen=True)
class TestResult:
    """One test."""

    __test__ = False  # for pytest
    name: str = field(1, str)
    passed: bool = field(2, bool)
    error: Optional[str] = field(3, str, optional=True)
    duration_ms: int = field(4, int)


@dataclasses.dataclass(frozen=True)
class TestSummary:
    """How many tests there were."""

    __test__ = False
    total: int = field(1, int)
    passed: int = field(2, int)
    failed: int = field(3, int)
    skipped: int = field(4, int)


@dataclasses.dataclass(frozen=True)
class Tested:
    """What came of Service.test. `error` is set when the tests could not run to their end."""

    success: bool = field(1, bool)
    summary: Optional[TestSummary] = field(2, TestSummary)
    tests: Tuple[TestResult, ...] = field(3, TestResult, many=True)
    output: str = field(4, str)
    execution_time_ms: int = field(5, int)
    error: Optional[str] = field(6, str, optional=True)


@dataclasses.dataclass(frozen=True)
class Health:
    """Whether the server takes calls, and the context of kubectl's configuration."""

    healthy: bool = field(1, bool)
    kubernetes_context: str = field(2, str)


# ---- requests, and answers that are one field ----

@dataclasses.dataclass(frozen=True)
class _Execute:
    code: Optional[str] = field(1, str, optional=True)
    cached: Optional[str] = field(2, str, optional=True)
    timeout_ms: Optional[int] = field(3, int, optional=True)


@dataclasses.dataclass(frozen=True)
class _Test:
    code: Optional[str] = field(1, str, optional=True)
    tests: str = field(2, str)
    timeout_ms: Optional[int] = field(3, int, optional=True)


@dataclasses.dataclass(frozen=True)
class _Get:
    execution_id: str = field(1, str)
    wait: bool = field(2, bool)
    output_offset: int = field(3, int)


@dataclasses.dataclass(frozen=True)
class _List:
    states: Tuple[int, ...] = field(1, int, many=True)
    limit: int = field(2, int)
    include_completed_within_ms: int = field(3, int)


@dataclasses.dataclass(frozen=True)
class _Text:
    text: Optional[str] = field(1, str, optional=True)


@dataclasses.dataclass(frozen=True)
class _Count:
    count: int = field(1, int)


@dataclasses.dataclass(frozen=True)
class _Entries:
    entries: Tuple[CacheEntry, ...] = field(1, CacheEntry, many=True)


@dataclasses.dataclass(frozen=True)
class _Infos:
    executions: Tuple[ExecutionInfo, ...] = field(1, ExecutionInfo, many=True)


class ServiceError(SandboxError):
    """A call that failed: `status` is the name of gRPC's status, such as "RESOURCE_EXHAUSTED". Code that fails is no error of the call."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Service:
    """A connection to a server of `prodisco.sandbox.v1`. Any thread may use it."""

    def __init__(self, address: str = "127.0.0.1:50051", *, token: Optional[str] = None, ca: Optional[bytes] = None,
                 certificate: Optional[bytes] = None, key: Optional[bytes] = None, timeout: Optional[float] = None) -> None:
        """`ca` (PEM) begins TLS, `certificate` and `key` are the client's; `token` is a bearer token; `timeout` in seconds ends each call."""
        try:
            import grpc
        except ImportError:
            raise SandboxError("cay.service needs the package grpcio: pip install grpcio") from None
        self._grpc, self._timeout = grpc, timeout
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        options = [("grpc.max_receive_message_length", _LARGEST), ("grpc.max_send_message_length", _LARGEST)]
        if ca is None and certificate is None:
            self._channel = grpc.insecure_channel(address, options=options)
        else:
            self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(ca, key, certificate), options=options)

    def close(self) -> None:
        """Closes the connection. Executions are cancelled, except those that start() began."""
        self._channel.close()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, error: Any) -> ServiceError:
        return ServiceError(error.code().name, error.details() or "")

    def _ask(self, method: str, request: Any, answer: Type[M]) -> M:
        call = self._channel.unary_unary(_PATH + method, encode, lambda data: decode(answer, data))
        try:
            result: M = call(request, timeout=self._timeout, metadata=self._metadata)
        except self._grpc.RpcError as error:
            raise self._failed(error) from None
        return result

    def execute(self, code: Optional[str] = None, *, cached: Optional[str] = None, timeout_ms: Optional[int] = None) -> Executed:
        """Runs code, or cached code by its name or a part of it, and waits for its end."""
        return self._ask("Execute", _Execute(code, cached, timeout_ms), Executed)

    def stream(self, code: Optional[str] = None, *, cached: Optional[str] = None, timeout_ms: Optional[int] = None) -> Iterator[Chunk]:
        """Like execute, with the output as it comes; the last chunk has the result. An iterator that is closed cancels the execution."""
        call = self._channel.unary_stream(_PATH + "ExecuteStream", encode, lambda data: decode(Chunk, data))(
            _Execute(code, cached, timeout_ms), timeout=self._timeout, metadata=self._metadata)
        try:
            yield from call
        except self._grpc.RpcError as error:
            raise self._failed(error) from None
        finally:
            call.cancel()

    def start(self, code: Optional[str] = None, *, cached: Optional[str] = None, timeout_ms: Optional[int] = None) -> str:
        """Begins an execution that goes on without this client, and returns its id."""
        return self._ask("ExecuteAsync", _Execute(code, cached, timeout_ms), _Text).text or ""

    def get(self, execution_id: str, *, wait: bool = False, output_offset: int = 0) -> Execution:
        """An execution now, or with `wait` when it has ended; output from this offset on, in bytes of UTF-8."""
        return self._ask("GetExecution", _Get(execution_id, wait, output_offset), Execution)

    def cancel(self, execution_id: str) -> Cancelled:
        """Ends an execution. Doing so twice is as good as once."""
        return self._ask("CancelExecution", _Text(execution_id), Cancelled)

    def executions(self, states: Sequence[Union[State, int]] = (), *, limit: int = 0, within_ms: int = 0) -> Tuple[ExecutionInfo, ...]:
        """Executions that wait or run, and with `within_ms` or `states` those that have ended; the newest first."""
        return self._ask("ListExecutions", _List(tuple(map(int, states)), limit, within_ms), _Infos).executions

    def test(self, tests: str, *, code: Optional[str] = None, timeout_ms: Optional[int] = None) -> Tested:
        """Runs tests of uvu, after the code that they test."""
        return self._ask("ExecuteTest", _Test(code, tests, timeout_ms), Tested)

    def cache(self, filter: Optional[str] = None) -> Tuple[CacheEntry, ...]:
        """Cached code, the newest first. The filter is a part of the name, or a pattern such as `list-*`."""
        return self._ask("ListCache", _Text(filter), _Entries).entries

    def clear_cache(self) -> int:
        """Empties the cache; the number of its entries."""
        return self._ask("ClearCache", _Text(), _Count).count

    def health(self) -> Health:
        """Whether the server takes calls."""
        return self._ask("HealthCheck", _Text(), Health)
