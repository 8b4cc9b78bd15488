"""Several patterns in one mechanism: shared nodes, saved work, and refusals."""

from __future__ import annotations

import json
from itertools import pairwise, permutations
from typing import Any

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import PatternError, PlanError, TraceError, UnsupportedError
from cepkit.figures.player.document import player_document
from cepkit.figures.traces.mechanism import layout
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.tracing import Trace
from cepkit.tracing.operations import Create
from tests.unit.automata.cases import stream
from tests.unit.figures.overlaps import assert_nothing_overlaps

SHORT = "PATTERN SEQ(A a, B b, C c) WHERE a.p < b.p WITHIN 10 seconds"
LONG = "PATTERN SEQ(A x, B y, D z) WHERE x.p < y.p WITHIN 20 seconds"
BOTH = {"short": SHORT, "long": LONG}
EVENTS = "A1 B2 C3 A2 B5 D9 C1 B4 D2 A1 B3 C9 A0 B1 B1 B1 D7 C8"
ORDERS = [["a", "b", "c"], ["x", "y", "z"]]

P1 = "PATTERN SEQ(A a, B b, C c, D d) WITHIN 20 seconds"
P2 = "PATTERN SEQ(A a, E e, C c, F f) WITHIN 20 seconds"
P3 = "PATTERN SEQ(G g, B b, H h, D d) WITHIN 20 seconds"
TREES = [(("a", "c"), ("b", "d")), (("a", "c"), ("e", "f")), (("g", "h"), ("b", "d"))]
EIGHT = "A1 G1 B2 E1 C2 H1 D2 F1 A1 B1 C1 D1 E1 F1 H2 D3 F2"


def together(events: str, patterns: Any, plan: Any, mechanism: str = "chain-nfa") -> Any:
    """Return the trace of several patterns."""
    return ck.simulate(stream(events), patterns, mechanism, plan)


def nodes(trace: Any) -> dict[tuple[str, ...], Any]:
    """Return the nodes by the variables that they bind."""
    return {placed.node.variables: placed.node for placed in trace.diagram.nodes}


def bindings(trace: Any) -> dict[str, set[Any]]:
    """Return the matches of each pattern."""
    found: dict[str, set[Any]] = {pattern.name: set() for pattern in trace.patterns}
    for match in trace.matches:
        found[match.pattern].add(tuple(match.events.items()))
    return found


def alone(events: str, pattern: str, plan: Any, mechanism: str = "chain-nfa") -> Any:
    """Return the matches and the counters of one pattern by itself."""
    trace = ck.simulate(stream(events), pattern, mechanism, plan)
    return {tuple(match.events.items()) for match in trace.matches}, trace.totals.counts


def test_a_shared_state_keeps_for_the_largest_window_of_its_users() -> None:
    trace = together(EVENTS, BOTH, ORDERS)
    states = nodes(trace)
    shared = [states[()], states["a",], states["a", "b"]]
    assert all(state.patterns == ("short", "long") for state in shared)
    assert all(state.window == "20 seconds" for state in shared)
    assert (states["a", "b", "c"].ends, states["a", "b", "c"].window) == (("short",), "10 seconds")
    assert (states["a", "b", "z"].ends, states["a", "b", "z"].window) == (("long",), "20 seconds")
    assert len(states) == 5


def test_with_other_orders_only_the_initial_state_is_shared() -> None:
    trace = together(EVENTS, BOTH, [["c", "b", "a"], ["x", "z", "y"]])
    assert [n.variables for n in nodes(trace).values() if len(n.patterns) > 1] == [()]
    assert len(nodes(trace)) == 7


def test_the_smaller_window_would_lose_matches() -> None:
    trace = together(EVENTS, BOTH, ORDERS)
    found = bindings(trace)
    assert found["short"] == alone(EVENTS, SHORT, ORDERS[0])[0]
    assert found["long"] == alone(EVENTS, LONG, ORDERS[1])[0]
    times = trace.events.time
    spans = {
        name: [max(m.members) - min(m.members) for m in trace.matches if m.pattern == name]
        for name in BOTH
    }
    assert times[1] - times[0] == 1_000_000
    assert max(spans["short"]) <= 10 < max(spans["long"])


