"""bundles.py - files of many authorities, of which a program decodes those that it needs: its trust is the same as if it had decoded all."""
import subprocess

import servers

SYSTEM = "/etc/ssl/certs/ca-certificates.crt"
GUEST = f"""
import os, ssl, subprocess, urllib.error, urllib.request
system = open({SYSTEM!r}).read()
ca = open('ca.pem').read()
def context(text, more=None):
    open('bundle.pem', 'w').write(text)
    made = ssl.create_default_context(cafile='bundle.pem')
    if more: made.load_verify_locations(cadata=more)
    return made
def get(made, host='good.test'):
    try:
        return urllib.request.urlopen(f'https://{{host}}:{{PORT}}/', context=made, timeout=60).read().decode().strip()
    except urllib.error.URLError as e:
        return getattr(e.reason, 'verify_message', None) or type(e.reason).__name__
def loaded(text):
    try:
        return context(text).cert_store_stats()['x509']
    except ssl.SSLError as e:
        return e.reason or type(e).__name__
count = system.count('BEGIN CERTIFICATE')
blocks = [b + '-----END CERTIFICATE-----\\n' for b in system.split('-----END CERTIFICATE-----\\n')[:-1]]
"""


def guest(t, port, code, *files, hosts=("good.test",)):
    given = [w for f in ("ca.pem", *files) for w in ("--in", f)]
    names = [w for h in hosts for w in ("--add-host", f"{h}=127.0.0.1")]
    return t.run(*given, "--allow-net", f"127.0.0.1:{port}", *names, "--timeout", "5m", "--", "python3", "-c", f"PORT = {port}\n" + GUEST + code)


FORMS = """
forms = {
    'behind': system + ca, 'before': ca + system, 'twice': system + ca + system + ca, 'carriage returns': (system + ca).replace('\\n', '\\r\\n'),
    'words between': ''.join('# an authority\\nsubject=CN = x\\n' + b for b in blocks) + 'its own:\\n' + ca + 'and no more', 'no last line end': (system + ca).rstrip(),
    'blank lines': (system + ca).replace('-----BEGIN', '\\n\\n-----BEGIN'), 'one that is marked as trusted': system + ca.replace('CERTIFICATE', 'TRUSTED CERTIFICATE'),
    'a key beside them': system + ca + '-----BEGIN X-----\\nAAAA\\n-----END X-----\\n', 'few': ''.join(blocks[:3]) + ca,
}
for name, text in forms.items():
    made = context(text)
    print(name, '|', get(made), '|', made.cert_store_stats()['x509'] in (count + 1, 4), made.cert_store_stats() == context(text).cert_store_stats())
print('none', '|', get(context(system)))
"""


def test_an_authority_is_found_in_every_form_of_a_long_file(t):
    servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, "good.test")) as s:
        r = guest(t, s.port, FORMS)
        lines = r.text.splitlines()
        assert len(lines) == 11 and all(line.endswith("| page / | True True") for line in lines[:-1]), r
        assert lines[-1] == "none | unable to get local issuer certificate", r


BROKEN = """
cut = blocks[7]
forms = [system.replace(cut, cut[:200] + '!' + cut[201:]), system.replace(cut, cut.replace('-----END', '\\n-----EMD')), system[:-40], '# nothing\\n' * 3000, system.replace(cut, cut[:300] + '\\n' + cut[304:]),
         system.replace('-----BEGIN CERTIFICATE-----\\n', '-----BEGIN CERTIFICATE-----\\nMIIB')]
for text in forms:
    made = loaded(text)
    print(made if isinstance(made, str) else made <= count)
made = context(system)
print(len(made.get_ca_certs()), len(made.get_ca_certs(binary_form=True)) == count == made.cert_store_stats()['x509_ca'])
single = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
for block in blocks: single.load_verify_locations(cadata=block)
print(sorted(single.get_ca_certs(True)) == sorted(made.get_ca_certs(True)))
"""


def test_a_long_file_that_is_damaged_is_refused_and_a_whole_one_is_told_whole(t):
    servers.authority(t.dir)
    r = guest(t, 1, BROKEN)
    lines = r.text.splitlines()
    assert len(lines) == 8 and lines[7] == "True" and lines[6].endswith(" True") and int(lines[6].split()[0]) > 100, r
    assert "NO_CERTIFICATE_OR_CRL_FOUND" in lines[3] and not any(line == "True" for line in (lines[0], lines[3], lines[5])), r


