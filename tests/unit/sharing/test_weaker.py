"""Weaker nodes, which demand less than their users: when shared, their cost, their matches."""

import re
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.costs import WORK
from cepkit.pattern.conditions import conjuncts
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.printer import expression_text
from cepkit.sharing.description import described
from cepkit.sharing.known_shares import KnownShares
from cepkit.sharing.late import demands, implies, late_of, meet
from cepkit.sharing.plan_graph import PlanGraph, Prepared
from cepkit.sharing.prices import CHECK, HAND_OVER, number_of
from cepkit.sharing.weakening import weakenings, weaker_nodes
from cepkit.sharing.workload import Workload
from tests.unit.sharing.cases import graph_of, measured, order, prepared


def asked(where):
    """Return the demands of conditions on a and b."""
    query = ck.parse(f"PATTERN SEQ(A a, B b) WHERE {where}")
    return demands(conjuncts(query.where), ("a", "b"))


def texts(demanded):
    return {expression_text(each) for each in demanded}


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("a.x < b.x AND a.y = 1", "b.x > a.x AND b.y = 2", {"_0.x < _1.x"}),
        ("a.x > 10", "a.x > 20", {"_0.x > 10"}),
        ("a.x <= 10 AND b.x > 2", "a.x <= 20 AND b.x > 1", {"_0.x <= 20", "_1.x > 1"}),
        ("a.x > 10", "a.x >= 10", set()),
        ("a.x > 10", "b.x > 20", set()),
        ("a.x > 10", "a.x > 'ten'", set()),
        ("a.x - b.x < 3", "a.x - b.x < 2.5", {"_0.x - _1.x < 3"}),
    ],
)
def test_common_demands_of_two_patterns_have_the_looser_bounds(one, other, both):
    found = meet(asked(one), asked(other))
    assert texts(found) == both
    assert found == meet(asked(other), asked(one))
    assert implies(asked(one), found)
    assert implies(asked(other), found)
    if found != asked(one):
        assert not implies(found, asked(one))


def test_late_checks_include_conditions_and_implied_equalities():
    query = ck.parse("PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k AND a.x > 5")
    (branch,) = normal_form(query)
    said = described(branch)
    own = demands(said.conditions, ("a", "c"))
    assert texts(own) == {"_0.k = _1.k", "_0.x > 5"}
    late = late_of(own, frozenset(), ("a", "c"))
    assert texts(late.checked) == {"a.k = c.k", "a.x > 5"}


RULES = [
    f"PATTERN SEQ(A a, B b, {kind} c) WHERE a.x < b.x AND a.y > {bound} WITHIN 10 s"
    for bound, kind in enumerate("CDEF")
]


def ready_of(rules=RULES, share=1e-4, rate=100.0):
    """Return rules with a pair of which few combinations are left."""
    return prepared(rules, cost=WORK, rates=rate, share=share)


def test_rules_with_other_bounds_share_the_pair():
    queries = [ck.parse(rule) for rule in RULES]
    known = measured(queries, 100.0, share=1e-4)
    plan = ck.choose_plan(RULES, known, share="prefix")
    pair = next(n for n in plan.shared if n.pattern == "SEQ(A, B) where A.x < B.x and A.y > 0")
    assert len(pair.names) == 4
    checked = {user.name: {*user.checked} for user in pair.users}
    assert checked == {
        "pattern 1": set(),
        "pattern 2": {"a.y > 1"},
        "pattern 3": {"a.y > 2"},
        "pattern 4": {"a.y > 3"},
    }
    assert plan.cost < 0.5 * ck.choose_plan(RULES, known, "own-plans", share="prefix").cost
    assert re.search(r"pattern 4 .* → c; a.y > 3 checked after [ab]\n?", str(plan))
    assert "a.y &gt; 3 checked after" in plan._repr_html_()
    less = plan.remove("pattern 2")
    assert less.late == plan.late[:1] + plan.late[2:]
    assert less.add(RULES[1], "again").cost <= plan.cost * (1 + 1e-9)


