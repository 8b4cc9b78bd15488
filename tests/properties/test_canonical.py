"""Patterns in disguise have the canonical form of the pattern; equal forms have equal matches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern import conditions as c
from cepkit.pattern import nodes
from cepkit.pattern.canonical import canonical
from cepkit.pattern.checks import check
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.rewrite import MIRRORED, replaced
from tests.judge import judge
from tests.strategies import Case, cases

if TYPE_CHECKING:
    from cepkit.pattern.query import Query

CASES = cases(("SEQ", "AND", "NOT", "KL"), max_events=16)


def disguised(draw: st.DrawFn, query: Query) -> Query:
    """Draw the same query with other names, sides and orders."""
    known = [event.variable for event in nodes.events_of(query.structure)]
    names = dict(
        zip(known, draw(st.permutations([f"v{i}" for i in range(len(known))])), strict=True)
    )
    conditions = [_mirrored(draw, part, names) for part in c.conjuncts(query.where)]
    where = draw(st.permutations(conditions))
    structure = _shuffled(
        draw, query.structure, names, query.strategy is not Strategy.SKIP_TILL_NEXT_MATCH
    )
    changed = replace(
        query,
        structure=structure,
        where=c.AllOf(tuple(where)) if len(where) > 1 else (where or [None])[0],
    )
    check(changed)
    return changed


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
        case nodes.Not(item) | nodes.Kleene(item):
            return replace(structure, item=_shuffled(draw, item, names, shuffle))
        case _:
            items = [_shuffled(draw, item, names, shuffle) for item in structure.items]
            if isinstance(structure, nodes.And) and shuffle:
                items = draw(st.permutations(items))
            return replace(structure, items=tuple(items))


@given(CASES, st.data())
def test_equal_forms_have_equal_matches(case: Case, data: st.DataObject) -> None:
    """The judge finds the same matches of a query in disguise, up to the names by position."""
    changed = disguised(data.draw, case.query)
    (form, names), (other, others) = (canonical(_branch(query)) for query in (case.query, changed))
    assert form == other
    back = dict(zip(others, names, strict=True))
    matches = judge(case.events, changed)
    assert {frozenset((back[v], e) for v, e in match) for match in matches} == case.matches


@given(CASES, st.data())
def test_sub_patterns_do_not_depend_on_names(case: Case, data: st.DataObject) -> None:
    """Some variables of a query have the form of the same ones in disguise."""
    branch = _branch(case.query)
    _, names = canonical(branch)
    changed = _branch(disguised(data.draw, case.query))
    _, others = canonical(changed)
    chosen = data.draw(st.sets(st.sampled_from(range(len(names))), min_size=1))
    one, _ = canonical(branch, [names[place] for place in chosen])
    other, _ = canonical(changed, [others[place] for place in chosen])
    assert one == other


def _branch(query: Query) -> Branch:
    (branch,) = normal_form(query)
    return branch
