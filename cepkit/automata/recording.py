"""The recording of a run, step by step, as a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cepkit.automata.chart import Chart, diagram
from cepkit.automata.joint import Member
from cepkit.automata.lanes.journal import Journal
from cepkit.automata.subject import Subject
from cepkit.budget import WorkBoundError
from cepkit.errors import LimitError
from cepkit.stream.columns import EventColumns
from cepkit.tracing import MechanismTrace
from cepkit.tracing.diagram import DiagramKind
from cepkit.tracing.events import EventTable, shown_attributes
from cepkit.tracing.operations import Operation
from cepkit.tracing.records import Counts, Totals, TracedMatch, Truncated

MOST_STEPS = 20_000
MOST_OPERATIONS = 100_000
"""The most operations of a trace; a browser can still hold them."""


class Recording:
    """The operations of a run, recorded step by step.

    Args:
        events: The number of events; one more step is the end of the stream.
        max_steps: The most steps to keep.
    """

    def __init__(
        self,
        journal: Journal,
        chart: Chart,
        subject: Subject,
        members: Sequence[Member],
        events: int,
        max_steps: int,
    ) -> None:
        self.matches: list[TracedMatch] = []
        self._journal, self._chart, self._subject = journal, chart, subject
        self._members: Mapping[int, Member] = {member.number: member for member in members}
        self._events, self._max_steps = events, max_steps
        self._steps: list[tuple[Operation, ...]] = []
        self._counters: list[Counts] = []
        self._operations = self._ran = 0
        self._totals = self._totals_now()

    @property
    def whole(self) -> bool:
        """Whether the trace has kept everything so far."""
        return self._journal.recording

    def run(self, steps: Iterable[Sequence[Operation]]) -> None:
        """Run and record the steps; if the user interrupts, the trace has those until then.

        Raises:
            LimitError: They need more than the run may do.
        """
        try:
            for step in steps:
                self.keep(step)
        except KeyboardInterrupt:
            if not self._ran:
                raise
        except WorkBoundError:
            raise self.refusal() from None

    def refusal(self) -> LimitError:
        """Return the error of a run that does more than it may."""
        journal, event = self._journal, min(self._ran + 1, self._events)
        fewer = f"limit={event - 1} ends before it; " if event > 1 else ""
        return LimitError(
            f"the run stopped at event {event:,} of {self._events:,}: it evaluated conditions "
            f"{journal.evaluations:,} times and made {journal.created:,} partial matches, of which "
            f"{journal.instances:,} are alive; that is {journal.work.done:,} units of work",
            expected=f"at most {journal.work.budget:,} up to this event (max_work)",
            hint=f"{fewer}a shorter window, a bound as KL(B b){{1,3}} or another plan needs less; "
            "max_work=None runs to the end; detect makes no partial matches one by one",
        )

    def keep(self, step: Sequence[Operation]) -> None:
        """Record the latest step of the run."""
        journal = self._journal
        self._ran += 1
        self._totals = self._totals_now()
        new_matches, journal.new_matches = journal.new_matches, []
        if not journal.recording:
            return
        names = self._subject.names
        for instance, branch, binding in new_matches:
            member = self._members[branch]
            variables = member.branch.variables
            bound = {v: _number(place) for v, place in zip(variables, binding, strict=True)}
            pattern = names[member.query] if names else ""
            self.matches.append(TracedMatch(len(self._steps), instance, bound, pattern))
        self._steps.append(tuple(step))
        self._counters.append(journal.counts())
        self._operations += len(step)
        # The end of the stream is a step as well, but no event.
        journal.recording = self._operations < MOST_OPERATIONS and (
            len(self._steps) < self._max_steps or len(self._steps) == self._events
        )

    def trace(
        self, mechanism: str, kind: DiagramKind, columns: EventColumns, plan: str
    ) -> MechanismTrace:
        """Return the trace, after the last step."""
        subject, total = self._subject, self._events + 1
        ran = None if self._ran == total else self._ran
        members = [self._members[number] for number in sorted(self._members)]
        rows = np.arange(min(len(self._steps), self._events))
        names = (v for m in members for v in m.branch.variables)
        called = (m.called.get(v, v) for m in members for v in m.branch.variables)
        return MechanismTrace(
            pattern=subject.text,
            patterns=subject.patterns(members),
            alike=subject.alike(members),
            clauses=tuple(row for clauses in subject.clauses for row in clauses.rows),
            variables=tuple(dict.fromkeys((*names, *called))),
            events=EventTable(
                tuple(columns.arrival()[rows].tolist()),
                tuple(columns.ts[rows].tolist()),
                tuple(columns.type_names[code] for code in columns.types[rows].tolist()),
                shown_attributes(columns, subject.attributes, rows),
            ),
            mechanism=mechanism,
            plan=plan,
            diagram=diagram(kind, self._chart),
            operations=tuple(self._steps),
            counters=tuple(self._counters),
            matches=tuple(self.matches),
            totals=self._totals,
            truncated=None
            if len(self._steps) == total
            else Truncated(len(self._steps), total, ran),
        )

    def _totals_now(self) -> Totals:
        journal = self._journal
        by_pattern = dict.fromkeys(self._subject.names, 0)
        if by_pattern:
            for branch, count in journal.matches_by_branch.items():
                by_pattern[self._subject.names[self._members[branch].query]] += count
        counts = journal.counts()
        return Totals(counts, journal.peak_instances, journal.peak_stored, self._events, by_pattern)


def _number(place: Any) -> int | tuple[int, ...]:
    if isinstance(place, tuple):
        return tuple(event.number for event in place)
    number: int = place.number
    return number
