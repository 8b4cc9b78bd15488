"""Writes docs/gallery.md, the list of the patterns in docs/gallery: `make tables`.

Each page there is one pattern with its data, its matches, and what a beginner writes. For the
documentation's pages `draw` adds the figure of its matches.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent

_PAGE = re.compile(
    r"# (?P<title>.+)\n\n\*(?P<job>.+)\.\* (?P<question>.+)\n\n"
    r"```python\n(?P<code>(?:.*\n)+?)```\n\n```text\n(?P<matches>\d+)\n```\n"
    r"(?P<end>\n## What a beginner writes\n\n```python\n(?:.*\n)+?```\n\n"
    r"```text\n(?P<others>\d+)\n```\n\n(?:.+\n)+)"
)
_HEAD = """# Gallery

Patterns by job. Each page has a few rows of data, so that you can run it, the pattern, its
matches, and a beginner's version of the pattern, which finds something else.
"""
_WIDTH = 720


@dataclass(frozen=True)
class Page:
    """A page of the gallery.

    Attributes:
        name: The name of its file.
        title: Its title.
        job: The job that asks.
        question: The question.
        code: The data, the pattern and its matches.
        matches: The number of matches.
        others: The number that a beginner's pattern finds.
    """

    name: str
    title: str
    job: str
    question: str
    code: str
    matches: int
    others: int


def pages(folder: Path = DOCS / "gallery") -> Iterator[Page]:
    """Yield the pages in a folder, in the order of their names."""
    for path in sorted(folder.glob("*.md")):
        parts = _PAGE.fullmatch(path.read_text(encoding="utf-8"))
        assert parts is not None, f"{path.name} has another form"
        texts = (parts[name] for name in ("title", "job", "question", "code"))
        yield Page(path.stem, *texts, int(parts["matches"]), int(parts["others"]))


def listed(folder: Path = DOCS / "gallery") -> str:
    """Return the text of docs/gallery.md."""
    jobs: dict[str, list[Page]] = {}
    for page in pages(folder):
        jobs.setdefault(page.job, []).append(page)
    parts = [_HEAD]
    for job, own in jobs.items():
        rows = [f"| [{page.title}](gallery/{page.name}.md) | {page.question} |" for page in own]
        parts.append("\n".join((f"## {job}\n", "| pattern | question |", "|---|---|", *rows, "")))
    names = [f"gallery/{page.name}" for own in jobs.values() for page in own]
    parts.append("\n".join(("```{toctree}", ":maxdepth: 1", ":hidden:", "", *names, "```", "")))
    return "\n".join(parts)


def draw(folder: Path) -> None:
    """Add the figure of its matches to each page in a folder."""
    import cepkit as ck

    for page in pages(folder):
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(page.code, page.name, "exec"), names)  # noqa: S102 - pages of ours
        svg = ck.draw(names["matches"]).to_svg(width=_WIDTH)
        (folder / f"{page.name}.svg").write_text(svg, encoding="utf-8")
        path = folder / f"{page.name}.md"
        text = path.read_text(encoding="utf-8")
        place = text.index("\n## What a beginner writes")
        image = f"\n![the matches in time]({page.name}.svg)\n"
        path.write_text(text[:place] + image + text[place:], encoding="utf-8")


if __name__ == "__main__":
    (DOCS / "gallery.md").write_text(listed(), encoding="utf-8")
