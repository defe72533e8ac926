"""ssl and hashlib over OpenSSL: TLS between two ends in one process, the digests, and where its randomness comes from."""
import asyncio
import hashlib
import hmac
import os
import secrets
import ssl

import each
from each import refused

CERTIFICATE, KEY, LOCKED_KEY = (f"/mnt/made/{name}.pem" for name in ("certificate", "key", "locked_key"))


def server_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    return context


def client_context():
    return ssl.create_default_context(cafile=CERTIFICATE)


def ends(client, server, name="localhost"):
    """Two ends that are joined by memory, after their handshake."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    pair = client.wrap_bio(down, up, server_hostname=name), server.wrap_bio(up, down, server_side=True)
    waiting = list(pair)
    for _ in range(10):
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not waiting
    return pair


def test_versions():
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
        client, server = client_context(), server_context()
        client.minimum_version = client.maximum_version = version
        here, there = ends(client, server)
        assert here.version() == there.version() == version.name.replace("_", ".")
        assert here.cipher() == there.cipher() and here.cipher()[2] >= 128
        assert (("commonName", "localhost"),) in here.getpeercert()["subject"]
        text = secrets.token_bytes(10000)
        here.write(text)
        assert there.read(20000) == text
        there.write(b"answer")
        assert here.read(100) == b"answer"


def test_untrusted_certificates():
    refused(ssl.SSLCertVerificationError, "self-signed certificate", ends, ssl.create_default_context(), server_context())
    refused(ssl.SSLCertVerificationError, "Hostname mismatch", ends, client_context(), server_context(), "elsewhere")
    old = client_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    new = server_context()
    new.minimum_version = ssl.TLSVersion.TLSv1_3
    refused(ssl.SSLError, "UNSUPPORTED_PROTOCOL", ends, old, new)


def test_where_certificates_are():
    paths = ssl.get_default_verify_paths()
    assert (paths.openssl_cafile, paths.openssl_capath) == ("/etc/ssl/cert.pem", "/etc/ssl/certs")
    assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 100
    os.environ["SSL_CERT_FILE"] = CERTIFICATE
    try:
        assert ssl.get_default_verify_paths().cafile == CERTIFICATE
        ends(ssl.create_default_context(), server_context())
    finally:
        del os.environ["SSL_CERT_FILE"]


def test_a_locked_key():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    refused(ssl.SSLError, "", context.load_cert_chain, CERTIFICATE, LOCKED_KEY, "wrong")
    context.load_cert_chain(CERTIFICATE, LOCKED_KEY, "secret")
    ends(client_context(), context)


def test_a_key_known_to_both():
    client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    for context in client, server:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("PSK")
    client.set_psk_client_callback(lambda hint: ("me", b"known"))
    server.set_psk_server_callback(lambda identity: b"known" if identity == "me" else b"")
    here, there = ends(client, server, None)
    here.write(b"x")
    assert there.read() == b"x" and "PSK" in here.cipher()[0]


def test_asyncio():
    async def serve(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    async def talk():
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_context())
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context(), server_hostname="localhost")
        writer.write(b"hello\n")
        answer = await reader.read()
        version = writer.get_extra_info("ssl_object").version()
        writer.close()
        try:  # ssl=True: the context is asyncio's own
            await asyncio.open_connection("127.0.0.1", port, ssl=True, server_hostname="localhost")
        except ssl.SSLCertVerificationError:
            version += " refused"
        server.close()
        return answer, version

    assert asyncio.run(talk()) == (b"HELLO\n", "TLSv1.3 refused")


def test_digests():
    known = {
        "md5": "900150983cd24fb0d6963f7d28e17f72",
        "ripemd160": "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc",
        "sha1": "a9993e364706816aba3e25717850c26c9cd0d89d",
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "sha512_256": "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23",
        "sha3_256": "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
    }
    assert hashlib.algorithms_guaranteed | set(known) <= hashlib.algorithms_available
    for name, digest in known.items():
        assert hashlib.new(name, b"abc").hexdigest() == digest, name
    import _blake2, _md5, _sha1, _sha2, _sha3
    for module in _md5, _sha1, _sha2, _sha3, _blake2:
        for name in hashlib.algorithms_guaranteed:
            own = getattr(module, name, None)
            if own is not None and not name.startswith("shake"):
                assert own(b"x" * 1000).digest() == hashlib.new(name, b"x" * 1000).digest(), name


def test_keys_from_passwords():  # RFC 7914
    assert hashlib.scrypt(b"password", salt=b"NaCl", n=1024, r=8, p=16, dklen=64).hex().startswith("fdbabe1c9d3472007856e7190d01e9fe")
    assert hashlib.pbkdf2_hmac("sha256", b"passwd", b"salt", 1, 64).hex().startswith("55ac046e56e3089fec1691c22544b605")
    assert hmac.digest(b"key", b"text", "ripemd160") == hmac.new(b"key", b"text", "ripemd160").digest()


def test_randomness():
    assert ssl.RAND_status()
    assert len({ssl.RAND_bytes(16) for _ in range(100)}) == 100


each.run(globals())
