"""The conversion of local times to instants, as in Spark and java.time, and back.

A local time that occurs twice (autumn) means the earlier instant. A local time that does not exist
(spring) moves forward by the length of the gap: 02:30 becomes 03:30. Arrow's own conversion has no
rule for the latter and, in some builds, ignores summer time after 2037; so the offsets come from
`zoneinfo`. They are looked up by day; on the rare day with a change, bisection finds its second.
O(events + days).
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError

Integers = npt.NDArray[np.int64]

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a clock reading has no zone
_FIRST_DAY = -719_162  # 0001-01-01, the first that Python's datetime knows
_LAST_DAY = 2_932_896  # 9999-12-31


def is_utc(timezone: str | None) -> bool:
    """Return whether the zone is UTC."""
    return timezone is None or timezone in ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "+00:00", "Zulu")


def instants(local: Integers, timezone: str) -> Integers:
    """Return the instants of local times in a zone.

    Args:
        local: Microseconds since 1970-01-01 00:00 local time.
        timezone: An IANA name or a fixed offset such as "+02:00".

    Returns:
        Microseconds since 1970-01-01 00:00 UTC.

    Raises:
        StreamError: A time outside the years 1 to 9999, where no zone is defined.
    """
    if not len(local):
        return local.copy()
    if timezone[0] not in "+-":
        first, last = int(local.min()) // _DAY, int(local.max()) // _DAY
        if first < _FIRST_DAY or last > _LAST_DAY:
            raise StreamError(
                f"a time outside the years 1 to 9999 in the time zone {timezone}",
                hint="leave timezone out if the times are in UTC",
            )
    result: Integers = instant(local, timezone)
    return result


def instant(local: Any, timezone: str) -> Any:
    """Return the instants of local times, or of one as an integer; see `instants`.

    Before the year 1 and after 9999 the first and the last offset count.
    """
    return local - _offset_at(local, timezone, of_instants=False)


def reading(instant: Any, timezone: str) -> Any:
    """Return the readings of the clock in a zone at instants, or at one as an integer."""
    return instant + _offset_at(instant, timezone, of_instants=True)


@lru_cache(maxsize=64)
def spread(timezone: str) -> int:
    """Return the greatest difference between two offsets of a zone, in microseconds."""
    if timezone[0] in "+-":
        return 0
    zone = zoneinfo.ZoneInfo(timezone)
    weeks = range(-6_300, 6_800)  # from 1849 to 2100; later on the rules of the last years repeat
    offsets = {_offset(zone, week * 7 * 86_400, of_instants=True) for week in weeks}
    return max(offsets) - min(offsets)


def _offset_at(times: Any, timezone: str, *, of_instants: bool) -> Any:
    """Return the offsets of a zone at local times or at instants: an array, or one integer."""
    if timezone[0] in "+-":
        return _fixed_offset(timezone)
    if not isinstance(times, np.ndarray):
        day = min(max(int(times) // _DAY, _FIRST_DAY), _LAST_DAY)
        before, after, change = _offsets(timezone, day, of_instants)
        return after if times >= change else before
    if not len(times):
        return times
    days = np.clip(times // _DAY, _FIRST_DAY, _LAST_DAY)
    first, last = int(days.min()), int(days.max())
    # A table over all days is cheaper than finding the distinct ones, unless they lie far apart.
    if last - first < min(10_000, 10 * len(times)):
        index = days - first
        distinct = np.arange(first, last + 1)
    else:
        distinct, index = np.unique(days, return_inverse=True)
    table = np.array(
        [_offsets(timezone, int(day), of_instants) for day in distinct], dtype=np.int64
    )
    early, late, changes = table.T
    offset: Integers = early[index]
    if (early != late).any():
        offset = np.where(times >= changes[index], late[index], offset)
    return offset


def _fixed_offset(timezone: str) -> int:
    hours, minutes = timezone[1:].split(":")
    offset = (int(hours) * 60 + int(minutes)) * 60 * _SECOND
    return -offset if timezone[0] == "-" else offset


@lru_cache(maxsize=16_384)
def _offsets(timezone: str, day: int, of_instants: bool) -> tuple[int, int, int]:
    """Return a day's offset at its begin, at its end, and the time of the change.

    As a function of local time, the offset with `fold=0` is a single step for both kinds of change
    (PEP 495); so it follows the rule of this module. The day is one of local time or of UTC.
    """
    zone = zoneinfo.ZoneInfo(timezone)
    low, high = day * 86_400, min((day + 1) * 86_400, (_LAST_DAY + 1) * 86_400 - 1)
    before, after = (_offset(zone, end, of_instants=of_instants) for end in (low, high))
    if before == after:
        return before, after, high * _SECOND
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle, of_instants=of_instants) == before:
            low = middle
        else:
            high = middle
    return before, after, high * _SECOND


def _offset(zone: zoneinfo.ZoneInfo, second: int, *, of_instants: bool) -> int:
    time = _EPOCH + dt.timedelta(seconds=second)
    if of_instants:
        try:
            offset = time.replace(tzinfo=dt.UTC).astimezone(zone).utcoffset()
        except OverflowError:  # at the ends of the years 1 and 9999
            offset = time.replace(tzinfo=zone).utcoffset()
    else:
        offset = time.replace(tzinfo=zone).utcoffset()
    return 0 if offset is None else offset // dt.timedelta(microseconds=1)
