"""Every mechanism finds exactly the judge's matches, whatever it follows, and keeps its books."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.automata import MECHANISMS
from cepkit.automata.simulation import attributes_read, simulate
from cepkit.automata.trace import Trace
from cepkit.pattern.policies import Strategy
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.stream.stream import events
from tests.properties.test_engine import plans, tree_plans
from tests.strategies import Case, cases

CASES = cases(
    max_variables=4,
    strategies=(Strategy.SKIP_TILL_ANY_MATCH,),
    max_events=24,
    unsorted=True,
    budget=3_000,
)


def traced(case: Case, name: str, plan: Plan) -> Trace:
    from tests.strategies import as_table

    stream = events(as_table(case.events), time="ts", type="kind")
    columns = stream.columns(attributes_read(case.query))
    return simulate(MECHANISMS[name], columns, case.query, plan, max_steps=20_000)


def matches_of(trace: Trace) -> list[Any]:
    """Return the matches in the judge's form."""
    ids = trace.events.id
    return [
        frozenset(
            (v, tuple(sorted(ids[i] for i in e)) if isinstance(e, tuple) else ids[e])
            for v, e in match.events.items()
        )
        for match in trace.matches
    ]


def followed(name: str, case: Case) -> st.SearchStrategy[Plan]:
    """Draw a plan that the mechanism follows."""
    match MECHANISMS[name].follows:
        case "nothing":
            return st.just(as_plan(None, case.query))
        case "an order":
            return plans(case)
        case "a tree":
            return plans(case) | tree_plans(case)


@pytest.mark.parametrize("name", MECHANISMS)
@given(data=st.data())
def test_finds_what_the_judge_finds_each_match_once(name: str, data: st.DataObject) -> None:
    case = data.draw(CASES)
    trace = traced(case, name, data.draw(followed(name, case)))
    assert sorted(matches_of(trace), key=repr) == sorted(case.matches, key=repr)
    assert Trace.from_json(trace.to_json()) == trace