@pytest.mark.parametrize("mechanism", ["chain-nfa", "evaluation-tree"])
def test_counters_show_the_work_saved_by_sharing(mechanism: str) -> None:
    trace = together(EVENTS, BOTH, ORDERS, mechanism)
    counts = trace.totals.counts
    single = [alone(EVENTS, p, o, mechanism)[1] for p, o in zip(BOTH.values(), ORDERS, strict=True)]
    prefix = alone(EVENTS, LONG.replace(", D z", ""), ["x", "y"], mechanism)[1]
    # The prefix is found once, for the window of the long one; what it costs the short one is less.
    short_prefix = alone(EVENTS, SHORT.replace(", C c", ""), ["a", "b"], mechanism)[1]
    saved = short_prefix.evaluations
    assert counts.evaluations == sum(one.evaluations for one in single) - saved
    assert prefix.evaluations >= saved > 0
    assert counts.created == sum(one.created for one in single) - short_prefix.created
    assert counts.matches == sum(one.matches for one in single)
    assert trace.totals.by_pattern == {
        name: one.matches for name, one in zip(BOTH, single, strict=True)
    }


def test_subtrees_are_shared_where_prefixes_cannot_be() -> None:
    trees = together(EIGHT, [P1, P2, P3], TREES, "evaluation-tree")
    shared = {v: n.patterns for v, n in nodes(trees).items() if len(v) > 1 and len(n.patterns) > 1}
    assert shared == {
        ("a", "c"): ("pattern 1", "pattern 2"),
        ("b", "d"): ("pattern 1", "pattern 3"),
    }
    order = ["acbd", "acef", "bdgh"]
    chains = together(EIGHT, [P1, P2, P3], [list(one) for one in order])
    shared = {v: n.patterns for v, n in nodes(chains).items() if len(v) > 1 and len(n.patterns) > 1}
    assert shared == {("a", "c"): ("pattern 1", "pattern 2")}
    assert bindings(trees).keys() == bindings(chains).keys()
    for name, pattern, tree in zip(bindings(trees), (P1, P2, P3), TREES, strict=True):
        expected = {frozenset(one) for one in alone(EIGHT, pattern, tree, "evaluation-tree")[0]}
        assert expected
        assert {frozenset(one) for one in bindings(trees)[name]} == expected
        assert {frozenset(one) for one in bindings(chains)[name]} == expected


def test_a_final_state_may_be_an_inner_one() -> None:
    pair = "PATTERN SEQ(A a, B b) WHERE a.p < b.p WITHIN 5 seconds"
    trace = together(EVENTS, {**BOTH, "pair": pair}, [*ORDERS, ["a", "b"]])
    inner = nodes(trace)["a", "b"]
    assert (inner.kind, inner.label, inner.ends) == ("final", "pair", ("pair",))
    assert bindings(trace)["pair"] == alone(EVENTS, pair, ["a", "b"])[0]
    assert trace.totals.counts.created == together(EVENTS, BOTH, ORDERS).totals.counts.created


def test_a_pattern_twice_is_done_once_and_found_twice() -> None:
    trace = together(EVENTS, [SHORT, SHORT], [ORDERS[0]] * 2)
    once, counts = alone(EVENTS, SHORT, ORDERS[0])
    assert bindings(trace) == {"pattern 1": once, "pattern 2": once}
    assert trace.totals.counts.evaluations == counts.evaluations
    assert trace.totals.counts.created == counts.created
    assert (
        trace.totals.peak_instances
        == ck.simulate(stream(EVENTS), SHORT, plan=ORDERS[0]).totals.peak_instances
    )


@pytest.mark.parametrize("events", ["A1 B2", "A1 B2 C1", "A1 B2 X1 X1 X1 X1 X1 X1 C1 A1 B3"])
def test_matches_that_await_a_trailing_not_are_kept_per_pattern(events: str) -> None:
    quiet = "PATTERN SEQ(A a, B b, NOT(C n)) WITHIN 5 seconds"
    on = "PATTERN SEQ(A a, B b, C c) WITHIN 5 seconds"
    patterns = {"quiet": quiet, "again": quiet, "on": on}
    plans = [["a", "b"], ["a", "b"], ["a", "b", "c"]]
    trace = together(events, patterns, plans)
    found = bindings(trace)
    for (name, pattern), plan in zip(patterns.items(), plans, strict=True):
        assert found[name] == alone(events, pattern, plan)[0]
    assert trace.counters[-1].instances == trace.counters[-1].stored == 0


