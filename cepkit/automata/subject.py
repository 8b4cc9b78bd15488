"""The patterns of a run, one or several by name, as one text with its clauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cepkit.automata.joint import Member
from cepkit.pattern import conditions as c
from cepkit.pattern.calendar_windows import calendar_bounds
from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.numbers import has_next
from cepkit.pattern.printer import expression_text
from cepkit.pattern.query import Query
from cepkit.tracing.clauses import Clauses
from cepkit.tracing.records import TracedPattern


@dataclass(frozen=True, slots=True)
class Subject:
    """A query, or several by their names.

    Attributes:
        names: The name of each; empty for a single query.
        clauses: The clauses of each, with their places in `text`.
        attributes: The attributes that they read.
    """

    queries: tuple[Query, ...]
    names: tuple[str, ...]
    clauses: tuple[Clauses, ...]
    text: str
    attributes: tuple[str, ...]

    @classmethod
    def of(cls, query: Query) -> Subject:
        """Return the subject of one query."""
        clauses = Clauses.of(query)
        return cls((query,), (), (clauses,), clauses.text, attributes_read(query))

    @classmethod
    def several(cls, queries: Mapping[str, Query]) -> Subject:
        """Return the subject of several queries; in the text each stands under its name."""
        text, rows = "", 0
        clauses: list[Clauses] = []
        for name, query in queries.items():
            own = Clauses.of(query)
            text += f"{name}:\n"
            clauses.append(own.moved(len(text), rows))
            text, rows = f"{text}{own.text}\n\n", rows + len(own.rows)
        attributes = {name for query in queries.values() for name in attributes_read(query)}
        return cls(
            tuple(queries.values()),
            tuple(queries),
            tuple(clauses),
            text.rstrip(),
            tuple(sorted(attributes)),
        )

    @property
    def values(self) -> tuple[str, ...]:
        """The values of events: the attributes; with NEXT arrival numbers, with bounds times."""
        counted = any(has_next(query.structure) for query in self.queries)
        timed = any(map(reads_time, self.queries))
        numbers = (c.NUMBER, c.NUMBER_BEFORE) if counted else ()
        return (*self.attributes, *numbers, *((c.TIME,) if timed else ()))

    def patterns(self, members: Sequence[Member]) -> tuple[TracedPattern, ...]:
        """Return the pattern of each query for traces; none for a single query."""
        if not self.names:
            return ()
        called: dict[int, dict[str, dict[str, None]]] = {}
        for member in sorted(members, key=lambda member: member.number):
            names = called.setdefault(member.query, {})
            for variable in (*member.branch.variables, *member.called):
                names.setdefault(variable, {})[member.called[variable]] = None
        return tuple(
            TracedPattern(
                name,
                self.clauses[number].begin,
                self.clauses[number].begin + len(self.clauses[number].text),
                {variable: tuple(shown) for variable, shown in called[number].items()},
            )
            for number, name in enumerate(self.names)
        )

    def alike(self, members: Sequence[Member]) -> tuple[tuple[int, ...], ...]:
        """Return groups of clauses of different queries that agree on shared variables."""
        groups: dict[tuple[str, ...], set[int]] = {}
        for member in members if self.names else ():
            numbers = self.clauses[member.query].conditions
            for condition in member.branch.as_written.conditions:
                parts = canonical_conditions([condition], member.called)
                key = tuple(map(expression_text, parts))
                groups.setdefault(key, set()).add(numbers[condition])
        return tuple(tuple(sorted(each)) for each in groups.values() if len(each) > 1)


def reads_time(query: Query) -> bool:
    """Return whether conditions read the time of an event other than by a column."""
    if query.bounds or calendar_bounds(query.structure, query.window):
        return True
    return any(isinstance(n, c.Attribute) and n.name == c.TIME for n in c.walk(query.where))


def attributes_read(query: Query) -> tuple[str, ...]:
    """Return the attributes that a query reads, with those of PARTITION BY."""
    names = {name for _, name in c.attributes_of(query.where)}
    return tuple(sorted(names | set(query.partition_by)))
