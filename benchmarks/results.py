"""Tables of results: printed for people, written as CSV for figures."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

Row = Mapping[str, Any]
Tables: TypeAlias = tuple[tuple[str, str, Callable[[], Sequence[Row]]], ...]
"""The files, titles, and functions that measure the rows."""


class Named(Protocol):
    """Anything that is measured and has a name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


Case = TypeVar("Case", bound=Named)


def named(cases: Sequence[Case], only: Sequence[str] | None) -> list[Case]:
    """Return the cases whose names have one of some words in them; None: all."""
    return [case for case in cases if only is None or any(word in case.name for word in only)]


def machine() -> str:
    """Return how many cores there are, and how busy they are."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows of equal keys as a table."""
    print(f"\n{title}")
    if not rows:
        print("  nothing was measured")
        return
    head = list(rows[0])
    cells = [head, *([_text(row[name]) for name in head] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        text = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print(f"  {text}", flush=True)


def write(folder: Path, name: str, rows: Sequence[Row]) -> None:
    """Write rows as `folder`/`name`.csv."""
    if not rows:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)
