"""Equalities that follow from others: a.k = b.k and b.k = c.k say that a and c agree as well."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from cepkit.costs import PARTIAL_MATCHES, WORK, Expectation, expected_steps
from cepkit.costs.key_classes import key_classes
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import OrderPlan
from cepkit.planners import PLANNERS
from cepkit.planners.iterative_improvement import improve
from cepkit.statistics import Statistics
from tests.unit.costs.cases import branch, compare, conjunction, seq
from tests.unit.costs.test_simulation import W, assert_expected, count, statistics, streams

CHAIN = (compare("a.k", "=", "b.k"), compare("b.k", "=", "c.k"))
CYCLE = (*CHAIN, compare("a.k", "=", "c.k"))
CHAIN_SHARES = {("a", "b"): 0.25, ("b", "c"): 0.25}
SHARES = {"chain": CHAIN_SHARES, "cycle": {**CHAIN_SHARES, ("a", "c"): 0.25}}
CASES = {
    name: branch(conjunction("a", "b", "c"), *conditions, seconds=W)
    for name, conditions in (("chain", CHAIN), ("cycle", CYCLE))
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("bound", ["ab", "ac", "bc", "abc"])
def test_partial_matches_alive_as_in_simulated_streams(name, bound):
    one = CASES[name]
    expectation = Expectation.of(one, statistics(SHARES[name], 100.0))
    conditions = [compare(f"{x}.k", "=", f"{y}.k") for x, y in combinations(bound, 2)]
    counts = [count(s, one, bound, conditions, W) for s in streams(W, 10_000)]
    assert_expected(counts, from_log(expectation.log_alive(frozenset(bound))))


@pytest.mark.parametrize("name", CASES)
def test_candidates_of_a_pair_that_is_only_implied(name):
    one = CASES[name]
    steps = expected_steps(one, statistics(SHARES[name], 20.0), "acb")
    expected = [step.candidates for step in steps]
    runs = streams(20.0, 400)
    for k in (2, 3):
        conditions = [compare(f"{x}.k", "=", f"{y}.k") for x, y in combinations("acb"[:k], 2)]
        counts = [count(s, one, "acb"[:k], conditions, W) for s in runs]
        assert_expected(counts, expected[k - 1])


def test_a_frequent_variable_between_two_rare_ones_comes_last():
    one = branch(seq("a", "b", "c"), *CHAIN, seconds=10)
    known = Statistics.assumed({"a": 10, "b": 100, "c": 10}, dict.fromkeys(CHAIN_SHARES, 0.01))
    for cost in (PARTIAL_MATCHES, WORK):
        for planner in ("dp-order", "greedy", "kbz"):
            plan = PLANNERS[planner].plan(one, known, cost)
            assert plan.order[-1] == "b", (planner, cost.name)


def test_orders_cost_the_same_in_the_compiled_search():
    names = "abcd"
    one = branch(
        conjunction(*names), *CYCLE, compare("c.k", "=", "d.k"), compare("a.x", "<", "d.x")
    )
    shares = {("a", "b"): 0.1, ("b", "c"): 0.2, ("a", "c"): 0.3, ("c", "d"): 0.4, ("a", "d"): 0.5}
    known = Statistics.assumed(dict.fromkeys(names, 3.0), shares)
    for cost in (PARTIAL_MATCHES, WORK):
        ready = cost.on(one, known)
        nothing = np.zeros((0, 3), np.int64)
        looked = ready.pairs
        between, side = (
            (looked.between.packed, looked.side.packed)
            if looked
            else (
                ready.alive.packed,
                (*ready.alive.packed[:2], np.zeros(0), *ready.alive.packed[3:]),
            )
        )
        for order in permutations(range(4)):
            held = ready.alive.packed
            told, _ = improve(np.array(order), nothing, held, between, side, held, np.zeros(0), 0.0)
            plan = OrderPlan(tuple(names[i] for i in order))
            assert math.log(told) == pytest.approx(ready.of(plan))


def test_incomplete_mixed_or_unknown_equalities_form_no_class():
    assumed = Statistics.assumed(dict.fromkeys("abc", 1.0), CHAIN_SHARES)
    assert [len(found.variables) for found in key_classes(CASES["chain"], assumed)] == [3]
    pair = branch(conjunction("a", "b", "c"), CHAIN[0])
    other_attribute = branch(conjunction("a", "b", "c"), CHAIN[0], compare("b.j", "=", "c.j"))
    twice = branch(conjunction("a", "b", "c"), *CHAIN, compare("a.k", "=", "c.j"))
    for one in (pair, other_attribute):
        assert key_classes(one, assumed) == ()
    # A variable that would be in it by two attributes, and pairs of which nothing is known.
    looped = Statistics.assumed(dict.fromkeys("abc", 1.0), {**CHAIN_SHARES, ("a", "c"): 0.5})
    again = branch(conjunction("a", "b", "c"), *CHAIN, compare("c.j", "=", "a.j"))
    assert len(key_classes(again, looped)) == 1
    assert key_classes(twice, assumed) == ()
    assert key_classes(CASES["chain"], Statistics.assumed(dict.fromkeys("abc", 1.0))) == ()
    mixed = branch(conjunction("a", "b", "c"), *CHAIN, compare("a.x", "<", "b.x"))
    assert key_classes(mixed, assumed) == ()
