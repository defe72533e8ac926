"""guest.py - the same little programs in the language of the server under test."""
from harness import LANGUAGE

PYTHON = {
    "say": "print('hello')",
    "say_text": "print({!r}, end='')",
    "both": "import sys\nprint('a'); sys.stdout.flush()\nprint('b', file=sys.stderr); sys.stderr.flush()\nprint('c')",
    "fail": "print('before')\nraise ValueError('broken')",
    "syntax": "x = = 1",
    "endless": "while True: pass",
    "sleep": "import time\nprint('begun', flush=True)\ntime.sleep({})\nprint('done')",
    "large": "import sys\nfor i in range({}): sys.stdout.write('x' * 999 + '\\n')",
    "bytes": "import sys\nsys.stdout.buffer.write({!r}.encode('latin-1')); sys.stdout.flush()",
    "comment": "# {}\nprint('{}')",
    "define": "def {}(a):\n    return a\nprint({}(1))",
    "leave": "open('/tmp/left', 'w').write('x')\nleft = 1",
    "find": "import os\nprint(os.path.exists('/tmp/left'), 'left' in globals())",
    "memory": "x = bytearray(1 << 30)",
    "exit": "raise SystemExit({})",
    "false": "False False",
}

JAVASCRIPT = {
    "say": "console.log('hello')",
    "say_text": "process.stdout.write({!r})",
    "both": "console.log('a'); console.error('b'); console.log('c')",
    "fail": "console.log('before'); throw new TypeError('broken')",
    "syntax": "let x = = 1",
    "endless": "for (;;) {{}}".replace("{{", "{").replace("}}", "}"),
    "sleep": "console.log('begun'); await new Promise(r => setTimeout(r, {} * 1000)); console.log('done')",
    "large": "for (let i = 0; i < {}; i++) process.stdout.write('x'.repeat(999) + '\\n')",
    "bytes": "process.stdout.write(Buffer.from({!r}, 'latin1'))",
    "comment": "// {}\nconsole.log('{}')",
    "define": "function {}(a) {{ return a }}\nconsole.log({}(1))",
    "leave": "require('fs').writeFileSync('/tmp/left', 'x'); globalThis.left = 1",
    "find": "console.log(require('fs').existsSync('/tmp/left') ? 'True' : 'False', 'left' in globalThis ? 'True' : 'False')",
    "memory": "const x = []; for (;;) x.push(new Uint8Array(1 << 20).fill(1))",
    "exit": "process.exit({})",
    "false": "False False",
}

PROGRAMS = PYTHON if LANGUAGE == "python" else JAVASCRIPT
SUFFIX = ".py" if LANGUAGE == "python" else ".ts"


def code(name, *values):
    text = PROGRAMS[name]
    return text.format(*values) if values else text
