"""The Python code on the page on plans runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cepkit as ck

PAGE = (Path(__file__).parents[2] / "docs" / "plans.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_code_on_the_page_runs(capsys: pytest.CaptureFixture[str]):
    names = {
        "pattern": ck.parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"),
        "statistics": ck.Statistics.assumed({"a": 5, "b": 4, "c": 0.1}, {("a", "b"): 0.1}),
        "ck": ck,
    }
    assert len(CODE) == 2
    for block in CODE:
        exec(block, names)
    assert "dp-tree" in capsys.readouterr().out
    assert "rare-last" in str(
        ck.compare_plans(names["pattern"], names["statistics"], [names["RareLast"]()])
    )
