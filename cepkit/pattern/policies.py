"""The window and the selection strategy of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from cepkit.errors import Span

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