NOT_WITHIN = [
    ("PATTERN SEQ(NOT(A n), B b, C c, D d) WITHIN 5 seconds", ["b", "d", "c"]),
    ("PATTERN SEQ(NOT(A m), B b, D d) WITHIN 5 seconds", ["b", "d"]),
    ("PATTERN AND(SEQ(C c, NOT(A n)), SEQ(B b, D d)) WITHIN 5 seconds", ["c", "b", "d"]),
    ("PATTERN AND(SEQ(C c, NOT(A m)), B b) WITHIN 5 seconds", ["c", "b"]),
    ("PATTERN AND(NOT(A n), B b, C c, D d) WITHIN 5 seconds", ["b", "d", "c"]),
    ("PATTERN AND(NOT(A m), B b, D d) WITHIN 5 seconds", ["b", "d"]),
]
NOT_ANYWHERE = [(p.replace(" WITHIN 5 seconds", ""), plan) for p, plan in NOT_WITHIN] + [
    ("PATTERN AND(B b, C c, D d)", ["b", "d", "c"]),
    ("PATTERN AND(NOT(X n), B b, D d)", ["b", "d"]),
    ("PATTERN SEQ(NOT(X n), B b, D d)", ["b", "d"]),
]


@pytest.mark.parametrize("mechanism", ["chain-nfa", "evaluation-tree"])
@pytest.mark.parametrize("listed", [NOT_WITHIN, NOT_ANYWHERE], ids=["window", "no window"])
def test_a_not_without_bounds_on_both_sides_is_decided_per_pattern(
    listed: Any, mechanism: str
) -> None:
    events = stream("C1 B2 A1 B2 C3 D4 C1 A2 B1 D1 X1 C5 B1 D2 C1")
    for patterns in permutations(listed, 2):
        texts, plans = zip(*patterns, strict=True)
        trace = ck.simulate(events, list(texts), mechanism, list(plans))
        found = [*bindings(trace).values()]
        for matches, (text, plan) in zip(found, patterns, strict=True):
            single = ck.simulate(events, text, mechanism, plan)
            assert matches == {tuple(match.events.items()) for match in single.matches}, texts


def test_an_optional_event_under_greedy_is_not_lost_to_its_branch_without_it() -> None:
    pattern = "PATTERN AND(NOT(A n), OPT(B b) GREEDY, C c, D d)"
    plan = Plan((OrderPlan(("c", "d", "b")), OrderPlan(("c", "d"))), "by hand")
    for mechanism in ("chain-nfa", "evaluation-tree"):
        trace = together("B1 C1 D1", [pattern, pattern], [plan, plan], mechanism)
        assert bindings(trace)["pattern 2"] == {(("b", 0), ("c", 1), ("d", 2))}


def test_shared_node_checks_a_condition_that_one_pattern_only_implies() -> None:
    implies = "PATTERN SEQ(A a, B b, C c) WHERE a.p = b.p AND b.p = c.p WITHIN 1 minute"
    says = "PATTERN SEQ(A a, C c, D d) WHERE a.p = c.p WITHIN 30 seconds"
    events = "A1 A2 B1 C1 C2 D1"
    plans = [["a", "c", "b"], ["a", "c", "d"]]
    trace = together(events, {"implies": implies, "says": says}, plans)
    assert nodes(trace)["a", "c"].patterns == ("implies", "says")
    assert bindings(trace)["says"] == alone(events, says, plans[1])[0]
    assert len(bindings(trace)["says"]) == 2


def test_steps_name_shared_variables_once_and_matches_use_pattern_names() -> None:
    clash = "PATTERN SEQ(D a, A b) WITHIN 5 seconds"
    trace = together(EVENTS, {**BOTH, "clash": clash}, [*ORDERS, ["a", "b"]])
    variables = {pattern.name: pattern.variables for pattern in trace.patterns}
    assert variables["short"] == {"a": ("a",), "b": ("b",), "c": ("c",)}
    assert variables["long"] == {"x": ("a",), "y": ("b",), "z": ("z",)}
    assert variables["clash"] == {"a": ("a_3",), "b": ("b_3",)}
    taken = {o.variable for step in trace.operations for o in step if isinstance(o, Create)}
    assert taken == {None, "a", "b", "c", "z", "a_3", "b_3"}
    assert {edge.label for edge in trace.diagram.edges if edge.kind == "take"} == {
        "A a", "B b", "C c", "D z", "D a_3", "A b_3",
    }  # fmt: skip
    frame = trace.matches_frame()
    assert list(frame.columns) == ["pattern", "a", "b", "c", "x", "y", "z", "match_start",
                                   "match_end", "step"]  # fmt: skip
    assert set(frame["pattern"]) == {"short", "long", "clash"}


