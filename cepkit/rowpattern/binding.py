"""Queries with resolved names: columns of the table, variables of the pattern, navigations.

After binding, expressions read a match only through leaves: a value of one row (`RowValue`), an
aggregate (`Fold`) and the match number. `A.price` means the last A so far; in the definition of A
that is the row itself. A condition is split at AND: parts that depend only on the row and its
neighbours are *filters*, computed for all rows at once; the rest is evaluated for each row that a
search maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cepkit.errors import PatternError
from cepkit.rowpattern import expressions as e
from cepkit.rowpattern.names import NameBinder, Names
from cepkit.rowpattern.nodes import Exclusion, Key, Named, RowQuery, walk


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query whose names are bound to a table and its pattern.

    Attributes:
        members: For each variable and SUBSET its variables.
        filters: For each variable conditions on the row and its neighbours.
        conditions: For each variable conditions on the match so far.
    """

    query: RowQuery
    members: Mapping[str, tuple[str, ...]]
    partition: tuple[str, ...]
    order: tuple[Key, ...]
    filters: Mapping[str, tuple[e.Expression, ...]]
    conditions: Mapping[str, tuple[e.Expression, ...]]
    measures: tuple[Named, ...]


def bind(query: RowQuery, columns: Iterable[str] | None = None) -> BoundQuery:
    """Return the query bound to a table with these columns; without columns names stay unchecked.

    Raises:
        PatternError: An unknown name, or a meaningless navigation.
        UnsupportedError: An unsupported part of SQL.
    """
    names = Names(None if columns is None else tuple(columns))
    members = members_of(query)
    _check_output(query)
    ordering = NameBinder(names, {}, "ORDER BY")
    order = tuple(replace(key, value=ordering.key(key.value)) for key in query.order)
    filters, conditions = {}, {}
    within, defined = _within(query, order), dict(query.defined)
    for variable in query.variables:
        bound = NameBinder(names, members, "DEFINE", variable)
        condition = defined.get(variable)
        parts = () if condition is None else e.conjuncts(bound.of(condition))
        filters[variable] = tuple(part for part in parts if is_local(part, variable))
        conditions[variable] = (
            *(part for part in parts if not is_local(part, variable)),
            *within,
        )
    measures = tuple(
        replace(each, expression=NameBinder(names, members, "MEASURES").of(each.expression))
        for each in query.measures
    )
    partition = tuple(names.of(key.column or "", key.span) for key in query.partition)
    _check_names(query, partition, names.columns or ())
    return BoundQuery(query, members, partition, order, filters, conditions, measures)


def members_of(query: RowQuery) -> dict[str, tuple[str, ...]]:
    """Return for each variable and SUBSET the variables whose rows belong to it.

    Raises:
        PatternError: A SUBSET or DEFINE of a name that is not in the pattern.
    """
    names = dict.fromkeys(query.variables)
    members: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    for name, variables in query.subsets:
        if name in members:
            raise PatternError(f"SUBSET {name} is the name of another variable", span=query.span)
        for one in variables:
            if one not in names:
                raise PatternError.unknown(
                    f"SUBSET {name} names {one}, which is not in PATTERN",
                    one,
                    names,
                    span=query.span,
                )
        members[name] = tuple(dict.fromkeys(variables))
    for name, condition in query.defined:
        if name not in names:
            raise PatternError.unknown(
                f"DEFINE {name}, which is not in PATTERN",
                name,
                names,
                span=condition.span,
            )
    skip = query.skip
    if skip.variable is not None and skip.variable not in members:
        raise PatternError.unknown(
            f"SKIP TO {skip.variable}, which is not in PATTERN",
            skip.variable,
            members,
            span=skip.span,
        )
    return members


def is_local(condition: e.Expression, variable: str) -> bool:
    """Return whether a variable's condition reads only its row and neighbouring rows."""
    return all(
        isinstance(leaf, e.RowValue)
        and leaf.end == "last"
        and not leaf.skipped
        and (leaf.variables is None or variable in leaf.variables)
        and not isinstance(leaf.value, e.Label)
        for leaf in e.leaves(condition)
    )


def _within(query: RowQuery, order: tuple[Key, ...]) -> tuple[e.Expression, ...]:
    """Return WITHIN as a condition of each row: less than the window after the first."""
    if query.within is None:
        return ()
    if not order or order[0].descending:
        raise PatternError(
            "WITHIN without a time in ascending order",
            hint="ORDER BY the column of the time first",
            span=query.within.span,
        )
    at, span = order[0].value, query.within.span
    last, first = (e.RowValue(None, end, 0, 0, at, span=span) for end in ("last", "first"))
    return (e.Call("<", (e.Call("-", (last, first), span=span), query.within), span=span),)


def _check_output(query: RowQuery) -> None:
    excluded = next((part for part in walk(query.pattern) if isinstance(part, Exclusion)), None)
    if query.output.unmatched and excluded is not None:
        raise PatternError(
            "{- -} beside WITH UNMATCHED ROWS",
            hint="WITH UNMATCHED ROWS gives every row; filter the result",
            span=excluded.span,
        )


def _check_names(query: RowQuery, partition: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Check that no two columns of the result have the same name."""
    names = {name.upper() for name in (columns if query.output.all_rows else partition)}
    for measure in query.measures:
        if measure.name.upper() in names:
            raise PatternError(
                f"the measure {measure.name} has the name of another column",
                hint="name it otherwise",
                span=measure.span,
            )
        names.add(measure.name.upper())