def test_no_weaker_node_is_shared_if_its_rows_are_many():
    # Nine pairs of ten hold: to check them for three users is dearer than to find them again.
    ready = ready_of(share=0.9)
    assert not weaker_nodes(ready)


def test_a_row_that_is_checked_costs_work():
    ready = ready_of(RULES[:2])
    (node, *_) = weaker_nodes(ready)
    graph = graph_of(ready, [order(ready, 0, "cba"), order(ready, 1, "cba")])
    (changes, *_) = weakenings(graph, node)
    assert [changes[number].weaker is None for number in (0, 1)] == [True, False]
    graph.swap(changes)
    first, second = ready.workload.sharers
    rows = Fraction(ready.prices(first).rows(0b11), 1 << 64)
    alone = PlanGraph(ready, {0: graph.choices[0]}).cost
    rest = ready.prices(second).step(0b11, 0b100)
    expected = number_of(alone + rest) + float(rows * (int(HAND_OVER) + int(CHECK)))
    assert number_of(graph.cost) == pytest.approx(expected)


@given(st.integers(0, 10_000))
def test_differences_add_up_where_nodes_are_weaker(seed):
    random = Random(seed)
    rules = [
        f"PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x"
        f"{random.choice(['', f' AND a.y > {random.randint(0, 2)}'])}"
        f"{random.choice(['', ' AND b.x < c.x'])} WITHIN {random.choice([5, 10])} s"
        for _ in range(random.randint(2, 5))
    ]
    ready = ready_of(rules)
    graph = graph_of(ready, [order(ready, number, "abc") for number in range(len(rules))])
    moves = [change for node in weaker_nodes(ready) for change in weakenings(graph, node)]
    for _ in range(8 if moves else 0):
        changes = dict(random.choice(moves))
        some = {n: choice for n, choice in changes.items() if random.random() < 0.7}
        graph.swap(some)
        scratch = PlanGraph(ready, graph.choices)
        assert scratch.cost == graph.cost
        assert scratch.held == graph.held


def test_matches_and_candidates_of_rules_that_share_a_weaker_node():
    stream = ck.events(zipf_events(6_000, types=6), time="ts", type="type")
    rules = [
        f"PATTERN SEQ(T01 a, T02 b, T0{3 + i % 3} c) WHERE a.diff > {i / 10 - 1} "
        f"AND a.diff + 3 < b.diff AND b.diff + {i % 2} < c.diff WITHIN 1 s"
        for i in range(6)
    ]
    plan = ck.choose_plan(rules, ck.profile(stream, rules), share="prefix")
    assert any(late is not None for each in plan.late for late in each)
    several = ck.detect(stream, rules, plan)
    alone = [ck.detect(stream, rule, own) for rule, own in zip(rules, plan.plans, strict=True)]
    assert several.counts().tolist() == [matches.count() for matches in alone]
    assert several.counts().sum() > 0
    apart = sum(step.candidates for matches in alone for step in matches.explain().steps)
    assert sum(step.candidates for step in several.explain().steps) * 3 < apart
    # What a plan says of weaker nodes is about sharing alone: each rule has its matches by itself.
    one = ck.detect(stream, {"pattern 3": rules[2]})
    assert one.counts().tolist() == several.counts().tolist()[2:3]


def test_weaker_nodes_have_sharers_of_different_numbers():
    queries = [ck.parse(rule) for rule in RULES]
    known = measured(queries, 100.0, share=1e-4)
    workload = Workload.of(queries, [known.of(query) for query in queries])
    ready = Prepared(workload, WORK, "order")
    nodes = weaker_nodes(ready)
    assert nodes
    assert len({w.sharer.number for w in workload.weaker}) == len(workload.weaker)
    assert weaker_nodes(Prepared(workload, WORK, "tree")) == []


