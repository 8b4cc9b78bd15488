"""Tables of results: printed for people, written as CSV for figures."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


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
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


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
