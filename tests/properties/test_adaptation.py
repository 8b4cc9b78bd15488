"""Plans that follow the stream find exactly the judge's matches, for every decision function."""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.adaptation.causal import Causal
from cepkit.adaptation.choice import slice_plans
from cepkit.adaptation.decisions import DECISIONS, Invariants
from cepkit.adaptation.loop import Adaptation
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.slices.plans import SlicePlan, SlicePlans
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream, events
from tests.properties.test_engine import plans, tree_plans
from tests.strategies import Case, as_table, cases, result_of

ROWS = st.sampled_from([None, 1, 2, 3, 7])
WAYS = ["slices", "auto", *DECISIONS, Invariants(K=None, d="median")]


class InTurn:
    """Plans in turn, another one for each slice."""

    def __init__(self, case: Case, chosen: list[Plan]) -> None:
        self._plans = [
            SlicePlan(compile_query(case.query, plan), plan.branches, {}) for plan in chosen
        ]
        self._asked: dict[int, SlicePlan] = {}

    def least_rows(self, _columns: EventColumns) -> int:
        return 10

    def __call__(self, _columns: EventColumns, first: int, _end: int) -> SlicePlan:
        number = len(self._asked) % len(self._plans)
        return self._asked.setdefault(first, self._plans[number])


def found(
    case: Case, stream: Stream, plan: Plan, by_slice: SlicePlans | None, rows: int | None
) -> set[Any]:
    """Return the matches in the judge's form, and check that the counts of work add up."""
    matches = Matches(stream, case.query, plan, plans=by_slice, slice_rows=rows)
    result = result_of(matches.to_arrow(), case.variables)
    assert matches.count() == len(result)
    steps = matches.explain().steps
    forms = matches.plans
    assert sum(s.candidates for s in forms.stretches) == sum(r.candidates for r in forms.slices)
    if forms.slices:
        assert sum(r.candidates for r in forms.slices) == sum(s.candidates for s in steps)
        assert sum(r.events for r in forms.slices) == len(matches.columns)
    assert str(forms)
    assert str(matches.explain())
    return result


@pytest.mark.slow
@given(data=st.data())
def test_any_plan_for_any_slice(data: st.DataObject) -> None:
    case = data.draw(cases(unsorted=True))
    chosen = data.draw(st.lists(plans(case) | tree_plans(case), min_size=1, max_size=3))
    stream = events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        rows = data.draw(ROWS)
        assert found(case, stream, chosen[0], InTurn(case, chosen), rows) == case.matches


@pytest.mark.parametrize("adapt", WAYS, ids=str)
@given(data=st.data())
def test_any_way_to_adapt(adapt: Any, data: st.DataObject) -> None:
    case = data.draw(cases(unsorted=True))
    stream = events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        statistics = estimate(stream.columns(attributes_read(case.query)), case.query)
        planner = data.draw(st.sampled_from(["greedy", "zstream", "dp-order"]))
        by_slice = slice_plans(
            adapt, case.query, as_plan(None, case.query), "every", lambda: statistics
        )
        if isinstance(by_slice, Causal):
            history = data.draw(st.integers(1, 3))
            adapt = Adaptation(adapt, planner, history=history)
            by_slice = slice_plans(
                adapt, case.query, as_plan(None, case.query), "every", lambda: statistics
            )
        plan = as_plan(None, case.query)
        # Slices are asked for selectivities of their own where there is much to do, or always.
        worth = data.draw(st.sampled_from((1e6, 0.0)))
        with mock.patch("cepkit.adaptation.slices._WORTH_ASKING", worth):
            assert found(case, stream, plan, by_slice, data.draw(ROWS)) == case.matches
