"""Two runs over the same events: what each cost, where they part, whether they found the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepkit.automata.journal import Counts
from cepkit.automata.records import TracedMatch
from cepkit.automata.trace import Trace
from cepkit.errors import TraceError
from cepkit.printing import Printed, html_output
from cepkit.statistics.tables import html_table, text_table, whole

_TOTALS = (*(name for name in Counts._fields if name not in ("instances", "stored")),)


@dataclass(frozen=True, slots=True)
class Compared:
    """A counter of two runs.

    Attributes:
        counter: Its name.
        left: Its total in the first run.
        right: In the second.
        parts: The first step after which they differ; None where they never do in what both show.
    """

    counter: str
    left: int
    right: int
    parts: int | None


@dataclass(frozen=True, slots=True, repr=False)
class TraceComparison(Printed):
    """What two runs have in common.

    Attributes:
        names: What the runs are called.
        rows: The counters of the whole runs.
        same_matches: Whether they found the same in the steps that both show, up to the end of
            what the shorter one shows.
        first_difference: The first match that one of them has earlier than the other, or alone.
        only_left: Matches that the second does not have.
        only_right: Matches that the first does not have.
    """

    names: tuple[str, str]
    rows: tuple[Compared, ...]
    same_matches: bool
    first_difference: TracedMatch | None
    only_left: tuple[TracedMatch, ...]
    only_right: tuple[TracedMatch, ...]

    def __str__(self) -> str:
        return f"{text_table(self._head(), self._cells())}\n{self._verdict()}"

    def _repr_html_(self) -> str:
        table = html_table(self._head(), self._cells())
        return html_output(table, f"<p>{self._verdict()}</p>")

    def _head(self) -> tuple[str, ...]:
        return ("", *self.names, "differ from step")

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                row.counter.replace("_", " "),
                whole(row.left),
                whole(row.right),
                "" if row.parts is None else str(row.parts),
            )
            for row in self.rows
        ]

    def _verdict(self) -> str:
        if self.same_matches:
            return "Both found the same matches."
        left, right = len(self.only_left), len(self.only_right)
        if not left and not right:
            return "Both found the same matches, not all of them at the same step."
        return f"{left} matches are in the first alone, {right} in the second alone."


_HINT = "simulate returns one, by another mechanism or plan"


def compare(left: Trace, right: Trace) -> TraceComparison:
    """Return what two runs over the same events have in common.

    Raises:
        TraceError: The events or the pattern are others, or it is no trace.
    """
    if not isinstance(right, Trace):
        raise TraceError(f"a {type(right).__name__} where a trace belongs", hint=_HINT)
    if left.pattern != right.pattern:
        raise TraceError("these are traces of two patterns", expected="two runs of one pattern")
    both = min(len(left.events), len(right.events))
    if _head(left, both) != _head(right, both) or left.totals.events != right.totals.events:
        raise TraceError("these are traces of two streams", expected="two runs over one stream")
    shown = min(len(left), len(right))
    peaks = ("peak_instances", "peak_stored")
    rows = [
        *(_compared(name, left, right, shown, Counts._fields.index(name)) for name in _TOTALS),
        *(Compared(p, getattr(left.totals, p), getattr(right.totals, p), None) for p in peaks),
    ]
    ours, theirs = _matches(left, shown), _matches(right, shown)
    sooner = [
        found[key]
        for found, other in ((ours, theirs), (theirs, ours))
        for key in found
        if key not in other or found[key].step < other[key].step
    ]
    return TraceComparison(
        (left.name, right.name),
        tuple(rows),
        not sooner,
        min(sooner, key=lambda match: match.step, default=None),
        tuple(ours[key] for key in ours if key not in theirs),
        tuple(theirs[key] for key in theirs if key not in ours),
    )


def _compared(name: str, left: Trace, right: Trace, shown: int, i: int) -> Compared:
    parts = next((s for s in range(shown) if left.counters[s][i] != right.counters[s][i]), None)
    return Compared(name, left.totals.counts[i], right.totals.counts[i], parts)


def _head(trace: Trace, count: int) -> tuple[Any, ...]:
    events = trace.events
    return events.id[:count], events.time[:count], events.type[:count]


def _matches(trace: Trace, shown: int) -> dict[frozenset[Any], TracedMatch]:
    return {frozenset(match.events.items()): match for match in trace.matches if match.step < shown}
