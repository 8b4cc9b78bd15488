"""The examples of docs/many-patterns.md print the output on the page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "many-patterns.md"


@pytest.mark.slow
def test_examples_print_the_output_on_the_page():
    blocks = re.findall(r"^```(?:python|text)\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
    names: dict[str, object] = {}
    assert len(blocks) == 14
    for code, text in zip(blocks[::2], blocks[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == text
