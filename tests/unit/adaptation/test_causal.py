"""Plans by earlier slices: resumed from its memory, planning decides as if it never stopped."""

import pytest

import cepkit as ck
from benchmarks.streams import drifting_events
from cepkit.adaptation import Adaptation
from cepkit.adaptation.causal import Causal
from cepkit.columnar.slices.plans import SliceRun
from tests.unit.adaptation.test_drift import SEGMENT, stream
from tests.unit.adaptation.test_drift import TEXT as TWO_PAIRS

TEXT = "PATTERN SEQ(T1 a, T2 b, T3 c) WHERE a.diff < b.diff AND b.diff < c.diff WITHIN 1 s"
TABLE = drifting_events(8_000, weights=(1, 30, 30), segment=2_000, seed=1)
SLICES = [(first, first + 500) for first in range(0, 8_000, 500)]


@pytest.fixture(scope="module")
def known():
    stream = ck.events(TABLE, time="ts", type="type")
    return stream.columns(["diff"]), ck.choose_plan(TEXT, ck.profile(stream, TEXT))


@pytest.mark.parametrize("history", [1, 3])
@pytest.mark.parametrize("planner", ["greedy", "zstream"])
@pytest.mark.parametrize("decision", ["static", "unconditional", "threshold", "invariants"])
def test_planning_resumed_from_memory_makes_the_same_plans(known, decision, planner, history):
    columns, plan = known
    query = ck.parse(TEXT)
    adaptation = Adaptation(decision, planner, history=history)
    whole = Causal(adaptation, query, plan)
    memory, plans = "", []
    for first, end in SLICES:
        part = Causal(adaptation, query, plan).resumed(memory)
        own, expected = part(columns, first, end), whole(columns, first, end)
        assert (own.branches, own.why) == (expected.branches, expected.why)
        assert own.rates == expected.rates
        memory = part.memory
        assert memory == whole.memory
        plans.append(own.branches)
    assert (len(set(plans)) > 1) == (decision != "static")


def test_after_nothing_there_is_nothing_to_remember(known):
    columns, plan = known
    causal = Causal(Adaptation(), ck.parse(TEXT), plan)
    assert causal.memory == ""
    assert causal.resumed("").memory == ""
    slice_plan = causal(columns, 0, 500)
    run = SliceRun(0, 1, 500, slice_plan.branches, slice_plan.rates, slice_plan.why, 0, 0)
    assert causal.why(run) == ""


@pytest.mark.parametrize("decision", ["static", "unconditional", "threshold", "invariants"])
def test_decision_functions_follow_selectivities_that_swap_at_half_time(decision):
    """The rates never change; one slice after the swap all but the static plan begin otherwise."""
    events, text = stream(drifts=True, segments=2), TWO_PAIRS.format(more="")
    columns, query = events.columns(["x"]), ck.parse(text)
    plan = ck.choose_plan(text, ck.profile(events, text))
    adaptation = Adaptation(decision, "dp-order")
    whole, memory, asked = Causal(adaptation, query, plan), "", []
    for first in range(0, 2 * SEGMENT, SEGMENT // 4):
        asked.append(whole(columns, first, first + SEGMENT // 4))
        part = Causal(adaptation, query, plan, memory=memory)
        own = part(columns, first, first + SEGMENT // 4)
        assert (own.branches, own.why) == (asked[-1].branches, asked[-1].why)
        memory = part.memory
        assert memory == whole.memory
    begins = [set(each.branches[0].order[:2]) for each in asked]
    after = {"c", "d"} if decision == "static" else {"a", "b"}
    assert begins == 5 * [{"c", "d"}] + 3 * [after]
    if decision == "threshold":
        assert asked[5].why.startswith("sel(")
