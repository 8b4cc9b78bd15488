"""Readings of clocks and parts of times are those of Python's datetime and zoneinfo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.times import in_zone
from cepkit.pattern.zones import OF_CLOCKS
from cepkit.stream.reading.time_zones import instant, reading, spread

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
