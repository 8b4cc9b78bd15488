"""Parts of a time, by the clock of a zone or in UTC.

Loops compute parts in UTC; by the clock of a zone, and by the calendar, they read whole columns.

Floor division of microseconds is exact in floats, too, where floats hold them exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from cepkit.pattern import conditions
from cepkit.pattern.evaluation.functions.contract import (
    Form,
    Function,
    OnInstants,
    OnNumbers,
    Whole,
)
from cepkit.pattern.evaluation.kinds import ValueKind
from cepkit.stream.reading.time_zones import instant, reading


def of_time(name: str, gives: ValueKind, form: Form) -> Function:
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


def _year_and_day(days: Any) -> tuple[Any, Any]:
    """Return the year of a day since 1970, and the day of the year from 1 March, 0 to 365.

    The year begins in March, so that a leap day is its last; 400 years repeat.
    """
    since = days + 719_468  # since 0000-03-01
    of_400_years = since % 146_097
    year = (
        of_400_years - of_400_years // 1460 + of_400_years // 36_524 - of_400_years // 146_096
    ) // 365
    day = of_400_years - (365 * year + year // 4 - year // 100)
    return year + since // 146_097 * 400, day


def _year(x: Any) -> Any:
    year, day = _year_and_day(x // _DAY)
    return year + (day >= 306)  # January and February


def _month(x: Any) -> Any:
    return ((5 * _year_and_day(x // _DAY)[1] + 2) // 153 + 2) % 12 + 1


def _day(x: Any) -> Any:
    day = _year_and_day(x // _DAY)[1]
    return day - (153 * ((5 * day + 2) // 153) + 2) // 5 + 1


def _week(x: Any) -> Any:
    """Return the ISO week: the week of a year's first Thursday is its first."""
    thursday = x // _DAY - (x // _DAY + 3) % 7 + 3
    _, day = _year_and_day(thursday)
    before = _year(thursday * _DAY) - 1
    leap = (before + 1) % 4 == 0
    leap = leap & (((before + 1) % 100 != 0) | ((before + 1) % 400 == 0))
    of_year = day - 306 + (day < 306) * (365 + leap)  # from 1 January, 0 to 365
    return of_year // 7 + 1


def _week_start(x: Any) -> Any:
    return (x // _DAY - (x // _DAY + 3) % 7) * _DAY


def _by_calendar(name: str, gives: ValueKind, compute: Callable[[Any], Any]) -> Function:
    return of_time(name, gives, OnInstants(Whole(compute, compute)))


YEAR = _by_calendar("year", "integer", _year)
MONTH = _by_calendar("month", "integer", _month)
DAY = _by_calendar("day", "integer", _day)
WEEK = _by_calendar("week", "integer", _week)
WEEK_START = _by_calendar("week_start", "timestamp", _week_start)
CLOCK = _by_calendar(conditions.CLOCK, "timestamp", lambda x: x + 0)


@cache
def in_zone(function: Function, zone: str) -> Function:
    """Return a function of the clock in a zone; a begin of a day or a week is an instant."""
    whole = function.form.whole if isinstance(function.form, OnNumbers | OnInstants) else None
    assert whole is not None
    part: Callable[[Any], Any] = whole.scalar
    begins = function in (DATE, WEEK_START)

    def compute(x: Any) -> Any:
        local = part(reading(x, zone))
        return instant(local, zone) if begins else local

    return replace(function, form=OnInstants(Whole(compute, compute)))
