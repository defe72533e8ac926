"""revoked.py - certificates that their issuer has taken back: by a list, and by the answer that the server staples."""
import contextlib
import subprocess

import secrets_of_guests
import servers
from secrets_of_guests import GUEST, HOST, check, run

CONFIG = """
[ca]
default_ca = here
[here]
dir = .
database = index.txt
serial = serial
crlnumber = crlnumber
certificate = ca.pem
private_key = ca.key
default_md = sha256
default_crl_days = 30
policy = any
[any]
commonName = supplied
"""


def openssl(t, *words):
    subprocess.run(["openssl", *words], cwd=t.dir, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def authority(t, revoked):
    """A certificate for HOST, ca.crl, and ocsp.der: what the authority says of it."""
    servers.authority(t.dir)
    servers.certificate(t.dir, HOST)
    t.path("ca.cnf", CONFIG)
    t.path("index.txt", "")
    t.path("crlnumber", "1000\n")
    openssl(t, "x509", "-in", "ca.pem", "-noout")
    if revoked:
        openssl(t, "ca", "-config", "ca.cnf", "-revoke", f"{HOST}.pem", "-crl_reason", "keyCompromise")
    else:
        openssl(t, "ca", "-config", "ca.cnf", "-valid", f"{HOST}.pem")
    openssl(t, "ca", "-config", "ca.cnf", "-gencrl", "-out", "ca.crl")
    openssl(t, "ocsp", "-issuer", "ca.pem", "-cert", f"{HOST}.pem", "-reqout", "ocsp.req")
    openssl(t, "ocsp", "-index", "index.txt", "-CA", "ca.pem", "-rsigner", "ca.pem", "-rkey", "ca.key", "-reqin", "ocsp.req", "-respout", "ocsp.der", "-ndays", "3")


@contextlib.contextmanager
def server(t, *words):
    port = servers.unused_port()
    process = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", f"{HOST}.pem", "-key", f"{HOST}.key", "-www", "-quiet", *words],
                               cwd=t.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        servers.listening(process, port)
        yield port
    finally:
        process.kill()
        process.wait()


ASK = GUEST + """
try:
    c = http.client.HTTPSConnection(HOST, PORT, timeout=60); c.request('GET', '/', headers={'X-Key': KEY})
    print(c.getresponse().status)
except OSError as e:
    print(type(e).__name__, e)
"""


def test_a_list_of_the_issuer_revokes(t):
    authority(t, True)
    with server(t) as port:
        assert run(t, port, ASK).text == "200\n"  # without a list it is not known
        r = run(t, port, ASK, "--net-crl", "ca.crl")
        check(r, "crl")
        assert "certificate revoked" in r.text and "was revoked" in r.errors, r


def test_a_list_without_the_certificate_lets_it_pass(t):
    authority(t, False)
    with server(t) as port:
        assert run(t, port, ASK, "--net-crl", "ca.crl").text == "200\n"


def test_a_chain_without_a_list_is_refused_where_lists_are_asked_for(t):
    authority(t, False)
    openssl(t, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "other.key", "-out", "other.pem", "-subj", "/CN=other authority", "-days", "30",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl(t, "ca", "-config", "ca.cnf", "-gencrl", "-cert", "other.pem", "-keyfile", "other.key", "-out", "other.crl")
    with server(t) as port:
        r = run(t, port, ASK, "--net-crl", "other.crl")
        assert "SSLCertVerificationError" in r.text and "unable to get certificate CRL" in r.errors, r


def test_what_the_server_staples_counts(t):
    authority(t, True)
    for version in "-tls1_2", "-tls1_3":
        with server(t, "-status_file", "ocsp.der", version) as port:
            r = run(t, port, ASK + ASK)  # its session is not kept: a resumed one staples nothing
            check(r, "staple")
            assert r.text.count("certificate revoked") == 2 and "was revoked" in r.errors, (version, r)
    authority(t, False)
    with server(t, "-status_file", "ocsp.der") as port:
        assert run(t, port, ASK).text == "200\n"


def test_a_staple_that_the_issuer_did_not_sign_says_nothing(t):
    authority(t, True)
    openssl(t, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "x.key", "-out", "x.pem", "-subj", "/CN=test authority", "-days", "30")
    openssl(t, "ocsp", "-index", "index.txt", "-CA", "ca.pem", "-rsigner", "x.pem", "-rkey", "x.key", "-reqin", "ocsp.req", "-respout", "ocsp.der", "-ndays", "3")
    with server(t, "-status_file", "ocsp.der") as port:
        assert run(t, port, ASK).text == "200\n"


def test_files_that_are_no_lists_are_refused(t):
    servers.authority(t.dir)
    r = t.run("--net", "all-public", "--secret", f"KEY@{HOST}", "--net-crl", "ca.pem", "true", env={"KEY": secrets_of_guests.VALUE})
    assert r.code == 125 and "no lists of revoked certificates" in r.errors, r
