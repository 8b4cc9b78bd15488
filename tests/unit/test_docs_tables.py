"""The tables in README.md and docs/ list the entries of the shelves."""

from __future__ import annotations

import runpy
from pathlib import Path

TABLES = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "tables.py"))


def test_tables_on_pages_are_those_of_make_tables():
    for path in TABLES["PAGES"]:
        page = path.read_text(encoding="utf-8")
        assert TABLES["filled"](page) == page, f"{path.name}: make tables"


def test_each_stands_on_a_page():
    pages = "".join(path.read_text(encoding="utf-8") for path in TABLES["PAGES"])
    for name in TABLES["TABLES"]:
        assert f"<!-- table: {name} -->" in pages
