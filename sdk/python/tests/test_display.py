import asyncio
import base64
import shlex

import pytest

from cay import AsyncSandbox, Display

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(8) + b"\0\0\0\x20\0\0\0\x10"

OBJECTS = f"""
class Picture:
    def _repr_png_(self): return {PICTURE!r}
    def _repr_html_(self): return "<b>picture</b>"

class Chart:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {{"application/vnd.chart.v1+json": {{"series": [1, 2]}}, "text/plain": "a chart"}}, {{"width": 3}}
"""


def test_the_value_has_all_its_forms(sandbox):
    result = sandbox.python.run(OBJECTS + "Picture()", display=True)
    assert result.bundle.png == PICTURE and result.bundle.html == "<b>picture</b>"
    assert "Picture object" in result.bundle.text and result.repr == result.bundle.text
    assert result.bundle.formats == ["text/plain", "text/html", "image/png"]
    assert result.results == [result.bundle]
    chart = sandbox.python.run("Chart()", display=True).bundle
    assert chart.content("application/vnd.chart.v1+json") == {"series": [1, 2]}
    assert (chart.text, chart.metadata) == ("a chart", {"width": 3})
    assert sandbox.python.run("6 * 7", display=True).bundle.data == {"text/plain": "42"}
    assert sandbox.python.run("None", display=True).bundle is None
    assert sandbox.python.run("6 * 7").bundle is None


def test_displays_come_in_order_and_as_they_come(sandbox):
    seen = []
    result = sandbox.python.run("for i in range(3): display(i, {'i': i})", on_display=lambda d: seen.append(d.text))
    assert seen == ["0", "{'i': 0}", "1", "{'i': 1}", "2", "{'i': 2}"]
    assert [d.text for d in result.displays] == seen and result.bundle is None and result.stdout == ""


def test_where_nothing_shows_more_it_prints(sandbox):
    result = sandbox.python.run(OBJECTS + "display('text', 3)\ndisplay(Chart())")
    assert result.stdout == "'text'\n3\na chart\n" and result.displays == []
    script = "from IPython.display import HTML, display\ndisplay(HTML('<i>'), 7)"
    assert sandbox.commands.run(shlex.join(["python3", "-c", script])).stdout.endswith("object>\n7\n")


def test_classes_of_notebooks(sandbox):
    code = f"""
from IPython.display import HTML, Image, JSON, Latex, Markdown, SVG, display
from IPython import get_ipython
assert get_ipython() is None
display(HTML("<p>"), Markdown("# x"), Latex("$y$"), SVG("<svg/>"), JSON({{"a": [1]}}), Image({PICTURE!r}, width=20))
"""
    html, markdown, latex, svg, json, image = sandbox.python.run(code, display=True, check=True).displays
    assert (html.html, markdown.markdown, latex.latex, svg.svg, json.json) == ("<p>", "# x", "$y$", "<svg/>", {"a": [1]})
    assert image.png == PICTURE and image.metadata == {"image/png": {"width": 20}}
    assert image.data["image/png"] == base64.b64encode(PICTURE).decode()


def test_states_keep_the_classes_of_notebooks(sandbox):
    sandbox.python.run("from IPython.display import HTML, Markdown, display\nkept = HTML('<b>')", check=True)
    other = sandbox.python.session("other")
    other.load_state(sandbox.python.save_state())
    assert other.run("display(Markdown('x'))\nkept", display=True, check=True).bundle.html == "<b>"


def test_an_update_takes_the_place_and_clear_takes_back(sandbox):
    code = """
from IPython.display import clear_output, display
display("gone")
clear_output()
handle = display("first", display_id=True)
display("second")
handle.update("changed")
"""
    kinds = []
    result = sandbox.python.run(code, on_display=lambda d: kinds.append(d.kind), check=True)
    assert [d.text for d in result.displays] == ["'changed'", "'second'"]
    assert kinds == ["display", "clear", "display", "display", "update"]
    result = sandbox.python.run("display(1)\nclear_output(wait=True)", display=True)
    assert [d.text for d in result.displays] == ["1"]


def test_a_value_that_displays_itself_has_no_bundle(sandbox):
    code = "class Own:\n    def _ipython_display_(self): display('by itself')\nOwn()"
    result = sandbox.python.run(code, display=True)
    assert result.bundle is None and [d.text for d in result.results] == ["'by itself'"]


def test_objects_that_answer_to_every_name_are_asked_for_nothing(sandbox):
    result = sandbox.python.run("class Yes:\n    def __getattr__(self, name): return lambda *a, **k: 'x'\nYes()", display=True)
    assert result.bundle.formats == ["text/plain"]
    result = sandbox.python.run("class C:\n    def _repr_html_(self): return 'x'\nC", display=True)
    assert result.bundle.formats == ["text/plain"]


def test_a_form_that_fails_is_left_out_and_told(sandbox):
    result = sandbox.python.run("class C:\n    def _repr_html_(self): 1 / 0\nC()", display=True)
    assert result.bundle.formats == ["text/plain"] and "ZeroDivisionError" in result.stderr and "cay._" not in result.stderr
    result = sandbox.python.run("class C:\n    def __repr__(self): 1 / 0\nC()", display=True)
    assert result.error.type == "ZeroDivisionError"
    assert sandbox.python.run("display({'text/plain': {1, 2}}, raw=True)", display=True).displays[0].text == "{1, 2}"
    assert sandbox.python.run("display({'application/json': {1, 2}}, raw=True)", display=True).error.type == "TypeError"


def test_displays_are_bounded(sandbox):
    result = sandbox.python.run("for i in range(3): display('x' * 1000)", display=True, display_limit_bytes=2500)
    assert result.error.type == "RuntimeError" and len(result.displays) == 2
    result = sandbox.python.run("'x' * 3000", display=True, display_limit_bytes=2500)
    assert result.bundle is None and result.bundle_too_large and len(result.value) == 3000
    assert sandbox.python.run("1", display=True, display_limit_bytes=2500).bundle.text == "1"


def test_text_and_displays_keep_their_order(sandbox):
    order = []
    sandbox.python.run("print('a', end='')\ndisplay(1)\nprint('b')", on_stdout=order.append, on_display=lambda d: order.append(d.text))
    assert "".join(order) == "a1b\n"


def test_displays_in_coroutines_and_asynchronous_sandboxes():
    async def body():
        seen = []

        async def show(display):
            await asyncio.sleep(0)
            seen.append(display.text)

        async with AsyncSandbox() as sandbox:
            code = "import asyncio\nawait asyncio.sleep(0)\ndisplay(1)\nawait asyncio.sleep(0)\n2"
            result = await sandbox.python.run(code, on_display=show)
            assert seen == ["1"] and [d.text for d in result.results] == ["1", "2"]

    asyncio.run(body())


def test_contents_that_are_no_base64_are_none():
    display = Display({"image/png": "not base64!", "text/plain": "x", "application/json": "text"})
    assert display.png is None and display.text == "x" and display.json == "text" and display.pdf is None
    assert display._repr_mimebundle_()[0] is display.data


@pytest.mark.parametrize("stop", ["undone", "stopped"])
def test_displays_of_code_that_is_stopped_were_shown(sandbox, stop):
    code = "display('before')\n" + ("while True: pass" if stop == "stopped" else "import time\ntime.sleep(60)")
    result = sandbox.python.run(code, display=True, timeout_ms=300)
    assert result.timed_out and [d.text for d in result.displays] == ["'before'"]
