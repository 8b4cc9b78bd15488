import math
import pickle
import random

import networkx as nx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from benchmarks.sharing_searches import STUDIED
from benchmarks.streams import zipf_events
from cepkit.costs import COSTS, LATENCY, PARTIAL_MATCHES, Blend
from cepkit.errors import ArgumentError, PatternError, PlanError, StatisticsError
from cepkit.pattern.normal_form import normal_form
from cepkit.plan import OrderPlan, TreePlan, check_plan
from cepkit.plan.nodes import leaves
from cepkit.sharing import SEARCHES, share_plans
from cepkit.sharing.searches import Annealing, Exact, GreedyMerge, Tabu
from cepkit.sharing.workload import Workload
from tests.unit.sharing.cases import drawn, measured

TEXTS = {
    "p": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds",
    "q": "PATTERN SEQ(A u, B v, D w) WHERE u.x < v.x WITHIN 20 seconds",
    "r": "PATTERN SEQ(E e, OR(F f, G g)) WITHIN 10 seconds",
}
QUERIES = {name: ck.parse(text) for name, text in TEXTS.items()}
STATISTICS = measured([*QUERIES.values()], {"C": 40.0, "D": 50.0}, share=0.01)


def test_a_plan_for_each_pattern_and_the_nodes_that_they_share():
    shared = ck.choose_plan(TEXTS, STATISTICS)
    assert shared.names == ("p", "q", "r")
    assert shared.queries == tuple(QUERIES.values())
    for query, plan in zip(shared.queries, shared.plans, strict=True):
        assert check_plan(plan, query) is plan
        assert plan.log_cost is not None
        assert plan.expected
    (pair,) = (node for node in shared.shared if node.pattern.startswith("SEQ(A, B)"))
    assert pair.names == ("p", "q")
    assert [user.variables for user in pair.users] in (
        [("a", "b"), ("u", "v")],
        [("b", "a"), ("v", "u")],
    )
    assert pair.window == QUERIES["q"].window
    assert pair.alive == pytest.approx(20 * 20 * 0.01 / 2)
    assert shared.cost < shared.alone
    assert shared.cost == pytest.approx(math.fsum(node.cost for node in shared.nodes))
    for number, node in enumerate(shared.nodes):
        assert all(source < number for source in node.sources)
    ends = [name for node in shared.nodes for name in node.ends]
    assert sorted(ends) == ["p", "q", "r", "r"]  # both branches of the OR
    assert pickle.loads(pickle.dumps(shared)) == shared


def test_shared_plan_is_a_mapping_of_plans_by_name_or_number():
    shared = ck.choose_plan(TEXTS, STATISTICS)
    assert [shared[name] for name in shared.names] == list(shared) == [*shared.plans]
    assert shared["q"] is shared[1] is shared.plan("q")
    assert len(shared) == 3
    with pytest.raises(PatternError, match="there is no pattern 'x'"):
        shared["x"]


def test_graph_of_a_shared_plan_can_be_drawn_by_networkx():
    shared = ck.choose_plan(TEXTS, STATISTICS)
    graph = shared.to_networkx()
    places = nx.multipartite_layout(graph, subset_key="variables", align="horizontal")
    picture = nx.to_latex(graph, pos=dict(places), node_label="label", edge_label="alive")
    for number, node in enumerate(shared.nodes):
        data = graph.nodes[number]
        assert (data["label"], data["variables"]) == (node.pattern, node.size)
        assert (data["patterns"], data["ends"]) == (node.names, node.ends)
        assert (data["alive"], data["cost"]) == (node.alive, node.cost)
        assert data["window"] in ("10 seconds", "20 seconds")
        assert node.pattern in picture
        for source in node.sources:
            assert graph.edges[source, number]["alive"] == shared.nodes[source].alive
            assert places[source][1] < places[number][1]
    assert graph.number_of_edges() == sum(len(node.sources) for node in shared.nodes)


