"""Events of equal time in the order of arrival: every way finds the judge's matches."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepkit import detect, events
from cepkit.columnar.results import reports
from cepkit.columnar.skip_till_next import batches, detection
from cepkit.pattern.policies import Strategy
from cepkit.stream.warnings import StreamWarning
from tests.judge import BudgetError, judge
from tests.loops import Way
from tests.properties.test_after_match import with_skip
from tests.properties.test_engine import found, plans, tree_plans
from tests.properties.test_next_match import with_residual
from tests.strategies import Operator, as_table, cases

EVERY_EVENT = tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH)
NEXT = (Strategy.SKIP_TILL_NEXT_MATCH,)
PLAIN: tuple[Operator, ...] = ("SEQ", "AND", "OR", "NOT", "FIRST", "NEXT", "OPT")
SINGLE: tuple[Operator, ...] = (*PLAIN, "TOGETHER")
SLICES = st.sampled_from([None, 1, 3, 7])

MANY = cases(SINGLE, strategies=EVERY_EVENT, unsorted=True, ties="arrival")
SETS = cases(
    (*PLAIN, "KL", "RUN", "UNTIL", "GREEDY"),
    max_variables=4,
    strategies=EVERY_EVENT,
    max_events=16,
    ties="arrival",
)
SKIPPING = cases(
    (*SINGLE, "KL"),
    max_variables=4,
    strategies=EVERY_EVENT,
    max_events=16,
    ties="arrival",
    change=with_skip,
)
TOLD = cases((*SINGLE,), 4, EVERY_EVENT[:1], max_events=16)
TOLD_SETS = cases(("SEQ", "KL", "RUN", "UNTIL", "GREEDY"), 4, EVERY_EVENT[:1], max_events=16)
TAKEN = cases(SINGLE, strategies=NEXT, unsorted=True, ties="arrival")
RESIDUAL = cases(
    SINGLE,
    strategies=NEXT,
    condition_kinds=("comparison", "equality"),
    ties="arrival",
    change=with_residual,
)
TAKEN_SETS = cases((*SINGLE, "KL"), max_events=16, strategies=NEXT, ties="arrival")


@pytest.mark.parametrize("way", get_args(Way))
@given(data=st.data())
def test_single_events(way: Way, data: st.DataObject) -> None:
    case = data.draw(MANY)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    values = data.draw(st.booleans())
    rows = data.draw(SLICES)
    assert found(case, plan, way=way, ordered_by_value=values, slice_rows=rows) == case.matches


@pytest.mark.parametrize("drawn", [SETS, SKIPPING], ids=["sets", "AFTER MATCH"])
@given(data=st.data())
def test_sets_and_skips(drawn: st.SearchStrategy, data: st.DataObject) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    assert found(case, plan, slice_rows=data.draw(SLICES)) == case.matches


@pytest.mark.parametrize("way", ["numpy", "python"])
@pytest.mark.parametrize(
    "drawn", [TAKEN, RESIDUAL, TAKEN_SETS], ids=["single events", "residual predicates", "sets"]
)
@given(data=st.data())
def test_one_match_an_event(drawn: st.SearchStrategy, way: Way, data: st.DataObject) -> None:
    case = data.draw(drawn)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    assert found(case, plan, way=way, slice_rows=data.draw(SLICES)) == case.matches


@pytest.mark.parametrize("drawn", [TOLD, TOLD_SETS], ids=["single events", "sets"])
@given(data=st.data())
def test_ties_that_change_the_matches_are_warned_of(
    drawn: st.SearchStrategy, data: st.DataObject
) -> None:
    case = data.draw(drawn)
    try:
        by_arrival = frozenset(judge(case.events, case.query, budget=30_000, ties="arrival"))
    except BudgetError:
        assume(False)
    if by_arrival != case.matches:
        stream = events(as_table(case.events), time="ts", type="kind")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reports, "_SECOND", 1)
            patch.setattr(reports, "_MINUTE", 1)
            with pytest.warns(StreamWarning, match="ties="):
                detect(stream, case.query)


@given(data=st.data(), held=st.sampled_from([0, 1, 5, 1 << 20]))
def test_one_match_an_event_in_batches(data: st.DataObject, held: int) -> None:
    case = data.draw(TAKEN)
    plan = data.draw(plans(case))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detection, "search_programs", lambda branches: None)
        patch.setattr(batches, "HELD", held)
        assert found(case, plan, slice_rows=data.draw(SLICES)) == case.matches
