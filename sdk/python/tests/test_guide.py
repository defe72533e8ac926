"""The page for builders of agents: its ```python blocks run one after the other, and print what the ```text blocks say."""
import contextlib
import io
import os
import re

import pytest

PAGE = os.path.join(os.path.dirname(__file__), "agents.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def examples():
    """Each block of code with the text that follows it at once, or with "": then it prints nothing."""
    blocks = BLOCK.findall(open(PAGE, encoding="utf-8").read())
    for number, (language, text) in enumerate(blocks):
        if language == "python":
            following = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            yield text, following[1] if following[0] == "text" else ""


@pytest.mark.skipif(not os.path.exists(PAGE), reason="the page is put here by sdk/python/test")
def test_every_example_of_the_page(tmp_path, monkeypatch, leaves_nothing):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    count = 0
    for code, wanted in examples():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "agents.md", "exec"), names)
        assert printed.getvalue() == wanted, code
        count += 1
    assert count >= 8
    tool = next(code for code, _ in examples())
    function = tool[tool.index("def bash"):tool.index("\nprint(")]
    assert len(function.strip().splitlines()) <= 15