def test_shared_plan_prints_its_shared_nodes_and_users():
    shared = ck.choose_plan(TEXTS, STATISTICS)
    counts = f"{len(shared.shared)} of {len(shared.nodes)} nodes shared"
    assert str(shared).startswith(f"shared plan of 3 patterns: {counts}")
    assert "SEQ(A, B) where A.x < B.x" in str(shared)
    assert repr(shared) == str(shared)
    assert "&lt;" in shared._repr_html_()
    table = shared.to_pandas()
    assert len(table) == len(shared.nodes)
    assert table["users"].tolist() == [len(node.users) for node in shared.nodes]


def test_share_none_gives_separate_plans():
    shared = ck.choose_plan(TEXTS, STATISTICS, share="none")
    assert not shared.shared
    assert shared.cost == shared.alone
    assert len({pool for pools in shared.pools for pool in pools}) == 4 - 1
    assert all(pool < 0 for pools in shared.pools for pool in pools)


def test_plans_are_of_the_kind_that_is_asked():
    for share, kind in (("prefix", OrderPlan), ("tree", TreePlan)):
        shared = ck.choose_plan(TEXTS, STATISTICS, share=share)
        assert all(isinstance(branch, kind) for plan in shared.plans for branch in plan.branches)


def test_a_tree_is_chosen_where_it_halves_the_work():
    # Two rare pairs, each refused nearly always, and nothing in between.
    text = "PATTERN AND(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x WITHIN 1000 seconds"
    statistics = measured([ck.parse(text)], 10.0, share=1e-7)
    (plan,) = ck.choose_plan([text], statistics).plans
    (branch,) = plan.branches
    assert isinstance(branch, TreePlan)
    sides = {frozenset(leaves(side)) for side in (branch.root.left, branch.root.right)}
    assert sides == {frozenset("ab"), frozenset("cd")}


def test_a_large_window_is_not_forced_upon_a_small_one():
    # A row of the large window is a million of the small one: to filter them costs more.
    texts = [
        "PATTERN SEQ(A a, B b, C c) WITHIN 1 ms",
        "PATTERN SEQ(A a, B b, D d) WITHIN 1000 seconds",
    ]
    statistics = measured([ck.parse(text) for text in texts], 100.0)
    shared = ck.choose_plan(texts, statistics, share="prefix")
    assert shared.cost <= shared.alone
    assert all(len(node.users) == 1 for node in shared.nodes if node.sources)
    best = ck.choose_plan(texts, statistics, "exact", share="prefix")
    assert shared.cost == pytest.approx(best.cost)


@pytest.mark.parametrize("share", ["auto", "none", "prefix", "tree"])
def test_adding_and_removing_leave_the_other_plans(share):
    texts, statistics = drawn(6, types=5, size=4)
    shared = ck.choose_plan(texts[:5], statistics, share=share)
    more = shared.add(texts[5])
    assert more.names == (*shared.names, "pattern 6")
    assert more.plans[:5] == shared.plans
    assert more.cost <= shared.cost + ck.choose_plan(texts[5:], statistics, share=share).cost * (
        1 + 1e-9
    )
    back = more.remove("pattern 6")
    assert back == shared
    less = shared.remove("pattern 2")
    assert less.plans == shared.plans[:1] + shared.plans[2:]
    assert less.cost <= shared.cost
    assert less.add(texts[1], "new").names[-1] == "new"


def test_added_pattern_shares_existing_nodes():
    shared = ck.choose_plan({"q": TEXTS["q"]}, STATISTICS, share="prefix")
    more = shared.add(TEXTS["p"], "p")
    assert any(node.names == ("q", "p") for node in more.nodes)
    assert more.cost < shared.cost + ck.choose_plan({"p": TEXTS["p"]}, STATISTICS).cost


def test_a_pattern_twice_is_shared_wholly():
    once = ck.choose_plan([TEXTS["p"]], STATISTICS)
    twice = ck.choose_plan([TEXTS["p"]] * 2, STATISTICS)
    assert len(twice.nodes) == len(once.nodes)
    assert all(len(node.users) == 2 for node in twice.nodes)
    assert twice.plans[0] == twice.plans[1]
    assert twice.alone == 2 * once.alone


