"""What calls answer with."""
import binascii
from dataclasses import dataclass
from typing import Any, Dict, Optional

from ._errors import CommandFailed, SandboxTimeout


@dataclass
class CommandResult:
    """How a command ended, and its output. The exit code is 124 at the timeout, and 128 + N after signal N."""

    stdout: str
    stderr: str
    exit_code: int
    execution_time_ms: float
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    end: str = "exit"  # or "signal", "trap", "time", "fuel", "cancelled"
    detail: str = ""  # of a trap; or the limit of the sandbox that ended it
    fuel: Optional[int] = None  # WebAssembly operations, when they were counted
    stdout_bytes: Optional[bytes] = None  # with binary=True: the output as it was
    stderr_bytes: Optional[bytes] = None

    @property
    def ok(self) -> bool:
        """The exit code is 0."""
        return self.exit_code == 0

    @property
    def timed_out(self) -> bool:
        """It was ended because its time was up."""
        return self.end == "time"

    def check(self) -> "CommandResult":
        """This result, or SandboxTimeout or CommandFailed when the exit code is not 0."""
        if self.timed_out:
            raise SandboxTimeout(f"the command was ended after {self.execution_time_ms:.0f} ms", self)
        if self.exit_code != 0:
            last = self.stderr.strip().splitlines()[-1:]
            raise CommandFailed(f"the command failed with exit code {self.exit_code}" + "".join(f": {t}" for t in last), self)
        return self


@dataclass
class FileInfo:
    """A file, directory or link of the sandbox. Bytes of a name that are not UTF-8 are in it as os.fsdecode gives them."""

    name: str
    type: str  # "file" or "dir"; "link" in listings, "other" for devices and the like
    size: int
    mode: int = 0
    mtime_ms: int = 0
    target: Optional[str] = None  # of a link


def _name(entry: Dict[str, Any], member: str) -> Any:
    raw = entry.get(f"{member}Base64")
    return entry.get(member) if raw is None else binascii.a2b_base64(raw).decode("utf-8", "surrogateescape")


def file_info(entry: Dict[str, Any]) -> FileInfo:
    return FileInfo(_name(entry, "name"), entry["type"], entry["size"], entry.get("mode", 0), entry.get("mtimeMs", 0),
                    _name(entry, "target"))


@dataclass
class Usage:
    """What a sandbox uses now, and the most it used."""

    memory_bytes: int
    memory_peak_bytes: int
    fs_bytes: int
    fs_peak_bytes: int
    files: int
    processes: int
    processes_peak: int
    syscalls: int
    unknown_syscalls: int
    forks: int
    execs: int
    code_bytes: int
    cpu_ms: int


@dataclass
class RunningCommand:
    """A command that runs: its process id in the sandbox, and the line that was given."""

    pid: int
    command: str


def running_command(entry: Dict[str, Any]) -> RunningCommand:
    return RunningCommand(entry["pid"], entry["command"])


def usage(result: Dict[str, int]) -> Usage:
    return Usage(result["memoryBytes"], result["memoryPeakBytes"], result["fsBytes"], result["fsPeakBytes"],
                 result["files"], result["processes"], result["processesPeak"], result["syscalls"],
                 result["unknownSyscalls"], result["forks"], result["execs"], result["codeBytes"],
                 result["cpuMs"])