IN_ANY_ORDER = [
    "PATTERN SEQ(T03 a, T04 b, T05 c) WHERE a.diff + 3 < b.diff WITHIN 1 s",
    "PATTERN AND(T03 a, T04 b, T06 c) WHERE a.diff + 3 < b.diff WITHIN 1 s",
    "PATTERN SEQ(T04 b, T03 a, T01 c) WHERE a.diff + 3 < b.diff WITHIN 1 s",
    "PATTERN AND(SEQ(T03 a, T04 b), T02 c) WHERE a.diff + 3 < b.diff AND a.diff > 0 WITHIN 1 s",
]


def test_sequences_take_a_pair_in_any_order_and_check_theirs():
    stream = ck.events(zipf_events(4_000, types=6), time="ts", type="type")
    plan = ck.choose_plan(IN_ANY_ORDER, ck.profile(stream, IN_ANY_ORDER), share="prefix")
    pair = next(node for node in plan.shared if node.pattern.startswith("AND("))
    assert len(pair.names) == 4
    for number, text in ((1, "a before b"), (3, "b before a"), (4, "a before b and a.diff > 0")):
        assert re.search(rf"pattern {number} .*; {text} checked after [ab]\n?", str(plan))
    several = ck.detect(stream, IN_ANY_ORDER, plan)
    alone = [ck.detect(stream, rule) for rule in IN_ANY_ORDER]
    assert several.counts().tolist() == [matches.count() for matches in alone]
    assert all(several.counts() > 0)
    apart = ck.detect(
        stream, IN_ANY_ORDER, ck.choose_plan(IN_ANY_ORDER, plan.statistics, share="none")
    )
    looked_at, each = (
        sum(step.candidates for step in matches.explain().steps) for matches in (several, apart)
    )
    assert looked_at < 0.7 * each


def test_selectivity_in_any_order_is_the_mean_of_both_orders():
    first, second = (f"PATTERN SEQ({pair}) WHERE a.x < b.x" for pair in ("A a, B b", "B b, A a"))
    known = [ck.parse(each) for each in (first, second)]
    statistics = [measured([q], 1.0, share=s) for q, s in zip(known, (0.2, 0.4), strict=True)]
    branches = [normal_form(query)[0] for query in known]
    (either,) = normal_form(ck.parse("PATTERN AND(A a, B b) WHERE a.x < b.x"))
    pairs = list(zip(branches, statistics, strict=True))
    both = KnownShares.of_all(pairs).of(either, statistics[0])
    assert both.selectivity("a", "b") == pytest.approx(0.3)
    assert KnownShares.of_all(pairs[:1]).of(either, statistics[0]).selectivity("a", "b") == 1.0


def test_an_order_that_a_not_depends_on_stays():
    rules = [
        "PATTERN SEQ(A a, NOT(X n), B b, C c) WHERE a.x < b.x WITHIN 10 s",
        "PATTERN SEQ(B b, NOT(X n), A a, D c) WHERE a.x < b.x WITHIN 10 s",
        "PATTERN AND(A a, B b, E c) WHERE a.x < b.x WITHIN 10 s",
    ]
    assert not weaker_nodes(ready_of(rules))


def test_patterns_behind_a_weaker_node_have_no_match_without_their_last_type():
    rules = {
        "f": "PATTERN SEQ(A a, B b, F f) WHERE a.x < b.x AND a.y > 0 WITHIN 10 s",
        "d": "PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND a.y > 1 WITHIN 10 s",
        "e": "PATTERN SEQ(A a, B b, C c, E e) WHERE a.x < b.x AND a.y > 1 WITHIN 10 s",
    }
    known = measured(list(map(ck.parse, rules.values())), 100.0, share=1e-4)
    plan = ck.choose_plan(rules, known, share="prefix")
    assert "SEQ(A, B, C) where A.x < B.x and A.y > 1" in {node.pattern for node in plan.shared}
    rows = [{"t": i, "kind": kind, "x": i, "y": 9} for i, kind in enumerate("ABCF")]
    matches = ck.detect(ck.events(rows, time="t", type="kind", unit="s"), rules, plan)
    assert dict(matches.counts()) == {"f": 1, "d": 0, "e": 0}
    assert matches.together.to_pandas()["pattern"].tolist() == ["f"]
