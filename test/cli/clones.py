"""Repositories of `cay ws`: shallow clones, and repositories of strangers."""
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "net"))

import servers
from harness import LONG
from workspaces import Backend, cloned, ws


def git(path, *words, **keywords):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@x", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@x"}
    done = subprocess.run(["git", *words], cwd=path, check=True, env=env, capture_output=True, **keywords)
    return done.stdout.decode().strip()


def history(t, name="r"):
    """Branches main (c1 to c5, with the merge of a branch beside it) and other, tags v1 (of a commit) and v2 (annotated)."""
    path = t.dir / "repos" / name
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", ".")
    for number in range(1, 5):
        (path / "f").write_text(f"{number}\n")
        git(path, "add", "-A")
        git(path, "commit", "-qm", f"c{number}")
    git(path, "tag", "v1", "HEAD~2")
    git(path, "tag", "-am", "text", "v2", "HEAD~1")
    git(path, "checkout", "-qb", "other", "HEAD~3")
    (path / "g").write_text("other\n")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "beside")
    git(path, "checkout", "-q", "main")
    git(path, "merge", "-qm", "c5", "other")
    return path


@contextlib.contextmanager
def served(t, backend=Backend):
    """(entry's url, network) of a server of the test's repositories."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), backend)
    server.folder = t.dir / "repos"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    try:
        yield f"http://localhost:{port}/r/.git", {"rules": [{"action": "allow", "host": "localhost", "port": port}]}
    finally:
        server.shutdown()
        server.server_close()


def provisioned(t, url, network=None, **entry):
    manifest = {"entries": [{"type": "git_repo", "url": url, "path": "repo", **entry}], **({"network": network} if network else {})}
    t.path("shallow.json", json.dumps(manifest))
    return ws(t, "provision", "--git-files", t.dir / "repos", "shallow.json")


LOOK = ("git log --format=%s | sort | xargs; git for-each-ref --format='%(refname) %(objecttype)' | grep -v origin/HEAD | xargs; git rev-parse --abbrev-ref HEAD; "
        "git config remote.origin.fetch; git status --porcelain; git fsck 2>&1; git rev-parse --is-shallow-repository; cat f")


def looked_at(t, r):
    """What git in the sandbox says of a clone: commits, references, where HEAD is, the refspec, problems, whether it is shallow, a file."""
    assert r.code == 0, r
    r = ws(t, "exec", "-C", "repo", r.text.strip(), LOOK)
    assert r.code == 0, r
    return r.text.splitlines()


def looked_at_beside(t, path, depth, branch=None):
    """The same of a clone by git."""
    place = t.dir / f"beside-{depth}-{branch}"
    if not place.exists():
        git(t.dir, "clone", "-q", "--depth", str(depth), *(["--branch", branch] if branch else []), f"file://{path}", place)
    return subprocess.run(["sh", "-c", LOOK], cwd=place, check=True, capture_output=True, text=True).stdout.splitlines()


SHALLOW = [{"depth": 1}, {"depth": 2}, {"depth": 3}, {"depth": 50}, {"depth": 1, "branch": "other"}, {"depth": 1, "branch": "v1"}, {"depth": 2, "branch": "v2"},
           {"depth": 1, "branch": "v2"}]


def test_the_last_commits_of_a_folder_are_cloned(t):
    path = history(t)
    for entry in SHALLOW:
        assert (got := looked_at(t, provisioned(t, f"file://{path}", **entry))) == (want := looked_at_beside(t, path, **entry)), (entry, got, want)
    commit = git(path, "rev-parse", "HEAD~2")
    got = looked_at(t, provisioned(t, f"file://{path}", depth=1, commit=commit))
    assert got == ["c3", "refs/tags/v2 tag", "HEAD", "+refs/heads/*:refs/remotes/origin/*", "true", "3"], got
    got = looked_at(t, provisioned(t, f"file://{path}", depth=2, commit=commit, branch="main"))
    assert (got[0], got[2], got[-2:]) == ("c2 c3", "main", ["true", "3"]), got
    r = provisioned(t, f"file://{path}", depth=1, branch="none")
    assert r.code == 1 and "no branch or tag none" in r.errors, r
    r = provisioned(t, f"file://{path}", depth=1, commit="1" * 40)
    assert r.code == 1 and "there is no commit" in r.errors, r


def test_a_shallow_clone_of_a_shallow_repository_ends_where_that_does(t):
    history(t)
    git(t.dir / "repos", "clone", "-q", "--depth", "2", f"file://{t.dir}/repos/r", "cut")
    got = looked_at(t, provisioned(t, f"file://{t.dir}/repos/cut", depth=9))
    assert (got[0], got[2], got[-2:]) == ("beside c4 c5", "main", ["true", "4"]), got


def test_the_last_commits_come_over_http(t):
    path = history(t)
    with served(t) as (url, network):
        for entry in SHALLOW:
            assert (got := looked_at(t, provisioned(t, url, network, **entry))) == (want := looked_at_beside(t, path, **entry)), (entry, got, want)
        commit = git(path, "rev-parse", "HEAD~2")
        r = provisioned(t, url, network, depth=1, commit=commit)
        assert looked_at(t, r)[0] == "c1 c2 c3", r  # the server gives named commits alone: all of the history comes
        git(path, "config", "uploadpack.allowReachableSHA1InWant", "true")
        got = looked_at(t, provisioned(t, url, network, depth=2, commit=commit))
        assert got[0] == "c2 c3" and "true" in got, got


def test_a_shallow_clone_brings_no_more_than_git_does(t):
    path = t.dir / "repos" / "r"
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", ".")
    for _ in range(6):
        (path / "big").write_bytes(os.urandom(200_000))
        git(path, "add", "-A")
        git(path, "commit", "-qm", "again")
    with served(t) as (url, network):
        for place, rules in ((f"file://{path}", None), (url, network)):
            r = provisioned(t, place, rules, depth=1)
            r = ws(t, "exec", r.text.strip(), "du -sk repo/.git | cut -f1")
            assert 200 <= int(r.text) < 300, (place, r)
            r = provisioned(t, place, rules)
            r = ws(t, "exec", r.text.strip(), "du -sk repo/.git | cut -f1")
            assert int(r.text) > 1000, (place, r)


class Old(Backend):
    """A server without shallow clones."""

    def answer(self):
        write, self.wfile.write = self.wfile.write, None
        held = []
        self.wfile = type("Held", (), {"write": lambda _, data: held.append(bytes(data)), "flush": lambda _: None})()
        super().answer()
        answer = b"".join(held).replace(b" shallow ", b" sh_llow ")
        write(answer)
        self.wfile = type("Done", (), {"write": lambda _, data: len(data), "flush": lambda _: None, "close": lambda _: None, "closed": False})()

    do_GET = do_POST = answer


def test_a_server_without_shallow_clones_gives_all(t):
    history(t)
    with served(t, Old) as (url, network):
        got = looked_at(t, provisioned(t, url, network, depth=1))
        assert got[0] == "beside c1 c2 c3 c4 c5" and got[-2] == "false", got


# ---- strangers ----

def test_a_repository_in_a_folder_leads_nowhere_else(t):
    history(t)
    secret = t.dir / "secret"
    git(t.dir, "clone", "-q", t.dir / "repos" / "r", secret)
    hostile = {}
    for name, make in {
        "gitfile": lambda p: (p / ".git").write_text(f"gitdir: {secret}/.git\n"),
        "link": lambda p: (p / ".git").symlink_to(secret / ".git"),
        "commondir": lambda p: (git(p, "init", "-q", "-b", "main", "."), (p / ".git" / "commondir").write_text(f"{secret}/.git\n")),
        "objects": lambda p: (git(p, "init", "-q", "-b", "main", "."), git(p, "commit", "-q", "--allow-empty", "-m", "x"),
                              subprocess.run(["sh", "-c", f"rm -rf .git/objects; ln -s {secret}/.git/objects .git/objects; cp {secret}/.git/refs/heads/main .git/refs/heads/main"], cwd=p, check=True)),
        "alternates": lambda p: (git(p, "init", "-q", "-b", "main", "."), (p / ".git/objects/info/alternates").write_text(f"{secret}/.git/objects\n"),
                                 subprocess.run(["cp", f"{secret}/.git/refs/heads/main", ".git/refs/heads/main"], cwd=p, check=True)),
        "relative": lambda p: (git(p, "init", "-q", "-b", "main", "."), (p / ".git/objects/info/alternates").write_text("../../../../secret/.git/objects\n"),
                               subprocess.run(["cp", f"{secret}/.git/refs/heads/main", ".git/refs/heads/main"], cwd=p, check=True)),
        "return": lambda p: (git(p, "init", "-q", "-b", "main", "."), (p / ".git/objects/info/alternates").write_text(f"{t.dir}/repos/r/.git/objects\r{secret}/.git/objects\n"),
                             subprocess.run(["cp", f"{secret}/.git/refs/heads/main", ".git/refs/heads/main"], cwd=p, check=True)),
    }.items():
        path = t.dir / "repos" / name
        path.mkdir()
        make(path)
        hostile[name] = f"file://{path}"
    (t.dir / "repos" / "%2e%2e").mkdir()
    subprocess.run(["cp", "-r", secret, t.dir / "repos" / "%2e%2e" / "secret"], check=True)
    subprocess.run(["rm", "-r", t.dir / "repos" / "%2e%2e" / "secret" / ".git"], check=True)
    hostile["escaped"] = f"file://{t.dir}/repos/%2e%2e/secret"
    hostile["dots"] = f"file://{t.dir}/repos/../secret"
    for name, url in hostile.items():
        for entry in ({}, {"depth": 1}):
            r = provisioned(t, url, **entry)
            assert r.code == 1 and r.errors.startswith("cay: ProvisionFailed: entry 0, repo: "), (name, entry, r)
    assert ws(t, "list").text == ""


def test_a_folder_may_have_any_name_and_alternates_of_its_own(t):
    path = history(t, "a b%41")
    assert looked_at(t, provisioned(t, f"file://{t.dir}/repos/a%20b%2541", depth=1))[0] == "c5"
    git(t.dir / "repos", "clone", "-q", "--shared", path, "shared")
    for entry, want in (({}, "beside c1 c2 c3 c4 c5"), ({"depth": 1}, "c5")):
        assert looked_at(t, provisioned(t, f"file://{t.dir}/repos/shared", **entry))[0] == want
    git(path, "worktree", "add", "-q", t.dir / "repos" / "tree", "other")
    assert looked_at(t, provisioned(t, f"file://{t.dir}/repos/tree", depth=1))[0] == "beside"


def loose(path, kind, body):
    """An object that git itself would not make."""
    data = kind + b" %d\0" % len(body) + body
    name = hashlib.sha1(data).hexdigest()
    place = path / ".git" / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(data))
    return name


def test_names_that_no_checkout_should_make_are_refused(t):
    for number, (name, mode) in enumerate([(b".git", b"40000"), (b".GIT", b"40000"), (b"..", b"40000"), (b".", b"40000"), (b"a/b", b"100644"), (b"../out", b"100644"),
                                           (b".git", b"100644"), (b".git", b"120000")]):
        path = t.dir / "repos" / f"r{number}"
        path.mkdir(parents=True)
        git(path, "init", "-q", "-b", "main", ".")
        blob = loose(path, b"blob", b"#!/bin/sh\necho owned\n")
        inner = loose(path, b"tree", b"100755 config\0" + bytes.fromhex(blob))
        tree = loose(path, b"tree", mode + b" " + name + b"\0" + bytes.fromhex(inner if mode == b"40000" else blob))
        commit = loose(path, b"commit", b"tree %s\nauthor x <x> 0 +0000\ncommitter x <x> 0 +0000\n\nx\n" % tree.encode())
        (path / ".git/refs/heads/main").write_text(commit + "\n")
        for entry in ({}, {"depth": 1}):
            r = provisioned(t, f"file://{path}", **entry)
            assert r.code == 1 and r.errors.startswith("cay: ProvisionFailed: entry 0, repo: "), (name, mode, entry, r)
    assert ws(t, "list").text == ""


def test_links_of_a_repository_are_links_of_the_workspace(t):
    path = t.dir / "repos" / "r"
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", ".")
    (path / "up").symlink_to("../../../etc/passwd")
    (path / "dir").symlink_to("/tmp")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "x")
    r = provisioned(t, f"file://{path}", depth=1)
    assert r.code == 0, r
    handle = r.text.strip()
    for name in ("repo/up", "repo/dir/x"):
        assert "PathTraversal" in ws(t, "read", handle, name).errors
        assert "PathTraversal" in ws(t, "write", handle, name, input=b"x").errors


def test_a_bomb_of_trees_ends_at_the_limit(t):
    """Ten levels of ten names for one tree: 10 billion files, or directories without any, in a few objects."""
    for leaf in (b"blob", b"tree"):
        path = t.dir / "repos" / leaf.decode()
        path.mkdir(parents=True)
        git(path, "init", "-q", "-b", "main", ".")
        name, mode = loose(path, leaf, b"boom" if leaf == b"blob" else b""), b"100644" if leaf == b"blob" else b"40000"
        for _ in range(10):
            name, mode = loose(path, b"tree", b"".join(mode + b" d%d\0" % i + bytes.fromhex(name) for i in range(10))), b"40000"
        commit = loose(path, b"commit", b"tree %s\nauthor x <x> 0 +0000\ncommitter x <x> 0 +0000\n\nx\n" % name.encode())
        (path / ".git/refs/heads/main").write_text(commit + "\n")
        for entry in ({}, {"depth": 1}):
            t.path("bomb.json", json.dumps({"entries": [{"type": "git_repo", "url": f"file://{path}", "path": "repo", **entry}], "limits": {"files": 2000}}))
            start = time.monotonic()
            r = ws(t, "provision", "--git-files", t.dir / "repos", "bomb.json")
            assert r.code == 1 and "entry 0, repo" in r.errors and "too long" not in r.errors and time.monotonic() - start < 60, (leaf, entry, r)
    assert ws(t, "list").text == ""


def pkt(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"%04x" % (len(data) + 4) + data


def packed(objects):
    """A pack of (type, declared length, bytes)."""
    out = b"PACK" + struct.pack(">II", 2, len(objects))
    for kind, length, body in objects:
        first, rest = kind << 4 | length & 15, length >> 4
        while rest:
            out += bytes([first | 0x80])
            first, rest = rest & 127, rest >> 7
        out += bytes([first]) + zlib.compress(body)
    return out + hashlib.sha1(out).digest()


class Hostile(http.server.BaseHTTPRequestHandler):
    """Answers as the test says: its references, its pack."""
    answers = b"", b""

    def answer(self):
        refs = self.command == "GET"
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        references, pack = self.answers
        data = references if refs else pack
        self.send_response(200)
        self.send_header("Content-Type", f"application/x-git-upload-pack-{'advertisement' if refs else 'result'}")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def test_answers_of_hostile_servers_are_refused(t):
    (t.dir / "repos").mkdir()
    one = "1" * 40

    def references(name="refs/heads/main", target=None, word="shallow"):
        line = f"{one} HEAD\0{word} ofs-delta symref=HEAD:{target or name} agent=x\n"
        return pkt("# service=git-upload-pack\n") + b"0000" + pkt(line) + pkt(f"{one} {name}\n") + b"0000"

    fine, nak = references(), pkt("NAK\n")
    bomb = packed([(3, 1 << 40, b"\0" * 1000)])
    cases = [
        (fine, b""), (fine, b"0000"), (fine, b"zzzz"), (fine, b"0003"), (fine, b"ffff"), (fine, b"0004"), (fine, nak),
        (fine, pkt("shallow " + "x" * 40) + b"0000" + nak), (fine, pkt("shallow " + one[:-1]) + b"0000"), (fine, pkt("shallow " + one + "\n[core]") + b"0000"),
        (fine, pkt("unshallow " + one) + b"0000" + nak), (fine, pkt("ERR go away\n")), (fine, pkt("shallow " + one) * 70000),
        (fine, b"0000" + nak + packed([])), (fine, b"0000" + nak + bomb), (fine, b"0000" + nak + b"PACK" + struct.pack(">II", 2, 0xffffffff)),
        (fine, pkt("shallow " + one) + b"0000" + nak + packed([(1, 4, b"tree")])),
        (references("refs/heads/a\n[core]\n\tfsmonitor = x"), nak), (references("refs/heads/../../../x"), nak), (references("refs/heads/" + "a" * 3000), nak),
        (references("refs/heads/x", "refs/heads/\n[x]"), nak), (b"0000", nak), (b"", nak), (b"fff0" + b"x" * 10, nak), (pkt("# service=git-upload-pack\n") + b"0000" + b"0000", nak),
        (references(word="noshallow"), nak),
    ]
    with served(t, Hostile) as (url, network):
        for Hostile.answers in cases:
            for entry in ({"depth": 1}, {}):
                r = provisioned(t, url, network, **entry)
                assert r.code == 1 and r.errors.startswith("cay: ProvisionFailed: entry 0, repo: "), ([a[:90] for a in Hostile.answers], r)
    assert ws(t, "list").text == ""


def child_of(process, name):
    """The pid of a child of that name, once there is one."""
    for _ in range(1000):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                stat = open(f"/proc/{pid}/stat").read()
                if f"({name})" in stat and int(stat.rpartition(")")[2].split()[1]) == process.pid:
                    return int(pid)
        time.sleep(0.01)
    raise AssertionError(f"no {name}")


def ended_by(t, end):
    """How `cay ws provision` ends when `end(process)` is called in the middle of a clone, which waits for its server for ever."""
    history(t)
    (t.dir / "tmp").mkdir()
    asked, over = threading.Event(), threading.Event()

    class Silent(Backend):
        def answer(self):
            if self.command == "POST":
                asked.set()
                over.wait()
            else:
                super().answer()

        do_GET = do_POST = answer

    with served(t, Silent) as (url, network):
        t.path("m.json", json.dumps({"entries": [{"type": "git_repo", "url": url, "path": "repo", "depth": 1}], "network": network}))
        process = t.start("ws", "provision", "--store", t.dir / "store", "m.json", env={"TMPDIR": str(t.dir / "tmp")})
        assert asked.wait(60)
        assert [p.is_dir() for p in (t.dir / "tmp").iterdir()] == [True]
        try:
            end(process)
            return t.finish(process)
        finally:
            over.set()


def test_a_clone_that_is_killed_leaves_no_files_behind(t):
    r = ended_by(t, lambda process: os.kill(child_of(process, "cay-git"), signal.SIGKILL))
    assert r.code == 1 and "cay-git ended without an answer" in r.errors, r
    assert list((t.dir / "tmp").iterdir()) == []
    assert ws(t, "list").text == ""


def test_a_clone_whose_caller_is_killed_ends_and_leaves_no_files_behind(t):
    clones = []

    def end(process):
        clones.append(os.pidfd_open(child_of(process, "cay-git")))
        process.kill()

    assert ended_by(t, end).code == -signal.SIGKILL
    assert select.select(clones, [], [], LONG)[0] == clones
    os.close(clones[0])
    for _ in range(6000):
        if not list((t.dir / "tmp").iterdir()):
            return
        time.sleep(0.01)
    raise AssertionError(list((t.dir / "tmp").iterdir()))


# ---- https, time, submodules ----

@contextlib.contextmanager
def served_by_tls(t, name, how):
    """As `served`, by TLS with a certificate for that name of an authority of the test (ca.pem)."""
    with servers.pages(servers.certificate(t.dir, name, **how), Backend) as server:
        server.folder = t.dir / "repos"
        yield f"https://localhost:{server.port}/r/.git", {"rules": [{"action": "allow", "host": "localhost", "port": server.port}]}


def test_a_repository_comes_over_https_from_a_server_with_the_right_certificate(t):
    path = history(t)
    servers.authority(t.dir)
    with served_by_tls(t, "localhost", {}) as (url, network):
        manifest = t.path("tls.json", json.dumps({"entries": [{"type": "git_repo", "url": url, "path": "repo", "depth": 1}], "network": network}))
        r = ws(t, "provision", "--git-ca", "ca.pem", manifest)
        assert (got := looked_at(t, r)) == (want := looked_at_beside(t, path, 1)), (got, want)
        r = ws(t, "provision", manifest)
        assert r.code == 1 and "ProvisionFailed: entry 0, repo: " in r.errors and "certificate error" in r.errors, r
        r = ws(t, "provision", "--git-ca", "nothing.pem", manifest)
        assert r.code == 1 and "ProvisionFailed: entry 0, repo: " in r.errors, r
    for name, how in (("other.test", {}), ("localhost", {"expired": True}), ("localhost", {"own": True})):
        with served_by_tls(t, name, how) as (url, network):
            manifest = t.path("tls.json", json.dumps({"entries": [{"type": "git_repo", "url": url, "path": "repo"}], "network": network}))
            r = ws(t, "provision", "--git-ca", "ca.pem", manifest)
            assert r.code == 1 and "certificate error" in r.errors, (name, how, r)


class Endless(Backend):
    """Its answer never ends."""

    def answer(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.rfile.read()  # until the client goes

    do_GET = do_POST = answer


def test_a_clone_ends_at_its_time_limit(t):
    (t.dir / "repos").mkdir()
    (t.dir / "tmp").mkdir()
    with served(t, Endless) as (url, network):
        manifest = t.path("endless.json", json.dumps({"entries": [{"type": "file", "path": "a", "content": "x"}, {"type": "git_repo", "url": url, "path": "repo"}], "network": network}))
        r = t.cay("ws", "provision", "--store", t.dir / "store", "--git-timeout", "300ms", manifest, env={"TMPDIR": str(t.dir / "tmp")})
        assert r.code == 1 and r.errors.startswith("cay: ProvisionFailed: entry 1, repo: the clone took longer than the 300 ms that it may\n"), r
    assert ws(t, "list").text == "" and list((t.dir / "tmp").iterdir()) == []
    assert ws(t, "provision", "--git-timeout", "soon", manifest).code == 2


def test_submodules_are_refused_by_their_path(t):
    path = history(t)
    inner = history(t, "inner")
    git(path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib/inner")
    git(path, "commit", "-qm", "with a submodule")
    urls = [(f"file://{path}", None)]
    with served(t) as (url, network):
        for place, rules in [*urls, (url, network)]:
            for entry in ({}, {"depth": 1}):
                r = provisioned(t, place, rules, **entry)
                assert r.code == 1 and r.errors.startswith("cay: ProvisionFailed: entry 0, repo: lib/inner is a submodule; submodules are not cloned\n"), (place, entry, r)
        r = provisioned(t, url, network, commit=git(path, "rev-parse", "HEAD~1"))
        assert r.code == 0, r  # the commit before it has none
    assert len(ws(t, "list").text.splitlines()) == 1
