"""Pages of the guide: the ```python blocks of each run one after the other, and print what the ```text blocks say."""
import contextlib
import io
import os
import re

import pytest

HERE = os.path.dirname(__file__)
PAGES = ["agents.md", "python.md", "snapshots.md", "workspaces.md"]
LEAST = {"snapshots.md": 1, "workspaces.md": 1}  # examples
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def examples(page):
    """Each block of code with the text that follows it at once, or with "": then it prints nothing."""
    blocks = BLOCK.findall(open(os.path.join(HERE, page), encoding="utf-8").read())
    for number, (language, text) in enumerate(blocks):
        if language == "python":
            following = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            yield text, following[1] if following[0] == "text" else ""


@pytest.mark.skipif(not os.path.exists(os.path.join(HERE, PAGES[0])), reason="the pages are put here by sdk/python/test")
@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_the_page(page, tmp_path, monkeypatch, leaves_nothing):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    count = 0
    for code, wanted in examples(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert printed.getvalue() == wanted, code
        count += 1
    assert count >= LEAST.get(page, 7)


@pytest.mark.skipif(not os.path.exists(os.path.join(HERE, PAGES[0])), reason="the pages are put here by sdk/python/test")
def test_the_tool_of_the_page_is_short():
    tool = next(code for code, _ in examples("agents.md"))
    function = tool[tool.index("def bash"):tool.index("\nprint(")]
    assert len(function.strip().splitlines()) <= 15
