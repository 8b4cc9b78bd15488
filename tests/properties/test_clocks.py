"""Readings of clocks and parts of times are those of Python's datetime and zoneinfo."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import product
from typing import Any, get_args
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.pattern.calendar_windows import calendar_window
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.times import in_zone
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.zones import OF_CLOCKS
from cepkit.stream.reading.time_zones import instant, reading, spread
from tests import judge as judging
from tests.strategies import UNIT, ConditionKind, as_table, cases, result_of

NAMES = (
    "Europe/Rome",
    "America/New_York",
    "America/Sao_Paulo",  # its clock changed at midnight
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",  # it left out a day
    "Africa/Casablanca",  # back for Ramadan
    "UTC",
    "+05:45",
    "-11:30",
)
CALENDAR = cases(
    max_variables=4,
    windows=("time",),
    max_events=24,
    condition_kinds=tuple(k for k in get_args(ConditionKind) if k != "duration"),
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PARTS = {
    "year": lambda t: t.year,
    "month": lambda t: t.month,
    "week": lambda t: t.isocalendar().week,
    "day": lambda t: t.day,
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: t.second,
    "weekday": lambda t: t.isoweekday(),
    "date": lambda t: _micros(_begin(t)),
    "week_start": lambda t: _micros(_begin(t - timedelta(days=t.weekday()))),
}
TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)) | st.datetimes(  # noqa: DTZ001
    datetime(1880, 1, 1),  # noqa: DTZ001 - in UTC
    datetime(2040, 1, 1),  # noqa: DTZ001 - in UTC
)


def _zone(name: str) -> tzinfo:
    if name[0] not in "+-":
        return ZoneInfo(name)
    hours, minutes = int(name[1:3]), int(name[4:])
    return timezone((1 if name[0] == "+" else -1) * timedelta(hours=hours, minutes=minutes))


def _micros(time: datetime) -> int:
    return (time.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)


def _begin(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


@given(st.sampled_from(NAMES), st.lists(TIMES, min_size=1, max_size=20))
def test_parts_of_times_are_those_of_python(name: str, times: list[datetime]) -> None:
    instants = [_micros(time.replace(tzinfo=UTC)) for time in times]
    local = [time.replace(tzinfo=UTC).astimezone(_zone(name)) for time in times]
    column = np.array(instants, dtype=np.int64)
    assert {*PARTS} == OF_CLOCKS
    for part, of in PARTS.items():
        whole = in_zone(FUNCTIONS[part], name).whole(["timestamp"])
        assert whole is not None
        expected = [of(time) for time in local]
        assert whole.column(column).tolist() == expected, part
        assert [whole.scalar(one) for one in instants] == expected, part


@given(st.sampled_from(NAMES), st.lists(TIMES, min_size=1, max_size=20))
def test_readings_and_instants_are_those_of_python(name: str, times: list[datetime]) -> None:
    readings = [_micros(time.replace(tzinfo=UTC)) for time in times]  # as if they were instants
    column = np.array(readings, dtype=np.int64)
    assert instant(column, name).tolist() == [_micros(t.replace(tzinfo=_zone(name))) for t in times]
    there = reading(column, name)
    offsets = there - column
    assert [reading(one, name) for one in readings] == there.tolist()
    assert [instant(one, name) for one in readings] == instant(column, name).tolist()
    in_two_centuries = [
        int(offset)
        for offset, time in zip(offsets, times, strict=True)
        if 1850 <= time.year <= 2100
    ]
    if in_two_centuries:
        assert max(in_two_centuries) - min(in_two_centuries) <= spread(name)


def _by_calendar(window: Any) -> Any:
    """Return a window of half as many calendar days as it has units of time."""
    if not isinstance(window, TimeWindow):
        return window
    return calendar_window(window.microseconds // UNIT // 2, window)


def _near(zone: str, window: TimeWindow, first: int, last: int) -> bool:
    """Return whether the clock reads at most the days of a window more at the last instant."""
    begin, end = (
        (EPOCH + timedelta(microseconds=one)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        for one in (first, last)
    )
    most = timedelta(days=window.days or 0)
    return end - begin < most if window.exclusive else end - begin <= most


@pytest.mark.parametrize("zone", ["Europe/Rome", "Australia/Lord_Howe"])
@given(data=st.data())
def test_matches_in_calendar_days_are_the_judges_by_the_clock(
    zone: str, data: st.DataObject
) -> None:
    case = data.draw(CALENDAR)
    bounds = tuple(replace(b, window=_by_calendar(b.window)) for b in case.query.bounds)
    window = _by_calendar(case.query.window)
    query = replace(case.query, window=window, bounds=bounds, text=None)
    # About half a day apart, around the change in spring, and half an hour off that or not.
    begin = _micros(datetime(2024, 3 if zone == "Europe/Rome" else 4, 3, 10, tzinfo=UTC))
    begin += 25 * 86_400_000_000 if zone == "Europe/Rome" else 0
    units = [event.ts // UNIT for event in case.events]
    times = [begin + n * 43_200_000_000 + n % 3 * 1_800_000_000 for n in units]
    moved = [replace(e, ts=time) for e, time in zip(case.events, times, strict=True)]

    def within(self: Any, together: list[Any]) -> bool:
        ends = [event.ts for event in together]
        return window is None or _near(zone, window, min(ends), max(ends))

    def within_bounds(self: Any, bound: Any) -> bool:
        return all(
            _near(zone, limit, *sorted((x.ts, y.ts)))
            for first, last, limit in self.bounds
            if {first, last} <= {*bound}
            for x, y in product(bound[first], bound[last])
        )

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(judging._Branch, "_within_window", within)
        patch.setattr(judging._Branch, "_within_bounds", within_bounds)
        try:
            expected = judging.judge(moved, query, budget=100_000)
        except judging.BudgetError:
            assume(False)
        stream = ck.events(as_table(moved), time="ts", type="kind")
        matches = ck.detect(stream, replace(query, zone=zone))
        assert result_of(matches.to_arrow(), case.variables) == expected
