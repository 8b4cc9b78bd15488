"""The code on pages of docs/ runs and prints the output below it, and the files named exist."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
LESSONS = sorted(DOCS.glob("teaching/*.md"))
PAGES = sorted(
    [
        *DOCS.glob("how-to/*.md"),
        *LESSONS,
        *DOCS.glob("coming-from/*.md"),
        *DOCS.glob("gallery/*.md"),
        DOCS / "matches.md",
        DOCS / "workbench.md",
    ]
)
# A block of Python, and the block of text that follows it, if there is one.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)


def run(page):
    """Run the code of a page, which must print the outputs below it; return what it defines."""
    if page.stem == "workbench":
        pytest.importorskip("anywidget")
    names: dict[str, object] = {}
    for code, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if text:
            lines = [line.rstrip() for line in printed.getvalue().rstrip().splitlines()]
            assert lines == text.rstrip().splitlines()
    return names


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in LESSONS], ids=lambda page: page.stem
)
def test_code_prints_the_output_below_it(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page)


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_code_of_a_lesson_prints_the_output_below_it_and_calls_in_its_sentences_run_too(
    page, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    calls = re.findall(r"`(ck\.[^`]+\))`", BLOCK.sub("", page.read_text(encoding="utf-8")))
    assert calls
    names = run(page)
    with contextlib.redirect_stdout(io.StringIO()):
        for call in calls:
            assert eval(compile(call, str(page), "eval"), names) is not None, call


def test_there_are_pages_with_code():
    assert sum(bool(BLOCK.search(page.read_text(encoding="utf-8"))) for page in PAGES) >= 7


def test_files_and_folders_that_the_architecture_names_exist():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`([\w/]+\.(?:py|js|lark))`", page)
    root = DOCS.parent
    folders = (root / "cepkit", root / "widgets", root / "tests")
    files = [path.as_posix() for folder in folders for path in folder.rglob("*.*")]
    rooms = re.findall(r"`([\w/]+/)`", page)
    assert len({*names, *rooms}) > 80
    assert not [name for name in names if not any(f.endswith(f"/{name}") for f in files)]
    assert not [room for room in rooms if not any(f"/{room}" in f for f in files)]
