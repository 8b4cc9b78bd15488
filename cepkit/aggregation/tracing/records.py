"""What a trace of prefix counters consists of: events, counters, steps and what they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Action: TypeAlias = Literal["start", "extend", "end", "expire"]
"""What is done: a new counter, a longer prefix, prefixes ended by an event that must be absent, or
a START that is live no more."""


@dataclass(frozen=True, slots=True)
class CountedEvents:
    """The events of a trace, in stream order.

    Attributes:
        row: For each its row in the source.
        name: What it is called: "b2" is the second event of the type of `b`.
        time: Its time in microseconds since 1970 UTC.
        type: Its type.
        attributes: What the pattern reads; None where a value is missing. Times are texts.
    """

    row: tuple[int, ...]
    name: tuple[str, ...]
    time: tuple[int, ...]
    type: tuple[str, ...]
    attributes: Mapping[str, tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class Saved:
    """A row of a snapshot.

    Attributes:
        start: The START of the whole; "" without a window, where all are one.
        expires: When it is live no more, in microseconds; None for never.
        count: How many matches of the pieces before began there.
    """

    start: str
    expires: int | None
    count: int


@dataclass(frozen=True, slots=True)
class StartCounters:
    """The counters of a START after a step.

    Attributes:
        key: The number of the key whose events these are.
        piece: The number of the piece, from 0.
        start: The START; "" without a window, where one row serves all.
        expires: When it is live no more, in microseconds; None for never.
        counts: How many matches there are of each prefix of the piece.
        snapshot: What came before, of a piece that is not the first.
    """

    key: int
    piece: int
    start: str
    expires: int | None
    counts: tuple[int, ...]
    snapshot: tuple[Saved, ...]

    @property
    def name(self) -> tuple[int, int, str]:
        """What no other counters of a trace have: key, piece and START."""
        return self.key, self.piece, self.start

    def whole(self) -> tuple[Saved, ...]:
        """Return how many matches of this piece and those before it there are, by their START."""
        last = self.counts[-1]
        if self.piece == 0:
            return (Saved(self.start, self.expires, last),)
        return tuple(Saved(row.start, row.expires, row.count * last) for row in self.snapshot)


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of an event on the counters; an event may do several, one after the other.

    Attributes:
        ts: When, in microseconds.
        event: Its name, as "b2" for the second event of the type of `b`; of an expiry the STARTs'.
        row: Its row in the source; None for an expiry.
        number: Its place among the events of the trace; None for an expiry.
        key: The number of its key; None for an expiry.
        action: What it does.
        position: At which position, from 1; after which one for "end".
        counters: All counters after that.
        count: How many live matches there are then.
        new: How many of them are new.
        trigger: Whether the event can end a match, so that the count is output.
        updates: How many counters and rows of snapshots it wrote.
    """

    ts: int
    event: str
    row: int | None
    number: int | None
    key: int | None
    action: Action
    position: int
    counters: tuple[StartCounters, ...]
    count: int
    new: int
    trigger: bool
    updates: int


class CounterCounts(NamedTuple):
    """What there is after a step.

    Attributes:
        matches: Live matches.
        new: Those of them that the step completed.
        rows: Rows of counters, one for each live START of a piece.
        saved: Rows of snapshots.
        updates: Counters and rows of snapshots written so far.
    """

    matches: int
    new: int
    rows: int
    saved: int
    updates: int


def counts_of(steps: tuple[Step, ...]) -> tuple[CounterCounts, ...]:
    """Return what there is after each of the steps."""
    found = []
    updates = 0
    for step in steps:
        updates += step.updates
        saved = sum(len(row.snapshot) for row in step.counters)
        found.append(CounterCounts(step.count, step.new, len(step.counters), saved, updates))
    return tuple(found)
