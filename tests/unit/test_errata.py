"""The errata of the sources: each has a test, and docs/sources.md names it."""

from __future__ import annotations

import math
import re
from itertools import pairwise, permutations
from pathlib import Path

import pandas as pd
import pytest

import cepkit as ck
from cepkit.costs import LATENCY, PARTIAL_MATCHES
from cepkit.costs.expectation import log_sets
from cepkit.pattern.normal_form import normal_form
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import OrderPlan, Pair, TreePlan
from cepkit.planners.choose import choose_plan
from cepkit.statistics import Statistics
from tests.unit.aggregation.cases import METHODS, stream, values
from tests.unit.costs.cases import branch, conjunction, seq

ROOT = Path(__file__).parents[2]
NUMBER = 20


def test_the_page_has_each_erratum_with_its_test() -> None:
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (?:LAZY|JOIN|ADAPT|MULTI|ASEQ)\b.*\| `(.+)` \|$", page, re.M)
    assert [int(number) for number, _ in rows] == list(range(1, NUMBER + 1))
    for _, test in rows:
        path, name = test.split("::")
        assert f"\ndef {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8"), test


# --- JOIN ---------------------------------------------------------------------------------------


def spread(rates: list[float], window: str, shares: float) -> float:
    """Return how many times the dearest order of a sequence costs what the cheapest does."""
    names = "abcdef"[: len(rates)]
    where = " AND ".join(f"{x}.p < {y}.p" for x, y in pairwise(names))
    text = f"PATTERN SEQ({', '.join(f'{v.upper()} {v}' for v in names)}) WHERE {where} WITHIN "
    (one,) = normal_form(ck.parse(text + window))
    known = Statistics.assumed(
        dict(zip(names, rates, strict=True)),
        dict.fromkeys(pairwise(names), shares),
    )
    costs = [PARTIAL_MATCHES.on(one, known).of(OrderPlan(order)) for order in permutations(names)]
    return from_log(max(costs) - min(costs))


def test_erratum_12_rates_are_by_the_minute() -> None:
    """With 1 to 47 a second in 20 minutes all orders cost the same, with as many a window not."""
    rates = [1.0, 10.0, 25.0, 47.0]
    assert spread(rates, "1200 seconds", 0.1) < 1.05
    assert spread(rates, "1 second", 0.1) > 2


def test_erratum_14_order_by_frequency_counts_sets_as_sets() -> None:
    """By single events b would come first; its 2^10 sets in a window come last."""
    text = "PATTERN SEQ(A a, KL(B b), C c) WITHIN 10 s"
    known = Statistics.assumed({"a": 2.0, "b": 1.0, "c": 3.0})
    (plan,) = choose_plan(ck.parse(text), known, "by-frequency").branches
    assert plan.order == ("a", "c", "b")


def test_erratum_15_the_empty_set_is_no_event() -> None:
    """A rare type is no whole set per window; large numbers are not touched by it."""
    assert math.exp(log_sets(1e-3, 1, None)) == pytest.approx(1e-3 * math.log(2), rel=1e-3)
    assert math.exp(log_sets(10.0, 1, None)) == pytest.approx(2**10 - 1)
    assert log_sets(1e6, 1, None) == pytest.approx(1e6 * math.log(2))


def test_erratum_16_a_stretch_that_ends_in_the_last_event_has_a_rank() -> None:
    """C(auvb) <= C(avub) if and only if rank(u) <= rank(v): not by the sum that the source prints.

    Its rank is the sum of W r of what comes after the last event; with u = d that is 0, as for v.
    An indicator of the last event keeps the equivalence.
    """
    rates = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    one = branch(seq("a", "b", "c", "d"), seconds=10)
    ready = LATENCY.on(one, Statistics.assumed(rates))
    printed_fails = 0
    for a, u, v, b in permutations("abcd"):
        first, second = (
            from_log(ready.of(OrderPlan(tuple(order)))) for order in (a + u + v + b, a + v + u + b)
        )
        by_indicator = ("d" in u) <= ("d" in v)
        assert (first <= second) == by_indicator
        printed_fails += first > second  # stretches of one variable: both ranks are 0
    assert printed_fails > 0


def test_erratum_17_costs_of_trees_have_the_filters_that_costs_of_orders_have() -> None:
    rates = {"a": 3.0, "b": 2.0, "c": 5.0}
    one = branch(conjunction("a", "b", "c"), seconds=10)
    filtered = Statistics.assumed(rates, filters={"a": 0.1})
    ready = PARTIAL_MATCHES.on(one, filtered)
    order = from_log(ready.of(OrderPlan(("a", "b", "c"))))
    tree = from_log(ready.of(TreePlan(Pair(Pair("a", "b"), "c"))))
    # A tree also keeps the leaves of b and c: 20 and 50 events.
    assert order == pytest.approx(3 + 3 * 20 + 3 * 20 * 50)
    assert tree == pytest.approx(order + 20 + 50)


# --- ASEQ ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_erratum_18_the_aggregate_starts_anew_at_each_trigger(method: str) -> None:
    """Figure 5 adds to the last answer: 1, and then 1 + 2."""
    found = values(stream("a b b"), "PATTERN SEQ(A a, B b) AGG COUNT", method=method)
    assert [row[1] for row in found] == [1, 2]


@pytest.mark.parametrize("method", METHODS)
def test_erratum_19_a_not_right_after_the_start_resets_its_counter(method: str) -> None:
    """Example 3 drops the START counter; without it a b c would be a match."""
    text = "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 9 s AGG COUNT"
    found = values(stream("a b c a c"), text, method=method)
    assert [row[1] for row in found] == [0, 1]


# --- LAZY ---------------------------------------------------------------------------------------


def test_erratum_20_a_tree_automaton_ends_one_event_before_the_last() -> None:
    """Its states are the orders of up to n - 1 of n events: 1 + 3 + 6, and the final state."""
    frame = pd.DataFrame({"t": range(6), "kind": list("ABCABC")})
    events = ck.events(frame, time="t", type="kind", unit="s")
    text = "PATTERN AND(A a, B b, C c) WITHIN 20 s"
    trace = ck.simulate(events, text, mechanism="tree-nfa")
    assert len(trace.diagram.nodes) == 1 + 3 + 6 + 1
