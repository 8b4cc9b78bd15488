"""Sets that end UNTIL an event: found, counted and chosen as the judge says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern.policies import Strategy
from tests.loops import Way
from tests.properties.test_engine import found, plans, tree_plans
from tests.properties.test_sets import counted, largest
from tests.strategies import CONDITIONS, Case, cases, result_of

OPERATORS = ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "NEXT", "OPT", "RUN", "UNTIL")
SMALL = {"max_variables": 4, "max_events": 16, "budget": 5_000, "unsorted": True}
ENDED = cases(
    OPERATORS,
    strategies=tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    condition_kinds=(*CONDITIONS, "neighbours"),
    **SMALL,
)
IN_TURN = cases(("SEQ", "KL", "UNTIL"), strategies=(Strategy.SKIP_TILL_NEXT_MATCH,), **SMALL)


@pytest.mark.parametrize("way", ["numpy", "python"])
@given(data=st.data())
def test_every_set_is_found_by_any_plan_in_any_slices(way: Way, data: st.DataObject) -> None:
    case = data.draw(ENDED)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 5]))
    assert found(case, plan, way=way, slice_rows=rows) == case.matches


@given(case=ENDED, rows=st.sampled_from([None, 1, 5]))
def test_their_number_is_exact(case: Case, rows: int | None) -> None:
    assert counted(case, slice_rows=rows).count() == len(case.matches)


@given(case=ENDED)
def test_the_largest_are_chosen(case: Case) -> None:
    matches = counted(case, sets="maximal")
    assert result_of(matches.to_arrow(), case.variables) == largest(case)


@given(data=st.data())
def test_in_turn_a_set_takes_all_that_it_can(data: st.DataObject) -> None:
    case = data.draw(IN_TURN)
    rows = data.draw(st.sampled_from([None, 1, 5]))
    assert found(case, data.draw(plans(case)), slice_rows=rows) == case.matches
