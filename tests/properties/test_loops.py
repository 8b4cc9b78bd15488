"""UNTIL, GREEDY and conditions between members: sets and their numbers are the judge's."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepkit.pattern.nodes import Kleene, walk
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, Strategy
from tests.loops import Way
from tests.properties.test_engine import found, plans, tree_plans
from tests.properties.test_sets import counted, largest
from tests.strategies import CONDITIONS, Case, cases, result_of

OPERATORS = ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "NEXT", "OPT", "RUN")
SMALL = {"max_variables": 4, "max_events": 16, "budget": 5_000, "unsorted": True}
ONE_BY_ONE = {
    "strategies": tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH),
    "condition_kinds": (*CONDITIONS, "neighbours"),
    **SMALL,
}
ENDED = cases((*OPERATORS, "UNTIL"), **ONE_BY_ONE)
GREEDY = cases((*OPERATORS, "GREEDY"), **ONE_BY_ONE)
BETWEEN = {"condition_kinds": ("neighbours", "neighbours", "filter", "set"), **SMALL}
NEIGHBOURS = cases(
    ("SEQ", "AND", "OR", "NOT", "KL"), **BETWEEN, strategies=ONE_BY_ONE["strategies"]
)
BOTH = cases(
    ("SEQ", "AND", "KL", "FIRST", "NEXT", "RUN", "UNTIL", "GREEDY"),
    **{**ONE_BY_ONE, "condition_kinds": ("neighbours", "neighbours", "filter", "comparison")},
)
NEXT_MATCH = {"strategies": (Strategy.SKIP_TILL_NEXT_MATCH,)}
IN_TURN = {
    "until": cases(("SEQ", "KL", "UNTIL"), **SMALL, **NEXT_MATCH),
    "neighbours": cases(("SEQ", "KL"), **BETWEEN, **NEXT_MATCH),
}
each_kind = pytest.mark.parametrize(
    "drawn",
    [ENDED, GREEDY, BOTH, NEIGHBOURS],
    ids=["until", "greedy", "greedy-until", "neighbours"],
)


def refused(case: Case) -> bool:
    """Return whether a run is in a window of events; then events must come in time order."""
    sets = [node for node in walk(case.query.structure) if isinstance(node, Kleene)]
    runs = any(branch.runs for branch in normal_form(case.query))
    runs |= any(node.greedy and node.until is not None for node in sets)
    times = [event.ts for event in sorted(case.events, key=lambda event: event.arrival)]
    in_events = isinstance(case.query.window, CountWindow) or "contig" in case.query.strategy
    return runs and in_events and times != sorted(times)


@each_kind
@pytest.mark.parametrize("way", ["numpy", "python"])
@given(data=st.data())
def test_every_set_is_found_by_any_plan_in_any_slices(
    way: Way, drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    case = data.draw(drawn)
    assume(not refused(case))
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 5]))
    assert found(case, plan, way=way, slice_rows=rows) == case.matches


@each_kind
@given(data=st.data(), rows=st.sampled_from([None, 1, 5]))
def test_count_of_sets_is_that_of_the_judge(
    drawn: st.SearchStrategy[Case], data: st.DataObject, rows: int | None
) -> None:
    case = data.draw(drawn)
    assume(not refused(case))
    assert counted(case, slice_rows=rows).count() == len(case.matches)


@each_kind
@given(data=st.data())
def test_the_largest_are_chosen(drawn: st.SearchStrategy[Case], data: st.DataObject) -> None:
    case = data.draw(drawn)
    assume(not refused(case))
    matches = counted(case, sets="maximal")
    assert result_of(matches.to_arrow(), case.variables) == largest(case)


@pytest.mark.parametrize("drawn", IN_TURN.values(), ids=IN_TURN)
@given(data=st.data())
def test_skip_till_next_match_takes_the_judges_sets(
    drawn: st.SearchStrategy[Case], data: st.DataObject
) -> None:
    case = data.draw(drawn)
    rows = data.draw(st.sampled_from([None, 1, 5]))
    assert found(case, data.draw(plans(case)), slice_rows=rows) == case.matches