def test_windows_and_partitions_of_other_kinds_run_beside_each_other() -> None:
    frame = pd.DataFrame(
        {
            "ts": range(12),
            "type": list("ABABABABCACB"),
            "k": [0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1],
            "l": [0] * 6 + [1] * 6,
        }
    )
    patterns = {
        "time": "PATTERN SEQ(A a, B b) WITHIN 3 seconds",
        "events": "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS",
        "keys": "PATTERN SEQ(A a, B b) WITHIN 9 seconds PARTITION BY k, l",
        "same keys": "PATTERN SEQ(A a, B b, C c) WITHIN 9 seconds PARTITION BY l, k",
        "each": "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS PARTITION BY k",
        "ever": "PATTERN SEQ(A a, C c)",
    }
    events = ck.events(frame, time="ts", type="type", unit="s")
    plans = [list("abc" if "c)" in one and "B" in one else "ac" if "C c" in one else "ab")
             for one in patterns.values()]  # fmt: skip
    trace = ck.simulate(events, patterns, plan=plans)
    for name, pattern in patterns.items():
        found = {tuple(m.events.items()) for m in trace.matches if m.pattern == name}
        single = ck.simulate(events, pattern, plan=plans[list(patterns).index(name)])
        assert found == {tuple(match.events.items()) for match in single.matches}
        assert found or name == "same keys"
    shared = [n.patterns for n in (p.node for p in trace.diagram.nodes) if len(n.patterns) > 1]
    assert shared == [("keys", "same keys")] * 3


def test_a_shared_plan_says_who_shares() -> None:
    events = stream(EVENTS)
    statistics = ck.profile(events, [SHORT, LONG])
    for share, expected in (("none", 0), ("prefix", 3)):
        plan = ck.choose_plan(BOTH, statistics, "own-plans", share=share)
        trace = ck.simulate(events, BOTH, plan=plan)
        shared = [n for n in nodes(trace).values() if len(n.patterns) > 1]
        assert len(shared) in (expected, 0)
        assert bindings(trace)["short"] == alone(EVENTS, SHORT, ORDERS[0])[0]
    assert ck.simulate(events, BOTH).totals.by_pattern == trace.totals.by_pattern
    tree = ck.simulate(events, BOTH, "evaluation-tree")
    assert tree.mechanism == "multitree"
    assert tree.totals.by_pattern == trace.totals.by_pattern


def test_branches_of_an_or_share_and_find_a_match_once() -> None:
    pattern = "PATTERN SEQ(A a, OR(B b, C c), D d) WITHIN 9 seconds"
    trace = together(EVENTS, [pattern], None)
    expected = alone(EVENTS, pattern, None)[0]
    found = [tuple(match.events.items()) for match in trace.matches]
    assert len(found) == len(set(found))
    assert {frozenset(one) for one in found} == {frozenset(one) for one in expected}


def test_trace_survives_json_and_one_pattern_adds_no_fields() -> None:
    trace = together(EVENTS, BOTH, ORDERS)
    assert Trace.from_json(trace.to_json()) == trace
    single = json.loads(ck.simulate(stream(EVENTS), SHORT).to_json())
    assert "patterns" not in single
    assert "by_pattern" not in single["totals"]
    assert set(single["diagram"]["nodes"][0]) == {
        "id", "branch", "label", "kind", "variables", "x", "y",
    }  # fmt: skip
    assert all("pattern" not in match for match in single["matches"])


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda data: data["matches"][0].update(pattern="other"), "matches[0].pattern"),
        (lambda data: data["patterns"][1].update(end=10**6), "patterns[1]"),
    ],
)
def test_a_trace_whose_parts_do_not_fit_is_refused(change: Any, place: str) -> None:
    data = json.loads(together(EVENTS, BOTH, ORDERS).to_json())
    change(data)
    with pytest.raises(TraceError, match=place.replace("[", r"\[")):
        Trace.from_json(json.dumps(data))


def test_texts_say_of_which_pattern_a_match_is() -> None:
    trace = together(EVENTS, BOTH, ORDERS)
    text = str(trace)
    assert "short:\nPATTERN SEQ(A a, B b, C c)" in text
    assert "  of short" in text
    assert "match 0 of short: a = A 0, b = B 1, c = C 2" in text
    assert "MATCH 0 of short: instance" in str(trace[:5])
    assert trace.name == "multi-pattern-nfa short: a → b → c; long: x → y → z"
    many = together(EVENTS, [SHORT] * 5, [ORDERS[0]] * 5)
    assert many.name == "multi-pattern-nfa of 5: 4 of 4 nodes shared"


