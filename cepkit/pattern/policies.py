"""The window and the selection strategy of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from cepkit.errors import Span


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


Window: TypeAlias = TimeWindow | CountWindow
