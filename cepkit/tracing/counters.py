"""Traces of prefix counters: the changes of each event, as data and as tables.

A *counter* belongs to a START event, the first of a piece of the sequence, and holds for each
prefix of that piece the number of its matches that begin there. A sequence in one piece is plain
prefix counting; in several it is Chop-Connect, where the START of a later piece keeps a snapshot:
the number of matches of all earlier pieces that end before it, by the START of the whole. It counts
matches, regardless of the query's aggregates.

A trace stores the changes of each step; replaying them gives all counters.
Source: ASEQ, figures 4, 6, 7 and 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from cepkit.lazy import pd
from cepkit.pattern.parsing.parser import parse
from cepkit.stream.codec import keyed
from cepkit.stream.shapes import ShapeError, Time, check_below, shown
from cepkit.tracing.clauses import Clause, Clauses
from cepkit.tracing.counter_rows import Change, Close, Count, Rows, StartCounters
from cepkit.tracing.events import CountedEvents
from cepkit.tracing.records import Truncated
from cepkit.tracing.trace import Place, Trace

Action: TypeAlias = Literal["start", "extend", "end", "expire"]
"""The action: a new counter, a longer prefix, prefixes ended by an event that must be absent, or an
expired START."""


class Head(NamedTuple):
    """A step without its changes.

    Attributes:
        time: When, in microseconds.
        event: The event, by its number in the trace; None for an expiry.
        key: The number of its key; None for an expiry.
        action: The kind of the operation.
        position: At which position, from 1; after which one for "end".
        trigger: Whether the event can end a match, so that the count is output.
    """

    time: Time
    event: int | None
    key: int | None
    action: Action
    position: int
    trigger: bool


class CounterCounts(NamedTuple):
    """The totals after a step.

    Attributes:
        matches: Live matches.
        new: The live matches that the step completed.
        rows: Rows of counters, one for each live START of a piece.
        saved: Rows of snapshots.
        updates: Counters and rows of snapshots written so far.
    """

    matches: Count
    new: Count
    rows: Count
    saved: Count
    updates: Count


@dataclass(frozen=True, slots=True)
class CounterTotals:
    """The totals of a trace: updates, matches, and the most rows at any moment."""

    updates: Count
    peak_rows: Count
    peak_saved: Count
    new: Count


@dataclass(frozen=True, slots=True)
class CounterStep:
    """One operation of an event on the counters; an event may have several.

    Attributes:
        ts: The time in microseconds.
        event: Its name, as "b2" for the second event of `b`'s type; for an expiry the STARTs'
            names.
        row: Its row in the source; None for an expiry.
        number: Its place among the events of the trace; None for an expiry.
        key: The number of its key; None for an expiry.
        action: The kind of the operation.
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


