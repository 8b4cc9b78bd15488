"""What a trace of a mechanism consists of: counters, steps, matches, totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cepkit.stream.codec import INLINE
from cepkit.tracing.operations import Operation


class Counts(NamedTuple):
    """The counters at one moment; all but `instances` and `stored` only grow.

    Attributes:
        evaluations: How often a take edge (or a join) was evaluated on an instance and a
            candidate that is in scope.
        instances: Instances alive.
        stored: Events in the input buffers; one that is kept for two variables counts twice.
        created: Instances created.
        expired: Instances dropped because their window closed.
        forgotten: Events dropped from the buffers because the window had passed them.
        matches: Matches.
    """

    evaluations: int
    instances: int
    stored: int
    created: int
    expired: int
    forgotten: int
    matches: int


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a mechanism: the operations that one event caused.

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
    """A match in a trace.

    Attributes:
        step: The step at which it was certain.
        instance: The instance that became it.
        events: For each variable its event, or the members of its set in stream order.
    """

    step: int
    instance: int
    events: Mapping[str, int | tuple[int, ...]]

    @property
    def members(self) -> tuple[int, ...]:
        """The events of all variables."""
        bound = self.events.values()
        return tuple(e for each in bound for e in (each if isinstance(each, tuple) else (each,)))


@dataclass(frozen=True, slots=True)
class Totals:
    """The counters at the end of the whole run, and the most at any moment of it."""

    counts: Counts = field(metadata=INLINE)
    peak_instances: int
    peak_stored: int
    events: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """A trace that does not show all: so many of so many steps."""

    shown: int
    of: int
