"""Each promise of SECURITY.md has tests, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("file", "name"), re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE))
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_promises_name_tests() -> None:
    promises = PAGE.partition("## What is promised")[2].partition("## What is not")[0]
    parts = re.split(r"\n\n(?=\*\*)", promises)[1:]
    assert len(parts) >= 6
    assert all("`tests/" in part for part in parts)
