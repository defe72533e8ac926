"""repositories.py - git over https and http: clone, fetch and push from a sandbox, against git http-backend of this machine."""
import contextlib
import json
import os
import pathlib
import subprocess

import backend
import servers

HOST = "git.test"
VALUE = "ghp-0123456789/abc+d"

MADE = """
set -e
git init -q -b main work
cd work
git config user.email x@x; git config user.name x
for i in $(seq 1 30); do echo $i >f; git add f; git commit -qm $i; git tag v$i; done
git clone -q --bare . ../r.git
"""


class Hub(backend.Backend):
    """Below /moved/ stands what leads to the same without it."""

    def answer(self):
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        if self.path.startswith("/moved/"):
            self.body()
            return self.give(301, {"Location": self.path[len("/moved"):]})
        return super().answer()

    do_GET = do_POST = answer


@contextlib.contextmanager
def hub(t, tls=True, name=HOST, **how):
    """A server with the repository r.git, whose commits have the tags v1 to v30; `how` are attributes of it."""
    folder = t.dir / "repos"
    if not folder.exists():
        folder.mkdir()
        subprocess.run(["bash", "-c", MADE], cwd=folder, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
    if tls:
        servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, name) if tls else None, Hub) as s:
        s.folder = folder
        vars(s).update(how)
        s.url = f"{'https' if tls else 'http'}://{HOST}:{s.port}/r.git"
        yield s


def there(s, *words):
    """What git says of the server's repository."""
    return subprocess.run(["git", "-c", "safe.directory=*", "-C", s.folder / "r.git", *words], check=True, capture_output=True, text=True).stdout


def run(t, s, script, *options, ca=("--net-ca", "ca.pem"), **keywords):
    rule = json.dumps([{"action": "allow", "host": HOST, "cidr": "127.0.0.1", "port": s.port}])
    trust = ca if (t.dir / "ca.pem").exists() else ()
    return t.run("--net-rules", rule, "--add-host", f"{HOST}=127.0.0.1", *trust, "--timeout", "5m", "--quiet", *options, f"U={s.url}\n" + script, **keywords)


EVERYTHING = """
set -e
git clone -q $U r; cd r
git config user.email g@g; git config user.name g
git rev-list --count HEAD; git tag | wc -l; git status --short
git checkout -q -b topic; head -c 2000000 /dev/urandom >big; echo 1 >small; git add .; git commit -qm big; git push -q -u origin topic
git ls-remote $U topic | cut -f2
git clone -q $U ../other; cd ../other; git config user.email o@o; git config user.name o
git checkout -q topic; cmp big ../r/big; echo 2 >small; git commit -qam two; git push -q
cd ../r; git pull -q; cat small
git reset -q --hard HEAD~1; git commit -q --allow-empty -m mine; git push -q 2>&1 | grep -o 'rejected].*' | tr -s ' '
git push -q -f; git push -q origin :main 2>&1 | grep -o 'refusing to delete the current branch: refs/heads/main' | head -1
git fsck --no-progress; echo end
"""


def test_clone_fetch_and_push_over_https(t):
    with hub(t) as s:
        r = run(t, s, EVERYTHING)
        assert r.text.splitlines() == ["30", "30", "refs/heads/topic", "2", "rejected] topic -> topic (non-fast-forward)", "refusing to delete the current branch: refs/heads/main", "end"], r
        assert there(s, "log", "--format=%s %an", "-2", "topic") == "mine g\nbig g\n", there(s, "log", "--oneline", "topic")
        posts = [fields for method, _, fields in s.seen if method == "POST"]
        assert any(fields.get("Content-Encoding") == "gzip" for fields in posts) and any(fields.get("Transfer-Encoding") == "chunked" for fields in posts), posts
        assert any("gzip" in fields.get("Accept-Encoding", "") and fields.get("Git-Protocol") == "version=2" for _, _, fields in s.seen), s.seen


def test_a_part_of_the_history(t):
    for tls in (True, False):
        with hub(t, tls) as s:
            r = run(t, s, """git clone -q --depth 1 $U r; cd r; git rev-list --count HEAD; git fetch -q --deepen 4; git rev-list --count HEAD; git fetch -q --unshallow; git rev-list --count HEAD
git clone -q --depth 1 -b v7 $U ../seven 2>/dev/null; cat ../seven/f; git clone -q --bare $U ../bare; git -C ../bare cat-file -p v3:f; git ls-remote --tags $U | wc -l
for v in 0 1 2; do git -c protocol.version=$v ls-remote $U HEAD | cut -f2; done""")
            assert r.text.split() == ["1", "5", "30", "7", "3", "30", *["HEAD"] * 3] and r.errors == "", (tls, r)


def test_redirects_and_missing_repositories(t):
    with hub(t) as s:
        r = run(t, s, "M=${U/r.git/moved/r.git}; git clone $M r 2>&1; cat r/f; git clone ${U/r.git/none.git} 2>&1; echo $?; git -c http.followRedirects=false ls-remote $M 2>&1")
        assert r.text.splitlines() == ["Cloning into 'r'...", f"warning: redirecting to {s.url}/", "30", "Cloning into 'none'...", f"fatal: repository '{s.url.replace('r.git', 'none.git')}/' not found", "128",
                                       f"fatal: unable to access '{s.url.replace('r.git', 'moved/r.git')}/': The requested URL returned error: 301"], r


