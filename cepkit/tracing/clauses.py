"""The clauses of a pattern, with their places in its printed text.

The text is parsed again, and its nodes know their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from cepkit.errors import Span
from cepkit.pattern import nodes
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.conditions import Expression, conjuncts
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import StepBound, TimeWindow, Window, window_text
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import Repetitions

ClauseKind: TypeAlias = Literal["event", "absence", "condition", "window", "partition"]


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a pattern: the characters from `begin` up to, not including, `end`."""

    kind: ClauseKind
    begin: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a query.

    Attributes:
        text: The query, printed.
        rows: The clauses, in the order of the text.
        events: For each variable, absent ones too, the number of its clause.
        conditions: The number of the clause for each conjunct of WHERE and each bound of a step.
        begin: Where the query begins, in a text of several.
        first: The number of the first row there.
    """

    text: str
    rows: tuple[Clause, ...]
    events: dict[str, int]
    conditions: dict[Expression, int]
    begin: int = 0
    first: int = 0

    def text_of(self, number: int) -> str:
        """Return the text of a clause."""
        return self.rows[number - self.first].text

    def moved(self, begin: int, rows: int) -> Clauses:
        """Return the clauses as a part of a longer text, from `begin` on, after `rows` clauses."""
        return Clauses(
            self.text,
            tuple(replace(r, begin=r.begin + begin, end=r.end + begin) for r in self.rows),
            {variable: number + rows for variable, number in self.events.items()},
            {condition: number + rows for condition, number in self.conditions.items()},
            begin,
            rows,
        )

    @classmethod
    def of(cls, query: Query) -> Clauses:
        """Return the clauses of `query`."""
        text = str(query)
        again = parse(text)
        rows: list[Clause] = []

        def add(kind: ClauseKind, begin: int, end: int) -> int:
            rows.append(Clause(kind, begin, end, text[begin:end]))
            return len(rows) - 1

        events: dict[str, int] = {}
        inside: set[int] = set()
        for node in nodes.walk(again.written):
            match node:
                case nodes.Kleene() if nodes.group_of(node) is not None:
                    continue
                case nodes.Not() | nodes.Kleene() | nodes.First() | nodes.Next():
                    own = nodes.events_of(node)
                    if id(own[0]) not in inside:
                        kind: ClauseKind = "absence" if isinstance(node, nodes.Not) else "event"
                        number = add(kind, *_ends(node.span))
                        events |= {event.variable: number for event in own}
                        inside |= {id(event) for event in own}
                case nodes.Event(variable, _, span) if id(node) not in inside:
                    ends = variable in nodes.absent_in(again.structure)
                    events[variable] = add("absence" if ends else "event", *_ends(span))
        conditions = {c: add("condition", *_ends(c.span)) for c in conjuncts(again.where)}
        repeated = _of_repetitions(again)
        events |= {name: events[v] for v, names in repeated.variables.items() for name in names}
        conditions |= {one: conditions[c] for one, c in repeated.conditions.items()}
        for bound in again.bounds:
            number = add("condition", *_ends(bound.span))
            for branch in normal_form(again):
                for condition in branch.conditions:
                    made_of = bound_of(condition)
                    if made_of is None:
                        continue
                    turned = replace(made_of, first=made_of.last, last=made_of.first)
                    if bound in (
                        repeated.bounds.get(made_of, made_of),
                        repeated.bounds.get(turned, turned),
                    ):
                        conditions[condition] = number
        begin = 0
        for line in text.split("\n"):
            if query.window is not None and line == f"WITHIN {window_text(query.window)}":
                number = add("window", begin, begin + len(line))
                conditions = dict.fromkeys(_of_window(again), number) | conditions
            if line.startswith("PARTITION BY "):
                add("partition", begin, begin + len(line))
            begin += len(line) + 1
        return cls(text, tuple(rows), events, conditions)


def _of_window(query: Query) -> Iterator[Expression]:
    """Yield the conditions that a window of calendar days means."""
    for branch in normal_form(query):
        for condition in branch.conditions:
            bound = bound_of(condition)
            if bound is not None and bound.window == query.window and _is_of_days(bound.window):
                yield condition


def _is_of_days(window: Window) -> bool:
    return isinstance(window, TimeWindow) and window.days is not None


def _ends(span: Span | None) -> tuple[int, int]:
    assert span is not None, "what was read from a text knows its place"
    return span.start, span.end


@dataclass(frozen=True, slots=True)
class _OfRepetitions:
    """The repetitions of variables, conditions and bounds in groups, beside those as written."""

    variables: dict[str, set[str]]
    conditions: dict[Expression, Expression]
    bounds: dict[StepBound, StepBound]


def _of_repetitions(query: Query) -> _OfRepetitions:
    repeated = _OfRepetitions({}, {}, {})
    for branch in normal_form(query) if query.groups else ():
        names = {event.variable for event in branch.positive + branch.negated}
        repetitions = Repetitions(query.groups, names)
        for group in query.groups:
            for variable, own in group.within(names).items():
                repeated.variables.setdefault(variable, set()).update(own)
        for condition in conjuncts(query.where):
            repeated.conditions.update(
                (one, condition) for one, _ in repetitions.conditions(condition)
            )
        for bound in query.bounds:
            repeated.bounds.update((one, bound) for one in repetitions.bounds(bound))
    return repeated
