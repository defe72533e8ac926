"""`cay ws`."""
import http.server
import json
import os
import subprocess
import threading

from backend import Backend

MANIFEST = {"entries": [{"type": "file", "path": "a", "content": "one\n"}, {"type": "directory", "path": "d"},
                        {"type": "file", "path": "run", "content": "#!/bin/sh\necho $NAME\n", "mode": "0755"}],
            "env": {"NAME": "cay"}}


def ws(t, *words, **keywords):
    name, rest = words[0], words[1:]
    return t.cay("ws", name, "--store", t.dir / "store", *rest, **keywords)


def provisioned(t, manifest=None):
    t.path("m.json", json.dumps(manifest or MANIFEST))
    r = ws(t, "provision", "m.json")
    assert r.code == 0 and r.text.startswith("session-"), r
    return r.text.strip()


def test_a_workspace_lives_from_command_to_command(t):
    h = provisioned(t)
    r = ws(t, "exec", h, "./run; cat; echo two >> a; exit 3", input=b"in\n")
    assert (r.code, r.text) == (3, "cay\nin\n"), r
    assert ws(t, "read", h, "a").text == "one\ntwo\n"
    assert ws(t, "write", h, "d/new", input=b"x").code == 0
    assert [line.split()[-1] for line in ws(t, "ls", h).text.splitlines()] == ["a", "d", "run"]
    assert json.loads(ws(t, "ls", "--json", h, "d").text) == [{"name": "new", "type": "file", "size": 1}]
    assert h in ws(t, "list").text
    assert ws(t, "stop", h).code == 0
    r = ws(t, "exec", h, "true")
    assert r.code == 1 and "SessionNotFound" in r.errors, r


def test_names_in_a_workspace_do_not_drive_the_terminal(t):
    h = provisioned(t)
    assert ws(t, "exec", h, r"rm -r *; touch $'e\033[1m' $'n\nl' 'b c'").code == 0
    assert [line.split(None, 2)[2] for line in ws(t, "ls", h).text.splitlines()] == ["'b c'", r"'e\x1b[1m'", r"'n\nl'"]


def test_a_snapshot_is_resumed(t):
    h = provisioned(t)
    r = ws(t, "snapshot", h)
    assert r.code == 0 and r.text.startswith("snap-"), r
    id = r.text.strip()
    assert ws(t, "exec", h, "rm -r *").code == 0
    again = ws(t, "resume", id).text.strip()
    assert again != h and ws(t, "read", again, "a").text == "one\n"
    assert json.loads(ws(t, "snapshots", "--json").text)[0]["id"] == id
    assert ws(t, "prune", "--keep", "1").text == "0 removed\n"
    assert ws(t, "fsck").code == 0
    assert ws(t, "delete", id).code == 0
    r = ws(t, "resume", id)
    assert r.code == 1 and "SnapshotNotFound" in r.errors, r


def test_patches_apply_whole_or_not_at_all(t):
    h = provisioned(t)
    assert ws(t, "patch", h, input=b"--- a\n+++ a\n@@ -1 +1 @@\n-one\n+1\n").code == 0
    r = ws(t, "patch", h, input=b"--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2\n--- run\n+++ run\n@@ -1 +1 @@\n-no\n+x\n")
    assert r.code == 1 and "run: hunk 1 (line 8 of the patch)" in r.errors, r
    assert ws(t, "read", h, "a").text == "1\n"
    assert ws(t, "write", h, "a", input=b"0\n1\n2\n").code == 0
    fuzzy = b"--- a\n+++ a\n@@ -1,3 +1,3 @@\n other\n-1\n+one\n 2\n"
    assert ws(t, "patch", "--fuzz", "0", h, input=fuzzy).code == 1
    assert ws(t, "patch", h, input=fuzzy).code == 0


def test_exec_as_json_has_both_streams(t):
    h = provisioned(t)
    r = ws(t, "exec", "--json", "-C", "d", "-e", "X=y", h, "pwd; echo $X >&2; exit 2")
    got = json.loads(r.text)
    assert (got["stdout"], got["stderr"], got["exit_code"]) == ("/workspace/d\n", "y\n", 2), r
    assert not got["timed_out"] and r.code == 0, r
    assert ws(t, "exec", "--timeout", "200ms", h, "sleep 100").code == 124


