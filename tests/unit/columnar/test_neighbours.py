"""Conditions between neighbouring members of a set: their number, and which parts support them."""

from __future__ import annotations

import math
import random

import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.pattern.builder import event, kl, prev, var


def events(prices, kinds=None):
    frame = pd.DataFrame({"t": range(len(prices)), "kind": kinds or "B", "price": prices})
    return ck.events(frame, time="t", type="kind", unit="s")


def rising(prices):
    """Return how many rising choices of some prices there are, by the last one of each."""
    ways: list[int] = []
    for price in prices:
        ways.append(1 + sum(way for i, way in enumerate(ways) if prices[i] < price))
    return sum(ways)


@pytest.mark.parametrize("number", [1, 2, 40, 300])
def test_the_number_is_exact_however_large(number):
    prices = [random.Random(7).random() for _ in range(2)] * (number // 2) + [0.5] * (number % 2)
    random.Random(number).shuffle(prices)
    prices = [price + place / 100 for place, price in enumerate(prices)]
    stream = events([0, *prices, 0], ["A", *["B"] * number, "C"])
    pattern = "PATTERN SEQ(A a, KL(B b), C c) WHERE b.price > prev(b.price) WITHIN 1 hour"
    assert ck.detect(stream, pattern).count() == rising(prices)


def test_sizes_are_counted_in():
    stream = events([1, 5, 3, 4])
    text = "PATTERN KL(B b){} WHERE b.price > prev(b.price) WITHIN 1 hour"
    sizes = ("", "{1}", "{2}", "{3}", "{2,}", "{1,2}", "{4}")
    assert [ck.detect(stream, text.format(size)).count() for size in sizes] == [9, 4, 4, 1, 5, 8, 0]


def windows_of(prices, width):
    """Return how many rising choices of prices there are with at most so many steps between."""
    total = 0
    for first in range(len(prices)):
        total += 1
        ways: dict[int, int] = {}
        for last in range(first + 1, min(first + width + 1, len(prices))):
            before = [ways[i] for i in ways if prices[i] < prices[last]]
            ways[last] = sum(before) + 1 if prices[first] < prices[last] else 0
            total += ways[last]
    return total


@pytest.mark.parametrize("width", [1, 20, 59, 200])
def test_a_set_alone_is_counted_in_every_window(width):
    prices = [random.Random(width + place).randrange(40) for place in range(120)]
    pattern = f"PATTERN KL(B b) WHERE b.price > prev(b.price) WITHIN {width} s"
    assert ck.detect(events(prices), pattern).count() == windows_of(prices, width)


def test_a_set_alone_of_many_candidates_is_counted_exactly():
    pattern = "PATTERN KL(B b){} WHERE b.price > prev(b.price) WITHIN 1 hour"
    assert ck.detect(events(range(500)), pattern.replace("{}", "")).count() == 2**500 - 1
    for size in (1, 2, 3, 60, 119, 120):
        asked = pattern.replace("{}", f"{{{size}}}")
        assert ck.detect(events(range(120)), asked).count() == math.comb(120, size)


def test_runs_of_neighbours_are_counted_exactly():
    prices = [random.Random(place).randrange(40) for place in range(300)]
    pattern = "PATTERN KL(NEXT B b) WHERE b.price > prev(b.price) WITHIN 1 hour"
    expected = 0
    for first in range(len(prices)):
        last = first
        while last + 1 < len(prices) and prices[last] < prices[last + 1]:
            last += 1
        expected += last - first + 1
    assert ck.detect(events(prices), pattern).count() == expected


def test_single_events_beside_decide_for_each_match():
    stream = events([2, 1, 0, 1, 3, 9], list("AABBBC"))
    text = "PATTERN SEQ(A a, KL(B b), C c) WHERE b.price - prev(b.price) >= a.price WITHIN 9 s"
    assert ck.detect(stream, text).count() == (3 + 2) + (3 + 3 + 1)


def test_builder_makes_conditions_on_the_previous_member():
    b = var("b")
    pattern = kl(event("b", "B")).where(b.price > prev(b.price))
    assert pattern.query == ck.parse("PATTERN KL(B b) WHERE b[i].price > b[i-1].price")
    assert ck.parse(str(pattern)) == pattern.query


def test_mechanisms_check_the_condition_for_each_new_member():
    text = "PATTERN KL(B b) WHERE b.price > prev(b.price) WITHIN 1 hour"
    stream = events([1, 3, 2])
    for mechanism in MECHANISMS:
        trace = ck.simulate(stream, text, mechanism=mechanism)
        assert len(trace.matches) == ck.detect(stream, text).count() == 5
        assert "2 > 3 fails" in str(trace[:])
        edges = [edge.conditions for edge in trace.diagram.edges]
        assert any("b.price > prev(b.price)" in texts for texts in edges)
