"""The window and the selection strategy of a pattern, and durations in its text.

A duration is a number and a unit, exact to the microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from cepkit.errors import PatternSyntaxError, Span, nearest
from cepkit.stream.durations import NOT_UNITS, UNITS, duration_text, whole

_OF_CALENDAR = ("day", "days", "d", "week", "weeks", "w")
_EXPECTED = "us, ms, seconds, minutes, hours, days, weeks or EVENTS"

Clock: TypeAlias = Literal["time", "arrival", "place"]
"""The unit of a distance: microseconds, arrival numbers, or those inside the partition."""


class Strategy(StrEnum):
    """A selection strategy: the rule for the matches that count (JOIN, section 6.2)."""

    SKIP_TILL_ANY_MATCH = "skip-till-any-match"
    SKIP_TILL_NEXT_MATCH = "skip-till-next-match"
    STRICT_CONTIGUITY = "strict-contiguity"
    PARTITION_CONTIGUITY = "partition-contiguity"


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """`WITHIN 4 hours`: last minus first event at most `microseconds`, less if `exclusive`.

    Attributes:
        days: Of `WITHIN 60 calendar days`: the limit, by the clock (`calendar_windows.py`);
            `microseconds` is then as much longer as the clock may change.
        zone: The zone of that clock; None is UTC.
    """

    microseconds: int
    exclusive: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    days: int | None = field(default=None, kw_only=True)
    zone: str | None = field(default=None, kw_only=True)

    @property
    def most(self) -> int:
        """The greatest distance of two events."""
        return self.microseconds - self.exclusive


@dataclass(frozen=True, slots=True)
class CountWindow:
    """`WITHIN 100 EVENTS`: last minus first arrival number less than `events`.

    An exclusive window is one event shorter.
    """

    events: int
    exclusive: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def most(self) -> int:
        """The greatest distance of two events."""
        return self.events - 1 - self.exclusive


@dataclass(frozen=True, slots=True)
class StepBound:
    """`WITHIN 5 minutes FROM a TO c`: a limit of the time between two events of a match.

    Attributes:
        first: A variable; for a set, all its members.
        last: Another variable; the same set for the time from its first to its last member.
    """

    first: str
    last: str
    window: Window
    span: Span | None = field(default=None, compare=False, repr=False)


class SkipTo(StrEnum):
    """The place where the next match may start."""

    PAST_LAST_EVENT = "PAST LAST EVENT"
    NEXT = "TO NEXT"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class AfterMatch:
    """`AFTER MATCH SKIP TO FIRST b`: the place where the next match may start.

    Attributes:
        to: The place.
        variable: The event of the match for TO FIRST and TO LAST; else None.
    """

    to: SkipTo
    variable: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


Window: TypeAlias = TimeWindow | CountWindow


def read_window(
    number: str,
    unit: str,
    *,
    exclusive: bool,
    calendar: bool,
    number_span: Span,
    unit_span: Span,
) -> Window:
    """Return the window of a number and a unit.

    Args:
        number: The number in the text, such as ``1_000`` or ``0.5``.
        unit: A unit of time in singular, plural or short, or ``EVENTS``; in any case.
        calendar: Whether the unit is one of the calendar.

    Raises:
        PatternSyntaxError: The unit is unknown, or the window is no whole number of microseconds
            or events.
    """
    word = unit.lower()
    if word in ("event", "events"):
        events = whole(number, 1)
        if events is None:
            raise PatternSyntaxError(
                f"a window of {number} events", expected="a whole number", span=number_span
            )
        return CountWindow(events, exclusive, number_span)
    if calendar:
        days = whole(number, {"d": 1, "w": 7}[word[0]]) if word in _OF_CALENDAR else None
        if days is None:
            raise PatternSyntaxError(
                f"{number} calendar {unit}",
                expected="a whole number of calendar days or weeks",
                hint=NOT_UNITS.get(word),
                span=unit_span,
            )
        return TimeWindow(days * UNITS["d"], exclusive, number_span, days=days)
    if word not in UNITS:
        raise PatternSyntaxError(
            f"'{unit}' is not a unit of time",
            expected=_EXPECTED,
            hint=NOT_UNITS.get(word) or nearest(unit, [*UNITS, "events"]),
            span=unit_span,
        )
    return TimeWindow(read_microseconds(number, unit, number_span), exclusive, number_span)


def read_microseconds(number: str, unit: str, number_span: Span) -> int:
    """Return the duration of a number and a unit of `UNITS`, in microseconds.

    Raises:
        PatternSyntaxError: It is not a whole number of microseconds.
    """
    # casefold: the grammar finds units in any case, and re.IGNORECASE knows more than lower().
    microseconds = whole(number, UNITS[unit.casefold()])
    if microseconds is None:
        raise PatternSyntaxError(
            f"{number} {unit} is not a whole number of microseconds",
            expected="whole microseconds, as in the times of events",
            span=number_span,
        )
    return microseconds


def read_duration(number: str, unit: str, number_span: Span) -> timedelta:
    """Return the duration of a number and a unit of `UNITS` in a condition.

    Raises:
        PatternSyntaxError: It is not a whole number of microseconds, or longer than 64 bits hold.
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
    """Return `window` as WITHIN writes it, in the largest unit that is exact."""
    match window:
        case CountWindow(events):
            text = f"{events} EVENTS"
        case TimeWindow(days=int(days)):
            text = f"{days} calendar day{'' if days == 1 else 's'}"
        case TimeWindow(microseconds):
            text = duration_text(microseconds)
    return f"{text} EXCLUSIVE" if window.exclusive else text


def in_microseconds(duration: timedelta) -> int:
    """Return a duration in whole microseconds."""
    return duration // timedelta(microseconds=1)
