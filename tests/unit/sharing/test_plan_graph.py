from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.costs import PARTIAL_MATCHES, WORK
from cepkit.sharing.plan_graph import PlanGraph, Prepared
from cepkit.sharing.prices import number_of
from cepkit.sharing.start import all_plans, alone, pools_of
from cepkit.sharing.workload import Workload
from tests.unit.sharing.cases import COSTS, drawn, graph_of, order, prepared, tree

# Section 5 of the algorithms page: windows 10 and 20 on one prefix.
TEN_AND_TWENTY = [
    "PATTERN SEQ(A a, B b, C c) WITHIN 10 seconds",
    "PATTERN SEQ(A a, B b, D d) WITHIN 20 seconds",
]


def test_a_shared_prefix_takes_the_larger_window():
    ready = prepared(TEN_AND_TWENTY)
    graph = graph_of(ready, [order(ready, 0, "abc"), order(ready, 1, "abd")])
    windows = sorted(held.window for held in graph.held.values())
    assert windows == [10_000_000, 20_000_000, 20_000_000, 20_000_000]
    # 20 for A and 20^2/2 for A, B, then 10^3/6 and 20^3/6.
    assert number_of(graph.cost) == pytest.approx(20 + 200 + 1000 / 6 + 8000 / 6)


def test_orders_with_different_beginnings_share_no_nodes():
    ready = prepared(TEN_AND_TWENTY)
    graph = graph_of(ready, [order(ready, 0, "cba"), order(ready, 1, "adb")])
    assert len(graph.held) == 6
    assert number_of(graph.cost) == pytest.approx(10 + 50 + 1000 / 6 + 20 + 200 + 8000 / 6)


def test_the_window_shrinks_when_the_larger_one_goes():
    ready = prepared(TEN_AND_TWENTY)
    graph = graph_of(ready, [order(ready, 0, "abc"), order(ready, 1, "abd")])
    before = graph.cost
    assert graph.take(1) == graph.cost - before
    assert {held.window for held in graph.held.values()} == {10_000_000}
    assert number_of(graph.cost) == pytest.approx(10 + 50 + 1000 / 6)


def test_prefixes_in_pools_of_different_windows_are_not_shared():
    ready = prepared(TEN_AND_TWENTY)
    graph = graph_of(ready, [order(ready, 0, "abc", 11), order(ready, 1, "abd", 21)])
    assert len(graph.held) == 6


def test_trees_share_two_subtrees_where_orders_share_one_at_most():
    texts = [
        "PATTERN SEQ(A a, B b, C c, D d) WITHIN 10 seconds",
        "PATTERN SEQ(A a, E e, C c, F f) WITHIN 10 seconds",
        "PATTERN SEQ(G g, B b, H h, D d) WITHIN 10 seconds",
    ]
    trees = prepared(texts, "tree")
    graph = graph_of(
        trees,
        [
            tree(trees, 0, (("a", "c"), ("b", "d"))),
            tree(trees, 1, ((("a", "c"), "e"), "f")),
            tree(trees, 2, ((("b", "d"), "g"), "h")),
        ],
    )
    several = [held for held in graph.held.values() if held.several and held.windows.total() > 1]
    assert len(several) == 2
    # The pairs (A, C) and (B, D) have no variable in common: an order begins with one of them.
    orders = prepared(texts)
    first, second, third = orders.workload.sharers
    for plan in all_plans("order", tuple(range(first.size))):
        chosen = {0: replace(order(orders, 0, "abcd"), plan=plan)}
        chosen |= {1: order(orders, 1, "acef"), 2: order(orders, 2, "bdgh")}
        held = PlanGraph(orders, chosen).held.values()
        assert sum(each.several and each.windows.total() > 1 for each in held) <= 1
    assert third.size == second.size == 4


def test_trees_are_the_same_whichever_way_round_their_sides_stand():
    ready = prepared(["PATTERN SEQ(A a, B b, C c) WITHIN 1 s"] * 2, "tree")
    graph = graph_of(ready, [tree(ready, 0, (("a", "b"), "c")), tree(ready, 1, ("c", ("b", "a")))])
    assert len(graph.held) == 5
    assert all(held.windows.total() == 2 for held in graph.held.values())


