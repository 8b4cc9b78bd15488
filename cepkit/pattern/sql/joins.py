"""A branch as a join of the table with itself, each requirement as a condition of a join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import combinations
from typing import assert_never

from sqlglot import exp

from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.nodes import Event
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow, window_text
from cepkit.pattern.requirements import (
    Absent,
    Before,
    Distinct,
    Holds,
    OfType,
    Requirement,
    SamePartition,
    SideBySide,
    Size,
    Unconsumed,
    Within,
    may_coincide,
    requirements_of,
    text_of,
)
from cepkit.pattern.sql.expressions import Tree, all_of, comparison, tree_of
from cepkit.pattern.sql.table import Table


def join_of(branch: Branch, columns: Sequence[Tree], table: Table) -> exp.Select:
    """Return the SELECT of a branch.

    Raises:
        UnsupportedError: A join cannot express a requirement.
    """
    joined: dict[str, list[Tree]] = {variable: [] for variable in branch.variables}
    where: list[Tree] = []
    for requirement in requirements_of(branch):
        for names, condition in _conditions(requirement, branch, table):
            last = [variable for variable in branch.variables if variable in names]
            (joined[last[-1]] if last else where).append(condition)
    first, *others = branch.variables
    select = exp.select(*columns).from_(table.source(first))
    for variable in others:
        if joined[variable]:
            on = all_of(joined[variable])
            select = select.join(table.source(variable), on=on, join_type="inner")
        else:
            select = select.join(table.source(variable), join_type="cross")
    where = [*joined[first], *where]
    return select.where(all_of(where)) if where else select


def _conditions(
    requirement: Requirement, branch: Branch, table: Table
) -> Iterator[tuple[frozenset[str], Tree]]:
    """Yield conditions, each with its variables; without any it is about the whole match."""
    match requirement:
        case OfType(event):
            for condition in type_conditions(event, table):
                yield frozenset((event.variable,)), condition
        case Before(first, second):
            pair = frozenset((first, second))
            yield pair, comparison("<", table.moment(first), table.moment(second))
        case Distinct(first, second):
            if may_coincide(branch, first, second):
                yield frozenset((first, second)), _distinct(first, second, table)
        case SamePartition(names):
            for other in branch.variables[1:]:
                pair = frozenset((branch.variables[0], other))
                for condition in _same(names, branch.variables[0], other, table):
                    yield pair, condition
        case Within(window):
            if window.most < 0:
                yield frozenset(), exp.false()
            for first, last in _spans(branch, branch.variables):
                pair = frozenset((first, last))
                yield pair, within(window, first, last, table)
        case Holds(condition):
            yield variables_of(condition), tree_of(condition, table)
        case Absent(event, others=others):
            yield frozenset(), _absent(branch, (event, *others), table)
        case SideBySide() | Size() | Unconsumed():
            raise UnsupportedError(
                f"a join cannot express {text_of(requirement)}",
                hint="run the pattern with cepkit",
            )
        case _:
            assert_never(requirement)


def type_conditions(event: Event, table: Table) -> Iterator[Tree]:
    """Yield the condition on the type of an event; none if it may have any.

    Raises:
        UnsupportedError: The table has no column of types.
    """
    if event.types is None:
        return
    if table.type is None:
        raise UnsupportedError(
            f"'{event.variable}' has a type, and type=None",
            expected="ANY, or the name of the column of types",
            span=event.span,
        )
    column = table.column(event.variable, table.type)
    kinds = [exp.Literal.string(kind) for kind in sorted(event.types)]
    if len(kinds) == 1:
        yield exp.EQ(this=column, expression=kinds[0])
    else:
        yield exp.In(this=column, expressions=kinds)


def within(window: TimeWindow | CountWindow, first: str, last: str, table: Table) -> Tree:
    """Return the condition that one event is at most a window after another.

    Raises:
        UnsupportedError: The window counts events.
    """
    if isinstance(window, CountWindow):
        raise UnsupportedError(
            f"SQL cannot express WITHIN {window.events} EVENTS exactly",
            hint="a window of time, as in WITHIN 10 minutes",
            span=window.span,
        )
    if window.days is not None:
        raise UnsupportedError(
            f"SQL cannot express WITHIN {window_text(window)} exactly",
            hint=f"a window of hours, as in WITHIN {24 * window.days} hours",
            span=window.span,
        )
    latest = table.shifted(table.moment(first), timedelta(microseconds=window.microseconds))
    return comparison("<" if window.exclusive else "<=", table.moment(last), latest)


def _spans(branch: Branch, variables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a first and a last event whose distance can be the greatest."""
    latest = branch.latest(variables)
    for first in branch.earliest(variables):
        yield from ((first, last) for last in latest if last != first)


def _same(names: Sequence[str], one: str, other: str, table: Table) -> Iterator[Tree]:
    for name in names:
        yield exp.NullSafeEQ(this=table.column(one, name), expression=table.column(other, name))


def _distinct(one: str, other: str, table: Table) -> Tree:
    why = f"'{one}' and '{other}' may be rows of one type in any order"
    return comparison("!=", table.number(one, why), table.number(other, why))


def _absent(branch: Branch, events: Sequence[Event], table: Table) -> Tree:
    """Return NOT EXISTS of events that would fulfil all that the match does."""
    if any(event.beside is not None for event in events):
        raise UnsupportedError("a join cannot express UNTIL, GREEDY or a run")
    absent = [event.variable for event in events]
    together = [*branch.variables, *absent]
    conditions = [one for event in events for one in type_conditions(event, table)]
    for one, other in combinations(together, 2):
        if other not in absent:
            continue
        if (one, other) in branch.order:
            conditions.append(comparison("<", table.moment(one), table.moment(other)))
        elif (other, one) in branch.order:
            conditions.append(comparison("<", table.moment(other), table.moment(one)))
        elif may_coincide(branch, one, other):
            conditions.append(_distinct(one, other, table))
    for variable in absent:
        conditions += _same(branch.partition_by, branch.variables[0], variable, table)
    if branch.window is not None:
        for first, last in _spans(branch, together):
            if first in absent or last in absent:
                conditions.append(within(branch.window, first, last, table))
    for condition in branch.conditions:
        names = variables_of(condition)
        if names & {*absent} and names <= {*together}:
            conditions.append(tree_of(condition, table))
    inner = exp.select(exp.Literal.number(1)).from_(table.source(absent[0]))
    for variable in absent[1:]:
        inner = inner.join(table.source(variable), join_type="cross")
    return exp.not_(exp.Exists(this=inner.where(all_of(conditions)) if conditions else inner))
