"""Parts of a time, in UTC; `hour(a.ts + 1 hour)` is the hour one zone further east.

Floor division of microseconds is exact in floats, too, where floats hold them exactly.
"""

from __future__ import annotations

from typing import Any

from cepkit.pattern.evaluation.functions.contract import Function, OnNumbers, Whole
from cepkit.pattern.evaluation.kinds import ValueKind


def of_time(name: str, gives: ValueKind, form: OnNumbers) -> Function:
    """Return a function of a time."""
    return Function(name, "time", "a time", ((("timestamp",), gives),), form)


def hour_of(x: float) -> float:
    """Return the hour of a time in microseconds, 0 to 23."""
    return x // 3.6e9 % 24.0


def minute_of(x: float) -> float:
    """Return the minute, 0 to 59."""
    return x // 6e7 % 60.0


def second_of(x: float) -> float:
    """Return the whole second, 0 to 59."""
    return x // 1e6 % 60.0


def weekday_of(x: float) -> float:
    """Return the day of the week, 1 for Monday to 7 for Sunday; 1970 began on a Thursday."""
    return (x // 8.64e10 + 3.0) % 7.0 + 1.0


def date_of(x: float) -> float:
    """Return the time at which the day began."""
    return x // 8.64e10 * 8.64e10


def _part(unit: int, count: int) -> Whole:
    """Return the computation of a part of a time: a unit in microseconds, `count` in the next."""

    def part(x: Any) -> Any:
        return x // unit % count

    return Whole(part, part)


def _weekday(x: Any) -> Any:
    return (x // _DAY + 3) % 7 + 1


def _date(x: Any) -> Any:
    return x // _DAY * _DAY


_DAY = 86_400_000_000
HOUR = of_time("hour", "integer", OnNumbers(hour_of, hour_of, whole=_part(3_600_000_000, 24)))
MINUTE = of_time("minute", "integer", OnNumbers(minute_of, minute_of, whole=_part(60_000_000, 60)))
SECOND = of_time("second", "integer", OnNumbers(second_of, second_of, whole=_part(1_000_000, 60)))
WEEKDAY = of_time(
    "weekday", "integer", OnNumbers(weekday_of, weekday_of, whole=Whole(_weekday, _weekday))
)
DATE = of_time("date", "timestamp", OnNumbers(date_of, date_of, whole=Whole(_date, _date)))
