import math
from dataclasses import replace
from itertools import permutations

import pytest

from cepkit.costs import PARTIAL_MATCHES, Expectation, expected_steps
from cepkit.costs.expectation import window_seconds
from cepkit.errors import StatisticsError
from cepkit.pattern.policies import CountWindow, Strategy
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import OrderPlan, Pair, TreePlan
from cepkit.statistics import Selectivity, Statistics
from tests.unit.costs.cases import absent, branch, compare, conjunction, repeated, seq


def cost(one, statistics, order):
    return from_log(PARTIAL_MATCHES.on(one, statistics).of(OrderPlan(tuple(order))))


def expected_matches(one, statistics):
    return expected_steps(one, statistics, one.variables)[-1].partial_matches


def test_conjunction_by_hand():
    statistics = Statistics.assumed({"a": 2, "b": 3, "c": 0.5}, {("a", "b"): 0.1})
    one = branch(conjunction("a", "b", "c"), seconds=10)
    assert cost(one, statistics, "abc") == pytest.approx(
        20 + 20 * 30 * 0.1 + 300 * 0.1 * 10 / 5 * 5
    )
    assert cost(one, statistics, "cab") == pytest.approx(5 + 5 * 20 + 5 * 20 * 30 * 0.1)


def test_a_sequence_has_the_share_of_its_orderings():
    statistics = Statistics.assumed({"a": 1, "b": 1, "c": 1})
    one = branch(seq("a", "b", "c"), seconds=10)
    assert cost(one, statistics, "acb") == pytest.approx(10 + 100 / 2 + 1000 / 6)


def test_a_filter_counts_once():
    statistics = Statistics.assumed({"a": 4}, filters={"a": 0.25})
    assert cost(branch(conjunction("a"), seconds=10), statistics, "a") == pytest.approx(10)


def test_rare_last_is_first_in_the_cheapest_order():
    """SEQ(A,B,C,D), D ten times rarer: of the 24 orders the cheapest starts with D."""
    one = branch(seq("a", "b", "c", "d"), seconds=10)
    statistics = Statistics.assumed({"a": 5, "b": 5, "c": 5, "d": 0.5})
    costs = {order: cost(one, statistics, order) for order in permutations("abcd")}
    assert len(costs) == 24
    cheapest = min(costs.values())
    assert {o[0] for o, c in costs.items() if math.isclose(c, cheapest)} == {"d"}


def test_conditions_about_more_than_two_count_when_all_are_bound():
    statistics = Statistics(
        {"a": 1, "b": 1, "c": 1},
        selectivities={frozenset("abc"): Selectivity(0.5)},
        last=0,
        first=0,
    )
    one = branch(conjunction("a", "b", "c"), seconds=10)
    assert cost(one, statistics, "abc") == pytest.approx(10 + 100 + 500)


def test_negated_variables_are_left_out():
    statistics = Statistics.assumed({"a": 1, "n": 100, "b": 1}, {("a", "n"): 0.5})
    one = branch(seq("a", absent("n"), "b"), seconds=10)
    assert cost(one, statistics, "ab") == pytest.approx(10 + 50)


def test_partition_is_a_condition_between_all():
    statistics = Statistics.assumed({"a": 1, "b": 1, "c": 1}, same_key=0.1)
    one = branch(conjunction("a", "b", "c"), seconds=10, partition_by=("k",))
    assert cost(one, statistics, "abc") == pytest.approx(10 + 100 * 0.1 + 1000 * 0.01)


def test_a_type_that_never_occurs_costs_nothing_from_its_step_on():
    statistics = Statistics.assumed({"a": 1, "b": 0})
    one = branch(conjunction("a", "b"), seconds=10)
    assert cost(one, statistics, "ba") == 0
    assert cost(one, statistics, "ab") == pytest.approx(10)


def test_costs_that_overflow_are_infinite_and_their_logarithms_are_not():
    statistics = Statistics.assumed({"a": 1, "b": 1000})
    one = branch(conjunction("a", repeated("b")), seconds=10)
    logarithm = PARTIAL_MATCHES.on(one, statistics).of(OrderPlan(("a", "b")))
    assert from_log(logarithm) == math.inf
    assert logarithm == pytest.approx(1e4 * math.log(2) + math.log(10))


@pytest.mark.parametrize("strategy", [s for s in Strategy if "any" not in s.value])
def test_under_other_strategies_the_rarest_variable_bounds_partial_matches(strategy):
    """PM(S) = W * min r * product of selectivities: W counts once; adjacency is a condition."""
    statistics = Statistics.assumed({"a": 3, "b": 2, "c": 5}, {("a", "b"): 0.1, ("b", "c"): 0.5})
    one = branch(seq("a", "b", "c"), strategy=strategy, seconds=10)
    # Two in the hundred events of a window lie side by side in order.
    beside = 0.02 if "contiguity" in strategy else 1.0
    all_three = 20 * 0.05 * beside**2
    assert cost(one, statistics, "abc") == pytest.approx(30 + 20 * 0.1 * beside + all_three)
    assert cost(one, statistics, "cab") == pytest.approx(50 + 30 + all_three)


