"""Groups that repeat: the engine finds the judge's matches; the judge expands groups by itself."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.automata.mechanisms import MECHANISMS
from cepkit.columnar.results.matches import Matches
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import Strategy
from cepkit.plan.checks import as_plan
from cepkit.routes.ways import EMITS
from cepkit.stream.stream import events
from tests.loops import Way
from tests.properties import test_aggregation, test_detector, test_returned
from tests.properties.test_after_match import with_skip
from tests.properties.test_aggregation import AGGREGATED, with_aggregates, without_lanes
from tests.properties.test_engine import found, plans, tree_plans
from tests.properties.test_mechanisms import followed, matches_of, traced
from tests.properties.test_returned import with_return
from tests.strategies import CONDITIONS, Case, as_table, cases, result_of

OPERATORS = ("SEQ", "AND", "OR", "NOT", "FIRST", "NEXT", "OPT", "KL", "GROUP")
ALL_MATCHES = tuple(s for s in Strategy if s is not Strategy.SKIP_TILL_NEXT_MATCH)


def groups(**switches: Any) -> st.SearchStrategy[Case]:
    """Draw cases with groups that repeat, of few variables, as each repetition adds more."""
    return cases(
        **{
            "operators": OPERATORS,
            "max_variables": 4,
            "strategies": ALL_MATCHES,
            "max_events": 24,
            "condition_kinds": (*CONDITIONS, "neighbours"),
            "unsorted": True,
            **switches,
        },
    )


@pytest.mark.parametrize("way", ["numpy", "python"])
@given(data=st.data())
def test_any_plan_and_any_slices_find_every_repetition(way: Way, data: st.DataObject) -> None:
    case = data.draw(groups())
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    assert found(case, plan, way=way, slice_rows=rows) == case.matches
    assert parse(str(case.query)) == case.query


@given(data=st.data())
def test_matches_that_share_no_event(data: st.DataObject) -> None:
    case = data.draw(groups(strategies=(Strategy.SKIP_TILL_NEXT_MATCH,)))
    plan = data.draw(st.one_of(plans(case), tree_plans(case)))
    assert found(case, plan, slice_rows=data.draw(st.sampled_from([None, 1, 3]))) == case.matches


@given(case=groups(change=with_skip))
def test_skip_leaves_the_judges_matches_of_groups(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        stream = events(as_table(case.events), time="ts", type="kind")
        matches = Matches(stream, case.query, as_plan(None, case.query))
        assert result_of(matches.to_arrow(), case.variables) == case.matches
        assert matches.count() == len(case.matches)


@given(data=st.data())
def test_a_stream_that_comes_in_parts(data: st.DataObject) -> None:
    case = data.draw(groups())
    cut = test_detector.parts(data, case)
    chosen = data.draw(st.lists(plans(case), min_size=1, max_size=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        assert test_detector.found(case, cut, chosen) == case.matches


@given(case=groups(change=with_return, varying=("x", "y", "z", "s", "d", "t", "f", "h")))
def test_values_that_are_returned(case: Case) -> None:
    stream = events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        matches = Matches(stream, case.query, as_plan(None, case.query))
    rows = matches.to_arrow().to_pylist()
    assert test_returned.rows_of(rows, case.query) == test_returned.expected(case)
    frame = matches.to_pandas()
    for name in set(frame) - set(matches.may_lack()):
        assert frame[name].notna().all(), name


@pytest.mark.parametrize("way", [nullcontext, without_lanes], ids=["lanes", "elements"])
@given(data=st.data())
def test_aggregates_of_all_repetitions(way: Any, data: st.DataObject) -> None:
    case = data.draw(
        groups(varying=AGGREGATED, change=with_aggregates, max_events=16, budget=5_000)
    )
    emit = data.draw(st.sampled_from(EMITS))
    with way():
        assert test_aggregation.found(case, "auto", emit) == test_aggregation.expected(case, emit)


@pytest.mark.parametrize("name", MECHANISMS)
@given(data=st.data())
def test_mechanisms_follow_each_number_of_repetitions(name: str, data: st.DataObject) -> None:
    case = data.draw(
        groups(
            strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
            max_events=16,
            budget=2_000,
            operators=("SEQ", "AND", "OR", "NOT", "FIRST", "NEXT", "OPT", "GROUP"),
        )
    )
    trace = traced(case, name, data.draw(followed(name, case)))
    once = {
        own: variable
        for group in case.query.groups
        for names in group.repetitions
        for variable, own in zip(group.variables, names, strict=True)
    }
    matches = set()
    for match in matches_of(trace):
        bound: dict[str, list[int]] = {}
        for variable, arrival in match:
            bound.setdefault(once.get(variable, variable), []).append(arrival)
        matches.add(
            frozenset(
                (v, tuple(sorted(held)) if v in once.values() else held[0])
                for v, held in bound.items()
            )
        )
    assert matches == case.matches
