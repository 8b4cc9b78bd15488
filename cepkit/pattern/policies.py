"""The window and the selection strategy of a pattern."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TypeAlias

from cepkit.errors import Span
from cepkit.values import dataclass


class Strategy(StrEnum):
    """Which of the possible matches count (shared notation of JOIN, section 6.2)."""

    SKIP_TILL_ANY_MATCH = "skip-till-any-match"
    SKIP_TILL_NEXT_MATCH = "skip-till-next-match"
    STRICT_CONTIGUITY = "strict-contiguity"
    PARTITION_CONTIGUITY = "partition-contiguity"


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """`WITHIN 4 hours`: last minus first event at most `microseconds`, less if `exclusive`."""

    microseconds: int
    exclusive: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CountWindow:
    """`WITHIN 100 EVENTS`: last minus first arrival number less than `events`.

    Exclusive means one less, as for times.
    """

    events: int
    exclusive: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StepBound:
    """`WITHIN 5 minutes FROM a TO c`: so much time passes at most between two events of a match.

    Attributes:
        first: A variable; of a set all members are meant.
        last: Another one, or the same set: its first and last member.
        window: How much time.
    """

    first: str
    last: str
    window: Window
    span: Span | None = field(default=None, compare=False, repr=False)


class SkipTo(StrEnum):
    """Where the next match may start."""

    PAST_LAST_EVENT = "PAST LAST EVENT"
    NEXT = "TO NEXT"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class AfterMatch:
    """`AFTER MATCH SKIP TO FIRST b`: where the next match may start.

    Attributes:
        to: Behind the match, at another event, or at one that it has.
        variable: The event that it has, of a set the first or the last; None where none is named.
    """

    to: SkipTo
    variable: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


Window: TypeAlias = TimeWindow | CountWindow
