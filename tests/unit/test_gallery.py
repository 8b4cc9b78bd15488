"""The gallery: its list is that of its pages, each page shows a wrong answer, all can be drawn.

The numbers on the pages are those of test_docs_pages.
"""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = runpy.run_path(str(DOCS / "gallery.py"))
PAGES = [*GALLERY["pages"]()]


def test_list_is_that_of_the_pages():
    assert GALLERY["listed"]() == (DOCS / "gallery.md").read_text(encoding="utf-8"), "make tables"
    assert len(PAGES) >= 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_first_attempt_of_a_beginner_finds_another_number(page):
    assert page.matches > 0
    assert page.matches != page.others


def test_pages_get_the_figures_of_their_matches(tmp_path):
    folder = shutil.copytree(DOCS / "gallery", tmp_path / "gallery")
    GALLERY["draw"](folder)
    for page in PAGES:
        text = (folder / f"{page.name}.md").read_text(encoding="utf-8")
        before, after = text.split(f"\n![the matches in time]({page.name}.svg)\n")
        assert before + after == (DOCS / "gallery" / f"{page.name}.md").read_text(encoding="utf-8")
        number = "1 match" if page.matches == 1 else f"{page.matches} matches"
        assert number in (folder / f"{page.name}.svg").read_text(encoding="utf-8")
