"""What calls answer with."""
from dataclasses import dataclass
from typing import Any, Dict, Optional

from ._errors import CommandFailed, SandboxTimeout


@dataclass
class CommandResult:
    stdout: str
    stderr: str
    exit_code: int
    execution_time_ms: float
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    end: str = "exit"  # or "signal", "trap", "time", "cancelled"
    detail: str = ""  # of a trap

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def timed_out(self) -> bool:
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
    name: str
    type: str  # "file" or "dir"; "link" in listings, "other" for devices and the like
    size: int
    mode: int = 0
    mtime_ms: int = 0
    target: Optional[str] = None  # of a link


def file_info(entry: Dict[str, Any]) -> FileInfo:
    return FileInfo(entry["name"], entry["type"], entry["size"], entry.get("mode", 0), entry.get("mtimeMs", 0),
                    entry.get("target"))


@dataclass
class Usage:
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


def usage(result: Dict[str, int]) -> Usage:
    return Usage(result["memoryBytes"], result["memoryPeakBytes"], result["fsBytes"], result["fsPeakBytes"],
                 result["files"], result["processes"], result["processesPeak"], result["syscalls"],
                 result["unknownSyscalls"], result["forks"], result["execs"])
