"""The question: a pattern, the events it is asked about, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cepkit.budget import Work
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.detector import Detector
from cepkit.columnar.slices.blocks import bound_in
from cepkit.diagnosis.event_table import EventTable, Ints
from cepkit.diagnosis.findings import Binding, Finding, Inspector
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.result import AnswerEvent, NearMiss
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.words import value_text
from cepkit.errors import LimitError, PatternError, StreamError, nearest, shown
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.nodes import events_of, repeated_in
from cepkit.pattern.normal_form import Branch, normal_form, runs_as_absences
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.stream.columns import Column, EventColumns
from cepkit.tables import count_text


@dataclass(frozen=True)
class Naming:
    """The names of events in questions and answers.

    Attributes:
        column: The name of the column of ids; None for row numbers.
        ids: The column of ids.
    """

    columns: EventColumns
    column: str | None = None
    ids: Column | None = None

    def name(self, event: int) -> str:
        """Return the name of an event in a sentence: `row 17`."""
        return f"{self.column or 'row'} {self.id(event)}"

    def id(self, event: int) -> object:
        """Return the row number of an event, or its id."""
        if self.ids is None:
            return int(self.columns.source_rows(np.array([event]))[0])
        column = self.ids.take(np.array([event]))
        if column.missing()[0]:
            return None
        value = column.values[0]
        return str(column.dictionary[int(value)]) if column.kind == "text" else value.item()

    def event(self, variable: str, reference: object) -> int:
        """Return the event that a user means.

        Raises:
            StreamError: There is no such event, or more than one.
        """
        events = self._rows(reference) if self.ids is None else self._with_id(self.ids, reference)
        if len(events) == 1:
            return int(events[0])
        what = f"{self.column or 'row'} {shown(reference)}, named as '{variable}',"
        if len(events):
            raise StreamError(
                f"{what} occurs {len(events):,} times",
                expected="a column with a different value for each event",
                hint="without id=, the number of its row, from 0, names an event",
            )
        if self.ids is not None:
            raise StreamError(
                f"{what} occurs in no event",
                hint=_hint(self.ids, reference) or "is it of this stream?",
            )
        rows = len(self.columns.source)
        if isinstance(reference, int | np.integer) and 0 <= reference < rows:
            raise StreamError(
                f"{what} is not an event: it has no time or no type", expected="a row with both"
            )
        raise StreamError(
            f"{what} is not in the stream",
            expected=f"the number of a row, 0 to {rows - 1:,}" if rows else "a stream with rows",
            hint="id='column' names events by their values in a column",
        )

    @cached_property
    def _row_numbers(self) -> Ints:
        return self.columns.source_rows(np.arange(len(self.columns))).astype(np.int64)

    def _rows(self, reference: object) -> Ints:
        if not isinstance(reference, int | np.integer) or isinstance(reference, bool):
            raise StreamError(
                f"an event is named by {shown(reference)}",
                expected="the number of its row, from 0",
                hint="id='column' names events by their values in a column",
            )
        return np.flatnonzero(self._row_numbers == int(reference))

    def _with_id(self, column: Column, value: Any) -> Ints:
        if column.kind == "text":
            at = np.flatnonzero(column.dictionary == str(value))
            known = isinstance(value, str) and len(at)
            return np.flatnonzero(column.values == at[0]) if known else np.empty(0, np.int64)
        value = _number(value) if isinstance(value, str) else value
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if column.kind not in ("integer", "float") or not number:
            raise StreamError(
                f"{self.column} {shown(value)}: the column holds {column.kind} values",
                expected="an id as the column has it: a text or a number",
            )
        return np.flatnonzero(~column.missing() & (column.values == value))


def _number(text: str) -> float | str:
    """Return the number that a text is, as on the command line; any other text as it is."""
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return text


def _hint(column: Column, value: object) -> str | None:
    if column.kind != "text" or len(column.dictionary) > 10_000:
        return None
    return nearest(str(value), column.dictionary.tolist())


def check_names(query: Query, bindings: Mapping[str, object]) -> None:
    """Check that all names are variables of a query, and that only Kleene ones have several events.

    Raises:
        PatternError: A name is no variable, or a variable has more events than it may.
    """
    known = [event.variable for event in events_of(query.written)]
    repeated = repeated_in(query.written)
    for variable, reference in bindings.items():
        if variable not in known:
            raise PatternError.unknown(
                f"'{variable}' is not a variable of the pattern", variable, known
            )
        if several(reference) and not ids(reference):
            raise PatternError(
                f"'{variable}' names no event",
                expected="an event, or a list of some",
                hint="leave out variables whose events are to be searched for",
            )
        if several(reference) and variable not in repeated:
            raise PatternError(
                f"'{variable}' names {count_text(len(ids(reference)), 'event')}",
                expected="one event: only a variable under KL takes several",
            )
        most = min((len(g.repetitions) for g in query.groups if variable in g.variables), default=0)
        if most and len(ids(reference)) > most:
            raise PatternError(
                f"'{variable}' names {count_text(len(ids(reference)), 'event')}",
                expected=f"at most {most}, one for each repetition of the group",
            )


def several(value: object) -> bool:
    """Return whether a user names a list of events."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def ids(value: Any) -> list[Any]:
    """Return the ids that a user names, one or several."""
    return list(value) if several(value) else [value]


