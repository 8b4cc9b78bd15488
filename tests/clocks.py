"""Events around changes of the clock, and what conditions on it mean by Python's zoneinfo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pandas as pd

ZONES = {
    "Europe/Rome": ("2024-03-31 01:00", "2024-10-27 01:00"),
    "Australia/Lord_Howe": ("2024-04-06 15:00", "2024-10-05 15:30"),  # by 30 minutes
    "Asia/Kathmandu": ("2023-12-31 18:15", "2024-02-28 18:15"),  # +05:45: midnights
    "-03:30": ("2021-01-01 03:30", "2021-01-04 03:30"),  # the begins of a year and of its week 1
}
"""Zones, each with two moments in UTC where its clock or its calendar changes."""

READING = "2024-03-31 02:30"
"""A reading of the clock, which that of Rome never showed."""

Local = Callable[[datetime], bool]

OF_ONE: dict[str, Local] = {
    "hour(a.ts) BETWEEN 1 AND 2": lambda t: 1 <= t.hour <= 2,
    "minute(a.ts) >= 30 AND second(a.ts) = 0": lambda t: t.minute >= 30 and t.second == 0,
    "NOT weekday(a.ts) = 7": lambda t: t.isoweekday() != 7,
    "day(a.ts) IN (1, 29, 31)": lambda t: t.day in (1, 29, 31),
    "month(a.ts) * 100 + hour(a.ts) <= 302": lambda t: t.month * 100 + t.hour <= 302,
    "week(a.ts) > 52 OR week(a.ts) = 9": lambda t: t.isocalendar().week in (9, 53),
    "year(a.ts) = 2024": lambda t: t.year == 2024,
    "a.ts - date(a.ts) < 90 minutes": lambda t: _since_midnight(t) < timedelta(minutes=90),
    f"a.ts < TIMESTAMP '{READING}'": lambda t: t.astimezone(UTC) < _read(READING, t),
    f"a.ts >= '{READING}'": lambda t: t.astimezone(UTC) >= _read(READING, t),
    f"a.ts < TIMESTAMP '{READING}Z'": lambda t: t < _read(READING, t.astimezone(UTC)),
    f"a.ts >= '{READING}+01:00'": lambda t: t >= _read(f"{READING}+01:00", t),
}
"""Conditions on one event, each with its meaning for a time of the zone."""

OF_TWO: dict[str, Callable[[datetime, datetime], bool]] = {
    "date(a.ts) = date(b.ts)": lambda a, b: a.date() == b.date(),
    "same_day(a, b)": lambda a, b: a.date() == b.date(),
    "NOT same_week(a.ts, b)": lambda a, b: a.isocalendar()[:2] != b.isocalendar()[:2],
    "hour(a.ts) > hour(b.ts)": lambda a, b: a.hour > b.hour,
    "week_start(a.ts) < week_start(b.ts)": lambda a, b: a.isocalendar()[:2] < b.isocalendar()[:2],
}
"""Conditions on two events."""


def tz_of(zone: str) -> tzinfo:
    """Return a zone as Python has it."""
    return timezone(-timedelta(hours=3, minutes=30)) if zone == "-03:30" else ZoneInfo(zone)


def moments(zone: str) -> list[datetime]:
    """Return times of a zone around its changes, in order; no two events are of one time."""
    steps = range(-180, 181, 15)
    around = (datetime.fromisoformat(change).replace(tzinfo=UTC) for change in ZONES[zone])
    return [
        (at + timedelta(minutes=step)).astimezone(tz_of(zone)) for at in around for step in steps
    ]


def frame(zone: str) -> pd.DataFrame:
    """Return an event for each of these times, which are in UTC; every other one is a B."""
    times = moments(zone)
    ts = pd.to_datetime([time.astimezone(UTC) for time in times]).as_unit("us")
    kinds = ["AB"[number % 2] for number in range(len(times))]
    return pd.DataFrame({"ts": ts, "kind": kinds, "id": range(len(times))})


def expected(zone: str, condition: str) -> set[int]:
    """Return the events that a condition on one holds for."""
    return {n for n, time in enumerate(moments(zone)) if OF_ONE[condition](time)}


def expected_pairs(zone: str, condition: str) -> set[tuple[int, int]]:
    """Return the pairs of an A and a later B that a condition holds for."""
    times = [*enumerate(moments(zone))]
    pairs = ((a, b) for a in times[::2] for b in times[1::2] if a[0] < b[0])
    return {(a, b) for (a, one), (b, two) in pairs if OF_TWO[condition](one, two)}


def _read(text: str, beside: datetime) -> datetime:
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=beside.tzinfo)).astimezone(UTC)


def _since_midnight(time: datetime) -> timedelta:
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return time.astimezone(UTC) - midnight.astimezone(UTC)


@dataclass(frozen=True, order=True)
class At:
    """An event: its time in UTC, and the reading of the clock."""

    time: datetime
    reading: datetime


CALENDAR: dict[str, Callable[[At, At], bool]] = {
    "SEQ(A a, B b) WITHIN 1 calendar day": lambda a, b: a < b and _near(a, b),
    "SEQ(A a, B b) WITHIN 1 calendar day EXCLUSIVE": lambda a, b: a < b and _near(a, b, 1),
    "AND(A a, B b) WITHIN 1 calendar day": lambda a, b: _near(min(a, b), max(a, b)),
    "SEQ(A a, B b) WITHIN 3 days WITHIN 1 calendar day FROM a TO b": lambda a, b: (
        a < b and _near(a, b)
    ),
}
"""Patterns of an A and a B with windows of the calendar, each with its meaning for two events."""


def hours(zone: str) -> list[tuple[str, At]]:
    """Return an A or a B every half hour for 30 hours before and after the zone's changes."""
    events = []
    for change in ZONES[zone]:
        for number in range(-60, 61):
            time = datetime.fromisoformat(change).replace(tzinfo=UTC) + timedelta(
                minutes=30 * number
            )
            kind = "AB"[(number * number + number // 3) % 7 % 2]
            events.append(
                (kind, At(time, time.astimezone(tz_of(zone)).replace(tzinfo=None, fold=0)))
            )
    return events


def hourly_frame(zone: str) -> pd.DataFrame:
    """Return these events."""
    events = hours(zone)
    ts = pd.to_datetime([event.time for _, event in events]).as_unit("us")
    return pd.DataFrame({"ts": ts, "kind": [k for k, _ in events], "id": range(len(events))})


def expected_windows(zone: str, pattern: str | None = None) -> set[tuple[int, int]]:
    """Return the matches of a pattern of `CALENDAR`; None: all pairs of events in such a window."""
    events = [*enumerate(hours(zone))]
    if pattern is None:
        return {(m, n) for m, (_, a) in events for n, (_, b) in events if a < b and _near(a, b)}
    pairs = ((x, y) for x in events for y in events if (x[1][0], y[1][0]) == ("A", "B"))
    return {(m, n) for (m, (_, a)), (n, (_, b)) in pairs if CALENDAR[pattern](a, b)}


def _near(first: At, last: At, less: int = 0) -> bool:
    return last.reading - first.reading <= timedelta(days=1, microseconds=-less)