@given(st.integers(0, 500), st.sampled_from(["prefix", "tree"]))
def test_plans_do_not_depend_on_names_and_order_of_patterns(seed, share):
    texts, statistics = drawn(5, types=5, size=3, windows=(0.1, 0.4), seed=seed)
    queries = [ck.parse(text) for text in texts]
    known = share_plans(dict(zip("abcde", queries, strict=True)), statistics, share)
    shuffled = random.Random(seed).sample(range(5), 5)
    again = share_plans({"abcde"[i]: queries[i] for i in shuffled}, statistics, share)
    assert again.cost == known.cost
    assert {name: again.plan(name).branches for name in "abcde"} == {
        name: known.plan(name).branches for name in "abcde"
    }
    others = [_renamed(text) for text in texts]
    renamed = share_plans([ck.parse(text) for text in others], statistics, share)
    assert renamed.cost == known.cost
    assert [str(plan.branches).replace("new_", "") for plan in renamed.plans] == [
        str(plan.branches) for plan in known.plans
    ]


def _renamed(text):
    for number in range(10):
        text = text.replace(f" t{number},", f" new_t{number},").replace(
            f" t{number})", f" new_t{number})"
        )
        text = text.replace(f" t{number}.", f" new_t{number}.")
    return text


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["prefix", "tree"])
@pytest.mark.parametrize("cost", ["work", "partial-matches"])
def test_greedy_merge_is_within_two_percent_of_the_best(mode, cost):
    for seed in range(6):
        texts, statistics = drawn(4, types=6, size=4, spread=0, seed=seed)
        found, best = (
            share_plans([ck.parse(t) for t in texts], statistics, mode, search, COSTS[cost])
            for search in (GreedyMerge(), Exact())
        )
        assert best.cost <= found.cost <= 1.02 * best.cost


@given(
    st.integers(0, 500),
    st.sampled_from(["prefix", "tree", "auto"]),
    st.sampled_from(["work", "partial-matches"]),
)
def test_greedy_merge_never_costs_more_than_separate_best_plans(seed, share, cost):
    texts, statistics = drawn(5, types=5, size=3, windows=(0.1, 0.4), seed=seed)
    queries = [ck.parse(text) for text in texts]
    found = share_plans(queries, statistics, share, GreedyMerge(), COSTS[cost])
    assert found.cost <= found.alone
    if share != "tree":  # the best tree alone may cost more than the best order
        assert found.alone <= share_plans(queries, statistics, "none", cost=COSTS[cost]).cost


@pytest.mark.slow
@given(st.integers(0, 500), st.sampled_from(["prefix", "auto"]))
def test_no_more_candidates_are_looked_at_than_by_the_same_plans_apart(seed, share):
    texts, _ = drawn(4, types=4, size=3, windows=(0.4,), seed=seed)
    rng = random.Random(seed)
    times = sorted(rng.randrange(4_000) for _ in range(150))
    stream = ck.events(
        pd.DataFrame(
            {
                "ts": times,
                "type": [rng.choice(["T0", "T1", "T2", "T3"]) for _ in times],
                "d": [rng.random() for _ in times],
            }
        ),
        time="ts",
        type="type",
        unit="ms",
    )
    shared = ck.choose_plan(texts, ck.profile(stream, texts), share=share)
    together = ck.detect(stream, texts, plan=shared)
    apart = [ck.detect(stream, text, plan) for text, plan in zip(texts, shared.plans, strict=True)]
    assert together.counts().tolist() == [matches.count() for matches in apart]
    candidates = sum(step.candidates for step in together.explain().steps)
    assert candidates <= sum(step.candidates for m in apart for step in m.explain().steps)


