"""A file of 100 MB each way, in pieces: neither side holds much more than it must."""
import hashlib
import subprocess
import sys

from cay import Sandbox

SIZE = 100_000_000
MIB = 1 << 20


def peak(pid):
    """The most memory that a process has had, in bytes."""
    with open(f"/proc/{pid}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmHWM"].split()[0]) * 1024


def digest(path):
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(MIB), b""):
            sha.update(piece)
    return sha.hexdigest()


def make(path):
    block = bytes(range(256)) * 4096
    with open(path, "wb") as file:
        for number in range(SIZE // len(block) + 1):
            file.write(number.to_bytes(8, "big") + block[8:] if (number + 1) * len(block) <= SIZE else block[:SIZE % len(block)])


def test_upload_and_download_in_bounded_memory(tmp_path):
    make(tmp_path / "in")
    with Sandbox(isolation="process") as sandbox:
        before = peak(sandbox.pid)
    code = ("import resource, sys\nfrom cay import Sandbox\n"
            "s = Sandbox(isolation='process')\n"
            "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "s.files.upload(sys.argv[1], '/tmp/big')\n"
            "assert s.files.stat('/tmp/big').size == int(sys.argv[3])\n"
            "print(s.commands.run('sha256sum < /tmp/big').stdout.split()[0])\n"
            "s.files.download('/tmp/big', sys.argv[2])\n"
            "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) * 1024)\n"
            "print([l for l in open(f'/proc/{s.pid}/status') if l.startswith('VmHWM')][0].split()[1])\n")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "in", tmp_path / "out", str(SIZE)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    there, client, server = done.stdout.split()
    assert there == digest(tmp_path / "in") == digest(tmp_path / "out")
    assert int(client) < 80 * MIB
    assert int(server) * 1024 - before < SIZE + 150 * MIB


def test_bytes_in_memory_there_and_back(sandbox):
    data = bytes(range(250)) * (SIZE // 250)
    sandbox.files.write("/tmp/big", data)
    assert sandbox.files.read("/tmp/big") == data