def authority(folder, name, subject, *options, mask=None, key=None):
    """NAME.pem and NAME.key, of that subject; with `key`, of another authority's key."""
    (folder / "strings.cnf").write_text("[req]\ndistinguished_name = d\nx509_extensions = v3\n" + (f"string_mask = {mask}\n" if mask else "") +
                                        "[d]\n[v3]\nbasicConstraints = critical,CA:true\nkeyUsage = critical,keyCertSign,cRLSign\nsubjectKeyIdentifier = hash\n")
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key"] if key is None else ["-key", f"{key}.key"]
    subprocess.run(["openssl", "req", "-x509", "-config", "strings.cnf", *made, "-out", f"{name}.pem", "-subj", subject, "-days", "30", *options],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


SPELLED = """
for name in NAMES:
    other = open(name + '.pem').read()
    print(name, get(context(other)), get(context(system + other)), get(context(other + system)))
"""


def test_names_are_compared_as_they_mean_and_not_as_they_are_written(t):
    """Authorities with one key, whose names differ in case, blanks and kind of string."""
    authority(t.dir, "ca", "/C=NL/O=Gärten und Höfe/CN=An Authority of Tests", "-utf8")
    forms = {"blanks": ("/C=NL/O=Gärten  und Höfe /CN=AN  authority of tests", None), "wide": ("/C=NL/O=Gärten und Höfe/CN=An Authority of Tests", "MASK:2048"),
             "teletex": ("/C=NL/O=Gärten und Höfe/CN=An Authority of Tests", "MASK:4"), "another": ("/C=NL/O=Gärten und Höfe/CN=Another Authority of Tests", None)}
    for name, (subject, mask) in forms.items():
        authority(t.dir, name, subject, "-utf8", mask=mask, key="ca")
    with servers.pages(servers.certificate(t.dir, "good.test")) as s:
        r = guest(t, s.port, f"NAMES = {list(forms)!r}\n" + SPELLED, *(f"{name}.pem" for name in forms))
        wanted = {name: " ".join(["unable to get local issuer certificate" if name == "another" else "page /"] * 3) for name in forms}
        assert r.text.splitlines() == [f"{name} {words}" for name, words in wanted.items()], r


SAME = """
old = open('old.pem').read()
print(get(context(old)), get(context(ca)), get(context(system + old + ca)), get(context(ca + system + old)), get(context(system + old)))
print(get(context(system + ca, more=old)), get(context(system + old, more=ca)))
made = context(system + ca + old)
print([get(made) for i in range(3)], made.cert_store_stats()['x509'] == count + 2)
"""


def test_of_authorities_with_one_name_the_right_one_is_found(t):
    authority(t.dir, "old", "/CN=test authority")
    servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, "good.test")) as s:
        r = guest(t, s.port, SAME, "old.pem")
        first, second, third = r.text.splitlines()
        assert first.count("page /") == 3 and not first.startswith("page") and not first.endswith("page /"), r
        assert second == "page / page /" and third == "['page /', 'page /', 'page /'] True", r


def test_every_client_reads_a_long_file(t):
    servers.authority(t.dir)
    t.path("get.js", "require('https').get(process.argv[2], { ca: require('fs').readFileSync('all.pem') }, (r) => r.pipe(process.stdout)).on('error', (e) => console.log(e.code))")
    with servers.pages(servers.certificate(t.dir, "good.test")) as s:
        url = f"https://good.test:{s.port}/"
        r = t.run("--in", "ca.pem", "--in", "get.js", "--allow-net", f"127.0.0.1:{s.port}", "--add-host", "good.test=127.0.0.1", "--timeout", "5m", f"""cat {SYSTEM} ca.pem > all.pem
curl -sS --cacert all.pem {url}; wget -qO- --ca-certificate=all.pem {url}; SSL_CERT_FILE=all.pem wget -qO- {url}; node get.js {url}; NODE_EXTRA_CA_CERTS=all.pem node -e 'fetch("{url}").then(async (r) => console.log((await r.text()).trim()))'
CURL_CA_BUNDLE=all.pem curl -sS {url}; SSL_CERT_FILE=all.pem python3 -c 'import urllib.request as u; print(u.urlopen("{url}").read().decode().strip())'
curl -s {url}; echo $?; curl -sS --cacert ca.pem {url}; curl -s --cacert {SYSTEM} {url}; echo $?; openssl verify -CAfile all.pem ca.pem""")
        lines = r.text.splitlines()
        assert lines == ["page /"] * 7 + ["60", "page /", "60", "ca.pem: OK"], r
