"""Several patterns as one, so that one pass measures them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cepkit.pattern.conditions import AllOf, Expression, conjuncts
from cepkit.pattern.nodes import Or, Structure, events_of, with_names
from cepkit.pattern.policies import StepBound
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import Group
from cepkit.pattern.rewrite import renamed


def partition_attributes(query: Query) -> tuple[str, ...]:
    """Return the attributes of PARTITION BY, in one order."""
    return tuple(sorted({*query.partition_by}))


def alike(queries: Iterable[Query]) -> list[list[Query]]:
    """Group distinct queries by window and partition: see `together`."""
    lists: dict[object, list[Query]] = {}
    for query in dict.fromkeys(queries):
        lists.setdefault((query.window, partition_attributes(query)), []).append(query)
    return [*lists.values()]


def together(queries: Sequence[Query]) -> Query:
    """Return one query with the branches of several.

    Args:
        queries: Queries with the same window and partition. A variable is renamed if an earlier
            query has the name.
    """
    if len(queries) == 1:
        return queries[0]
    used_names: set[str] = set()
    structures: list[Structure] = []
    written_structures: list[Structure] = []
    groups: list[Group] = []
    conditions: list[Expression] = []
    bounds: list[StepBound] = []
    for number, query in enumerate(queries, 1):
        names = {}
        own = [event.variable for event in events_of(query.structure)]
        for variable in (*own, *(v for group in query.groups for v in group.variables)):
            name = variable
            while name in used_names:
                name += f" of pattern {number}"
            names[variable] = name
        used_names |= {*names.values()}
        structures.append(with_names(query.structure, names))
        written_structures.append(with_names(query.written, names))
        groups += [group.renamed(names) for group in query.groups]
        conditions += [renamed(part, names) for part in conjuncts(query.where)]
        bounds += [replace(b, first=names[b.first], last=names[b.last]) for b in query.bounds]
    first = queries[0]
    return Query(
        Or(tuple(structures)),
        AllOf(tuple(conditions)) if conditions else None,
        first.window,
        partition_by=first.partition_by,
        bounds=tuple(bounds),
        groups=tuple(groups),
        unrolled_from=Or(tuple(written_structures)) if groups else None,
    )
