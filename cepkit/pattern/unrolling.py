"""Groups that repeat, `KL(SEQ(A a, B b)){2,5}`, unrolled to a choice among numbers of repetitions.

Each repetition has variables of its own: `a[1]`, `b[1]`, `a[2]` ... Conditions on `a` and `b` stay
as written; the normal form writes them for the repetitions (`repetitions.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cepkit.pattern import nodes as n
from cepkit.pattern.names import repetition_name
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import Group
from cepkit.pattern.trees import mapped


def unrolled(query: Query) -> Query:
    """Return a query with its groups unrolled; a query without groups as it is."""
    if query.unrolled_from is not None or not n.groups_in(query.structure):
        return query
    cache: dict[str, Query] = query.__dict__  # where cached_property caches
    if "unrolled" not in cache:
        groups = _groups(query.structure)
        names: dict[str, Sequence[str]] = {}
        for group in groups:
            columns = zip(*group.repetitions, strict=True)
            names |= zip(group.variables, columns, strict=True)
        structure = _unrolled(query.structure, names)
        cache["unrolled"] = replace(
            query, structure=structure, groups=groups, unrolled_from=query.structure
        )
    return cache["unrolled"]


def _groups(structure: n.Structure) -> tuple[Group, ...]:
    groups: dict[tuple[str, ...], Group] = {}  # two choices of an OR may have the same group
    for node in n.groups_in(structure):
        variables = tuple(event.variable for event in n.events_of(node.item))
        repetitions = tuple(
            tuple(repetition_name(variable, number) for variable in variables)
            for number in range(1, _most(node) + 1)
        )
        groups.setdefault(variables, Group(variables, repetitions))
    return tuple(groups.values())


def _most(node: n.Kleene) -> int:
    assert node.maximum is not None, "checks.py asks for a maximum"
    return node.maximum


def _unrolled(structure: n.Structure, names: Mapping[str, Sequence[str]]) -> n.Structure:
    match structure:
        case n.Kleene() if (group := n.group_of(structure)) is not None:
            choices: list[n.Structure] = []
            for times in range(structure.minimum, _most(structure) + 1):
                each = [
                    n.with_names(
                        group, {e.variable: names[e.variable][i] for e in n.events_of(group)}
                    )
                    for i in range(times)
                ]
                flat = [
                    item
                    for one in each
                    for item in (one.items if isinstance(one, n.Seq) else (one,))
                ]
                choices.append(n.Seq(tuple(flat), structure.span))
            return choices[0] if len(choices) == 1 else n.Or(tuple(choices), structure.span)
        case _:
            return mapped(structure, lambda item: _unrolled(item, names))
