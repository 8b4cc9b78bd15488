"""Warnings about streams and patterns: dropped rows, absent types, short windows, ties."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.errors import Span, nearest
from cepkit.printing import cut
from cepkit.stream.columns import MISSING_INTEGER, Dropped
from cepkit.stream.paths import shown
from cepkit.stream.schema import UNITS

_PATTERN_LENGTH = 100
_RARE = 1_000
"""Fewer than one tie in so many rows is chance: such a clock is finer than its events are close."""
_TEXTS = 1_000
_THOUSANDS = re.compile(r"(?<=\d)[.,' \u00a0](?=\d{3}(?!\d))")


_DAY = UNITS["d"]
_PROBABLE, _EXPECTED = ((-7_305, 84_006), (7_305, 47_482))
"""The days since 1970 from 1950 to 2200, and from 1990 to 2100."""

_CLOCKS = {unit: (float(size), 0.0) for unit, size in UNITS.items()} | {
    "ns": (1e-3, 0.0),
    "filetime": (0.1, 11_644_473_600e6),
}
"""For each unit of numbers its microseconds, and those from its begin to 1970."""


class StreamWarning(UserWarning):
    """A warning about a stream or a pattern that is valid but probably not intended."""


def warn_of_dropped(dropped: Dropped, *patterns: object) -> None:
    """Warn of rows that are no events, if there are any.

    Args:
        dropped: The numbers of these rows.
        patterns: The patterns that read the stream; a single one is named.
    """
    if dropped:
        parts = [
            f"{count:,} without a {what}"
            for count, what in ((dropped.null_time, "time"), (dropped.null_type, "type"))
            if count
        ]
        about = _about(*patterns) if len(patterns) == 1 else ""
        _warn(f"rows left out of the stream: {' and '.join(parts)}{about}")


def warn_of_unread(folder: Path, file: Path, column: str) -> None:
    """Warn of a column that a file has and the first file of its folder has not.

    Args:
        folder: The source of a stream.
        file: The file.
        column: Its column.
    """
    _warn(
        f"the column '{column}' of {shown(file)} is not read: the first file has none; a list of"
        f" the files has all columns, as ck.events(sorted(Path({str(folder)!r}).glob(...)), ...)"
    )


def warn_of_unit(name: str, times: npt.ArrayLike, unit: str | None) -> None:
    """Warn of a unit by which all times are of another century, if they are.

    Args:
        times: Some times in microseconds.
        unit: The unit of the numbers; None: they are no numbers.
    """
    known = np.asarray(times, np.int64)
    known = known[known != MISSING_INTEGER].astype(np.float64)
    if unit is None or not len(known) or _lie_within(known, _PROBABLE, some=True):
        return
    size, begin = _CLOCKS[unit]
    fits = fitting_units((known + begin) / size)
    _warn(
        f"the times in '{name}' begin in the year {_year(known[0])}, with unit='{unit}'"
        + "".join(f"; {fit}" for fit in fits)
    )


def fitting_units(numbers: npt.NDArray[np.float64]) -> list[str]:
    """Return the units by which times are of this century, and the year that each makes of them."""
    times = {unit: numbers * size - begin for unit, (size, begin) in _CLOCKS.items()}
    return [
        f"unit='{unit}' makes it {_year(time[0])}"
        for unit, time in times.items()
        if len(time) and _lie_within(time, _EXPECTED)
    ]


def _lie_within(times: npt.NDArray[Any], days: tuple[int, int], *, some: bool = False) -> bool:
    inside = (times >= days[0] * _DAY) & (times < days[1] * _DAY)
    return bool(inside.any() if some else inside.all())


def _year(time: float) -> int:
    return 1970 + math.floor(time / _DAY / 365.2425)


def warn_of_nanoseconds(name: str, ties: int, rows: int) -> None:
    """Warn of times that differ by less than a microsecond, unless they are as rare as chance.

    Args:
        ties: How many times are equal to the one before in microseconds alone.
        rows: How many times there are.
    """
    if ties * _RARE >= rows:
        _warn(
            f"times in '{name}' are rounded down to microseconds, which makes {ties:,} of them"
            " equal to the one before; ties='arrival' orders events of equal time by their rows"
        )


def warn_of_absent(absent: Sequence[str], types: Iterable[str], *patterns: object) -> None:
    """Warn of types in patterns that never occur, if there are any.

    Args:
        absent: These types.
        types: The known types that occur.
        patterns: The patterns; the first is named.
    """
    type_names = tuple(types)
    for name in absent:
        hint = nearest(name, type_names)
        hint = f": {hint}" if hint else ""
        _warn(f"no event has the type '{name}'{hint}{_about(*patterns)}")


def warn_of_late(late: object) -> None:
    """Warn of events that came too late to be searched.

    Args:
        late: Their number, their times, and the lateness that would have sufficed, in words.
    """
    _warn(str(late))


def warn_of_no_events(*patterns: object) -> None:
    """Warn of a stream without any event.

    Args:
        patterns: The patterns; the first is named.
    """
    _warn(f"the stream has no events{_about(*patterns)}")


def warn_of_number_texts(name: str, texts: Iterable[str], *patterns: object) -> None:
    """Warn of texts that are numbers but do not sort like numbers.

    Args:
        name: The attribute with the texts.
        texts: The distinct texts in ascending order; only the first ones are checked.
        patterns: The patterns; the first is named.
    """
    try:
        numbers = [(_number(text), text) for text in islice(texts, _TEXTS)]
    except ValueError:
        return
    for one, other in pairwise(numbers):
        if one[0] > other[0]:
            _warn(
                f"the column '{name}' holds numbers as texts, which are compared as texts:"
                f" '{one[1]}' < '{other[1]}'; convert it{_about(*patterns)}"
            )
            return


def _number(text: str) -> float:
    """Return the number that a text is, also with a decimal comma or groups of thousands."""
    try:
        return float(text)
    except ValueError:
        return float(_THOUSANDS.sub("", text).replace(",", "."))


def warn_of_no_window(expected: str, *patterns: object) -> None:
    """Warn of a pattern without WITHIN over a stream with very many matches.

    Args:
        expected: The number of matches, in words.
        patterns: The patterns; the first is named.
    """
    _warn(
        f"a pattern without WITHIN matches events however far apart: {expected}{_about(*patterns)}"
    )


def warn_of_long_count(seconds: float, *patterns: object) -> None:
    """Warn of a count that will take long.

    Args:
        seconds: The expected time.
        patterns: The patterns; the first is named.
    """
    _warn(
        f"counting takes some {max(1, round(seconds / 60)):,} minutes of one core, by the forecast;"
        " ck.aggregate(..., error=0.02), with AGG COUNT in the pattern, estimates the number"
        f"{_about(*patterns)}"
    )


def warn_of_wide_interval(error: float, *patterns: object) -> None:
    """Warn of intervals that are wider than asked for.

    Args:
        error: The half width asked for.
        patterns: The patterns; the first is named.
    """
    _warn(
        f"some intervals are wider than error={error:g}, even with the greatest number of walks"
        f"{_about(*patterns)}"
    )


def warn_of_short_window(absent: str, bound: str, window: str, *patterns: object) -> None:
    """Warn of a window that is shorter than the bound of a NOT.

    Args:
        absent: The NOT.
        patterns: The patterns; the first is named.
    """
    _warn(
        f"{absent} forbids nothing outside of the window of a match, so WITHIN {window} cuts"
        f" {bound} short; make it as long{_about(*patterns)}"
    )


def warn_of_ties(first: str, second: str, time: str, *patterns: object) -> None:
    """Warn of two events that a pattern wants in order and that have the same time.

    Args:
        first: The variable that comes first in the pattern.
        second: The variable that comes after it.
        time: The time of both events.
        patterns: The patterns; the first is named.
    """
    _warn(
        f"events that could be '{first}' and '{second}' have the same time, as at {time}, so"
        " neither is before the other; if the rows are in the right order, write events(...,"
        f" ties='arrival'){_about(*patterns)}"
    )


def warn_of_condition(message: str, place: Span | None, *patterns: object) -> None:
    """Warn of a condition that is valid but probably a mistake.

    Args:
        message: What it says, and what to write instead.
        place: Its place in the text of the pattern, if it has one; else the pattern is named.
        patterns: The patterns; the first is named.
    """
    if place is None:
        _warn(f"{message}{_about(*patterns)}")
    else:
        _warn(f"{message}\nline {place.line}, column {place.column}\n{place.underlined()}")


def warn_of_outside(outside: int, incidents: int) -> None:
    """Warn that incidents are not in the stream."""
    _warn(
        f"{outside} of {incidents} incidents are outside of the time or the keys of the stream and"
        " are left out"
    )


def _about(pattern: object, *others: object) -> str:
    more = f" and {len(others):,} more pattern{'s' if len(others) > 1 else ''}" if others else ""
    return f" ({cut(pattern, _PATTERN_LENGTH)}{more})"


def _warn(message: str) -> None:
    warnings.warn(message, StreamWarning, stacklevel=_levels_to_the_user())


def _levels_to_the_user() -> int:
    """Return the number of frames up to the first one outside cepkit, which the warning names."""
    frame, levels = sys._getframe(), 1  # noqa: SLF001 - what the inspect module would call
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("cepkit"):
        frame, levels = frame.f_back, levels + 1
    return levels - 1
