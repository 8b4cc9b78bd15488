"""Durations in a pattern's text: a number and a unit, exact to the microsecond."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal, localcontext

from cepkit.errors import PatternSyntaxError, Span, nearest
from cepkit.pattern.policies import CountWindow, TimeWindow, Window

# Largest first: a window is printed in the first unit of which it is a whole number.
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
"""All spellings of the units, and what each is in microseconds."""

NOT_UNITS = {
    "m": "write min for minutes; a month has no fixed length, write 30 days",
    "month": "a month has no fixed length, write 30 days",
    "months": "a month has no fixed length, write 30 days",
    "year": "a year has no fixed length, write 365 days",
    "years": "a year has no fixed length, write 365 days",
    "ns": "events are timed in microseconds, write us",
    "nanosecond": "events are timed in microseconds, write us",
    "nanoseconds": "events are timed in microseconds, write us",
}
"""What might be taken for a unit, and what to write."""

_EXPECTED = "us, ms, seconds, minutes, hours, days, weeks or EVENTS"
# Far above what an int64 of microseconds holds; keeps '1e999999999' from filling the memory.
_MOST_DIGITS = 40


def read_window(
    number: str, unit: str, *, exclusive: bool, number_span: Span, unit_span: Span
) -> Window:
    """Return the window that a number and a unit write.

    Args:
        number: As it stands in the text, such as ``1_000`` or ``0.5``.
        unit: A unit of time in singular, plural or short, or ``EVENTS``; in any case.
        exclusive: Whether EXCLUSIVE follows.
        number_span: The place of the number, for errors.
        unit_span: The place of the unit, for errors.

    Raises:
        PatternSyntaxError: An unknown unit, or no whole number of microseconds or events.
    """
    word = unit.lower()
    if word in ("event", "events"):
        events = _whole(number, 1)
        if events is None:
            raise PatternSyntaxError(
                f"a window of {number} events", expected="a whole number", span=number_span
            )
        return CountWindow(events, exclusive, number_span)
    if word not in UNITS:
        raise PatternSyntaxError(
            f"'{unit}' is no unit of time",
            expected=_EXPECTED,
            hint=NOT_UNITS.get(word) or nearest(unit, [*UNITS, "events"]),
            span=unit_span,
        )
    return TimeWindow(read_microseconds(number, unit, number_span), exclusive, number_span)


def read_microseconds(number: str, unit: str, number_span: Span) -> int:
    """Return the duration that a number and a unit of `UNITS` write.

    Raises:
        PatternSyntaxError: It is no whole number of microseconds.
    """
    # casefold: the grammar finds units in any case, and re.IGNORECASE knows more than lower().
    microseconds = _whole(number, UNITS[unit.casefold()])
    if microseconds is None:
        raise PatternSyntaxError(
            f"{number} {unit} is no whole number of microseconds",
            expected="a duration that an event's time, in microseconds, can have",
            span=number_span,
        )
    return microseconds


def read_duration(number: str, unit: str, number_span: Span) -> timedelta:
    """Return the duration that a number and a unit of `UNITS` write in a condition.

    Raises:
        PatternSyntaxError: It is no whole number of microseconds, or longer than 64 bits hold.
    """
    microseconds = read_microseconds(number, unit, number_span)
    if microseconds >= 2**63:
        raise PatternSyntaxError(
            "a duration of more than 292,000 years",
            expected="a duration that 64 bits can hold in microseconds",
            span=number_span,
        )
    return timedelta(microseconds=microseconds)


def window_text(window: Window) -> str:
    """Return `window` as it is written after WITHIN, in the largest unit that is exact."""
    match window:
        case CountWindow(events):
            text = f"{events} EVENTS"
        case TimeWindow(microseconds):
            text = duration_text(microseconds)
    return f"{text} EXCLUSIVE" if window.exclusive else text


def duration_text(microseconds: int) -> str:
    """Return a duration as it is written in a pattern, in the largest unit that is exact."""
    if not microseconds:
        return "0 seconds"
    unit, size = next(u for u in MICROSECONDS.items() if microseconds % u[1] == 0)
    count = microseconds // size
    return f"{count} {unit}{'' if abs(count) == 1 else 's'}"


def in_microseconds(duration: timedelta) -> int:
    """Return a duration as conditions compute with it."""
    return duration // timedelta(microseconds=1)


def _whole(number: str, size: int) -> int | None:
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
