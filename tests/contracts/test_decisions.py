"""The contract of decision functions; its tests run for every entry of the shelf."""

from __future__ import annotations

import pickle

import pytest

import cepkit as ck
from benchmarks.streams import drifting_events
from cepkit.adaptation.decisions import DECISIONS
from cepkit.adaptation.loop import Adaptation, InForce
from cepkit.costs import WORK
from cepkit.errors import PlanError
from cepkit.planners.choose import choose_plan
from cepkit.statistics import Statistics
from tests.unit.adaptation.cases import sequence

DECISION = pytest.mark.parametrize("decision", DECISIONS.values(), ids=list(DECISIONS))
QUERY = sequence(3, [("a", "b")])
RATES = {"a": 100.0, "b": 15.0, "c": 10.0}
BEFORE = Statistics.assumed(RATES, {("a", "b"): 0.5})
DRIFTS = [BEFORE, *(BEFORE.with_rate(v, rate) for v in "abc" for rate in (0.1, 12.0, 1000.0))]


@DECISION
def test_decision_depends_only_on_its_arguments(decision):
    plan = choose_plan(QUERY, BEFORE, "greedy")
    again = pickle.loads(pickle.dumps(decision))
    assert again == decision
    for now in DRIFTS:
        said = decision.fires(plan, now)
        assert said is None or (isinstance(said, str) and said)
        assert again.fires(pickle.loads(pickle.dumps(plan)), now) == said


@DECISION
@pytest.mark.parametrize("planner", ["greedy", "zstream"])
def test_a_step_keeps_the_plan_or_brings_a_cheaper_one(decision, planner):
    adaptation = Adaptation(decision, planner)
    first = adaptation.start(QUERY, BEFORE)
    for now in DRIFTS:
        then = adaptation.step(QUERY, first, now)
        assert isinstance(pickle.loads(pickle.dumps(then)), InForce)
        cost = WORK.on(then.answer.decided.branches[0], now)
        if then.fired is None:
            assert (then.plan, then.answer) == (first.plan, first.answer)
        else:
            assert then.answer.statistics == now
        assert then.switched == (then.plan.branches != first.plan.branches)
        assert not then.switched or cost.of(then.plan.branches[0]) < cost.of(first.plan.branches[0])


@DECISION
def test_detection_finds_the_same_matches_with_every_decision_function(decision):
    table = drifting_events(8_000, weights=(1, 30, 30), segment=2_000, seed=1)
    stream = ck.events(table, time="ts", type="type")
    text = "PATTERN SEQ(T1 a, T2 b, T3 c) WHERE a.diff < b.diff WITHIN 1 s"
    matches = ck.detect(stream, text, adapt=decision)
    matches._slice_rows = 500
    assert matches.count() == ck.detect(stream, text).count() > 0
    assert sum(s.events for s in matches.plans.stretches) in (0, 8_000)
    assert ck.detect(stream, text, adapt=decision.name).count() == matches.count()


@DECISION
def test_wrong_name_of_a_decision_is_refused_with_the_right_one(decision):
    assert DECISIONS.pick(decision.name) == decision
    stream = ck.events(drifting_events(10), time="ts", type="type")
    with pytest.raises(PlanError) as refused:
        ck.detect(stream, "PATTERN T1 a", adapt=f"{decision.name}x")
    assert decision.name in str(refused.value)