def test_a_subtree_may_stand_twice_in_one_tree():
    text = "PATTERN AND(A a, B b, A x, B y) WHERE a.k = b.k AND x.k = y.k WITHIN 1 s"
    ready = prepared([text], "tree")
    graph = graph_of(ready, [tree(ready, 0, (("a", "b"), ("x", "y")))])
    assert len(graph.held) == 4  # A, B, their pair, and the pair of pairs
    before = graph.cost
    assert graph.take(0) == -before
    assert not graph.held
    assert graph.cost == 0


def test_rows_that_are_handed_over_and_filtered_cost_work():
    ready = prepared(TEN_AND_TWENTY, cost=WORK)
    graph = graph_of(ready, [order(ready, 0, "abc"), order(ready, 1, "abd")])
    rows = Fraction(200, 20)  # partial matches of A, B for each second
    sharer = ready.workload.sharers
    steps = Fraction(0)
    for number, names, prefix in ((1, "abd", 0), (0, "abc", 2)):
        prices = ready.prices(sharer[number])
        bound = 0
        for i, place in enumerate(order(ready, number, names).plan):
            steps += prices.step(bound, 1 << place) * (i >= prefix)
            bound |= 1 << place
    # One user more takes the rows, and one has a smaller window.
    assert number_of(graph.cost) == pytest.approx(number_of(int(steps)) + float(2 * rows))


def test_costs_that_overflow_do_not_swallow_small_ones():
    ready = prepared(
        ["PATTERN SEQ(A a, KL(B b), C c) WITHIN 2000 s", "PATTERN SEQ(A a, C c) WITHIN 2000 s"]
    )
    huge = order(ready, 0, "bac")
    graph = graph_of(ready, [huge, order(ready, 1, "ac")])
    small = PlanGraph(ready, {1: order(ready, 1, "ac")}).cost
    graph.take(0)
    assert graph.cost == small


@st.composite
def walks(draw):
    """A workload, and moves over it: which branch gets which of its plans in which pool."""
    number, seed = draw(st.integers(1, 6)), draw(st.integers(0, 10_000))
    windows = draw(st.sampled_from([(0.2,), (0.1, 0.3, 1.0)]))
    texts, statistics = drawn(number, types=5, size=3, windows=windows, seed=seed)
    mode = draw(st.sampled_from(["order", "tree"]))
    queries = [ck.parse(text) for text in texts]
    cost = draw(st.sampled_from([WORK, PARTIAL_MATCHES]))
    ready = Prepared(Workload.of(queries, [statistics.of(q) for q in queries]), cost, mode)
    moves = draw(
        st.lists(
            st.tuples(st.integers(0, number - 1), st.integers(0, 10**6), st.integers(0, 2)),
            min_size=1,
            max_size=25,
        )
    )
    return ready, moves


@given(walks())
def test_differences_add_up_to_the_cost_from_scratch(walk):
    ready, moves = walk
    graph = PlanGraph(ready)
    total = 0
    for number, which, pool in moves:
        sharer = ready.workload.sharers[number]
        if number in graph.choices:
            total += graph.take(number)
        if pool == 2 and which % 3 == 0:
            continue  # it stays away
        plans = list(all_plans(ready.mode, tuple(range(sharer.size))))
        pools = (*pools_of(ready, sharer), alone(sharer))
        choice = replace(order(ready, number, ""), plan=plans[which % len(plans)])
        total += graph.put(number, replace(choice, pool=pools[pool % len(pools)]))
        assert graph.cost == total
        scratch = PlanGraph(ready, graph.choices)
        assert scratch.cost == graph.cost
        assert scratch.held == graph.held


@pytest.mark.parametrize("mode", ["order", "tree"])
@pytest.mark.parametrize("cost", COSTS.values(), ids=list(COSTS))
def test_equal_nodes_of_equal_windows_never_cost_more_than_apart(mode, cost):
    for seed in range(10):
        texts, statistics = drawn(6, types=5, size=3, seed=seed)
        queries = [ck.parse(text) for text in texts]
        ready = Prepared(Workload.of(queries, [statistics.of(q) for q in queries]), cost, mode)
        together = {s.number: order(ready, s.number, "") for s in ready.workload.sharers}
        together = {
            n: replace(c, plan=ready.best(ready.workload.sharers[n])) for n, c in together.items()
        }
        apart = {n: replace(c, pool=-1 - n) for n, c in together.items()}
        assert PlanGraph(ready, together).cost <= PlanGraph(ready, apart).cost
