"""clients.py - clients of HTTP that people bring: requests, as the wheel of pip has it."""
import ensurepip
import pathlib

import secrets_of_guests


def pip_wheel():
    folders = [pathlib.Path(ensurepip.__file__).parent / "_bundled", pathlib.Path("/usr/share/python-wheels")]
    found = sorted(wheel for folder in folders for wheel in folder.glob("pip-*.whl"))
    assert found, f"no wheel of pip in {folders}"
    return found[-1]


def test_requests_verify_and_use_secrets(t):
    with secrets_of_guests.vault(t) as (port, seen):
        code = """
import os
from pip._vendor import requests
s = requests.Session()
for i in range(3):
    print(s.get(f'https://{HOST}:{PORT}/{i}', headers={'X-Key': os.environ['KEY']}, timeout=60).status_code)
try:
    requests.get(f'https://other.test:{PORT}/', timeout=60)
except requests.exceptions.SSLError as e:
    print('Hostname mismatch' in str(e) or 'doesn\\'t match' in str(e))
"""
        r = secrets_of_guests.run(t, port, code, "--wheel", pip_wheel(), "--timeout", "5m", hosts=(secrets_of_guests.HOST, "other.test"))
        assert r.text == "200\n200\n200\nTrue\n" and len(seen) == 3, (r, seen)
        assert all(secrets_of_guests.VALUE.encode() in top for top, _ in seen), seen
