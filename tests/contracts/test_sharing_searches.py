"""The contract of searches for shared plans: every entry of the shelf, and those of the study."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepkit as ck
from benchmarks.sharing_searches import STUDIED
from cepkit.costs import PARTIAL_MATCHES, WORK
from cepkit.errors import LimitError
from cepkit.sharing import SEARCHES
from cepkit.sharing.plan_graph import PlanGraph, Prepared
from cepkit.sharing.prices import number_of
from cepkit.sharing.searches import Annealing, GreedyMerge, Tabu
from cepkit.sharing.start import own_plans
from cepkit.sharing.workload import Workload
from tests.unit.sharing.cases import drawn, measured, prepared

QUICK = {"annealing": Annealing(steps=200, probes=20), "tabu": Tabu(steps=4, width=10)}
"""Anytime searches, stopped early."""
SHELF = {
    **{search.name: search for search in STUDIED},
    **{name: QUICK.get(name, search) for name, search in SEARCHES.items()},
}
SEARCH = pytest.mark.parametrize("search", SHELF.values(), ids=list(SHELF))
FEW = settings(max_examples=min(8, settings.default.max_examples))
NEVER_WORSE = {"own-plans", "greedy-merge", "annealing", "tabu", "exact"}
"""Those that begin with each pattern's best plan."""


@st.composite
def workloads(draw, most=3):
    """A few patterns, ready to be searched."""
    windows = draw(st.sampled_from([(0.2,), (0.1, 1.0)]))
    texts, statistics = drawn(
        draw(st.integers(1, most)),
        types=5,
        size=3,
        windows=windows,
        seed=draw(st.integers(0, 999)),
        bounds=draw(st.sampled_from([0, 0.5])),
    )
    texts += draw(st.sampled_from([[], texts[:1]]))  # one of them twice
    queries = [ck.parse(text) for text in texts]
    known = [statistics.of(query) for query in queries]
    cost = draw(st.sampled_from([WORK, PARTIAL_MATCHES]))
    return Prepared(Workload.of(queries, known), cost, draw(st.sampled_from(["order", "tree"])))


@SEARCH
@FEW
@given(ready=workloads())
def test_each_branch_gets_a_plan_of_its_variables(search, ready):
    choices = search.search(ready)
    assert sorted(choices) == [sharer.number for sharer in ready.workload.sharers]
    for sharer in ready.workload.sharers:
        *_, root = ready.path(sharer, choices[sharer.number])
        assert root.left | root.right == sharer.full
        assert len(ready.path(sharer, choices[sharer.number])) == (
            sharer.size if ready.mode == "order" else 2 * sharer.size - 1
        )


@SEARCH
@FEW
@given(ready=workloads())
def test_search_gives_the_same_plans_again(search, ready):
    assert search.search(ready) == search.search(Prepared(ready.workload, ready.cost, ready.mode))


@SEARCH
@FEW
@given(ready=workloads())
def test_no_search_beats_the_exact_one(search, ready):
    cost = PlanGraph(ready, search.search(ready)).cost
    assert PlanGraph(ready, SEARCHES["exact"].search(ready)).cost <= cost


@pytest.mark.parametrize("name", sorted(NEVER_WORSE))
@FEW
@given(ready=workloads())
def test_search_that_starts_from_best_plans_never_costs_more(name, ready):
    cost = PlanGraph(ready, SHELF[name].search(ready)).cost
    assert cost <= PlanGraph(ready, own_plans(ready, shared=False)).cost


@SEARCH
@FEW
@given(ready=workloads())
def test_an_observer_sees_costs_fall_to_that_of_the_answer(search, ready):
    seen = []
    cost = PlanGraph(ready, search.search(ready, seen.append)).cost
    costs = [each.cost for each in seen]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == number_of(cost)


@SEARCH
def test_search_of_a_single_pattern_gives_a_plan(search):
    query, statistics = ck.parse("PATTERN SEQ(A a)"), ck.Statistics.assumed({"a": 1.0})
    ready = Prepared(Workload.of([query], [statistics]), WORK, "order")
    assert PlanGraph(ready, search.search(ready)).cost > 0


BRISK = {"annealing": Annealing(steps=1_500), "tabu": Tabu(steps=20)}


@pytest.mark.parametrize("name", ["greedy-merge", "annealing", "tabu", "exact"])
def test_a_search_finds_a_node_that_demands_less_than_its_users(name):
    rules = [
        f"PATTERN SEQ(A a, B b, {kind} c) WHERE a.x < b.x AND a.y > {bound} WITHIN 10 s"
        for bound, kind in enumerate("CDEF")
    ]
    ready = prepared(rules, cost=WORK, rates=100.0, share=1e-4)
    choices = BRISK.get(name, SEARCHES[name]).search(ready)
    assert sum(choice.weaker is not None for choice in choices.values()) == 3
    own = PlanGraph(ready, own_plans(ready)).cost
    assert PlanGraph(ready, choices).cost < 0.5 * own


def test_greedy_merge_is_near_the_best_where_conditions_differ():
    # Patterns 2 and 3 share a node that only pays when the first comes over to its pool.
    rules = [
        f"PATTERN SEQ(A a, B b, C c, {kind} d) WHERE a.x < b.x AND {where} WITHIN {window} s"
        for kind, where, window in (
            ("F", "a.y > 0 AND a.y < c.y", 5),
            ("G", "b.y > 2 AND b.x < c.x AND a.y < c.y", 10),
            ("F", "a.y > 0 AND b.x < c.x AND a.y < c.y", 10),
            ("D", "b.x < c.x", 10),
        )
    ]
    ready = prepared(rules, cost=WORK, rates=5.0, share=0.01)
    best = PlanGraph(ready, SEARCHES["exact"].search(ready)).cost
    greedy = PlanGraph(ready, SEARCHES["greedy-merge"].search(ready)).cost
    assert best < 0.6 * PlanGraph(ready, own_plans(ready)).cost
    assert greedy <= 1.02 * best


def test_exact_search_refuses_too_many_patterns_or_variables():
    texts, statistics = drawn(5, types=6, size=3)
    queries = [ck.parse(text) for text in texts]
    known = [statistics.of(query) for query in queries]
    with pytest.raises(LimitError, match="at most 4 patterns"):
        SEARCHES["exact"].search(Prepared(Workload.of(queries, known), WORK, "order"))
    texts, statistics = drawn(3, types=9, size=8, spread=0)
    queries = [ck.parse(text) for text in texts]
    known = [statistics.of(query) for query in queries]
    with pytest.raises(LimitError, match="so many variables"):
        SEARCHES["exact"].search(Prepared(Workload.of(queries, known), WORK, "order"))


def test_many_branches_are_searched_in_blocks():
    rules = [
        f"PATTERN SEQ(A a, B b, {'CDEF'[number % 4]} c) WHERE a.x < b.x AND b.y > {number // 4}"
        " WITHIN 10 s"
        for number in range(12)
    ]
    queries = [ck.parse(rule) for rule in rules]
    known = measured(queries, 100.0, share=1e-4)
    plan = ck.choose_plan(queries, known, GreedyMerge(at_once=5), share="prefix")
    assert "search: greedy-merge, 5 at a time" in str(plan)
    whole = ck.choose_plan(queries, known, share="prefix")
    own = ck.choose_plan(queries, known, "own-plans", share="prefix")
    assert whole.cost <= plan.cost < own.cost
    seen = []
    ck.choose_plan(queries, known, GreedyMerge(at_once=5), share="prefix", observe=seen.append)
    assert seen[-1].examined == 3
