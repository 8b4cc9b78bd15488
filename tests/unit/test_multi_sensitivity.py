"""Workloads of MULTI's further experiments, and its costs by hand."""

import numpy as np
import pytest

import cepkit as ck
from benchmarks.multi_costs import Prices, instances, per_event, per_second
from benchmarks.multi_sensitivity import (
    PERMUTED,
    by_change,
    common_parts,
    even_rates,
    of_density,
    patterns,
    permuted,
    within,
)
from benchmarks.several_patterns import source
from benchmarks.sharing_searches import TextOrder


@pytest.fixture(scope="module")
def given():
    return source("even", even_rates(4_000, 12))


def test_density_is_reached_by_exchanging_patterns(given):
    queries, reached = of_density(given, 10, 0.4, seed=1)
    assert len({*queries}) == 10
    common = common_parts(queries)
    assert common.sum() / 90 == pytest.approx(reached)
    assert reached == pytest.approx(0.4, abs=0.05)
    assert of_density(given, 10, 0.4, seed=1) == (queries, reached)


def test_types_within_a_difference_of_rates_lie_in_the_middle(given):
    rates = [*within(given, 0.5).rates.values()]
    spread = max(given.rates.values()) - min(given.rates.values())
    assert 0.3 * spread < max(rates) - min(rates) <= 0.51 * spread
    assert within(given, 1.0).rates == given.rates
    assert patterns(within(given, 0.7), 3, seed=0)


def test_permuted_types_change_only_places_for_a_while():
    table = even_rates(900, 12)
    before = table["type"].to_numpy(zero_copy_only=False)
    after = permuted(table, 300)["type"].to_numpy(zero_copy_only=False)
    for first in (0, 300, 600):
        part = slice(first, first + 300)
        names = {*zip(before[part], after[part], strict=True)}
        assert len(names) == len({old for old, _ in names}) == len({new for _, new in names})
        assert sum(old != new for old, new in names) <= PERMUTED
    assert not np.array_equal(before, after)


def test_costs_of_an_event_are_those_of_the_states_that_take_it():
    texts = [
        "PATTERN AND(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds",
        "PATTERN AND(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds",
    ]
    rates = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    known = ck.Statistics.assumed(rates, {("a", "b"): 0.1})
    plan = ck.choose_plan(texts, known, TextOrder(shared=True), share="prefix")
    assert [str(each.branches[0]) for each in plan.plans] == ["a → b → c", "a → b → d"]
    # 10 of A, 10 * 20 * 0.1 of A and B once, and both ends.
    assert instances(plan) == pytest.approx(10 + 20 + 20 * 30 + 20 * 40)
    price = Prices(access=1, condition=10, new=100, removal=1000)
    costs = per_event(plan, price)
    assert (costs["A"].instances, costs["B"].instances) == pytest.approx((1, 10))
    assert costs["B"].processing == pytest.approx(10 * (1 + 10 + 0.1 * 100))
    assert costs["B"].removal == pytest.approx(10 * 0.1 * 1000)
    assert costs["C"].processing == pytest.approx(20 * (1 + 100))
    total = sum(rates[kind.lower()] * each.removal for kind, each in costs.items())
    assert per_second(costs)["CR"] == pytest.approx(total)


def test_all_ways_find_the_same_matches_in_a_changing_stream(monkeypatch):
    monkeypatch.setattr("benchmarks.multi_sensitivity.CHANGES", (500,))
    monkeypatch.setattr("benchmarks.multi_sensitivity.PATTERNS", 3)
    rows = by_change(2_000, 0)
    assert len(rows) == 4
    assert all(row["million candidates"] > 0 for row in rows)
