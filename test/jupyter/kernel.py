"""The tests: nbclient runs notebooks, jupyter_client talks to a kernel."""
import json
import os
import subprocess
import sys
import tempfile
import traceback

import nbclient
import nbformat
from jupyter_client.manager import start_new_kernel

PICTURE = b"\x89PNG\r\n\x1a\n"


def notebook(*sources):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def run(kernel, *sources):
    """The outputs of each cell, of a notebook that is valid."""
    made = notebook(*sources)
    nbclient.NotebookClient(made, kernel_name=kernel, timeout=60).execute()
    nbformat.validate(made)
    return [cell.outputs for cell in made.cells]


def reply_of(client, code):
    """The reply to a cell, and its messages."""
    published = []
    reply = client.execute_interactive(code, output_hook=published.append, timeout=60)
    return reply["content"], [(message["msg_type"], message["content"]) for message in published if message["msg_type"] != "status"]


def test_streams_values_and_displays():
    outputs = run(
        "cay-python",
        "import sys; x = 1; print('out'); print('err', file=sys.stderr); x + 1",
        "from IPython.display import HTML\nhandle = display(HTML('<b>'), display_id=True)\nNone",
        f"handle.update(HTML('<i>')); display({{'image/png': {PICTURE!r}}}, raw=True); None",
    )
    assert [o.output_type for o in outputs[0]] == ["stream", "stream", "execute_result"], outputs
    assert outputs[0][2].data == {"text/plain": "2"} and outputs[0][0].text == "out\n"
    assert outputs[1][0].data["text/html"] == "<i>", outputs
    assert outputs[2][0].data == {"image/png": "iVBORw0KGgo="}, outputs


def test_an_exception_is_an_error_and_the_session_goes_on():
    manager, client = start_new_kernel(kernel_name="cay-python")
    try:
        reply, published = reply_of(client, "kept = 7\n1 / 0")
        assert (reply["status"], reply["ename"]) == ("error", "ZeroDivisionError")
        assert published[-1][0] == "error" and "ZeroDivisionError: division by zero" in published[-1][1]["traceback"]
        reply, published = reply_of(client, "kept")
        assert reply["status"] == "ok" and published[-1][1]["data"]["text/plain"] == "7"
    finally:
        manager.shutdown_kernel()


def test_interrupting_ends_the_cell_and_restarting_begins_anew():
    manager, client = start_new_kernel(kernel_name="cay-python")
    try:
        def hook(message):
            if message["msg_type"] == "stream":
                manager.interrupt_kernel()

        reply = client.execute_interactive("kept = 7\nprint('runs')\nwhile True: pass", output_hook=hook, timeout=60)["content"]
        assert reply["status"] == "error" and "cancelled" in reply["evalue"], reply
        assert reply_of(client, "kept")[1][-1][1]["data"]["text/plain"] == "7"
        manager.restart_kernel()
        client.wait_for_ready(timeout=60)
        assert reply_of(client, "kept")[0]["ename"] == "NameError"
    finally:
        manager.shutdown_kernel()


def test_cells_see_the_sandbox_alone():
    ((output,),) = run("cay-python", "import os\nprint(os.path.exists('/etc/debian_version'), os.getcwd(), os.environ.get('CAY_JUPYTER'))")
    assert output.text == "False /home/agent None\n", output


def test_options_of_the_kernel_hold():
    manager, client = start_new_kernel(kernel_name="limited")
    try:
        reply, _ = reply_of(client, "import time\ntime.sleep(60)")
        assert reply["status"] == "error" and "time" in reply["evalue"], reply
    finally:
        manager.shutdown_kernel()


def test_javascript():
    outputs = run("cay-javascript", "const a = { x: 1 }; console.log('out'); a", "a.x + 1")
    assert outputs[0][0].text == "out\n" and outputs[0][1].data == {"text/plain": "{ x: 1 }"}
    assert outputs[1][0].data == {"text/plain": "2"}


def install(prefix, *options):
    command = [sys.executable, "-m", "cay.jupyter", "install", "--prefix", prefix, *options]
    place = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert json.load(open(f"{place}/kernel.json"))["interrupt_mode"] == "message"


def main(words):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as prefix:
        install(prefix)
        install(prefix, "--language", "javascript")
        install(prefix, "--name", "limited", "--timeout-ms", "300")
        os.environ["JUPYTER_PATH"] = f"{prefix}/share/jupyter"
        for name, test in list(globals().items()):
            if not name.startswith("test_") or (words and not any(word in name for word in words)):
                continue
            try:
                test()
                passed += 1
            except Exception:
                failed += 1
                print(f"FAIL {name}")
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main(sys.argv[1:]))