def test_the_player_has_the_patterns_and_who_uses_which_state() -> None:
    document = player_document([together(EVENTS, BOTH, ORDERS)])
    (played,) = document["traces"]
    assert [one["name"] for one in played["patterns"]] == ["short", "long"]
    text = document["pattern"][played["patterns"][1]["begin"] : played["patterns"][1]["end"]]
    assert text.startswith("PATTERN SEQ(A x, B y, D z)")
    assert [match["pattern"] for match in played["matches"]][:2] == ["short", "long"]
    assert ck.draw(together(EVENTS, BOTH, ORDERS)).steps == 19


@pytest.mark.parametrize(
    ("patterns", "plan", "mechanism"),
    [
        (BOTH, ORDERS, "chain-nfa"),
        (BOTH, ORDERS, "evaluation-tree"),
        ([P1, P2, P3], TREES, "evaluation-tree"),
        ({"a very long name of a pattern " * 3: SHORT, "<b>x</b>": LONG}, ORDERS, "chain-nfa"),
        ([SHORT.replace("10", str(n)) for n in range(1, 61)], [ORDERS[0]] * 60, "chain-nfa"),
        ([f"PATTERN SEQ(A a, B b, C c) WHERE c.p > {n} WITHIN 9 s" for n in range(60)],
         [ORDERS[0]] * 60, "chain-nfa"),
    ],
)  # fmt: skip
def test_nothing_overlaps_in_the_picture(patterns: Any, plan: Any, mechanism: str) -> None:
    assert_nothing_overlaps(layout(together("A1 B2 C3 D4", patterns, plan, mechanism)))


SKIPPING = [
    ((("a", "b"), "c"), "d"),
    (("a", "b"), ("c", "d")),
    ("a", ("b", ("c", "d"))),
    (("a", ("b", "c")), "d"),
]
"""Trees over the same events, in which lines pass rows that have nodes."""


@pytest.mark.parametrize("trees", [SKIPPING, SKIPPING[:2], SKIPPING[2:], SKIPPING[::-1]])
def test_lines_of_a_multitree_pass_beside_nodes(trees: Any) -> None:
    patterns = [f"PATTERN SEQ(A a, B b, C c, D d) WITHIN {n} seconds" for n in range(5, 9)]
    diagram = together("A1 B2 C3 D4", patterns[: len(trees)], trees, "evaluation-tree").diagram
    at = {placed.node.id: (placed.x, placed.y) for placed in diagram.nodes}
    assert len({*at.values()}) == len(at)
    passed = 0
    for edge in diagram.edges:
        (x, y), (to_x, to_y) = at[edge.begin], at[edge.end]
        for node_x, node_y in at.values():
            if min(y, to_y) < node_y < max(y, to_y):
                passed += 1
                assert abs(x + (to_x - x) * (node_y - y) / (to_y - y) - node_x) > 0.5
    assert passed
    rows = [sorted(x for x, y in at.values() if y == row) for row in {y for _, y in at.values()}]
    assert all(right - left >= 1 for row in rows for left, right in pairwise(row))


def test_unsupported_mechanisms_plans_and_patterns_are_refused_by_name() -> None:
    for name in ("eager-nfa", "tree-nfa"):
        with pytest.raises(UnsupportedError, match=f"'{name}' takes one pattern") as told:
            together(EVENTS, BOTH, None, name)
        assert "chain-nfa, evaluation-tree" in str(told.value)
    with pytest.raises(UnsupportedError, match="with several patterns"):
        ck.simulate(stream(EVENTS), BOTH, adapt="static")
    with pytest.raises(PlanError, match="follows an order") as wrong:
        together(EVENTS, BOTH, [ORDERS[0], ("x", ("y", "z"))])
    assert "long" in str(wrong.value)
    with pytest.raises(PlanError, match="the plans of 2 queries"):
        together(EVENTS, BOTH, [ORDERS[0]])
    next_match = f"{SHORT} STRATEGY skip-till-next-match"
    with pytest.raises(UnsupportedError, match="skip-till-next-match") as which:
        together(EVENTS, {"fine": LONG, "next": next_match}, None)
    assert "next" in str(which.value)
    with pytest.raises(PatternError, match="no pattern"):
        together(EVENTS, [], None)
