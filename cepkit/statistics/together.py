"""Combines several patterns into one, so that they are measured in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from cepkit.pattern.conditions import AllOf, Expression, conjuncts
from cepkit.pattern.nodes import (
    And,
    Event,
    First,
    Kleene,
    Next,
    Not,
    Opt,
    Or,
    Seq,
    Structure,
    events_of,
)
from cepkit.pattern.policies import StepBound
from cepkit.pattern.query import Query
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
    conditions: list[Expression] = []
    bounds: list[StepBound] = []
    for number, query in enumerate(queries, 1):
        names = {}
        for event in events_of(query.structure):
            name = event.variable
            while name in used_names:
                name += f" of pattern {number}"
            names[event.variable] = name
        used_names |= {*names.values()}
        structures.append(_renamed(query.structure, names))
        conditions += [renamed(part, names) for part in conjuncts(query.where)]
        bounds += [replace(b, first=names[b.first], last=names[b.last]) for b in query.bounds]
    first = queries[0]
    where = AllOf(tuple(conditions)) if conditions else None
    return Query(
        Or(tuple(structures)),
        where,
        first.window,
        partition_by=first.partition_by,
        bounds=tuple(bounds),
    )


def _renamed(structure: Structure, names: Mapping[str, str]) -> Structure:
    match structure:
        case Event(variable):
            return replace(structure, variable=names[variable])
        case Kleene(item, until=Event() as until):
            ends = replace(until, variable=names[until.variable])
            return replace(structure, item=_renamed(item, names), until=ends)
        case Not(item) | Kleene(item) | First(item) | Next(item) | Opt(item):
            return replace(structure, item=_renamed(item, names))
        case Seq(items) | And(items) | Or(items):
            return replace(structure, items=tuple(_renamed(item, names) for item in items))
        case _:
            assert_never(structure)