@pytest.mark.slow
@pytest.mark.parametrize("share", ["prefix", "auto"])
def test_greedy_merge_looks_at_no_more_candidates_than_separate_plans(share):
    """Where what is expected is true: uniform arrivals, independent values, a long stream."""
    stream = ck.events(zipf_events(20_000, types=6), time="ts", type="type")
    names = [f"T0{i}" for i in range(1, 7)]
    for seed in range(4):
        rng = random.Random(seed)
        texts = []
        for _ in range(10):
            a, b, c = rng.sample(names, 3)
            first, second = (rng.choice([0.5, 1.5]) for _ in range(2))
            texts.append(
                f"PATTERN SEQ({a} x, {b} y, {c} z) WHERE x.diff + {first} < y.diff "
                f"AND y.diff + {second} < z.diff WITHIN 300 ms"
            )
        known = ck.profile(stream, texts)
        found = {}
        for way, search in (("none", "greedy-merge"), (share, "greedy-merge")):
            plan = ck.choose_plan(texts, known, search, share=way)
            steps = ck.detect(stream, texts, plan=plan).explain().steps
            found[way] = sum(step.candidates for step in steps)
        assert found[share] <= found["none"]


def test_searches_take_settings():
    texts, statistics = drawn(5, types=5, size=3)
    for search in (Annealing(steps=50, most=4, seed=1), Tabu(steps=2, width=5, seconds=10.0)):
        shared = ck.choose_plan(texts, statistics, search, share="prefix")
        assert shared.search == search.name
        assert shared.cost <= shared.alone


def test_observe_refuses_values_that_are_no_function():
    statistics = ck.Statistics.assumed({"a": 1, "b": 2}, {})
    with pytest.raises(ArgumentError, match="Expected: a function or None"):
        ck.choose_plan({"p": "PATTERN SEQ(A a, B b) WITHIN 1 s"}, statistics, observe=3)


def test_a_search_that_is_observed_gets_cheaper():
    texts, statistics = drawn(8, types=6, size=4)
    seen = []
    shared = ck.choose_plan(texts, statistics, share="prefix", observe=seen.append)
    assert seen[-1].cost == shared.cost
    assert seen[-1].examined > 0


def test_patterns_under_skip_till_next_match_share_no_nodes():
    queries = [ck.parse(f"{TEXTS['p']} STRATEGY skip-till-next-match")] * 2
    shared = share_plans(queries, measured(queries, 1.0))
    assert not shared.shared


@pytest.mark.slow
def test_many_variables_get_plans():
    names = ", ".join(f"A{i} v{i}" for i in range(14))
    other = names.replace("A13", "B")
    texts = [f"PATTERN SEQ({names}) WITHIN 1 s", f"PATTERN SEQ({other}) WITHIN 1 s"]
    statistics = measured([ck.parse(text) for text in texts], 2.0)
    for share in ("prefix", "tree"):
        shared = ck.choose_plan(texts, statistics, share=share)
        assert shared.cost < shared.alone


def test_events_that_look_alike_get_plans():
    same = ", ".join(f"A a{i}" for i in range(8))
    texts = [f"PATTERN AND({same}) WITHIN 1 s", f"PATTERN AND({same}, B b) WITHIN 1 s"]
    statistics = measured([ck.parse(text) for text in texts], 2.0)
    shared = ck.choose_plan(texts, statistics, share="prefix")
    assert shared.cost < shared.alone


@pytest.mark.slow
def test_hundreds_of_patterns_get_plans():
    texts, statistics = drawn(250, types=12, size=4)
    shared = ck.choose_plan(texts, statistics, share="prefix")
    assert len(shared.plans) == 250
    assert shared.cost < shared.alone


