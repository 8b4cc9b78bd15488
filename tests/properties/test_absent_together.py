"""NOT(SEQ(B b, C c)) and NOT(AND(B b, C c)): the judge's matches, for every plan and slicing."""

from __future__ import annotations

import warnings
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import Strategy
from tests.loops import Way
from tests.properties import test_detector, test_several
from tests.properties.test_engine import found, plans, tree_plans
from tests.properties.test_sets import counted, largest
from tests.strategies import CONDITIONS, cases, result_of

OPERATORS = ("SEQ", "AND", "OR", "NOT", "FIRST", "NEXT", "OPT", "TOGETHER")
NEXT = Strategy.SKIP_TILL_NEXT_MATCH
EACH = tuple(s for s in Strategy if s is not NEXT)
SINGLE = cases(OPERATORS, 4, EACH, condition_kinds=CONDITIONS, unsorted=True)
SETS = cases(
    ("SEQ", "AND", "OR", "NOT", "OPT", "TOGETHER", "KL", "RUN", "UNTIL"),
    4,
    EACH,
    max_events=16,
    budget=5_000,
)
IN_TURN = cases((*OPERATORS, "KL"), 4, (NEXT,), unsorted=True)
PART_BY_PART = cases((*OPERATORS, "KL"), 4, unsorted=True)
SMALL = cases(OPERATORS, 4, EACH, max_events=16)


@pytest.mark.parametrize("way", get_args(Way))
@given(data=st.data())
def test_engine_finds_the_judges_matches_for_any_plan_and_slices(
    way: Way, data: st.DataObject
) -> None:
    case = data.draw(SINGLE)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    values = data.draw(st.booleans())
    matches = found(case, plan, way=way, ordered_by_value=values, slice_rows=rows)
    assert matches == case.matches


@given(data=st.data())
def test_sets_beside_absent_events_have_the_judges_matches(data: st.DataObject) -> None:
    case = data.draw(SETS)
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 5]))
    assert found(case, plan, slice_rows=rows) == case.matches
    assert counted(case, slice_rows=rows).count() == len(case.matches)
    assert result_of(counted(case, sets="maximal").to_arrow(), case.variables) == largest(case)


@given(data=st.data())
def test_events_may_be_in_one_match_only(data: st.DataObject) -> None:
    case = data.draw(IN_TURN)
    rows = data.draw(st.sampled_from([None, 1, 5]))
    assert found(case, data.draw(plans(case)), slice_rows=rows) == case.matches


@given(data=st.data())
def test_a_stream_may_come_in_parts(data: st.DataObject) -> None:
    case = data.draw(PART_BY_PART)
    cut = test_detector.parts(data, case)
    chosen = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        assert test_detector.found(case, cut, chosen) == case.matches


@given(data=st.data())
def test_queries_may_be_found_together(data: st.DataObject) -> None:
    case = data.draw(SMALL)
    known = test_several.workload(data.draw, case)
    chosen = [test_several.plan_of(data.draw, query) for query, _ in known.values()]
    test_several.found_together(data, case, known, chosen)


@given(data=st.data())
def test_queries_with_absent_events_print_and_parse_back(data: st.DataObject) -> None:
    query = data.draw(SMALL).query
    assert parse(str(query)) == query
