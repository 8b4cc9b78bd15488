import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.costs import WORK, Work, expected_steps
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import OrderPlan, Pair, TreePlan
from cepkit.statistics import Statistics
from cepkit.statistics.selectivity import Equality, Selectivity
from tests.unit.costs.cases import branch, compare, conjunction, seq

# A stream of one window: what a window holds is what the stream has.
STATISTICS = Statistics.assumed(
    {"a": 1, "b": 2, "c": 3},
    {("a", "b"): 0.1, ("b", "c"): 0.2, ("a", "b", "c"): 0.5},
    span_seconds=10,
)
CONDITIONS = (compare("a.x", "<", "b.x"), compare("b.k", "=", "c.k"))


@given(st.permutations("abc"), st.sampled_from([seq, conjunction]))
def test_an_order_costs_its_candidates_and_three_times_its_partial_matches(names, combine):
    one = branch(combine("a", "b", "c"), *CONDITIONS, seconds=10)
    steps = expected_steps(one, STATISTICS, names)
    by_hand = sum(step.candidates + 3 * step.alive for step in steps)
    assert from_log(WORK.on(one, STATISTICS).of(OrderPlan(tuple(names)))) == pytest.approx(by_hand)


def test_work_of_a_tree_includes_its_leaves():
    one = branch(conjunction("a", "b", "c"), *CONDITIONS, seconds=10)
    tree = TreePlan(Pair("a", Pair("b", "c")))
    leaves = (10 + 20 + 30) * (1 + 2)
    pairs = 20 * 30 * 0.2
    looked_at = 10 * pairs
    assert from_log(Work(2.0).on(one, STATISTICS).of(tree)) == pytest.approx(
        leaves + pairs * (1 + 2) + looked_at + 2 * looked_at * 0.1 * 0.5
    )


def test_cost_is_finite_when_keys_are_never_equal():
    pattern = ck.parse("PATTERN SEQ(A a, B b, C c) WHERE a.k = c.k AND a.x < b.x WITHIN 9 s")
    pair = frozenset("ac")
    contradictory = Statistics(
        dict.fromkeys("abc", 1.0),
        selectivities={pair: Selectivity(0.5)},
        equalities={pair: Equality(0.5, Selectivity(0.0))},
    )
    for planner in ("dp-order", "dp-tree"):
        plan = ck.choose_plan(pattern, contradictory, planner, cost="work")
        assert math.isfinite(plan.cost)