def test_many_patterns_are_searched_in_blocks():
    texts, statistics = drawn(12, types=5, size=3)
    queries = [ck.parse(text) for text in texts]
    own = share_plans(queries, statistics, "prefix", "own-plans")
    blocks = share_plans(queries, statistics, "prefix", GreedyMerge(at_once=4))
    whole = share_plans(queries, statistics, "prefix")
    assert whole.cost < own.cost
    assert whole.cost <= blocks.cost <= own.cost
    assert "search: greedy-merge, 4 at a time" in str(blocks)
    assert "search: greedy-merge\n" in str(whole)
    known = [statistics.of(query) for query in queries]
    workload = Workload.of(queries, known)
    members = [block.members for block in workload.blocks(5)]
    assert [len(each) for each in members] == [5, 5, 2]
    assert frozenset.union(*members) == {*range(12)}
    assert workload.blocks(12) == [workload]
    seen = []
    share_plans(queries, statistics, "prefix", GreedyMerge(at_once=4), observe=seen.append)
    costs = [each.cost for each in seen]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == blocks.cost


def test_patterns_with_much_in_common_are_in_one_block():
    texts = [f"PATTERN SEQ({x} a, {y} b, C{n} c) WITHIN 1 s" for n in range(3) for x, y in PAIRS]
    queries = [ck.parse(text) for text in texts]
    for block in Workload.of(queries).blocks(3):
        firsts = {str(queries[number])[:17] for number in block.members}
        assert len(firsts) == 1


PAIRS = ("AB", "DE", "FG")


def test_errors_name_the_pattern_and_the_expected_value():
    with pytest.raises(PatternError, match="no pattern"):
        ck.choose_plan([], STATISTICS)
    with pytest.raises(PatternError, match="pattern 2"):
        ck.choose_plan([TEXTS["p"], "PATTERN SEQ(A a,"], STATISTICS)
    with pytest.raises(StatisticsError, match=r"pattern 2(.|\n)*the rate of Z"):
        ck.choose_plan([TEXTS["p"], "PATTERN SEQ(A a, Z z)"], STATISTICS)
    with pytest.raises(StatisticsError, match="instead of statistics"):
        ck.choose_plan([TEXTS["p"]], "statistics")
    with pytest.raises(PlanError, match="there is no search 'greedy'"):
        ck.choose_plan([TEXTS["p"]], STATISTICS, "greedy")
    with pytest.raises(PlanError, match=r"share='prefixes'(.|\n)*did you mean 'prefix'"):
        ck.choose_plan([TEXTS["p"]], STATISTICS, share="prefixes")
    shared = ck.choose_plan(TEXTS, STATISTICS)
    with pytest.raises(PatternError, match="there is a pattern 'p'"):
        shared.add(TEXTS["q"], "p")
    with pytest.raises(PatternError, match="no pattern 's'"):
        shared.remove("s")
    with pytest.raises(StatisticsError, match="the rate of Z"):
        shared.add("PATTERN SEQ(A a, Z z)")
    with pytest.raises(PatternError, match="the only pattern"):
        ck.choose_plan({"p": TEXTS["p"]}, STATISTICS).remove("p")


def test_comparison_separates_the_gains_of_reordering_and_sharing():
    searches = [*SEARCHES, *STUDIED]
    comparison = ck.compare_plans(TEXTS, STATISTICS, searches, progress=False)
    text = comparison.row("text-order")
    assert text.gain == text.reordering == text.sharing == 1
    assert comparison.row("reordering").sharing == 1
    assert comparison.row("sharing-only").reordering == 1
    for row in comparison.rows:
        assert row.gain == pytest.approx(row.reordering * row.sharing)
        assert row.cost <= row.apart or row.sharing < 1
    merged = comparison.row("greedy-merge", "tree")
    assert merged.cost == ck.choose_plan(TEXTS, STATISTICS, share="tree").cost
    assert merged.sharing > 1
    assert len(comparison.to_pandas()) == 2 * len(searches)
    of_shelf = ck.compare_plans(TEXTS, STATISTICS, progress=False)
    assert {row.search for row in of_shelf.rows} == {*SEARCHES}
    assert "gain  reordering  sharing" in str(comparison)
    assert "<table>" in comparison._repr_html_()
    with pytest.raises(PlanError, match="no row of 'best'"):
        comparison.row("best")


