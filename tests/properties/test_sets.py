"""Kleene closure in the columnar engine: every set, the largest, and their number."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.results.matches import Matches
from cepkit.pattern.nodes import bound_events_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.stream.stream import events
from tests.loops import Way
from tests.properties.test_engine import found, plans, tree_plans
from tests.strategies import Case, as_table, cases, result_of

EACH = tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH)
SETS = cases(
    ("SEQ", "AND", "OR", "NOT", "KL"),
    max_variables=5,
    strategies=EACH,
    unsorted=True,
)
ONLY_SETS = cases(
    ("SEQ", "AND", "NOT", "NEXT", "KL"), max_variables=3, strategies=EACH, max_events=16
).filter(lambda case: all(len(b.repeated) == len(b.positive) for b in normal_form(case.query)))
"""Patterns of sets alone, which a plan may take in any order."""


@pytest.mark.parametrize("way", ["numpy", "python"])
@given(data=st.data())
def test_any_order_and_any_slices_find_every_set(way: Way, data: st.DataObject) -> None:
    case = data.draw(SETS)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    assert found(case, plan, way=way, slice_rows=rows) == case.matches


def counted(case: Case, plan: Plan | None = None, **options: Any) -> Matches:
    """Return the matches by a plan, or by the pattern's own order."""
    stream = events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        return Matches(stream, case.query, as_plan(plan, case.query), **options)


@given(case=SETS, rows=st.sampled_from([None, 1, 5]))
def test_the_count_needs_no_sets(case: Case, rows: int | None) -> None:
    assert counted(case, slice_rows=rows).count() == len(case.matches)


@given(data=st.data())
def test_the_largest_sets_of_each_choice_of_single_events(data: st.DataObject) -> None:
    case = data.draw(SETS | ONLY_SETS)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 5]))
    matches = counted(case, plan, sets="maximal", slice_rows=rows)
    result = result_of(matches.to_arrow(), case.variables)
    assert matches.count() == len(result)
    assert result == largest(case)


def largest(case: Case) -> set[Any]:
    """Return the judge's matches with the most members, one for each choice of single events."""
    place = {
        e.arrival: i for i, e in enumerate(sorted(case.events, key=lambda e: (e.ts, e.arrival)))
    }
    written = bound_events_of(case.query.structure)
    order = {event.variable: i for i, event in enumerate(written)}
    best: dict[Any, Any] = {}
    for match in case.matches:
        bound = sorted(match, key=lambda pair: order[pair[0]])
        sets = [(v, sorted(place[n] for n in held)) for v, held in bound if isinstance(held, tuple)]
        single = [pair for pair in bound if not isinstance(pair[1], tuple)]
        if not single:  # the first member of the set that is written first
            single = [(sets[0][0], sets[0][1][0])]
        key = (frozenset(v for v, _ in bound), *single)
        rank = (-sum(len(held) for _, held in sets), sets)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, match)
    return {match for _, match in best.values()}
