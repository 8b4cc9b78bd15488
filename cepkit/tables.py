"""Plain and HTML tables for terminals and notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from cepkit.printing import html_text


def number(value: float) -> str:
    """Return `value` with about four significant digits, thousands separated."""
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def whole(count: int) -> str:
    """Return a count with thousands separated; its magnitude if it is too long to read."""
    if abs(count) < 10**15:
        return f"{count:,}"
    # Counts of sets can exceed floats.
    exponent = math.floor(math.log10(abs(count)))
    digits = round(abs(count) / 10**exponent, 2)  # of integers of any size
    return f"{'-' if count < 0 else ''}{digits:g}e+{exponent}"


def count_text(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 event`, `1,200 events`.

    Args:
        plural: The plural; None to add an s.
    """
    return f"{whole(number)} {noun if number == 1 else plural or noun + 's'}"


def value_text(value: object) -> str:
    """Return a value as a cell of a table: numbers by `whole` and `number`."""
    match value:
        case None:
            return ""
        case bool():
            return str(value)
        case int():
            return whole(value)
        case float():
            return number(value)
        case _:
            return str(value)


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return the rows below the head, columns aligned.

    Args:
        left: How many columns are aligned to the left; the others hold numbers.
    """
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def first_rows(
    head: Sequence[str], rows: Iterable[Sequence[str]], what: str, left: int = 1, most: int = 20
) -> str:
    """Return the first rows in the form of `text_table`, and the number of further ones."""
    all_rows = list(rows)
    table = text_table(head, all_rows[:most], left)
    more = len(all_rows) - most
    return f"{table}\nand {more:,} more {what}" if more > 0 else table


_BYTES = 16_000
"""The most bytes of rows in an HTML table, because notebooks store their outputs."""


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", left: int = 1
) -> str:
    """Return the same as an HTML table; head, cells and caption are texts and are escaped.

    Rows beyond some 16 kB are left out and counted instead.
    """

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if i < left else "right" for i in range(len(cells)))
        return (
            "<tr>"
            + "".join(
                f'<{tag} style="text-align:{side}">{html_text(cell)}</{tag}>'
                for side, cell in zip(sides, cells, strict=True)
            )
            + "</tr>"
        )

    body: list[str] = []
    size = left_out = 0
    for row in rows:
        text = line(row, "td")
        size += len(text.encode())
        if size > _BYTES:
            left_out += 1
        else:
            body.append(text)
    above = f"<caption>{html_text(caption)}</caption>" if caption else ""
    below = f"<p>and {left_out:,} more rows</p>" if left_out else ""
    table = f"<thead>{line(head, 'th')}</thead><tbody>{''.join(body)}</tbody>"
    return f"<table>{above}{table}</table>{below}"
