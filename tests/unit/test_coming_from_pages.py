"""Every translation on the pages of docs/coming-from finds as many matches as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import cepkit as ck

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming-from").glob("*.md"))
EVENT = re.compile(r"^\| (\d+) \| (\w) \| (\d+) \| (\w) \|$", re.MULTILINE)
ROW = re.compile(r"^\|.*\| `(PATTERN [^`]*)` \| (\S+) \|$", re.MULTILINE)
ROWS = [
    pytest.param(page, *row, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, row in enumerate(ROW.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(("page", "pattern", "matches"), ROWS)
def test_translation_finds_as_many_matches_as_the_page_says(page, pattern, matches):
    events = EVENT.findall(page.read_text(encoding="utf-8"))
    frame = pd.DataFrame(events, columns=["t", "kind", "price", "account"])
    frame = frame.astype({"t": int, "price": int})
    stream = ck.events(frame, time="t", type="kind", unit="s")
    if matches == "-":
        assert len(ck.aggregate(stream, pattern, emit="total")) == 1
    else:
        assert ck.detect(stream, pattern).count() == int(matches)


def test_every_page_has_translations():
    assert len(PAGES) == 9
    assert len(ROWS) >= 115


def test_every_row_has_a_pattern_or_says_that_there_is_none():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for table in re.findall(r"\| here \| matches \|\n\|[-|]+\n((?:\|.*\n)+)", text):
            for row in table.splitlines():
                assert ROW.match(row) or re.search(r"\| none: .* \| - \|$", row), row
