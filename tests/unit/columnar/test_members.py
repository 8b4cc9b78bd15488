"""Members of a set by number and at a distance: what they mean, and which parts support them."""

from __future__ import annotations

from itertools import combinations, pairwise

import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.errors import PatternError
from cepkit.pattern.builder import event, kl, next_of, prev, var


def events(prices, kinds=None):
    frame = pd.DataFrame({"t": range(len(prices)), "kind": kinds or "B", "price": prices})
    return ck.events(frame, time="t", type="kind", unit="s")


PRICES = [3, 7, 1, 4, 2, 6, 5, 1]


def sets_of(holds):
    numbers = range(1, len(PRICES) + 1)
    return sum(holds(chosen) for number in numbers for chosen in combinations(PRICES, number))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("b[2].price > 3", lambda held: len(held) > 1 and held[1] > 3),
        ("NOT b[2].price > 3", lambda held: len(held) > 1 and not held[1] > 3),
        ("b[3].price IS NULL", lambda held: len(held) < 3),
        ("b[2].price > 3 OR count(b) = 1", lambda held: len(held) == 1 or held[1] > 3),
        ("b[last-1].price > b[2].price", lambda held: len(held) > 1 and held[-2] > held[1]),
        ("b.price <= b[2].price", lambda held: len(held) > 1 and max(held) == held[1]),
        (
            "b[i].price > b[i-2].price",
            lambda held: all(held[i] > held[i - 2] for i in range(2, len(held))),
        ),
        (
            "b.price - prev(b.price) > prev(b.price, 3) - prev(b.price, 2)",
            lambda held: all(
                held[i] - held[i - 1] > held[i - 3] - held[i - 2] for i in range(3, len(held))
            ),
        ),
        (
            "b.price > prev(b.price, 2) AND b.price != prev(b.price)",
            lambda held: (
                all(held[i] > held[i - 2] for i in range(2, len(held)))
                and all(x != y for x, y in pairwise(held))
            ),
        ),
        (
            "NOT (b.price <= prev(b.price, 2) OR b.price <= 2)",  # of those with two before them
            lambda held: all(held[i] > max(held[i - 2], 2) for i in range(2, len(held))),
        ),
        (
            "NOT (b.price <= prev(b.price) OR b.price <= 2)",
            lambda held: all(held[i] > max(held[i - 1], 2) for i in range(1, len(held))),
        ),
    ],
)
def test_conditions_on_numbered_members_accept_the_right_sets(condition, holds):
    text = f"PATTERN KL(B b) WHERE {condition} WITHIN 1 hour"
    matches = ck.detect(events(PRICES), text)
    assert matches.count() == len(matches) == sets_of(holds)


def test_set_that_fails_a_member_condition_is_not_extended():
    # Of 2^60 sets those that fall by two steps at a time are few.
    prices = [price for low in range(30, 0, -1) for price in (low, low + 30)]
    text = "PATTERN KL(B b){3,} WHERE b[i].price > b[i-2].price AND b[i].price < b[i-1].price"
    assert ck.detect(events(prices), f"{text} WITHIN 1 hour").count() == 0


def test_return_of_a_numbered_member_is_missing_in_smaller_sets():
    kinds = list("BBBC")
    text = """PATTERN SEQ(KL(B b), C c)
        RETURN b.price, b[2].price, b[last-1].price AS before, b[2].kind, b[3].price - 1 AS less"""
    found = ck.detect(events([5, 6, 7, 0], kinds), text).to_arrow().to_pylist()
    rows = {tuple(row.pop("b.price")): list(row.values())[:4] for row in found}
    assert rows[5,] == [None, None, None, None]
    assert rows[5, 7] == [7, 5, "B", None]
    assert rows[5, 6, 7] == [6, 6, "B", 6]


def test_member_condition_of_a_run_uses_the_members_before():
    stream = events([1, 5, 2, 6, 1, 3, 2, 0])
    run = "PATTERN KL(NEXT B b){3,} GREEDY WHERE b[i].price > b[i-2].price WITHIN 1 hour"
    prices = sorted([e["price"] for e in match["b"]] for match in ck.detect(stream, run))
    assert prices == [[1, 3, 2], [1, 5, 2, 6], [5, 2, 6]]


def test_builder_makes_numbered_members():
    b = var("b")
    pattern = kl(event("b", "B")).where((b[2].price > b[-2]["price"]) & (b[-1].price > 0))
    text = "PATTERN KL(B b) WHERE b[2].price > b[last-1].price AND b[last].price > 0"
    assert pattern.query == ck.parse(text)
    assert ck.parse(str(pattern)) == pattern.query
    pattern = kl(next_of(event("b", "B"))).where(b.price > prev(b.price, 2))
    assert pattern.query == ck.parse("PATTERN KL(NEXT B b) WHERE b[i].price > b[i-2].price")
    assert ck.parse(str(pattern)) == pattern.query


@pytest.mark.parametrize(
    "say",
    [
        lambda b: b[0],
        lambda b: b[2**31],
        lambda b: b[2][3],
        lambda b: prev(b.price, 0),
        lambda b: prev(b[2].price, 2),
        lambda b: kl(event("b", "B")).where(b[2] > 3),
    ],
)
def test_builder_refuses_wrong_member_numbers(say):
    with pytest.raises((PatternError, TypeError)):
        say(var("b"))


def test_mechanisms_and_why_not_know_single_members():
    stream = events([3, 1, 2])
    text = "PATTERN KL(B b){2} WHERE b[2].price > 1 WITHIN 1 hour"
    assert len(ck.simulate(stream, text).matches) == ck.detect(stream, text).count() == 2
    said = str(ck.why_not(stream, text.replace("> 1", "> 5")))
    assert "b[2].price > 5" in said


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mechanisms_support_distances_and_numbered_members(mechanism):
    stream = events([1, 5, 2, 4, 3, 6])
    for said in ("b.price > prev(b.price, 2)", "b[2].price > 3", "b[i].price > b[i-3].price + 1"):
        text = f"PATTERN KL(B b) WHERE {said} WITHIN 1 hour"
        trace = ck.simulate(stream, text, mechanism=mechanism)
        assert len(trace.matches) == ck.detect(stream, text).count() > 0
