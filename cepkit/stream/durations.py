"""Durations as text: units, their spellings, and numbers, exact to the microsecond."""

from __future__ import annotations

from decimal import Decimal, localcontext

# Largest first: a window is printed in the first unit that divides it.
MICROSECONDS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}

_ABBREVIATIONS = {
    "week": ("w",),
    "day": ("d",),
    "hour": ("h", "hr", "hrs"),
    "minute": ("min", "mins"),
    "second": ("s", "sec", "secs"),
    "millisecond": ("ms", "msec", "msecs"),
    "microsecond": ("us", "µs", "μs", "usec", "usecs"),
}
UNITS = {
    word: size
    for unit, size in MICROSECONDS.items()
    for word in (unit, f"{unit}s", *_ABBREVIATIONS[unit])
}
"""All spellings of the units, each with its microseconds."""

NOT_UNITS = {
    "m": "write min for minutes; a month has no fixed length, write 30 days",
    "month": "a month has no fixed length, write 30 days",
    "months": "a month has no fixed length, write 30 days",
    "quarter": "a quarter has no fixed length, write 91 days",
    "quarters": "a quarter has no fixed length, write 91 days",
    "year": "a year has no fixed length, write 365 days",
    "years": "a year has no fixed length, write 365 days",
    "ns": "events are timed in microseconds, write us",
    "nanosecond": "events are timed in microseconds, write us",
    "nanoseconds": "events are timed in microseconds, write us",
}
"""Common mistakes for units, with the right spelling."""

# Far more than an int64 of microseconds holds; prevents '1e999999999' from filling memory.
_MOST_DIGITS = 40


def duration_text(microseconds: int) -> str:
    """Return a duration as a pattern writes it, in the largest unit that is exact."""
    if not microseconds:
        return "0 seconds"
    unit, size = next(u for u in MICROSECONDS.items() if microseconds % u[1] == 0)
    count = microseconds // size
    return f"{count} {unit}{'' if abs(count) == 1 else 's'}"


def whole(number: str, size: int) -> int | None:
    """Return number * size if it is a whole number, else None."""
    if len(number) > _MOST_DIGITS:
        return None
    with localcontext() as context:
        context.prec = 3 * _MOST_DIGITS
        value = Decimal(number)
        if abs(value.adjusted()) > _MOST_DIGITS:
            return None
        value *= size
        return int(value) if value == value.to_integral_value() else None
