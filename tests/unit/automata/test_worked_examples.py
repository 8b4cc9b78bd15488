"""The examples of the papers, and where the papers err."""

from itertools import permutations

import pytest

import cepkit as ck
from cepkit.tracing.operations import Create, Discard, Evaluate
from tests.unit.automata.cases import EXAMPLE, LAZY, named, run, stream

FOUND = {(("a", 0), ("b", 3), ("c", 5)), (("a", 1), ("b", 3), ("c", 5))}


def alive(trace, step):
    """The events that the instances alive after a step bind, the initial ones left out."""
    bound, living = {}, set()
    for one in trace.steps[: step + 1]:
        for operation in one.operations:
            match operation:
                case Create(instance, parents, _, _, event):
                    before = [e for parent in parents for e in bound[parent]]
                    bound[instance] = before + ([] if event is None else [event])
                    living.add(instance)
                case Discard(instance):
                    living.remove(instance)
    return sorted(tuple(bound[instance]) for instance in living if bound[instance])


def test_lazy_1_eager_holds_three_prefixes_and_five_pairs_after_b2():
    trace = run(LAZY, EXAMPLE, "eager-nfa")
    pairs = [(a, b) for a in (0, 1, 2) for b in (3, 4) if (a, b) != (2, 3)]
    assert alive(trace, 4) == sorted([(0,), (1,), (2,), *pairs])
    assert named(trace) == FOUND


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_lazy_1_any_order_finds_the_two_matches(order):
    assert named(run(LAZY, EXAMPLE, "chain-nfa", list(order))) == FOUND


@pytest.mark.parametrize("mechanism", ["eager-nfa", "tree-nfa"])
def test_lazy_1_mechanisms_without_a_plan_find_them(mechanism):
    assert named(run(LAZY, EXAMPLE, mechanism)) == FOUND


@pytest.mark.parametrize("tree", [("a", ("b", "c")), (("a", "b"), "c"), (("c", "a"), "b")])
def test_join_2_3_any_tree_finds_them(tree):
    assert named(run(LAZY, EXAMPLE, "evaluation-tree", tree)) == FOUND


HUNDRED = " ".join([*("a1" for _ in range(100)), "b2", *("b9" for _ in range(99)), "c5"])
"""100 a, 100 b of which one is below c, one c; no pair of a and b is refused."""


def evaluations(trace, variable):
    """How often the edge that takes a variable was evaluated."""
    edges = {e.id for e in trace.diagram.edges if e.kind == "take" and e.label == variable}
    return sum(
        isinstance(operation, Evaluate) and operation.edge in edges
        for step in trace.steps
        for operation in step.operations
    )


def test_lazy_4_eager_evaluates_a_with_b_ten_thousand_times():
    trace = run(HUNDRED, EXAMPLE, "eager-nfa")
    assert evaluations(trace, "b") == 10_000
    assert evaluations(trace, "c") == 10_000
    assert trace.totals.counts.evaluations == 100 + 10_000 + 10_000
    assert trace.totals.peak_instances > 10_000


def test_lazy_4_the_chain_from_the_rare_end_evaluates_100_and_100():
    trace = run(HUNDRED, EXAMPLE, "chain-nfa", ["c", "b", "a"])
    assert evaluations(trace, "c") == 1
    assert evaluations(trace, "b") == 100
    assert evaluations(trace, "a") == 100
    assert trace.totals.counts.evaluations == 201
    # The initial one, c, c and b, and the match that is handed out.
    assert trace.totals.peak_instances == 4


def test_lazy_4_tree_nfa_also_starts_with_the_single_c():
    trace = run(HUNDRED, EXAMPLE, "tree-nfa")
    assert evaluations(trace, "c") == 1
    visited = {trace.diagram.nodes[f.operation.node].node.label for f in trace.find("visit")}
    assert visited <= {"q0", "c", "c a", "c b"}
    assert trace.totals.counts.matches == 100


@pytest.mark.parametrize(
    ("order", "scopes"),
    [
        ("abc", ["", "after a", "after b"]),
        ("cab", ["", "before c", "after a, before c"]),
        ("bca", ["", "after b", "before b"]),
    ],
)
def test_lazy_4_scopes_of_a_chain(order, scopes):
    trace = run(LAZY, EXAMPLE, "chain-nfa", list(order))
    assert [e.scope for e in trace.diagram.edges if e.kind == "take"] == scopes


