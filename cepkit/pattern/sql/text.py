"""A pattern as a text of SQL: one SELECT for each branch, with the columns of its matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from sqlglot import exp

from cepkit.errors import ArgumentError, UnsupportedError
from cepkit.pattern.conditions import TIME, attributes_of
from cepkit.pattern.nodes import Kleene, walk
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import RESULT_ENDS, Query, SqlDialect
from cepkit.pattern.sql.expressions import Tree, tree_of
from cepkit.pattern.sql.joins import join_of
from cepkit.pattern.sql.recognize import DIALECTS, recognize_of
from cepkit.pattern.sql.table import UNITS, Table

_CONTIGUOUS = (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)


def sql_of(query: Query, table: Table, columns: Sequence[str] | None) -> str:
    """Return a checked query as a SELECT that gives its matches.

    Args:
        columns: The columns of each event in the result; None: the time, the type, and those that
            the pattern reads.

    Raises:
        UnsupportedError: SQL, or this system, cannot say a part of the query exactly.
    """
    _check(query, table)
    branches = normal_form(query)
    if len({branch.variables for branch in branches}) < len(branches):
        raise UnsupportedError(
            "an OR between absences finds a match twice in SQL",
            hint="one pattern for each choice",
        )
    outputs = _outputs(query, branches, table, columns)
    selects = [_select(branch, outputs, table) for branch in branches]
    whole: exp.Expr = selects[0]
    for select in selects[1:]:
        whole = exp.union(whole, select, distinct=False)
    return table.text(whole)


def _check(query: Query, table: Table) -> None:
    systems = get_args(SqlDialect)
    if table.dialect not in systems:
        raise ArgumentError.unknown(f"dialect={table.dialect!r}", table.dialect, systems)
    if table.unit not in (None, *UNITS):
        raise ArgumentError.unknown(f"unit={table.unit!r}", table.unit, UNITS)
    for node in walk(query.structure):
        if isinstance(node, Kleene):
            raise UnsupportedError(
                "a join cannot express KL, a set of events",
                hint="run the pattern with cepkit",
                span=node.span,
            )
    if query.aggregates:
        raise UnsupportedError(
            "AGG asks for aggregates, and to_sql writes matches",
            hint="leave AGG out, and aggregate the rows of the SELECT",
        )
    named: dict[str, str] = {}
    for event in (e for b in normal_form(query) for e in b.positive + b.negated):
        other = named.setdefault(event.variable.casefold(), event.variable)
        if other != event.variable:
            raise UnsupportedError(
                f"'{other}' and '{event.variable}' are the same name in SQL",
                hint="rename one of them",
                span=event.span,
            )
    if query.after_match is not None:
        raise UnsupportedError(
            "a join cannot express AFTER MATCH SKIP", span=query.after_match.span
        )
    if query.strategy in _CONTIGUOUS and table.dialect not in DIALECTS:
        raise UnsupportedError(
            f"{table.dialect} has no MATCH_RECOGNIZE, which STRATEGY {query.strategy} needs",
            hint=f"one of {', '.join(DIALECTS)}",
        )


def _outputs(
    query: Query, branches: Sequence[Branch], table: Table, columns: Sequence[str] | None
) -> Mapping[str, tuple[frozenset[str], Tree]]:
    """Return the columns of the result: their variables, and their values."""
    if query.returned:
        return {
            result.name: (result.value.variables, tree_of(result.value, table))
            for result in query.returned
        }
    names: list[str] = list(columns or ())
    if columns is None:
        read = {name for b in branches for c in b.conditions for _, name in attributes_of(c)}
        read.update(query.partition_by)
        wanted = (table.id, table.time, table.type, *sorted(read - {TIME}))
        names = [name for name in dict.fromkeys(wanted) if name is not None]
    variables = dict.fromkeys(variable for branch in branches for variable in branch.variables)
    return {
        f"{variable}.{name}": (frozenset((variable,)), table.column(variable, name))
        for variable in variables
        for name in names
    }


def _select(
    branch: Branch, outputs: Mapping[str, tuple[frozenset[str], Tree]], table: Table
) -> exp.Select:
    bound = frozenset(branch.variables)
    values = {
        name: value.copy() if variables <= bound else exp.Null()
        for name, (variables, value) in outputs.items()
    }
    values |= dict(zip(RESULT_ENDS, _ends(branch, table), strict=True))
    if branch.strategy in _CONTIGUOUS:
        return recognize_of(branch, values, table)
    columns = [exp.alias_(value, name, quoted=True) for name, value in values.items()]
    return join_of(branch, columns, table)


def _ends(branch: Branch, table: Table) -> Iterator[Tree]:
    """Yield the first and the last time of a match."""
    ends = (branch.earliest(branch.variables), branch.latest(branch.variables))
    for variables, function in zip(ends, (exp.Least, exp.Greatest), strict=True):
        first, *others = map(table.moment, variables)
        yield function(this=first, expressions=others) if others else first