@dataclass(frozen=True)
class Question:
    """A pattern and a stream, prepared for questions about named events and about any.

    Attributes:
        plan: The order of the funnel's steps.
        violations: How many requirements a near miss may violate.
        limit: The most near misses.
        budget: The most events in combinations that each part of the answer may look at.
    """

    query: Query
    table: EventTable
    naming: Naming
    plan: Plan
    violations: int
    limit: int
    budget: int

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The branches of the pattern; events that runs may not leave out are absences there."""
        return tuple(map(runs_as_absences, normal_form(self.query)))

    @cached_property
    def inspectors(self) -> tuple[Inspector, ...]:
        """The inspector of each branch, which checks its requirements on a combination."""
        measures = (Measures(self.table, branch) for branch in self.branches)
        return tuple(Inspector(each, self.naming.name) for each in measures)

    @cached_property
    def next_matches(self) -> list[Binding] | None:
        """The matches under skip-till-next-match in stream order; None: too many sets to choose."""
        matches: list[Binding] = []
        with suppress(LimitError):
            found = Detector(compile_query(self.query, self.plan)).matches(self.naming.columns)
            for number, block in found:
                names = self.branches[number].variables
                single, sets = bound_in(block, names)
                for at in range(block.size):
                    events = {v: rows[at : at + 1] for v, rows in single.items()}
                    events |= {v: m.rows[m.starts[at] : m.starts[at + 1]] for v, m in sets.items()}
                    matches.append({v: tuple(sorted(events[v].tolist())) for v in names})
            return matches
        return None

    def cheapest(self, number: int) -> list[str]:
        """Return the variables of a branch, the rarest first."""
        search = Search(self.inspectors[number].measures, self.branches[number].variables, Work(0))
        counts = {v: len(search.candidates(v)) for v in self.branches[number].variables}
        return sorted(counts, key=lambda v: counts[v])

    def near_miss(
        self, number: int, binding: Binding, violated: list[Finding] | tuple[Finding, ...]
    ) -> NearMiss:
        """Return a combination of a branch as a row of the answer."""
        branch = self.branches[number]
        events = [self.event(branch, v, e) for v in branch.variables for e in binding[v]]
        return NearMiss(
            number + 1, tuple(events), tuple(violated), sum(f.relative for f in violated)
        )

    def event(
        self, branch: Branch, variable: str, event: int, *, given: bool = False
    ) -> AnswerEvent:
        """Return an event as a row of the answer shows it."""
        columns = self.table.columns
        at = np.array([event])
        written = branch.as_written.conditions
        read = {name for c in written for v, name in attributes_of(c) if v == variable}
        names = [n for n in columns.attributes if n in read or n in self.query.partition_by]
        return AnswerEvent(
            variable,
            event,
            self.naming.id(event),
            self.naming.name(event),
            columns.type_names[int(columns.types[event])],
            int(columns.ts[event]),
            {name: value_text(columns.attributes[name].take(at)) for name in names},
            given,
        )

    def absent_types(self) -> list[str]:
        """Return a note for each type that the pattern names and that never occurs."""
        known = self.table.columns.type_names
        types = {t for event in events_of(self.query.structure) for t in event.types or ()}
        notes = []
        for name in sorted(types - set(known)):
            hint = nearest(name, known)
            notes.append(f"no event has the type '{name}'" + (f": {hint}" if hint else ""))
        return notes
