"""The conversion of local times to instants, as in Spark and java.time.

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
    if timezone[0] in "+-":
        return local - _fixed_offset(timezone)
    days = local // _DAY
    first, last = int(days.min()), int(days.max())
    if first < _FIRST_DAY or last > _LAST_DAY:
        raise StreamError(
            f"a time outside the years 1 to 9999 in the time zone {timezone}",
            hint="leave timezone out if the times are in UTC",
        )
    # A table over all days is cheaper than finding the distinct ones, unless they lie far apart.
    if last - first < 10_000:
        index = days - first
        distinct = np.arange(first, last + 1)
    else:
        distinct, index = np.unique(days, return_inverse=True)
    table = np.array([_offsets(timezone, int(day)) for day in distinct], dtype=np.int64)
    before, after, change = table.T
    offset: Integers = before[index]
    if (before != after).any():
        offset = np.where(local >= change[index], after[index], offset)
    return np.subtract(local, offset)


def _fixed_offset(timezone: str) -> int:
    hours, minutes = timezone[1:].split(":")
    offset = (int(hours) * 60 + int(minutes)) * 60 * _SECOND
    return -offset if timezone[0] == "-" else offset


@lru_cache(maxsize=4096)
def _offsets(timezone: str, day: int) -> tuple[int, int, int]:
    """Return a day's offset at its begin, at its end, and the local time of the change.

    As a function of local time, the offset with `fold=0` is a single step for both kinds of change
    (PEP 495); so it follows the rule of this module.
    """
    zone = zoneinfo.ZoneInfo(timezone)
    low, high = day * 86_400, min((day + 1) * 86_400, (_LAST_DAY + 1) * 86_400 - 1)
    before, after = _offset(zone, low), _offset(zone, high)
    if before == after:
        return before, after, high * _SECOND
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    return before, after, high * _SECOND


def _offset(zone: zoneinfo.ZoneInfo, second: int) -> int:
    reading = (_EPOCH + dt.timedelta(seconds=second)).replace(tzinfo=zone)
    offset = reading.utcoffset()
    return 0 if offset is None else offset // dt.timedelta(microseconds=1)
