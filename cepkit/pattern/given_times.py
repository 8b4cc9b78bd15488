"""Times and durations of Python, NumPy and pandas, as constants of patterns have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from cepkit.errors import PatternError


def time_of(time: Any) -> datetime:
    """Return a time as a datetime, one with a zone in UTC; others may be finer, or NaT."""
    if isinstance(time, datetime) and time.tzinfo is not None:
        time = time.astimezone(UTC).replace(tzinfo=None)
    if type(time) is datetime:
        return time.replace(fold=0)
    moment = time.to_datetime64() if hasattr(time, "to_datetime64") else time
    exact = moment.astype("datetime64[us]")
    plain = exact.item()
    if np.isnat(moment) or exact != moment or not isinstance(plain, datetime):
        raise PatternError(
            f"the time {time}", expected="a time of whole microseconds, as events have"
        )
    return plain


def duration_of(duration: Any) -> timedelta:
    """Return a duration as a timedelta; durations of pandas and NumPy may be finer, or NaT."""
    if type(duration) is timedelta:
        return duration
    delta: np.timedelta64 = (
        duration.to_timedelta64() if hasattr(duration, "to_timedelta64") else duration
    )
    exact = delta.astype("timedelta64[us]")
    units = np.datetime_data(delta.dtype)
    if np.isnat(delta) or units[0] in ("Y", "M", "generic") or exact != delta:
        raise PatternError(
            f"the duration {duration}", expected="a duration of whole microseconds, as events have"
        )
    return timedelta(microseconds=int(exact.astype(np.int64)))
