"""Queries in disguise: equivalent ones with other names, sides and orders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.checks import check
from cepkit.pattern.policies import StepBound, Strategy
from cepkit.pattern.rewrite import MIRRORED, replaced

if TYPE_CHECKING:
    from cepkit.pattern.query import Query


def disguised(draw: st.DrawFn, query: Query) -> Query:
    """Draw an equivalent query with other names, sides and orders."""
    old_names = [event.variable for event in nodes.events_of(query.structure)]
    names = dict(
        zip(
            old_names,
            draw(st.permutations([f"v{i}" for i in range(len(old_names))])),
            strict=True,
        )
    )
    conditions = [_mirrored(draw, part, names) for part in c.conjuncts(query.where)]
    where = draw(st.permutations(conditions))
    structure = _shuffled(
        draw, query.structure, names, query.strategy is not Strategy.SKIP_TILL_NEXT_MATCH
    )
    changed = replace(
        query,
        bounds=_renamed_bounds(query, names),
        structure=structure,
        where=c.AllOf(tuple(where)) if len(where) > 1 else (where or [None])[0],
    )
    check(changed)
    return changed


def renamed(draw: st.DrawFn, query: Query) -> Query:
    """Draw an equivalent query with other names."""
    known = [event.variable for event in nodes.events_of(query.structure)]
    others = draw(st.permutations([f"w{i}" for i in range(len(known))]))
    names = dict(zip(known, others, strict=True))

    def new(node: c.Attribute | c.Aggregate) -> c.Expression:
        return replace(node, variable=names[node.variable or ""])

    structure = _shuffled(draw, query.structure, names, shuffle=False)
    where = None if query.where is None else replaced(query.where, new)
    bounds = _renamed_bounds(query, names)
    return check(replace(query, structure=structure, where=where, bounds=bounds))


def _renamed_bounds(query: Query, names: dict[str, str]) -> tuple[StepBound, ...]:
    return tuple(replace(b, first=names[b.first], last=names[b.last]) for b in query.bounds)


def _mirrored(draw: st.DrawFn, part: c.Expression, names: dict[str, str]) -> c.Expression:
    def renamed(node: c.Attribute | c.Aggregate) -> c.Expression:
        return replace(node, variable=names[node.variable or ""])

    match replaced(part, renamed):
        case c.Comparison(operator, left, right) if draw(st.booleans()):
            return c.Comparison(MIRRORED[operator], right, left)
        case c.AnyOf(items):
            return c.AnyOf(tuple(draw(st.permutations(items))))
        case same if draw(st.booleans()):
            return c.Complement(c.Complement(same))
        case same:
            return same


def _shuffled(
    draw: st.DrawFn, structure: nodes.Structure, names: dict[str, str], shuffle: bool
) -> nodes.Structure:
    match structure:
        case nodes.Event(variable, types):
            return nodes.Event(names[variable], types)
        case (
            nodes.Not(item)
            | nodes.Kleene(item)
            | nodes.First(item)
            | nodes.Next(item)
            | nodes.Opt(item)
        ):
            return replace(structure, item=_shuffled(draw, item, names, shuffle))
        case _:
            items = [_shuffled(draw, item, names, shuffle) for item in structure.items]
            if isinstance(structure, nodes.And) and shuffle:
                items = draw(st.permutations(items))
            return replace(structure, items=tuple(items))
