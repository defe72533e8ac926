"""`cay notebook`."""

import json


def notebook(*cells, language="python"):
    """A notebook of these sources; a pair is a source and its tags."""
    made = []
    for cell in cells:
        source, tags = cell if isinstance(cell, tuple) else (cell, [])
        made.append({"cell_type": "code", "execution_count": None, "metadata": {"tags": tags}, "outputs": [], "source": source})
    return {"cells": made, "metadata": {"kernelspec": {"language": language}}, "nbformat": 4, "nbformat_minor": 5}


def run(t, document, *options, code=0):
    """The outputs of each cell, and the whole notebook."""
    t.path("in.ipynb", json.dumps(document))
    r = t.cay("notebook", "run", *options, "in.ipynb", "out.ipynb")
    assert r.code == code, r
    written = json.loads((t.dir / "out.ipynb").read_text())
    return [cell.get("outputs") for cell in written["cells"]], written, r


def test_cells_share_a_session_and_get_their_outputs(t):
    document = notebook("import sys\nx = 20\nprint('out'); print('err', file=sys.stderr)", ["x +\\\n", " 1"], "y = 1")
    document["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": "# é"})
    outputs, written, _ = run(t, document)
    assert outputs == [
        None,
        [{"output_type": "stream", "name": "stdout", "text": "out\n"}, {"output_type": "stream", "name": "stderr", "text": "err\n"}],
        [{"output_type": "execute_result", "execution_count": 2, "data": {"text/plain": "21"}, "metadata": {}}],
        [],
    ], outputs
    assert [cell.get("execution_count") for cell in written["cells"]] == [None, 1, 2, 3]
    assert written["cells"][0] == document["cells"][0] and written["metadata"] == document["metadata"]


def test_what_is_displayed_is_updated_in_earlier_cells_and_cleared(t):
    outputs, _, _ = run(
        t,
        notebook(
            "from IPython.display import HTML, clear_output\nhandle = display(HTML('<b>'), display_id=True)\nNone",
            "handle.update(HTML('<i>'))\nprint('gone'); clear_output(wait=True); print('kept')",
            "print('gone'); clear_output(); display({'image/png': b'\\x89PNG'}, raw=True)",
        ),
    )
    assert outputs[0][0]["data"]["text/html"] == "<i>" and outputs[0][0]["output_type"] == "display_data", outputs
    assert outputs[1] == [{"output_type": "stream", "name": "stdout", "text": "kept\n"}], outputs
    assert outputs[2] == [{"output_type": "display_data", "data": {"image/png": "iVBORw=="}, "metadata": {}}], outputs


def test_the_first_failure_ends_the_run_and_is_written(t):
    document = notebook(("1 / 0", ["raises-exception"]), "print('before')\nname\n", "never")
    document["cells"][2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "of an earlier run"}]
    outputs, written, r = run(t, document, code=1)
    assert outputs[0][0]["ename"] == "ZeroDivisionError" and outputs[0][0]["traceback"][-1] == "ZeroDivisionError: division by zero"
    assert [o["output_type"] for o in outputs[1]] == ["stream", "error"] and outputs[2] == [], outputs
    assert "code cell 2: NameError: " in r.errors and "is not defined" in r.errors, r
    assert written["cells"][2]["execution_count"] is None
    outputs, _, _ = run(t, notebook("1 / 0", "2"), "--allow-errors")
    assert outputs[1][0]["data"] == {"text/plain": "2"}


def test_limits_hold_for_each_cell_and_options_are_those_of_run(t):
    t.path("data.txt", "7")
    outputs, _, r = run(t, notebook("int(open('data.txt').read())", "while True: pass"), "--in", "data.txt", "--timeout", "5s", code=1)
    assert outputs[0][0]["data"]["text/plain"] == "7" and outputs[1][0]["evalue"] == "time", outputs
    assert "code cell 2 ended by time" in r.errors, r
    run(t, notebook("open('made', 'w').write('x')"), "--out", "made")
    assert (t.dir / "made").read_text() == "x"


def test_messages_quote_what_the_guest_says(t):
    _, _, r = run(t, notebook("raise type('\\x1b[31mRed', (Exception,), {})('\\x1b]0;title\\x07')"), code=1)
    assert "\x1b" not in r.errors and "Red" in r.errors and "title" in r.errors, r


def test_javascript_and_typescript(t):
    outputs, _, _ = run(t, notebook("const a = { x: 1 }; console.log('out')\na", language="javascript"))
    assert [o["output_type"] for o in outputs[0]] == ["stream", "execute_result"], outputs
    assert outputs[0][1]["data"] == {"text/plain": "{ x: 1 }"}
    outputs, _, _ = run(t, notebook("let n: number = 41; n + 1", language="typescript"))
    assert outputs[0][0]["data"] == {"text/plain": "42"}


def test_files_that_are_no_notebooks(t):
    cases = {
        "[": "is no JSON",
        "{}": "is no notebook of nbformat 4",
        '{"nbformat": 3, "worksheets": []}': "is no notebook of nbformat 4",
        '{"nbformat": 4, "cells": [1]}': "is no notebook of nbformat 4",
        '{"nbformat": 4, "cells": [], "metadata": {"language_info": {"name": "R"}}}': "the notebook is of R",
    }
    for text, why in cases.items():
        t.path("bad.ipynb", text)
        r = t.cay("notebook", "run", "bad.ipynb", "out.ipynb")
        assert r.code == 1 and why in r.errors and not (t.dir / "out.ipynb").exists(), (text, r)
    for odd in ({"cell_type": "code"}, {"cell_type": "code", "source": 7}, {"cell_type": "code", "source": [1, "2"]}):
        outputs, _, _ = run(t, {"nbformat": 4, "cells": [odd]})
    r = t.cay("notebook", "run", "missing.ipynb", "out")
    assert r.code == 1 and "missing.ipynb: No such file" in r.errors, r
    for words in ([], ["run"], ["run", "one"], ["walk", "a", "b"], ["run", "--json", "a", "b"]):
        assert t.cay("notebook", *words).code == 2


def test_standard_input_and_output(t):
    r = t.cay("notebook", "run", "-", "-", input=json.dumps(notebook("6 * 7")).encode())
    assert r.code == 0 and json.loads(r.text)["cells"][0]["outputs"][0]["data"] == {"text/plain": "42"}, r
    t.path("same.ipynb", json.dumps(notebook("6 * 7")))
    assert t.cay("notebook", "run", "same.ipynb", "same.ipynb").code == 0
    assert json.loads((t.dir / "same.ipynb").read_text())["cells"][0]["execution_count"] == 1
    assert [p.name for p in t.dir.iterdir() if p.name.startswith("same")] == ["same.ipynb"]
