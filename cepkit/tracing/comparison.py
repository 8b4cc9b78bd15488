"""Compares two traces over the same events: counters, first difference, matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.printing import Printed, html_output
from cepkit.tables import html_table, text_table, whole
from cepkit.tracing.records import Counts, Totals, TracedMatch


@dataclass(frozen=True, slots=True)
class Compared:
    """A counter of two runs.

    Attributes:
        counter: Its name.
        left: Its total in the first run.
        right: In the second.
        parts: The first step after which they differ; None if they never do within the common
            steps.
    """

    counter: str
    left: int
    right: int
    parts: int | None


@dataclass(frozen=True, slots=True, repr=False)
class TraceComparison(Printed):
    """Two runs over the same events, side by side.

    Attributes:
        rows: The counters of the whole runs.
        same_matches: Whether they found the same matches within the common steps.
        first_difference: The first match that only one of them has, or has earlier.
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


def compare(
    names: tuple[str, str],
    counters: tuple[Sequence[Counts], Sequence[Counts]],
    totals: tuple[Totals, Totals],
    matches: tuple[Sequence[TracedMatch], Sequence[TracedMatch]],
) -> TraceComparison:
    """Compare two runs over the same events, each given as a pair."""
    both = list(zip(*counters, strict=False))
    rows = [
        Compared(
            name,
            totals[0].counts[i],
            totals[1].counts[i],
            next((s for s, (left, right) in enumerate(both) if left[i] != right[i]), None),
        )
        for i, name in enumerate(Counts._fields)
        if name not in ("instances", "stored")
    ]
    rows += [
        Compared(peak, getattr(totals[0], peak), getattr(totals[1], peak), None)
        for peak in ("peak_instances", "peak_stored")
    ]
    ours, theirs = (
        {frozenset(m.events.items()): m for m in some if m.step < len(both)} for some in matches
    )
    sooner = [
        some[key]
        for some, other in ((ours, theirs), (theirs, ours))
        for key in some
        if key not in other or some[key].step < other[key].step
    ]
    return TraceComparison(
        names,
        tuple(rows),
        not sooner,
        min(sooner, key=lambda match: match.step, default=None),
        tuple(ours[key] for key in ours if key not in theirs),
        tuple(theirs[key] for key in theirs if key not in ours),
    )