def test_a_tree_by_hand():
    statistics = Statistics.assumed({"a": 2, "b": 3, "c": 0.5}, {("a", "b"): 0.1})
    ready = PARTIAL_MATCHES.on(branch(conjunction("a", "b", "c"), seconds=10), statistics)
    leaves, all_three = 20 + 30 + 5, 20 * 30 * 5 * 0.1
    assert from_log(ready.of(TreePlan(Pair(Pair("a", "b"), "c")))) == pytest.approx(
        leaves + 20 * 30 * 0.1 + all_three
    )
    assert from_log(ready.of(TreePlan(Pair("b", Pair("c", "a"))))) == pytest.approx(
        leaves + 5 * 20 + all_three
    )


def test_a_variable_without_a_rate_is_named():
    with pytest.raises(StatisticsError, match="'b'"):
        PARTIAL_MATCHES.on(branch(seq("a", "b")), Statistics.assumed({"a": 1}))


def test_windows_in_seconds():
    statistics = Statistics.assumed({"a": 3, "b": 1}, span_seconds=100, same_key=0.5)
    assert window_seconds(branch(seq("a", "b"), seconds=7), statistics) == 7
    assert window_seconds(branch(seq("a", "b"), seconds=None), statistics) == 100
    counted = branch(seq("a", "b"), window=CountWindow(20))
    assert window_seconds(counted, statistics) == pytest.approx(5)
    exclusive = branch(seq("a", "b"), window=CountWindow(21, exclusive=True))
    assert window_seconds(exclusive, statistics) == pytest.approx(5)
    in_partitions = branch(seq("a", "b"), window=CountWindow(20), partition_by=("k",))
    assert window_seconds(in_partitions, statistics) == pytest.approx(10)


@pytest.mark.parametrize("seconds", [None, 0])
def test_an_empty_stream_and_a_window_of_zero_have_costs(seconds):
    empty = Statistics({"a": 0.0, "b": 0.0})
    one = branch(seq("a", "b"), seconds=seconds)
    assert cost(one, empty, "ab") == 0
    assert expected_matches(one, empty) == 0
    counted = branch(seq("a", "b"), window=CountWindow(5))
    assert cost(counted, empty, "ab") == 0


def test_no_partition_in_common_is_no_match():
    statistics = Statistics.assumed({"a": 1, "b": 1}, same_key=0.0)
    one = branch(seq("a", "b"), partition_by=("k",))
    assert cost(one, statistics, "ab") == pytest.approx(10)
    assert expected_matches(one, statistics) == 0


def test_over_a_stream_of_one_window_as_many_as_are_alive():
    statistics = Statistics.assumed({"a": 1, "b": 2, "c": 3}, {("a", "c"): 0.3}, span_seconds=10)
    expectation = Expectation.of(branch(seq("a", "b", "c"), seconds=10), statistics)
    for bound in map(frozenset, ("a", "ab", "abc")):
        assert expectation.log_total(bound) == pytest.approx(expectation.log_alive(bound))


def test_expected_matches_by_hand():
    statistics = Statistics.assumed({"a": 2, "b": 3}, {("a", "b"): 0.1}, span_seconds=1000)
    one = branch(seq("a", "b"), seconds=10)
    # 2 D W - W^2 for unordered pairs, half of them in order.
    assert expected_matches(one, statistics) == pytest.approx((20_000 - 100) * 6 * 0.5 * 0.1)
    assert expected_steps(one, statistics, "ab")[0].partial_matches == pytest.approx(2000)
    shorter = replace(statistics, last=100_000_000)
    assert expected_matches(one, shorter) == pytest.approx(1900 * 6 * 0.05)


def test_candidates_miss_the_conditions_of_their_step():
    statistics = Statistics.assumed({"a": 1, "b": 1, "c": 1}, {("a", "b"): 0.1, ("b", "c"): 0.2})
    one = branch(
        seq("a", "b", "c"), compare("a.x", "<", "b.x"), compare("b.k", "=", "c.k"), seconds=10
    )
    first, second, third = expected_steps(one, statistics, "abc")
    assert first.candidates == pytest.approx(first.partial_matches)
    assert second.candidates == pytest.approx(second.partial_matches / 0.1)
    assert third.candidates == pytest.approx(third.partial_matches)


def test_expected_steps_have_candidates_partial_matches_and_those_alive():
    statistics = Statistics.assumed({"a": 1, "b": 1}, {("a", "b"): 0.1}, span_seconds=1000)
    one = branch(conjunction("a", "b"), compare("a.x", "<", "b.x"), seconds=10)
    first, second = expected_steps(one, statistics, "ba")
    assert (first.variable, second.variable) == ("b", "a")
    assert (first.candidates, first.alive) == (pytest.approx(1000), pytest.approx(10))
    assert second.partial_matches == pytest.approx(second.candidates * 0.1)
    assert second.alive == pytest.approx(10)
