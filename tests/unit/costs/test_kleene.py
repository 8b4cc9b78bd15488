import math
from itertools import permutations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.costs import Expectation, expected_steps
from cepkit.costs.expectation import log_sets
from cepkit.planners.choose import choose_plan
from cepkit.statistics import Statistics
from tests.unit.costs.cases import branch, conjunction, repeated


def test_planning_rate_is_two_to_the_events_of_a_window():
    """AND(A, KL(B), C), 5 events/s each, W = 10 s: the planning rate of B is 2^50/10."""
    one = branch(conjunction("a", repeated("b"), "c"), seconds=10)
    counts = Expectation.of(one, Statistics.assumed(dict.fromkeys("abc", 5.0))).log_counts
    assert math.exp(counts["b"]) / 10 == pytest.approx(2**50 / 10)
    assert math.exp(counts["a"]) == pytest.approx(50)


def test_bounds_sum_binomials():
    by_hand = math.comb(50, 2) + math.comb(50, 3)
    assert math.exp(log_sets(50, 2, 3)) == pytest.approx(by_hand)


def test_without_an_upper_bound_sizes_go_up_to_the_events_expected():
    assert math.exp(log_sets(10, 3, None)) == pytest.approx(2**10 - 1 - 10 - 45)
    assert log_sets(10, 3, None) == log_sets(10, 3, 99)


@pytest.mark.parametrize("events", [1e-3, 0.3, 1.0, 1.9, 2.0, 7.5, 10.0, 40.25])
def test_bounded_sets_are_the_unbounded_ones_as_the_maximum_grows(events):
    """The sums grow with the maximum, and end where there is none: one formula for both forms."""
    sums = [log_sets(events, 1, most) for most in range(2, 60)]
    assert sums == sorted(sums)
    assert sums[-1] == log_sets(events, 1, None)
    assert math.exp(sums[-1]) == pytest.approx(2**events - 1)


def test_rare_sets_are_planned_alike_with_and_without_a_bound():
    """b, once in 100 windows, comes first: it is no whole set per window."""
    rates = Statistics.assumed({"a": 5.0, "b": 0.001, "c": 5.0})
    for text in ("KL(B b)", "KL(B b){1,50}", "KL(B b){1,1}"):
        query = ck.parse(f"PATTERN SEQ(A a, {text}, C c) WITHIN 10 s")
        assert choose_plan(query, rates, "dp-order").branches[0].order[0] == "b", text
        assert choose_plan(query, rates, "greedy").branches[0].order[0] == "b", text


def test_a_set_of_one_is_an_event():
    assert math.exp(log_sets(0.3, 1, 1)) == pytest.approx(0.3)
    assert math.exp(log_sets(7.5, 1, 1)) == pytest.approx(7.5)


def test_fewer_events_than_a_set_needs():
    assert math.exp(log_sets(0.5, 3, 5)) == pytest.approx(0.5**3 / 6)
    assert log_sets(50.0, 51, 60) <= 0


def test_a_type_that_never_occurs_has_no_sets():
    assert log_sets(0.0, 1, None) == -math.inf
    assert log_sets(0.0, 2, 3) == -math.inf


def test_numbers_that_overflow_stay_finite_as_logarithms():
    assert log_sets(1e6, 1, None) == pytest.approx(1e6 * math.log(2))


def test_a_set_is_chosen_from_events_looked_at_one_by_one():
    """AND(A, KL(B), C) of 5 events/s in 10 s: b is looked at 50 times, and bound 2^50 times."""
    one = branch(conjunction("a", repeated("b"), "c"), seconds=10)
    statistics = Statistics.assumed(dict.fromkeys("abc", 5.0))
    steps = {step.variable: step for step in expected_steps(one, statistics, ("c", "a", "b"))}
    assert list(steps) == ["c", "a", "b"]
    chosen = steps["b"].partial_matches / steps["b"].candidates
    assert chosen == pytest.approx(2**50 / 50)


def test_a_set_before_single_events_begins_in_its_place():
    """Of b the first members are looked at there, and each row of them lists all members."""
    one = branch(conjunction("a", repeated("b"), "c"), seconds=10)
    statistics = Statistics.assumed({"a": 5.0, "b": 0.01, "c": 5.0})
    steps = {step.variable: step for step in expected_steps(one, statistics, ("b", "c", "a"))}
    assert list(steps) == ["first(b)", "c", "a", "b"]
    assert steps["first(b)"].alive == pytest.approx(0.1)
    assert steps["a"].alive == pytest.approx(50 * 0.1 * 50)
    assert steps["b"].alive == pytest.approx(50 * (2**0.1 - 1) * 50)
    assert steps["b"].candidates > steps["a"].partial_matches


@pytest.mark.parametrize("text", ["KL(B b)", "KL(B b){1,50}"])
def test_mechanism_evaluates_least_by_the_plan_of_a_rare_set(text):
    """By one whole set per window a rare b would not come first."""
    kinds = ["AC"[i % 2] if i % 50 else "B" for i in range(400)]
    frame = pd.DataFrame({"ts": range(400), "kind": kinds, "x": [i * 37 % 101 for i in range(400)]})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    query = f"PATTERN SEQ(A a, {text}, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 8 s"

    def evaluations(order):
        return ck.simulate(stream, query, "chain-nfa", plan=[*order]).totals.counts.evaluations

    (chosen,) = ck.choose_plan(query, ck.profile(stream, query)).branches
    every = {order: evaluations(order) for order in permutations("abc")}
    assert every[chosen.order] < 1.5 * min(every.values()) < max(every.values()) / 10
