"""Traces of mechanisms: operations, counters and matches, step by step.

Each step is one arriving event, so traces of mechanisms over the same stream are aligned. Long
streams keep only their first steps; totals cover the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from cepkit.arguments import typed
from cepkit.errors import TraceError
from cepkit.lazy import pd
from cepkit.printing import WithPrinter
from cepkit.stream.codec import SPARSE, keyed
from cepkit.stream.shapes import ShapeError, check_below, shown
from cepkit.tracing import search
from cepkit.tracing.clauses import Clause
from cepkit.tracing.comparison import TraceComparison, compare
from cepkit.tracing.diagram import Diagram, check_trees
from cepkit.tracing.operations import Create, Operation, OperationName, Reason, checked_in
from cepkit.tracing.records import Counts, Step, Totals, TracedMatch, TracedPattern, Truncated
from cepkit.tracing.trace import Place, Trace
from cepkit.tracing.words import Words

_MOST_NAMED = 4
"""The most patterns whose plans are a part of a trace's name."""


@dataclass(frozen=True, repr=False)
class Steps(WithPrinter):
    """Some steps of a trace; they print as sentences."""

    trace: MechanismTrace
    steps: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)


@dataclass(frozen=True, repr=False, kw_only=True)
class MechanismTrace(Trace):
    """A run of a mechanism over a stream.

    Attributes:
        clauses: The parts of the pattern's text that operations refer to.
        variables: The variables of a match, in pattern order.
        plan: Its plan as a text; empty if it follows none.
        diagram: Its nodes and edges.
        matches: The matches of the steps that are kept.
        totals: Counters of the whole run.
        truncated: How many steps were kept of how many, if it is cut.
        patterns: The patterns, if several ran together; else empty.
        alike: The equal clauses of several patterns about their common part.
    """

    schema: ClassVar[str] = "cepkit.trace/1"
    of: ClassVar[str] = "mechanisms"
    unit: ClassVar[str] = "events"
    counter_titles: ClassVar[Mapping[str, str]] = {
        "evaluations": "evaluations",
        "instances": "instances alive",
        "stored": "events stored",
        "created": "instances created",
        "expired": "instances expired",
        "matches": "matches",
    }
    total_titles: ClassVar[Mapping[str, str]] = {
        "name": "mechanism and plan",
        "evaluations": "evaluations",
        "peak_instances": "peak instances",
        "peak_stored": "peak stored",
        "matches": "matches",
    }

    operations: tuple[tuple[Operation, ...], ...] = field(metadata=keyed("steps"))
    counters: tuple[Counts, ...]
    clauses: tuple[Clause, ...]
    variables: tuple[str, ...]
    mechanism: str
    plan: str
    diagram: Diagram
    matches: tuple[TracedMatch, ...]
    totals: Totals
    truncated: Truncated | None
    patterns: tuple[TracedPattern, ...] = field(default=(), metadata=SPARSE)
    alike: tuple[tuple[int, ...], ...] = field(default=(), metadata=SPARSE)

    @property
    def name(self) -> str:
        """The mechanism and its plan: ``chain-nfa c → b → a``."""
        if len(self.patterns) > _MOST_NAMED:
            shared = sum(len(placed.node.patterns) > 1 for placed in self.diagram.nodes)
            nodes = len(self.diagram.nodes)
            return f"{self.mechanism} of {len(self.patterns)}: {shared} of {nodes} nodes shared"
        return f"{self.mechanism} {self.plan}".rstrip()

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps: one for each event, and one for the end of the stream."""
        count = len(self.events)
        return tuple(
            Step(i, i if i < count else None, done) for i, done in enumerate(self.operations)
        )

    @property
    def final(self) -> bool:
        """Whether the last step is the end of the stream."""
        return len(self) > len(self.events)

    @property
    def places(self) -> Sequence[Place]:
        """The time and the event of each step."""
        times = self.events.time
        end = Place(times[-1] if times else 0, None)
        return [*(Place(time, i) for i, time in enumerate(times)), end][: len(self)]

    @property
    def streamed(self) -> int:
        """How many events the stream has."""
        return self.totals.events

    @property
    def telling(self) -> Sequence[str]:
        """The counters drawn by default."""
        return ("evaluations", "instances", "stored", "matches")

    @cached_property
    def births(self) -> search.Births:
        """For each instance the step of its creation, and the operation."""
        return {
            operation.instance: (number, operation)
            for number, step in enumerate(self.operations)
            for operation in step
            if isinstance(operation, Create)
        }

    @property
    def words(self) -> Words:
        """Writes its steps as sentences."""
        return Words(self.events, self.diagram, self.matches)

    def __getitem__(self, index: int | slice) -> Steps:
        """Return some steps, which print as sentences: ``trace[10:20]``."""
        selected = self.steps[index]
        return Steps(self, selected if isinstance(selected, tuple) else (selected,))

    @typed
    def next_match(self, after: int = -1) -> TracedMatch | None:
        """Return the first match at a later step than `after`; None if there is none."""
        return next((match for match in self.matches if match.step > after), None)

    @typed
    def fate(self, instance: int) -> search.Fate:
        """Return the history of an instance: its origin, its refusals, its end.

        Raises:
            TraceError: The trace has no such instance.
        """
        return search.fate(self.steps, self.words, self.births, self.variables, instance)

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
    ) -> tuple[search.Found, ...]:
        """Return the operations that satisfy the criteria, with their steps and sentences.

        Args:
            name: The operation: "evaluate", "create", "discard", "match" ...
            event: About this event, by its number in the trace.
            node: At this node of the diagram.
            clause: In which this clause was checked.
            held: With this outcome.
            reason: Why an instance ended.
            after: At later steps than this.

        Raises:
            TraceError: No operation has that name.
        """
        parts = {"event": event, "variable": variable, "node": node, "held": held, "reason": reason}
        return search.find(self.steps, self.words, name, instance, clause, after, **parts)

    def compare(self, other: Trace) -> TraceComparison:
        """Compare two runs over the same events: totals side by side, and their first difference.

        Raises:
            TraceError: The events or the pattern are others, or it is no trace.
        """
        if not isinstance(other, MechanismTrace):
            hint = "simulate returns one, by another mechanism or plan"
            raise TraceError(f"a {type(other).__name__} instead of a trace", hint=hint)
        if different := self.difference(other):
            expected = f"two runs of one {different.removesuffix('s')}"
            raise TraceError(f"these are traces of two {different}", expected=expected)
        return compare(
            (self.name, other.name),
            (self.counters, other.counters),
            (self.totals, other.totals),
            (self.matches, other.matches),
        )

    def matches_frame(self) -> pd.DataFrame:
        """Return the matches as a column of events for each variable.

        `to_pandas(nested=True)` of the result of `detect` has the same form.

        With several patterns the first column, `pattern`, names the pattern of a match.

        Returns:
            For each variable dictionaries of id, time, type and attributes (lists of them for
            Kleene variables, None if a branch of an OR does not bind it), `match_start`,
            `match_end` and `step`.
        """
        events = self.events
        times = pd.to_datetime(list(events.time), unit="us", utc=True)

        def row(event: int) -> dict[str, Any]:
            known = {name: column[event] for name, column in events.attributes.items()}
            return {
                "id": events.id[event],
                "time": times[event],
                "type": events.type[event],
                **known,
            }

        def place(bound: int | tuple[int, ...] | None) -> Any:
            if bound is None:
                return None
            return [row(event) for event in bound] if isinstance(bound, tuple) else row(bound)

        several = [variable for pattern in self.patterns for variable in pattern.variables]
        bound = {variable for match in self.matches for variable in match.events}
        variables = [v for v in dict.fromkeys(several) if v in bound] or self.variables
        columns: dict[str, Any] = {
            variable: pd.Series([place(m.events.get(variable)) for m in self.matches], dtype=object)
            for variable in variables
        }
        if self.patterns:
            columns = {"pattern": [match.pattern for match in self.matches], **columns}
        # Events are numbered in time order.
        columns["match_start"] = times[[min(match.members) for match in self.matches]]
        columns["match_end"] = times[[max(match.members) for match in self.matches]]
        columns["step"] = [match.step for match in self.matches]
        return pd.DataFrame(columns)

    def counters_frame(self) -> pd.DataFrame:
        """Return the counters after each step, one column each."""
        frame = pd.DataFrame(list(self.counters), columns=list(Counts._fields))
        frame.index.name = "step"
        return frame

    def encoded(self) -> dict[str, Any]:
        """Return the trace as JSON data."""
        return {**super().encoded(), "final": self.final}

    def sizes(self) -> Mapping[str, tuple[str, int]]:
        """Return for each index field of operations the kind of things and their number."""
        return {
            "event": ("events", len(self.events)),
            "edge": ("edges", len(self.diagram.edges)),
            "node": ("nodes", len(self.diagram.nodes)),
            "match": ("matches", len(self.matches)),
        }

    def check(self) -> None:
        """Check that the parts of a decoded trace fit together.

        Raises:
            ShapeError: They do not.
        """
        if len(self) > len(self.events) + 1:
            expected = "one for each event, and one for the end"
            raise ShapeError(shown(self.operations), expected, "steps")
        super().check()
        for number, clause in enumerate(self.clauses):
            if not clause.begin <= clause.end <= len(self.pattern):
                raise ShapeError("outside of the pattern", "a part of it", f"clauses[{number}]")
        for number, pattern in enumerate(self.patterns):
            if not pattern.begin <= pattern.end <= len(self.pattern):
                raise ShapeError("outside of the text", "a part of it", f"patterns[{number}]")
        for number, alike in enumerate(self.alike):
            for one in alike:
                check_below(one, len(self.clauses), "clauses", f"alike[{number}]")
        self._check_diagram()
        for i, match in enumerate(self.matches):
            self._check_match(match, f"matches[{i}]")
        born: set[int] = set()
        for number, step in enumerate(self.operations):
            for i, operation in enumerate(step):
                try:
                    self._check_operation(operation, born)
                except ShapeError as error:
                    raise error.within(f"steps[{number}][{i}]") from None

    def _check_diagram(self) -> None:
        for i, placed in enumerate(self.diagram.nodes):
            _check_number(placed.node.id, i, "nodes")
        for i, edge in enumerate(self.diagram.edges):
            _check_number(edge.id, i, "edges")
            for end, node in (("from", edge.begin), ("to", edge.end)):
                check_below(node, len(self.diagram.nodes), "nodes", f"diagram.edges[{i}].{end}")
        if self.diagram.kind in ("evaluation-tree", "multitree"):
            check_trees(self.diagram)

    def _check_match(self, match: TracedMatch, place: str) -> None:
        check_below(match.step, len(self), "steps", f"{place}.step")
        if not match.events:
            raise ShapeError("empty", "a variable or more", f"{place}.events")
        if match.pattern not in ({p.name for p in self.patterns} or {""}):
            expected = "one of the trace's patterns"
            raise ShapeError(shown(match.pattern), expected, f"{place}.pattern")
        for variable, bound in match.events.items():
            if variable not in self.variables or bound == ():
                expected = "one of the trace's variables, and an event or more"
                raise ShapeError(f"{shown(variable)}: {shown(bound)}", expected, f"{place}.events")
        for event in match.members:
            check_below(event, len(self.events), "events", f"{place}.events")

    def _check_operation(self, operation: Operation, born: set[int]) -> None:
        """Check that clauses, variables and instances exist; `born` instances exist so far."""
        for one in checked_in(operation):
            check_below(one.clause, len(self.clauses), "clauses", "checked")
        instances: tuple[int | None, ...]
        match operation:
            case Create(instance, parents, _, variable):
                if variable is not None and variable not in self.variables:
                    raise ShapeError(shown(variable), "one of the trace's variables", "variable")
                if instance in born:
                    again = f"a second instance {instance}"
                    raise ShapeError(again, "a number of its own for each")
                instances = parents
            case _:
                instances = tuple(getattr(operation, part, None) for part in ("instance", "other"))
        for number in instances:
            if number is not None and number not in born:
                raise ShapeError(f"instance {shown(number)}", "one that was created before")
        if isinstance(operation, Create):
            born.add(operation.instance)


def _check_number(number: int, place: int, what: str) -> None:
    if number != place:
        raise ShapeError(shown(number), f"{place}", f"diagram.{what}[{place}].id")
