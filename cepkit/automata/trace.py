"""A run as data: what each event of a stream made a mechanism do, and what it has found.

One step is one event that arrives, so mechanisms over the same stream go in step. Of long streams
the first steps are kept, and the totals are those of the whole run. docs/trace.md has the JSON.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cepkit.arguments import typed
from cepkit.automata.clauses import Clause
from cepkit.automata.diagram import Diagram
from cepkit.automata.journal import Counts
from cepkit.automata.operations import Create, OperationName, Reason
from cepkit.automata.records import EventTable, Step, Totals, TracedMatch, Truncated
from cepkit.printing import Printed

if TYPE_CHECKING:
    import pandas as pd

    from cepkit.automata.comparison import TraceComparison
    from cepkit.automata.search import Fate, Found


@dataclass(frozen=True, repr=False)
class Steps(Printed):
    """Some steps of a trace; prints what happened in sentences."""

    trace: Trace
    steps: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        from cepkit.automata.views import steps_text

        return steps_text(self.trace, self.steps)

    def _repr_html_(self) -> str:
        from cepkit.automata.views import steps_html

        return steps_html(self.trace, self.steps)


@dataclass(frozen=True, repr=False)
class Trace(Printed):
    """A run of a mechanism over a stream.

    Attributes:
        pattern: The query, printed.
        clauses: The parts of that text that operations speak of.
        events: The events of the steps that are kept.
        mechanism: The name of the mechanism.
        plan: What it followed, printed; empty where it follows nothing.
        diagram: Its nodes and edges.
        steps: What happened.
        counters: After each step the counters.
        matches: The matches of the steps that are kept.
        totals: Counters of the whole run.
        truncated: What is left out, if anything.
        variables: What a match can bind, in pattern order.
    """

    pattern: str
    clauses: tuple[Clause, ...]
    events: EventTable
    mechanism: str
    plan: str
    diagram: Diagram
    steps: tuple[Step, ...]
    counters: tuple[Counts, ...]
    matches: tuple[TracedMatch, ...]
    totals: Totals
    truncated: Truncated | None
    variables: tuple[str, ...]

    @property
    def name(self) -> str:
        """The mechanism and its plan: ``chain-nfa c → b → a``."""
        return f"{self.mechanism} {self.plan}".rstrip()

    @property
    def final(self) -> bool:
        """Whether the last step is the end of the stream."""
        return bool(self.steps) and self.steps[-1].event is None

    @cached_property
    def births(self) -> dict[int, tuple[int, Create]]:
        """For each instance the step at which it came to be, and how."""
        return {
            operation.instance: (step.number, operation)
            for step in self.steps
            for operation in step.operations
            if isinstance(operation, Create)
        }

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: int | slice) -> Steps:
        """Return some steps, told in sentences: ``trace[10:20]``."""
        chosen = self.steps[index]
        return Steps(self, chosen if isinstance(chosen, tuple) else (chosen,))

    @typed
    def next_match(self, after: int = -1) -> TracedMatch | None:
        """Return the first match at a later step than `after`, None where there is none."""
        return next((match for match in self.matches if match.step > after), None)

    @typed
    def fate(self, instance: int) -> Fate:
        """Return what an instance went through: whence it came, what refused it, why it ended.

        Raises:
            TraceError: The trace has no such instance.
        """
        from cepkit.automata.search import fate

        return fate(self, instance)

    @typed
    def find(
        self,
        name: OperationName | None = None,
        *,
        instance: int | None = None,
        event: int | None = None,
        variable: str | None = None,
        node: int | None = None,
        clause: int | None = None,
        held: bool | None = None,
        reason: Reason | None = None,
        after: int = -1,
    ) -> tuple[Found, ...]:
        """Return the operations that are as asked for, with their steps and in sentences.

        Args:
            name: What is done: "evaluate", "create", "discard", "match" ...
            instance: About this instance.
            event: About this event, by its number in the trace.
            variable: For this variable.
            node: At this node of the diagram.
            clause: In which this clause was checked.
            held: With this outcome.
            reason: Of instances that ended: why.
            after: At later steps than this.

        Raises:
            TraceError: No operation has that name.
        """
        from cepkit.automata.search import find

        parts = {"event": event, "variable": variable, "node": node, "held": held, "reason": reason}
        return find(self, name, instance, clause, after, **parts)

    def compare(self, other: Trace) -> TraceComparison:
        """Compare two runs over the same events: totals side by side, and where they part.

        Raises:
            TraceError: The events or the pattern are others.
        """
        from cepkit.automata.comparison import compare

        return compare(self, other)

    def matches_frame(self) -> pd.DataFrame:
        """Return the matches as `detect` gives them: a column of events for each variable.

        Returns:
            For each variable dictionaries of id, time, type and attributes (lists of them for
            Kleene variables, None where a branch of an OR does not bind it), `match_start`,
            `match_end` and `step`.
        """
        from cepkit.automata.frames import matches_frame

        return matches_frame(self)

    def counters_frame(self) -> pd.DataFrame:
        """Return the counters after each step, one column each."""
        from cepkit.automata.frames import counters_frame

        return counters_frame(self)

    def __str__(self) -> str:
        from cepkit.automata.views import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from cepkit.automata.views import to_html

        return to_html(self)

    @typed
    def to_json(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the trace as JSON (docs/trace.md), and write it to `path` if one is given.

        Args:
            path: The file, whose name ends in .json.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.

        Raises:
            FileError: It cannot, or must not, be written.
        """
        from cepkit.automata.trace_json import encode
        from cepkit.stream.json_text import write_json

        return write_json(encode(self), path, overwrite=overwrite)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Trace:
        """Return the trace of a JSON text, or of a file.

        Args:
            source: What `to_json` gave, or a path where it was written.

        Raises:
            TraceError: It is no trace of a version that is known.
        """
        from cepkit.automata.trace_json import SCHEMA, decode
        from cepkit.stream.json_text import read_json

        return read_json(source, SCHEMA, decode)
