"""Times written as texts: ISO 8601 and its variants in logs and CSV files."""

from __future__ import annotations

import re
from datetime import datetime

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.lazy import pa, pc
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.arrow import ArrowColumn, filled, nulls, single
from cepkit.stream.reading.time_zones import instants, is_utc
from cepkit.stream.warnings import fitting_units

Integers = npt.NDArray[np.int64]

_NAIVE = pa.timestamp("us")
_ZONED = pa.timestamp("us", "UTC")

# Texts that stand for null in files and in pandas.
NULLS = ("", "NAT", "NAN", "NULL", "NONE", "NA", "N/A")

_DATES = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y", "%Y%m%d")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", " %H%M%S")
_OF_LOGS = ("%d/%b/%Y:%H:%M:%S %z", "%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S %z")
_FORMATS = (*(date + clock for date in _DATES for clock in _CLOCKS), *_OF_LOGS)

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?", re.ASCII)
_CLOCK = re.compile(r"\d\d?:\d\d(:\d\d(\.\d+)?)?", re.ASCII)
_WITH_ZONE = r"[T ]\d{2}.*(Z|[+-]\d{2}(:?\d{2})?)$"
_TIDY = (
    (r"\s*(UTC|GMT)$", "Z"),
    (r"\s+([+-]\d{2}(:?\d{2})?)$", r"\1"),
    (r",(\d+)", r".\1"),  # the fraction in Python's logging format
    (r"(\.\d{6})\d+", r"\1"),  # nanoseconds: cut off is floored, before 1970 too
)


def parse_times(column: ArrowColumn, name: str, timezone: str | None) -> Integers:
    """Parse texts as instants.

    Args:
        column: Texts such as "2024-03-01", "2024-03-01T10:00:00.5Z", "2024-03-01 10:00+01:00".
        timezone: The zone of texts without one; None is UTC, and then all texts must have a zone or
            none.

    Returns:
        int64 microseconds, `MISSING_INTEGER` for null and for texts that mean null.

    Raises:
        StreamError: A text is not a time, or some have a zone and others do not; the error shows
            the first and its row.
    """
    texts = single(column.cast(pa.large_string()))
    naive = _cast(texts, _NAIVE)
    if naive is not None:
        return _located(naive, timezone)
    zoned = _cast(texts, _ZONED)
    if zoned is not None:
        return _located(zoned, None)
    tidy = _tidied(texts)
    has_zone = pc.match_substring_regex(tidy, _WITH_ZONE)
    absent = pa.scalar(None, tidy.type)
    without_zone = pc.if_else(has_zone, absent, tidy)
    with_zone = pc.if_else(has_zone, tidy, absent)
    naive, zoned = _cast(without_zone, _NAIVE), _cast(with_zone, _ZONED)
    if naive is None or zoned is None:
        rows = [
            _first_failure(part, kind)
            for part, kind, times in ((without_zone, _NAIVE, naive), (with_zone, _ZONED, zoned))
            if times is None
        ]
        row = min(rows)
        raise unreadable(
            name,
            texts[row].as_py(),
            row,
            "a time such as 2024-03-01T10:00:00, with or without a zone",
            _format_hint(texts[row].as_py()),
        )
    if timezone is None:
        _refuse_a_mixture(texts, without_zone, with_zone, name)
    return np.maximum(_located(naive, timezone), _located(zoned, None))


def unreadable(name: str, text: str, row: int, expected: str, hint: str) -> StreamError:
    """Return the error for a text that is no time."""
    return StreamError(
        f"the time column '{name}' holds {text[:80]!r} in row {row} (rows count from 0)",
        expected=expected,
        hint=hint,
    )


def _format_hint(text: str) -> str:
    """Return a hint with the formats that fit a text; 01/02/2026 fits two."""
    fitting = [each for each in _FORMATS if _fits(text.strip(), each)]
    if fitting:
        formats = " or ".join(f"time_format={each!r}" for each in fitting)
        return f"events(..., {formats}) says how times are written"
    if number := number_hint(text):
        return number
    if _CLOCK.fullmatch(text.strip()):
        return "a time of day needs its date: events(..., time=('date', 'time')) joins two columns"
    return "events(..., time_format='%d.%m.%Y %H:%M:%S') or another says how times are written"


def number_hint(text: str) -> str | None:
    """Return a hint if a text is a number, with the units that fit."""
    if not _NUMBER.fullmatch(text.strip()):
        return None
    fits = "; ".join(fitting_units(np.array([float(text)])))
    return f"convert the texts to numbers and give a unit{f': {fits}' * bool(fits)}"


def _fits(text: str, time_format: str) -> bool:
    try:
        datetime.strptime(text, time_format)  # noqa: DTZ007 - only whether it fits
    except ValueError:
        return False
    return True


def _refuse_a_mixture(
    texts: pa.Array, without_zone: pa.Array, with_zone: pa.Array, name: str
) -> None:
    rows = [pc.index(pc.is_valid(part), True).as_py() for part in (without_zone, with_zone)]
    if min(rows) < 0:
        return
    first, other = (texts[row].as_py() for row in rows)
    raise StreamError(
        f"the time column '{name}' holds {first!r} in row {rows[0]}, which names no time zone, and"
        f" {other!r} in row {rows[1]}, which does (rows count from 0)",
        expected="times that all name a zone, or none",
        hint='events(..., timezone="UTC") says which zone the others mean',
    )


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _located(times: pa.Array, timezone: str | None) -> Integers:
    values = filled(times, np.int64, 0)
    if not is_utc(timezone):
        values = instants(values, str(timezone))
    if times.null_count:
        values[nulls(times)] = MISSING_INTEGER
    return values


def _tidied(texts: pa.Array) -> pa.Array:
    tidy = pc.utf8_upper(pc.utf8_trim_whitespace(texts))
    null = pc.is_in(tidy, pa.array(NULLS, tidy.type))
    tidy = pc.if_else(null, pa.scalar(None, type=tidy.type), tidy)
    for pattern, replacement in _TIDY:
        tidy = pc.replace_substring_regex(tidy, pattern, replacement)
    return tidy


def _first_failure(texts: pa.Array, kind: pa.DataType) -> int:
    """Return the row of the first invalid text, by bisection."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        if _cast(texts.slice(low, middle - low), kind) is None:
            high = middle
        else:
            low = middle
    return low
