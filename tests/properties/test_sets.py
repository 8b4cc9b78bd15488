"""Kleene closure in the columnar engine: every set, the largest, and their number."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.results.matches import Matches
from cepkit.pattern.policies import Strategy
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events
from tests.loops import Way
from tests.properties.test_engine import found, plans, tree_plans
from tests.strategies import Case, as_table, cases, result_of

SETS = cases(
    ("SEQ", "AND", "OR", "NOT", "KL"),
    max_variables=5,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    unsorted=True,
)


@pytest.mark.parametrize("way", ["numpy", "python"])
@given(data=st.data())
def test_any_order_and_any_slices_find_every_set(way: Way, data: st.DataObject) -> None:
    case = data.draw(SETS)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    assert found(case, plan, way=way, slice_rows=rows) == case.matches


def counted(case: Case, **options: Any) -> Matches:
    """Return the matches by the pattern's own order."""
    stream = events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        return Matches(stream, case.query, as_plan(None, case.query), **options)


@given(case=SETS, rows=st.sampled_from([None, 1, 5]))
def test_the_count_needs_no_sets(case: Case, rows: int | None) -> None:
    assert counted(case, slice_rows=rows).count() == len(case.matches)


@given(case=SETS, rows=st.sampled_from([None, 1, 5]))
def test_the_largest_sets_of_each_choice_of_single_events(case: Case, rows: int | None) -> None:
    matches = counted(case, sets="maximal", slice_rows=rows)
    result = result_of(matches.to_arrow(), case.variables)
    assert matches.count() == len(result)
    assert result == largest(case)


def largest(case: Case) -> set[Any]:
    """Return of the judge's matches with the same single events one with the most members."""
    place = {
        e.arrival: i for i, e in enumerate(sorted(case.events, key=lambda e: (e.ts, e.arrival)))
    }
    order = {variable: i for i, variable in enumerate(case.variables)}
    best: dict[Any, Any] = {}
    for match in case.matches:
        bound = sorted(match, key=lambda pair: order[pair[0]])
        sets = [(v, sorted(place[n] for n in held)) for v, held in bound if isinstance(held, tuple)]
        single = [pair for pair in bound if not isinstance(pair[1], tuple)]
        if not single:  # the first member of the first set, or of one whose first is bound
            single = [(sets[0][0], sets[0][1][0])]
        key = (frozenset(v for v, _ in bound), *single)
        rank = (-sum(len(held) for _, held in sets), sets)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, match)
    return {match for _, match in best.values()}
