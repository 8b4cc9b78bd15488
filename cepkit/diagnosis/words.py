"""Durations, values and lists in the words of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cepkit.columnar.results.shown import moment_text
from cepkit.pattern.names import string_text
from cepkit.stream.columns import Column

_UNITS = (
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
)


def duration_text(microseconds: int) -> str:
    """Return a duration in its two largest units: `4 h 12 min`, `2.5 s`, `3 ms`."""
    left = abs(microseconds)
    if left < 1_000:
        return f"{left} us" if left else "0 s"
    if left < 1_000_000:
        return f"{left / 1_000:.6g} ms"
    parts: list[str] = []
    for name, size in _UNITS:
        if name == "s" and not parts:
            return f"{left / size:.6g} s"
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {name}" if count else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part)


def number_text(value: float) -> str:
    """Return a number as it was written, without what binary fractions add to it."""
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.10g}"


def amount_text(value: float) -> str:
    """Return by how much something is missed: four digits are enough."""
    return f"{value:,.4g}" if abs(value) < 1e7 else f"{value:.4g}"


def value_text(column: Column) -> str:
    """Return the first value of a column as it would stand in a condition."""
    if column.missing().flat[0]:
        return "NULL"
    value = column.values[0]
    match column.kind:
        case "text":
            return string_text(str(column.dictionary[int(value)]))
        case "boolean":
            return "TRUE" if value else "FALSE"
        case "timestamp":
            return moment_text(pd.Timestamp(int(value), unit="us"))
        case "array":
            return f"an array of {int(np.count_nonzero(~np.isnan(value)))}"
        case "integer":
            return str(int(value))
        case _:
            return number_text(float(value))


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names as one would say them: `a, b and c`."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 event`, `1,200 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
