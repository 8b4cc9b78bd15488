"""What a trace consists of: events, steps, matches, totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cepkit.automata.journal import Counts
from cepkit.automata.operations import Operation


@dataclass(frozen=True, slots=True)
class EventTable:
    """The events of a trace, in stream order.

    Attributes:
        id: For each its arrival number: how many events of the stream came before it.
        time: Its time in microseconds since 1970 UTC.
        type: Its type.
        attributes: What the pattern reads; None where a value is missing. Times are texts.
    """

    id: tuple[int, ...]
    time: tuple[int, ...]
    type: tuple[str, ...]
    attributes: Mapping[str, tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.id)

    def name(self, event: int) -> str:
        """Return an event as sentences call it: ``B 7``, its type and arrival number."""
        return f"{self.type[event]} {self.id[event]}"


@dataclass(frozen=True, slots=True)
class Step:
    """What one event caused.

    Attributes:
        number: Its place in the trace, from 0.
        event: The event, None for the end of the stream.
        operations: What happened, in order.
    """

    number: int
    event: int | None
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class TracedMatch:
    """A match.

    Attributes:
        step: The step at which it was certain.
        instance: The instance that became it.
        events: For each variable its event, or the members of its set in stream order.
    """

    step: int
    instance: int
    events: Mapping[str, int | tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Totals:
    """The counters at the end of the whole run, and the most at any moment of it."""

    counts: Counts
    peak_instances: int
    peak_stored: int
    events: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """A trace that does not show all: so many of so many steps."""

    shown: int
    of: int