def test_wrong_manifests_and_words_are_refused(t):
    t.path("bad.json", '{"entries":[{"type":"file","path":"../x","content":""}]}')
    r = ws(t, "provision", "bad.json")
    assert r.code == 1 and "PathTraversal" in r.errors and ws(t, "list").text == "", r
    t.path("worse.json", '{"entries":[{"type":"fiel","path":"x"}]}')
    r = ws(t, "provision", "worse.json")
    assert r.code == 1 and "InvalidRequest: entries[0].type" in r.errors, r
    assert t.cay("ws").code == 2
    assert t.cay("ws", "snapshto", "x").code == 2
    assert "did you mean snapshot?" in t.cay("ws", "snapshto", "x").errors
    assert t.cay("ws", "exec", "x").code == 2
    assert "usage: cay ws" in t.cay("ws", "--help").text


# How a user meets each failure: words of `cay ws` with HANDLE for the session, and standard input.
PROVOKED = [
    ("ProvisionFailed", ["provision", "-"], b'{"entries": [{"type": "git_repo", "url": "ssh://x", "path": "r"}]}'),
    ("PathTraversal", ["provision", "-"], b'{"entries": [{"type": "directory", "path": "../x"}]}'),
    ("PathTraversal", ["read", "HANDLE", "/etc/passwd"], b""),
    ("SessionNotFound", ["exec", "session-0", "true"], b""),
    ("SnapshotNotFound", ["resume", "snap-0"], b""),
    ("SnapshotNotFound", ["delete", "snap-0"], b""),
    ("ExecutionFailed", ["read", "HANDLE", "missing"], b""),
    ("ExecutionFailed", ["patch", "HANDLE"], b"--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n"),
    ("InvalidRequest", ["provision", "-"], b'{"entries": 1}'),
    ("PolicyViolation", ["write", "HANDLE", "big"], b"x" * (2 << 20)),
]


def test_failures_come_by_their_names(t):
    h = provisioned(t, {"entries": [{"type": "file", "path": "a", "content": "one\n"}], "limits": {"disk": 1 << 20}})
    for name, words, data in PROVOKED:
        r = ws(t, *[h if word == "HANDLE" else word for word in words], input=data)
        assert r.code == 1 and r.errors.startswith(f"cay: {name}: "), (name, words, r)
    r = t.cay("ws", "provision", "--store", "/proc/version/x", "-", input=b"{}")
    assert r.code == 1 and r.errors.startswith("cay: BackendUnavailable: "), r
    r = ws(t, "exec", "--timeout", "100ms", h, "sleep 10")
    assert r.code == 124, r


def repository(t):
    path = t.dir / "repos" / "r"
    path.mkdir(parents=True)
    script = """git init -q -b main . && git config user.email x@x && git config user.name x &&
      echo one > f && ln -s f link && mkdir d && echo x > d/tool && chmod +x d/tool && git add -A && git commit -qm one && git tag v1 &&
      git checkout -qb other && echo two > f && git commit -qam two && git checkout -q main"""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["sh", "-c", script], cwd=path, check=True, env=env)
    return f"file://{path}"


def cloned(t, url, *options, **entry):
    t.path("git.json", json.dumps({"entries": [{"type": "git_repo", "url": url, "path": "repo", **entry}]}))
    return ws(t, "provision", *options, "git.json")


def test_repositories_are_cloned_by_branch_tag_and_commit(t):
    url = repository(t)
    files = ["--git-files", t.dir / "repos"]
    head = subprocess.run(["git", "rev-parse", "v1"], cwd=t.dir / "repos" / "r", capture_output=True, text=True).stdout.strip()
    for entry, text in (({}, "one"), ({"branch": "other"}, "two"), ({"branch": "v1", "depth": 1}, "one"), ({"branch": "other", "commit": head}, "one")):
        r = cloned(t, url, *files, **entry)
        assert r.code == 0, (entry, r)
        r = ws(t, "exec", r.text.strip(), "cd repo; cat f; readlink link; d/tool; stat -c %a d/tool; ls -A .git/hooks 2>/dev/null; cat .git/HEAD")
        assert r.text.startswith(f"{text}\nf\n755\n"), (entry, r)


