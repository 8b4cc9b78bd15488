"""The records of a mechanism's trace: counters, steps, matches, totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cepkit.stream.codec import INLINE, SPARSE
from cepkit.tracing.operations import Operation


class Counts(NamedTuple):
    """The counters at one moment; all but `instances` and `stored` only grow.

    Attributes:
        evaluations: How often a take edge (or a join) was evaluated on an instance and a candidate
            in scope.
        instances: Instances alive.
        stored: Events in the input buffers; an event stored for two variables counts twice.
        expired: Instances dropped because their window closed.
        forgotten: Events dropped from the buffers because the window had passed them.
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
        operations: The operations, in order.
    """

    number: int
    event: int | None
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class TracedPattern:
    """One of several patterns that ran together.

    Attributes:
        begin: Where it begins in the text of the trace.
        end: Where it ends there.
        variables: For each of its variables the names in the steps: a part common to several
            patterns has one name. Branches of an OR may have different names.
    """

    name: str
    begin: int
    end: int
    variables: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TracedMatch:
    """A match in a trace.

    Attributes:
        step: The step at which it was certain.
        instance: The instance that became it.
        events: For each variable its event, or the members of its set in stream order.
        pattern: With several patterns, the name of its pattern.
    """

    step: int
    instance: int
    events: Mapping[str, int | tuple[int, ...]]
    pattern: str = field(default="", metadata=SPARSE)

    @property
    def members(self) -> tuple[int, ...]:
        """The events of all variables."""
        bound = self.events.values()
        return tuple(e for each in bound for e in (each if isinstance(each, tuple) else (each,)))


@dataclass(frozen=True, slots=True)
class Totals:
    """The counters at the end of the whole run, and the most at any moment of it.

    Attributes:
        peak_instances: The most instances alive at once.
        peak_stored: The most events stored at once.
        events: How many the stream has.
        by_pattern: Of several patterns the matches of each.
    """

    counts: Counts = field(metadata=INLINE)
    peak_instances: int
    peak_stored: int
    events: int
    by_pattern: Mapping[str, int] = field(default_factory=dict, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class Truncated:
    """Describes a truncated trace: how many of how many steps it has.

    Attributes:
        ran: How many steps ran before the user interrupted; None if all did. The totals count them.
    """

    shown: int
    of: int
    ran: int | None = field(default=None, metadata=SPARSE)
