"""The examples of docs/why-not.md print the output on the page."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "why-not.md"


def test_examples_print_the_output_on_the_page():
    blocks = re.findall(r"^```(?:python|text)\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
    names = {}
    assert len(blocks) == 8
    for code, text in zip(blocks[::2], blocks[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == text
