import math
from itertools import permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cepkit.costs import PARTIAL_MATCHES
from cepkit.plan.nodes import OrderPlan
from cepkit.planners import PLANNERS
from cepkit.planners.kbz import Stretch
from cepkit.statistics import Statistics
from tests.unit.costs.cases import branch, conjunction, repeated, seq

KBZ = PLANNERS["kbz"]


@st.composite
def tree_shaped(draw, most=7):
    """A conjunction whose conditions form a tree, and its edges."""
    size = draw(st.integers(2, most))
    names = "abcdefg"[:size]
    edges = [(names[draw(st.integers(0, i - 1))], names[i]) for i in range(1, size)]
    rates = {name: draw(st.floats(0.01, 50)) for name in names}
    shares = {edge: draw(st.floats(0.001, 1)) for edge in edges}
    keys = draw(st.sampled_from([1.0, 0.2]))
    one = branch(conjunction(*names), seconds=1, partition_by=("k",) if keys < 1 else ())
    return one, Statistics.assumed(rates, shares, same_key=keys), edges


def follows(order, edges):
    """Whether each variable but the first has a condition with one before it."""
    linked = {frozenset(edge) for edge in edges}
    return all(
        any(frozenset((order[i], other)) in linked for other in order[:i])
        for i in range(1, len(order))
    )


@given(tree_shaped())
@settings(deadline=None, max_examples=40)
def test_kbz_finds_the_best_order_without_cross_products(problem):
    one, statistics, edges = problem
    ready = PARTIAL_MATCHES.on(one, statistics)
    found = KBZ.plan(one, statistics, PARTIAL_MATCHES)
    assert follows(found.order, edges)
    best = min(
        ready.of(OrderPlan(order)) for order in permutations(one.variables) if follows(order, edges)
    )
    assert ready.of(found) == pytest.approx(best, abs=1e-9)


def stretch(factors):
    made = Stretch.one("v0", factors[0])
    for i, factor in enumerate(factors[1:], 1):
        made = made.then(Stretch.one(f"v{i}", factor))
    return made


FACTORS = st.lists(st.floats(-4, 4), min_size=1, max_size=4)


@given(st.lists(st.floats(-4, 4), max_size=4), FACTORS, FACTORS, st.lists(st.floats(-4, 4)))
@settings(deadline=None)
def test_adjacent_stretches_are_best_in_the_order_of_their_ranks(a, u, v, b):
    """The ASI property: C(a u v b) <= C(a v u b) if and only if rank(u) <= rank(v)."""
    one, other = stretch([*a, *u, *v, *b]).log_cost, stretch([*a, *v, *u, *b]).log_cost
    # Costs that differ in their last digits only say nothing.
    assume(not math.isclose(one, other, abs_tol=1e-9))
    assert (one <= other) == (stretch(u).rank <= stretch(v).rank)


@given(tree_shaped(5), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_cost_of_a_stretch_equals_the_cost_of_its_order(problem, random):
    one, statistics, edges = problem
    orders = [order for order in permutations(one.variables) if follows(order, edges)]
    order = random.choice(orders)
    linked = {frozenset(edge): statistics.selectivity(*edge) for edge in edges}
    made = Stretch.one(order[0], math.log(statistics.rate(order[0])))
    for i, variable in enumerate(order[1:], 1):
        (share,) = (s for e, s in linked.items() if variable in e and e & set(order[:i]))
        factor = statistics.rate(variable) * share * statistics.same_key
        made = made.then(Stretch.one(variable, math.log(factor)))
    cost = PARTIAL_MATCHES.on(one, statistics).of(OrderPlan(order))
    assert made.log_cost == pytest.approx(cost, abs=1e-9)


@given(st.lists(st.floats(0.1, 50), min_size=3, max_size=5), st.data())
def test_latency_has_the_exchange_property_with_another_rank(rates, data):
    """rank(s) = 1 where the last variable is in s, else 0.

    The rank of the source, the sum of what comes after it inside s, is 0 for the last variable
    alone as it is for every s without it, although to swap these two changes the cost.
    """
    names = "abcde"[: len(rates)]
    one = branch(seq(*names), seconds=1)
    order = data.draw(st.permutations(names))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(names)), min_size=3, max_size=3)))
    a, u, v, b = (order[i:j] for i, j in zip([0, *cuts], [*cuts, len(names)], strict=True))
    assume(u and v)
    waited = dict(zip(names, rates, strict=True))

    def latency(order):
        return math.fsum(waited[x] for x in list(order)[list(order).index(one.variables[-1]) + 1 :])

    first, second = latency([*a, *u, *v, *b]), latency([*a, *v, *u, *b])
    assume(first == second or not math.isclose(first, second))
    ranks = [int(one.variables[-1] in s) for s in (u, v)]
    assert (first <= second) == (ranks[0] <= ranks[1])


def test_parts_without_conditions_and_circles_are_planned():
    one = branch(conjunction("a", "b", "c", "d"), seconds=1)
    circle = {("a", "b"): 0.1, ("b", "c"): 0.2, ("a", "c"): 0.3}
    statistics = Statistics.assumed({"a": 9, "b": 8, "c": 7, "d": 1}, circle)
    found = KBZ.plan(one, statistics, PARTIAL_MATCHES)
    assert sorted(found.order) == list("abcd")


def test_sets_beyond_floats_have_ranks():
    one = branch(conjunction("a", repeated("b"), repeated("c")), seconds=1000)
    statistics = Statistics.assumed({"a": 1, "b": 5, "c": 9})
    assert KBZ.plan(one, statistics, PARTIAL_MATCHES).order == ("a", "b", "c")


def test_kbz_puts_an_event_of_rate_zero_first():
    one = branch(conjunction("a", "b", "c"), seconds=1)
    statistics = Statistics.assumed({"a": 5, "b": 0, "c": 2}, {("a", "c"): 0.0})
    assert KBZ.plan(one, statistics, PARTIAL_MATCHES).order[0] == "b"