ASKED = r"""
printf '#!/bin/sh\necho "asked: $1" >&2\ncase "$1" in User*) echo me;; *) echo "s@l0mo";; esac\n' >/tmp/ask; chmod 755 /tmp/ask
GIT_ASKPASS=/tmp/ask git ls-remote $U HEAD 2>&1 | cut -f2
git ls-remote ${U/:\/\//:\/\/me:s%40l0mo@} HEAD | cut -f2
git -c http.extraHeader='Authorization: Bearer token-of-mine' ls-remote $U HEAD | cut -f2
git config --global credential.helper store; echo ${U/:\/\//:\/\/me:s%40l0mo@} >~/.git-credentials; git ls-remote $U HEAD | cut -f2; git config --global --unset credential.helper
git ls-remote $U 2>&1 </dev/null
git ls-remote ${U/:\/\//:\/\/me:wrong@} 2>&1
"""


def test_credentials(t):
    with hub(t, account="me:s@l0mo", token="token-of-mine") as s:
        r = run(t, s, ASKED)
        top = f"https://{HOST}:{s.port}"
        assert r.text.splitlines() == [f"asked: Username for '{top}': ", f"asked: Password for 'https://me@{HOST}:{s.port}': ", "HEAD", "HEAD", "HEAD", "HEAD",
                                       f"fatal: could not read Username for '{top}': No such device or address", f"fatal: Authentication failed for '{s.url}/'"], r


def test_secrets_are_put_in_by_the_host(t):
    with hub(t, token=VALUE) as s:
        r = run(t, s, """set -e; git -c http.extraHeader="Authorization: Bearer $KEY" clone -q $U r; cd r; git config http.extraHeader "Authorization: Bearer $KEY"
git config user.email g@g; git config user.name g; echo x >x; git add x; git commit -qm x; git push -q; git fetch -q; grep -c cay-secret .git/config; grep -rF "ghp-01" . /proc/self/environ ~ || echo clean""",
                "--secret", f"KEY@{HOST}:{s.port}", env={"KEY": VALUE})
        assert r.text == "1\nclean\n" and there(s, "log", "--format=%s", "-1") == "x\n", r
    with hub(t, account=f"me:{VALUE}") as s:
        r = run(t, s, "git clone -q ${U/:\\/\\//:\\/\\/me:$KEY@} r2; cat r2/x; git -C r2 remote -v | grep -c me:cay-secret-KEY", "--secret", f"KEY@{HOST}:{s.port}", env={"KEY": VALUE})
        assert r.text == "x\n2\n", r


def test_certificates_are_verified(t):
    with hub(t) as s:
        ask = "git ls-remote $U HEAD 2>&1 | cut -f2"
        r = run(t, s, ask + "\nGIT_SSL_CAINFO=$PWD/ca.pem " + ask + "\ngit -c http.sslCAInfo=$PWD/ca.pem ls-remote $U HEAD 2>&1 | cut -f2\ngit -c http.sslVerify=false ls-remote $U HEAD | cut -f2", "--in", "ca.pem", ca=())
        assert r.text.splitlines() == [f"fatal: unable to access '{s.url}/': SSL certificate problem: unable to get local issuer certificate", "HEAD", "HEAD", "HEAD"], r
    with hub(t, name="other.test") as s:
        r = run(t, s, ask)
        assert r.text.startswith(f"fatal: unable to access '{s.url}/': SSL: no alternative certificate subject name matches target hostname '{HOST}'"), r


def test_what_is_denied_is_told_in_a_line(t):
    with hub(t, tls=False) as s:
        r = run(t, s, "for u in https://elsewhere.test/r http://1.2.3.4/r; do git ls-remote $u 2>&1 | sed 's/ after .* ms//'; done", ca=())
        assert r.text.splitlines() == [f"fatal: unable to access '{u}/': Failed to connect to {h}: Could not connect to server: Permission denied"
                                       for u, h in (("https://elsewhere.test/r", "elsewhere.test port 443"), ("http://1.2.3.4/r", "1.2.3.4 port 80"))], r
        r = run(t, s, "http_proxy=http://proxy.test:9 git ls-remote $U 2>&1 | grep -o 'proxy.test port 9'", ca=())
        assert r.text == "proxy.test port 9\n" and s.seen == [], r
        r = t.run("--quiet", f"git clone {s.url} r 2>&1; echo $?")
        assert r.text == f"Cloning into 'r'...\nfatal: unable to access '{s.url}/': Could not resolve host: {HOST} (The network is off in this sandbox, names cannot be resolved)\n128\n" and s.seen == [], r


def test_without_further_guests_git_names_their_package(t):
    r = t.run("git ls-remote https://git.test/r 2>&1; git ls-remote http://git.test/r 2>&1", env={"CAY_GUESTS_EXTRA": str(t.dir / "none")})
    assert r.text == "".join(f"fatal: git has no {scheme} here: it comes with the package cay-guests-extra\nfatal: remote helper '{scheme}' aborted session\n" for scheme in ("https", "http")), r


def test_a_clone_is_repeated_from_a_tape(t):
    script = "git clone -q $U r; git -C r rev-list --count --all; git -C r ls-remote $U HEAD; sha1sum <r/f"
    with hub(t) as s:
        first = run(t, s, script, "--net-record", "tape.json")
        count = len(s.seen)
        again = run(t, s, script, "--net-replay", "tape.json")
        assert first.text.startswith("30\n") and first.text == again.text and again.errors == "" and len(s.seen) == count, (first, again)
    assert pathlib.Path(t.dir / "tape.json").stat().st_size > 1000