@pytest.mark.parametrize(("order", "stored"), [("abc", set()), ("cab", {"a", "b"}), ("bac", {"a"})])
def test_lazy_4_stores_only_events_of_later_variables(order, stored):
    trace = run(LAZY, EXAMPLE, "chain-nfa", list(order))
    assert {found.operation.variable for found in trace.find("store")} == stored


def test_lazy_6_the_tree_follows_the_rarest_through_its_states():
    trace = run("a1 a1 b2 b2 c3 c3 a4 b5 c6 c6 c6", EXAMPLE, "tree-nfa")
    assert len(trace.find("leave")) > 0
    assert named(trace) == named(run("a1 a1 b2 b2 c3 c3 a4 b5 c6 c6 c6", EXAMPLE, "eager-nfa"))


def test_erratum_1_scopes_go_by_the_order_of_the_pattern():
    """SEQ(a, b, c, d) in the order b, a, d, c: d must follow b, not a, which was taken last."""
    pattern = "PATTERN SEQ(a, b, c, d)"
    trace = run("a b d c d", pattern, "chain-nfa", ["b", "a", "d", "c"])
    takes = [e for e in trace.diagram.edges if e.kind == "take"]
    assert [e.scope for e in takes] == ["", "before b", "after b", "after b, before d"]
    assert named(trace) == {(("a", 0), ("b", 1), ("c", 3), ("d", 4))}
    # With d after a alone, the d between a and b would be taken.
    assert named(run("a d b c d", pattern, "chain-nfa", ["b", "a", "d", "c"])) == {
        (("a", 0), ("b", 2), ("c", 3), ("d", 4))
    }


@pytest.mark.parametrize("b", ["b7", "b13"])
def test_erratum_2_the_second_stream_costs_three_evaluations_too(b):
    """3 < 13 holds, so 13 < 9 is evaluated as well."""
    trace = run(f"a3 {b} c9", EXAMPLE, "eager-nfa")
    assert trace.totals.counts.evaluations == 3
    assert trace.totals.counts.matches == (b == "b7")


def test_erratum_3_a_tree_that_changes_its_order_finds_nothing_twice():
    """b is taken first, when c comes; when the first a has expired, the other one is rarest.

    Were the first b not its children's alone, the instance of that a would find it again.
    """
    events = stream("a1 a1 b2 c3 b2 c3", [0, 1, 2, 3, 6, 6.5])
    pattern = EXAMPLE.replace("1 hour", "5500 milliseconds")
    trace = ck.simulate(events, pattern, "tree-nfa")
    first = {trace.diagram.nodes[f.operation.node].node.label[0] for f in trace.find("visit")}
    assert first == {"q", "a", "b"}, "the order has changed"
    every = [tuple(sorted(match.events.items())) for match in trace.matches]
    assert len(every) == len(set(every)) == 4
    assert set(every) == named(ck.simulate(events, pattern, "eager-nfa"))


def test_absence_is_tested_right_after_the_later_of_its_neighbours():
    """SEQ(a, NOT(b), c, d), in an order that binds d before a and c."""
    pattern = "PATTERN SEQ(a, NOT(b), c, d)"
    trace = run("a b c d", pattern, "chain-nfa", ["d", "c", "a"])
    assert trace.totals.counts.matches == 0
    trace = run("a b c d", pattern, "chain-nfa", ["a", "c", "d"])
    (broken,) = trace.find("discard", reason="absence")
    assert (broken.step, broken.operation.event) == (2, 1), "when c came, before any d"


def test_a_trailing_absence_is_certain_when_the_window_has_passed():
    trace = run("a x x x b x x", "PATTERN SEQ(a, NOT(b)) WITHIN 2 seconds", "eager-nfa")
    assert [match.step for match in trace.matches] == [3]
    assert not run("a x b x", "PATTERN SEQ(a, NOT(b)) WITHIN 2 seconds", "eager-nfa").matches
    (match,) = run("a x", "PATTERN SEQ(a, NOT(b)) WITHIN 2 seconds", "eager-nfa").matches
    assert match.step == 2, "the end of the stream"