@dataclass(frozen=True, repr=False, kw_only=True)
class CounterTrace(Trace):
    """A trace of prefix counters; with GROUP BY it counts the matches of all groups together.

    Attributes:
        pieces: The variables of each piece.
        absent: (position, variable): no such event between the positions p and p + 1, from 1.
        window: The greatest difference of times in microseconds, None for any.
        keys: The name of each key, as "customer 17", in order of arrival; one empty text if there
            is a single key.
        events: The events of the trace; of very many only those with an effect.
        heads: The head of each step.
        looked_at: How many events the stream has.
    """

    schema: ClassVar[str] = "cepkit.counters/1"
    of: ClassVar[str] = "counters"
    unit: ClassVar[str] = "steps"
    counter_titles: ClassVar[Mapping[str, str]] = {
        "matches": "live matches",
        "rows": "rows of counters",
        "saved": "rows of snapshots",
        "updates": "updates",
        "new": "new matches",
    }
    total_titles: ClassVar[Mapping[str, str]] = {
        "name": "counters",
        "updates": "updates",
        "peak_rows": "peak rows",
        "peak_saved": "peak rows of snapshots",
        "new": "matches",
    }

    events: CountedEvents
    operations: tuple[tuple[Change, ...], ...] = field(metadata=keyed("steps"))
    counters: tuple[CounterCounts, ...]
    pieces: tuple[tuple[str, ...], ...]
    absent: tuple[tuple[int, str], ...]
    window: Time | None
    keys: tuple[str, ...]
    heads: tuple[Head, ...] = field(metadata=keyed("moments"))
    looked_at: int

    @property
    def name(self) -> str:
        """The method and its pieces: ``chop-connect a b c | d e``."""
        method = "prefix-counters" if len(self.pieces) == 1 else "chop-connect"
        return f"{method} {' | '.join(map(' '.join, self.pieces))}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the sequence, in order."""
        return tuple(variable for piece in self.pieces for variable in piece)

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The parts of the pattern.

        Raises:
            PatternError: The pattern of a decoded trace is invalid.
        """
        return Clauses.of(parse(self.pattern)).rows

    @property
    def truncated(self) -> Truncated | None:
        """None: a trace of counters has all steps."""
        return None

    @property
    def totals(self) -> CounterTotals:
        """The totals of the whole run."""
        counters = self.counters
        return CounterTotals(
            counters[-1].updates if counters else 0,
            max((counts.rows for counts in counters), default=0),
            max((counts.saved for counts in counters), default=0),
            sum(counts.new for counts in counters),
        )

    @property
    def places(self) -> Sequence[Place]:
        """The time and the event of each step."""
        return [Place(head.time, head.event) for head in self.heads]

    @property
    def streamed(self) -> int:
        """How many events the stream has."""
        return self.looked_at

    @property
    def telling(self) -> Sequence[str]:
        """The counters drawn by default."""
        saved = ("saved",) if len(self.pieces) > 1 else ()
        return ("matches", "rows", *saved, "updates")

    @property
    def output(self) -> tuple[tuple[int, int], ...]:
        """The time of each trigger, and the live matches after all operations at that time."""
        steps = list(zip(self.heads, self.counters, strict=True))
        last = {head.time: counts.matches for head, counts in steps if head.action != "expire"}
        triggers = (head.time for head in self.heads if head.trigger)
        return tuple((time, last[time]) for time in triggers if time in last)

    @cached_property
    def steps(self) -> tuple[CounterStep, ...]:
        """The steps in order, with all counters after each."""
        return tuple(self._steps())

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each counter after each step, and one for a step without counters."""
        rows = []
        for i, step in enumerate(self.steps):
            about = {
                "step": i, "ts": step.ts, "event": step.event, "action": step.action,
                "position": step.position, "count": step.count, "new": step.new,
                "trigger": step.trigger,
            }  # fmt: skip
            rows += [
                {**about, **({} if counter is None else asdict(counter))}
                for counter in step.counters or (None,)
            ]
        return pd.DataFrame(rows)

    def sizes(self) -> Mapping[str, tuple[str, int]]:
        """Return for each index field of operations the kind of things and their number."""
        return {
            "event": ("events", len(self.events)),
            "key": ("keys", len(self.keys)),
            "piece": ("pieces", len(self.pieces)),
        }

    def check(self) -> None:
        """Check that the parts of a decoded trace fit together.

        Raises:
            ShapeError: They do not.
        """
        super().check()
        if not self.pieces or not all(self.pieces):
            raise ShapeError("empty", "a piece or more, each of a variable or more", "pieces")
        if len(self.heads) != len(self):
            raise ShapeError(shown(self.heads), f"{len(self):,} values", "moments")
        for i, head in enumerate(self.heads):
            check_below(head.event, len(self.events), "events", f"moments.event[{i}]")
            check_below(head.key, len(self.keys), "keys", f"moments.key[{i}]")
            if not 1 <= head.position <= len(self.variables):
                expected = f"a position, counted from 1 to {len(self.variables)}"
                raise ShapeError(shown(head.position), expected, f"moments.position[{i}]")
        assert len(self.steps) == len(self), "what rows steps speak of is known once they are done"

    def _steps(self) -> Iterator[CounterStep]:
        """Yield the steps by replaying their changes."""
        names = self.events.name
        table = Rows([len(piece) for piece in self.pieces], names)
        updates = 0
        for i, (head, changes, counts) in enumerate(
            zip(self.heads, self.operations, self.counters, strict=True)
        ):
            try:
                ended = [table.row(c.row).start for c in changes if isinstance(c, Close)]
                for change in changes:
                    table.apply(change)
            except ShapeError as error:
                raise error.within(f"steps[{i}]") from None
            yield CounterStep(
                head.time,
                ", ".join(dict.fromkeys(ended)) if head.event is None else names[head.event],
                None if head.event is None else self.events.id[head.event],
                head.event,
                head.key,
                head.action,
                head.position,
                table.frozen(),
                counts.matches,
                counts.new,
                head.trigger,
                counts.updates - updates,
            )
            updates = counts.updates
