import math

import pytest

from cepkit.costs import LATENCY, PARTIAL_MATCHES, Blend, Latency, OutputProfile
from cepkit.costs.latency import last_by_chance
from cepkit.errors import PlanError
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import OrderPlan, Pair, Plan, TreePlan
from cepkit.planners import PLANNERS
from cepkit.planners.choose import cost_plan
from cepkit.statistics import Statistics
from tests.unit.costs.cases import branch, choice, conjunction, query, repeated, seq

STATISTICS = Statistics.assumed({"a": 1, "b": 2, "c": 3, "d": 4}, {("a", "b"): 0.1})


def cost(model, one, plan):
    return from_log(model.on(one, STATISTICS).of(plan))


def order(names):
    return OrderPlan(tuple(names))


def test_latency_counts_only_steps_after_the_last_event():
    one = branch(seq("a", "b", "c"), seconds=10)
    assert cost(LATENCY, one, order("abc")) == 0
    assert cost(LATENCY, one, order("acb")) == pytest.approx(20)
    assert cost(LATENCY, one, order("cab")) == pytest.approx(10 + 20)


def test_a_tree_waits_for_the_siblings_on_the_way_to_its_root():
    one = branch(seq("a", "b", "c", "d"), seconds=10)
    tree = TreePlan(Pair(Pair("a", "b"), Pair("c", "d")))
    pairs = 10 * 20 * 0.1 / 2
    assert cost(LATENCY, one, tree) == pytest.approx(30 + pairs)
    leans_left = TreePlan(Pair(Pair(Pair("a", "b"), "c"), "d"))
    triples = 10 * 20 * 30 * 0.1 / 6
    assert cost(LATENCY, one, leans_left) == pytest.approx(triples)


def test_alpha_weighs_latency_against_partial_matches():
    one = branch(seq("a", "b", "c"), seconds=10)
    both = cost(PARTIAL_MATCHES, one, order("cab")), cost(LATENCY, one, order("cab"))
    for alpha in (0, 0.5, 3):
        assert cost(Blend(alpha), one, order("cab")) == pytest.approx(both[0] + alpha * both[1])
    with pytest.raises(PlanError, match="alpha is -1"):
        Blend(-1)


def test_higher_weight_of_latency_moves_the_last_variable_back():
    one = branch(seq("a", "b", "d"), seconds=10)
    rare_last = Statistics.assumed({"a": 5, "b": 5, "d": 0.5})
    assert PLANNERS["dp-order"].plan(one, rare_last, Blend(0)).order[0] == "d"
    assert PLANNERS["dp-order"].plan(one, rare_last, Blend(1e6)).order[-1] == "d"


def test_last_variable_is_known_for_seq_and_open_for_and():
    assert last_by_chance(branch(seq("a", "b", "c"))) == (0, 0, 1)
    assert last_by_chance(branch(conjunction("a", "b"))) == pytest.approx((0.5, 0.5))
    # Of a -> b beside c: c a b, a c b end with b, a b c with c.
    nested = branch(conjunction(seq("a", "b"), "c"))
    assert last_by_chance(nested) == pytest.approx((0, 2 / 3, 1 / 3))


def test_an_output_profile_says_which_is_last():
    one = branch(conjunction("a", "b"), seconds=10)
    by_profile = Latency(OutputProfile({"a": 30, "b": 10}))
    assert cost(by_profile, one, order("ab")) == pytest.approx(0.75 * 20)
    assert cost(by_profile, one, order("ba")) == pytest.approx(0.25 * 10)
    assert cost(LATENCY, one, order("ab")) == pytest.approx(0.5 * 20)
    with pytest.raises(PlanError, match="below zero"):
        OutputProfile({"a": -1})


def test_cost_of_or_adds_work_and_takes_the_greatest_latency():
    either = query(choice(seq("a", "b"), seq("c", "d")), seconds=10)
    plan = Plan((order("ba"), order("dc")), "by hand")
    work = cost_plan(plan, either, STATISTICS, PARTIAL_MATCHES).cost
    assert work == pytest.approx(20 + 10 * 20 * 0.1 / 2 + 40 + 30 * 40 / 2)
    assert cost_plan(plan, either, STATISTICS, LATENCY).cost == pytest.approx(30)
    assert cost_plan(plan, either, STATISTICS, Blend(2)).cost == pytest.approx(work + 2 * 30)


def test_a_repeated_variable_is_waited_for_with_all_its_sets():
    one = branch(seq("a", repeated("b"), "c"), seconds=10)
    assert math.isclose(cost(LATENCY, one, order("acb")), 2**20 - 1)
