"""Conditions between neighbouring members of a set: how many sets there are, and who knows them."""

from __future__ import annotations

import random

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import UnsupportedError
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


def test_single_events_beside_decide_for_each_match():
    stream = events([2, 1, 0, 1, 3, 9], list("AABBBC"))
    text = "PATTERN SEQ(A a, KL(B b), C c) WHERE b.price - prev(b.price) >= a.price WITHIN 9 s"
    assert ck.detect(stream, text).count() == (3 + 2) + (3 + 3 + 1)


def test_the_builder_says_it_too():
    b = var("b")
    pattern = kl(event("b", "B")).where(b.price > prev(b.price))
    assert pattern.query == ck.parse("PATTERN KL(B b) WHERE b[i].price > b[i-1].price")
    assert ck.parse(str(pattern)) == pattern.query


def test_mechanisms_and_why_not_refuse_it_by_name():
    text = "PATTERN KL(B b) WHERE b.price > prev(b.price) WITHIN 1 hour"
    for ask in (ck.simulate, ck.why_not):
        with pytest.raises(UnsupportedError, match=r"b\.price > prev\(b\.price\)"):
            ask(events([1, 2]), text)