def test_repositories_that_cannot_be_cloned_fail_by_their_entry(t):
    url = repository(t)
    for options, entry, why in (([], {}, "not allowed"), (["--git-files", t.dir], {"branch": "none"}, "no branch or tag none"),
                                (["--git-files", t.dir / "store"], {}, "not below"), (["--git-files", t.dir], {"commit": "0" * 40}, "no commit")):
        t.path("store/x", "")
        r = cloned(t, url, *options, **entry)
        assert r.code == 1 and "ProvisionFailed: entry 0, repo:" in r.errors and why in r.errors, (why, r)
    r = cloned(t, "https://localhost:1/r")
    assert r.code == 1 and "ProvisionFailed" in r.errors, r
    assert ws(t, "list").text == ""


def test_a_repository_comes_over_http_where_the_rules_allow(t):
    repository(t)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    server.folder = t.dir / "repos"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        port = server.server_address[1]
        entry = {"type": "git_repo", "url": f"http://localhost:{port}/r/.git", "path": "repo", "branch": "other"}
        rules = {"rules": [{"action": "allow", "host": "localhost", "port": port}]}
        r = ws(t, "provision", t.path("allowed.json", json.dumps({"entries": [entry], "network": rules})))
        assert r.code == 0, r
        assert ws(t, "read", r.text.strip(), "repo/f").text == "two\n"
        r = ws(t, "provision", t.path("denied.json", json.dumps({"entries": [entry]})))
        assert r.code == 1 and "ProvisionFailed: entry 0, repo:" in r.errors, r
        small = {"entries": [entry], "network": rules, "limits": {"disk": 300}}
        r = ws(t, "provision", t.path("small.json", json.dumps(small)))
        assert r.code == 1 and "ProvisionFailed: entry 0, repo:" in r.errors, r
        entry["url"] += "x"
        r = ws(t, "provision", t.path("missing.json", json.dumps({"entries": [entry], "network": rules})))
        assert r.code == 1 and "404" in r.errors, r
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_gets_the_credentials_of_its_line_and_no_others(t):
    repository(t)
    asked = []

    class Guarded(Backend):
        def may(self):
            asked.append(self.headers.get("Authorization"))
            return super().may()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    server.folder, server.account = t.dir / "repos", "me:s@l0mo"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        port = server.server_address[1]
        entry = {"type": "git_repo", "url": f"http://localhost:{port}/r/.git", "path": "repo"}
        rules = {"rules": [{"action": "allow", "host": "localhost", "port": port}]}
        t.path("m.json", json.dumps({"entries": [entry], "network": rules}))
        r = ws(t, "provision", "m.json")
        assert r.code == 1 and "wants credentials" in r.errors and asked == [None], (r, asked)
        t.path("others", f"http://me:s%40l0mo@localhost:{port}/other\nhttps://me:s%40l0mo@localhost:{port}\nhttp://me:s%40l0mo@localhost:1\n")
        r = ws(t, "provision", "--git-credentials", "others", "m.json")
        assert r.code == 1 and asked == [None, None], (r, asked)
        t.path("mine", f"https://a:b@example.com\nhttp://me:s%40l0mo@localhost:{port}/r\n")
        r = ws(t, "provision", "--git-credentials", "mine", "m.json")
        assert r.code == 0, r
        r = ws(t, "exec", r.text.strip(), "cat repo/.git/config; grep -r l0mo . ~ /etc 2>/dev/null; env")
        assert "l0mo" not in r.text, r
        assert not any(b"s@l0mo" in f.read_bytes() or b"s%40l0mo" in f.read_bytes() for f in (t.dir / "store").rglob("*") if f.is_file())
    finally:
        server.shutdown()
        server.server_close()


def test_only_clones_load_the_library_of_git(t):
    r = t.cay("run", "true", env={"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(t.dir / "ld")})
    text = "".join(f.read_text(errors="replace") for f in t.dir.glob("ld*"))
    assert r.code == 0 and "libwasmtime" in text and "libgit2" not in text, r
