"""skip-till-next-match takes exactly what the judge takes, on both roads and whatever the plan."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.kernels.backend import Backend
from cepkit.columnar.skip_till_next import batches as next_match_batches
from cepkit.columnar.skip_till_next import detection as next_match
from cepkit.columnar.skip_till_next import searches as next_match_searches
from cepkit.pattern.policies import Strategy
from tests.properties.test_engine import CONDITIONS, found, plans, tree_plans
from tests.strategies import cases

NEXT = (Strategy.SKIP_TILL_NEXT_MATCH,)
OPERATORS = ("SEQ", "AND", "OR", "NOT")
ANYTHING = cases(OPERATORS, strategies=NEXT, condition_kinds=CONDITIONS, unsorted=True)
SETS = cases((*OPERATORS, "KL"), strategies=NEXT, unsorted=True)
WALKED = cases(
    OPERATORS,
    strategies=NEXT,
    condition_kinds=("filter", "comparison", "equality", "truth"),
)
SLICES = st.sampled_from([None, 1, 3, 7])


@pytest.mark.parametrize("backend", get_args(Backend))
@pytest.mark.parametrize(
    "drawn", [ANYTHING, WALKED, SETS], ids=["anything", "what walks can decide", "sets"]
)
@given(data=st.data())
def test_either_road_takes_what_the_judge_takes(
    drawn: st.SearchStrategy, backend: Backend, data: st.DataObject
) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    assert found(case, plan, backend=backend, slice_rows=data.draw(SLICES)) == case.matches


@pytest.mark.parametrize("backend", ["compiled", "plain"])
@pytest.mark.parametrize("drawn", [ANYTHING, SETS], ids=["anything", "sets"])
@given(data=st.data(), held=st.sampled_from([0, 1, 5, 1 << 20]), tried=st.sampled_from([1, 20]))
def test_batches_of_any_size_take_what_the_judge_takes(
    drawn: st.SearchStrategy, backend: Backend, held: int, tried: int, data: st.DataObject
) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(next_match_searches, "walk_programs", lambda branches: None)
        patch.setattr(next_match_batches, "HELD", held)
        patch.setattr(next_match_batches, "TRIED", tried)
        assert found(case, plan, backend=backend, slice_rows=data.draw(SLICES)) == case.matches


@pytest.mark.parametrize("backend", ["compiled", "plain"])
@pytest.mark.parametrize("drawn", [ANYTHING, WALKED], ids=["anything", "what walks can decide"])
@given(data=st.data(), trial=st.sampled_from([1, 2, 5]), held=st.sampled_from([0, 1, 1 << 16]))
def test_roads_can_change_at_any_event(
    drawn: st.SearchStrategy, backend: Backend, trial: int, held: int, data: st.DataObject
) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(next_match, "PATIENCE", 0)  # each search is compared with a batch
        patch.setattr(next_match, "TRIAL", trial)
        patch.setattr(next_match, "STRETCH", trial)
        patch.setattr(next_match_batches, "TRIAL_HELD", held)
        assert found(case, plan, backend=backend, slice_rows=data.draw(SLICES)) == case.matches