def test_a_comparison_says_who_refused():
    texts, statistics = drawn(5, types=5, size=3)
    comparison = ck.compare_plans(
        texts, statistics, ["own-plans", "exact"], share="prefix", progress=False
    )
    assert [row.search for row in comparison.rows] == ["own-plans"]
    assert comparison.refused[0][0] == "exact"
    with pytest.raises(PlanError, match="no search to compare"):
        ck.compare_plans(texts, statistics, [])
    for odd in (1.5, "exact"):
        with pytest.raises(ArgumentError, match=r"planners=(.|\n)*Expected: a list"):
            ck.compare_plans(texts, statistics, odd)


@pytest.mark.parametrize(
    ("cost", "alone", "said"),
    [(76, 100, "24 % less"), (145, 100, "45 % more"), (100.2, 100, "0 % less"), (0, 0, "0 % less")],
)
def test_the_line_of_costs_says_less_or_more(cost, alone, said):
    from cepkit.sharing.printer import costs_text

    assert costs_text("ns", cost, alone).endswith(f" without sharing, {said}")


WAITING = [
    "PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND b.x < d.x WITHIN 10 seconds",
    "PATTERN SEQ(A a, B b, C c, E e) WHERE a.x < b.x AND b.x < e.x WITHIN 10 seconds",
    "PATTERN AND(A a, B b, F f) WHERE a.x < b.x WITHIN 10 seconds",
]
FAST = {"A": 3.0, "B": 2.0, "C": 5.0, "D": 0.5, "E": 0.7, "F": 1.0}


@pytest.mark.parametrize("share", ["prefix", "tree"])
@pytest.mark.parametrize("search", ["greedy-merge", "annealing", "tabu", "exact"])
def test_shared_plan_by_latency_is_each_patterns_own_best(share, search):
    queries = [ck.parse(text) for text in WAITING]
    known = measured(queries, FAST)
    shared = ck.choose_plan(queries, known, search, share=share, cost=LATENCY)
    planner = "dp-tree" if share == "tree" else "dp-order"
    own = [ck.choose_plan(q, known.of(q), planner, cost=LATENCY).cost for q in queries]
    assert shared.cost == pytest.approx(sum(own))
    assert shared.alone == pytest.approx(sum(own))


@pytest.mark.parametrize("share", ["prefix", "tree"])
def test_shared_plan_by_a_blend_costs_its_partial_matches_once_and_all_waiting(share):
    queries = [ck.parse(text) for text in WAITING]
    known = measured(queries, FAST)
    for alpha in (0.0, 0.5, 20.0):
        shared = ck.choose_plan(queries, known, share=share, cost=Blend(alpha))
        exact = ck.choose_plan(queries, known, "exact", share=share, cost=Blend(alpha))
        waiting = sum(
            math.exp(LATENCY.on(branch, known.of(query)).of(plan.branches[0]))
            for query, plan in zip(queries, shared.plans, strict=True)
            for branch in normal_form(query)
        )
        alive = sum(node.alive for node in shared.nodes)
        assert shared.cost == pytest.approx(alive + alpha * waiting)
        assert exact.cost <= shared.cost * (1 + 1e-9)
        assert shared.cost <= shared.alone * (1 + 1e-9)
    merged = ck.choose_plan(queries, known, share=share, cost=Blend(0.0))
    assert merged.cost == pytest.approx(
        ck.choose_plan(queries, known, share=share, cost=PARTIAL_MATCHES).cost
    )


def test_response_by_a_blend_is_the_best_order_given_the_others():
    queries = [ck.parse(text) for text in WAITING[:2]]
    known = measured(queries, FAST)
    for alpha in (0.5, 5.0):
        shared = ck.choose_plan(queries[:1], known, share="prefix", cost=Blend(alpha))
        grown = shared.add(queries[1], statistics=known)
        best = ck.choose_plan(queries, known, "exact", share="prefix", cost=Blend(alpha))
        assert best.cost <= grown.cost * (1 + 1e-9)
        assert grown.cost <= (shared.alone + grown.alone) * (1 + 1e-9)
