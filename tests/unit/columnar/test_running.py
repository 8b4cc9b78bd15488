"""Functions of the members up to each: how sets grow by them, and which parts support them."""

from __future__ import annotations

from itertools import accumulate, combinations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.errors import PatternError
from cepkit.pattern.builder import count, event, kl, running, sum_, var


def events(prices):
    frame = pd.DataFrame({"t": range(len(prices)), "kind": "B", "price": prices})
    return ck.events(frame, time="t", type="kind", unit="s")


def sets_of(prices, holds):
    """Return how many choices of prices there are of which all beginnings hold."""
    return sum(
        all(holds(chosen[: size + 1]) for size in range(len(chosen)))
        for number in range(1, len(prices) + 1)
        for chosen in combinations(prices, number)
    )


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("avg(b[..i].price) < 4", lambda held: sum(held) / len(held) < 4),
        ("b.price >= max(b[..i].price)", lambda held: held[-1] >= max(held)),
        ("sum(b[..i].price) < 9", lambda held: sum(held) < 9),
        ("count(b[..i]) + b.price < 9", lambda held: len(held) + held[-1] < 9),
        (
            "b.price > avg(b[..i-1].price)",
            lambda held: len(held) < 2 or held[-1] > sum(held[:-1]) / (len(held) - 1),
        ),
        (
            "b.price - prev(b.price) < min(b[..i].price)",
            lambda held: len(held) < 2 or held[-1] - held[-2] < min(held),
        ),
    ],
)
def test_running_condition_holds_for_every_beginning_of_a_set(condition, holds):
    prices = [3, 7, 1, 4, 2, 6, 5, 1]
    text = f"PATTERN KL(B b) WHERE {condition} WITHIN 1 hour"
    assert ck.detect(events(prices), text).count() == sets_of(prices, holds)


def test_set_that_fails_a_running_condition_is_not_extended():
    # Of 2^60 sets these have all beginnings below; nothing negative, so that any sum only grows.
    prices = [10 + number % 7 for number in range(60)]
    text = "PATTERN KL(B b) WHERE {} < 30 WITHIN 1 hour"
    stream = events(prices)
    found = ck.detect(stream, text.format("sum(b[..i].price)")).count()
    assert found == ck.detect(stream, text.format("sum(b.price)")).count() > 60
    assert found == sum(
        all(total < 30 for total in accumulate(chosen))
        for number in (1, 2)
        for chosen in combinations(prices, number)
    )


def test_too_many_sets_are_refused_and_not_tried_for_ever(monkeypatch):
    monkeypatch.setattr("cepkit.columnar.kleene.sets.MOST_TRIED", 10_000)
    text = "PATTERN KL(B b) WHERE avg(b[..i].price) < 4 WITHIN 1 hour"
    with pytest.raises(ck.CepkitError, match="more than 10,000 sets tried"):
        ck.detect(events([1] * 40), text).count()


def test_builder_makes_running_functions():
    b = var("b")
    pattern = kl(event("b", "B")).where((running(sum_(b.price)) < 9) & (running(count(b)) < 4))
    text = "PATTERN KL(B b) WHERE sum(b[..i].price) < 9 AND count(b[..i]) < 4"
    assert pattern.query == ck.parse(text)
    assert ck.parse(str(pattern)) == pattern.query
    pattern = kl(event("b", "B")).where(b.price > running(sum_(b.price), before=True))
    assert pattern.query == ck.parse("PATTERN KL(B b) WHERE b[i].price > sum(b[..i-1].price)")
    assert ck.parse(str(pattern)) == pattern.query
    with pytest.raises(PatternError, match=r"running\(b\.price\)"):
        running(b.price)


def test_mechanisms_support_running_functions():
    text = "PATTERN KL(B b) WHERE sum(b[..i].price) < 9 WITHIN 1 hour"
    stream = events([1, 2, 9, 5])
    for mechanism in MECHANISMS:
        trace = ck.simulate(stream, text, mechanism=mechanism)
        assert len(trace.matches) == ck.detect(stream, text).count()


def test_maximal_sets_are_largest_for_each_choice_of_others():
    kinds = ["A", "A", *["B"] * 6, "C", "C"]
    frame = pd.DataFrame({"t": range(10), "kind": kinds, "price": [0, 3, 1, 4, 2, 6, 5, 1, 0, 0]})
    stream = ck.events(frame, time="t", type="kind", unit="s")
    for condition in ("sum(b[..i].price) > a.price", "b.price > prev(b.price, 2) + a.price"):
        text = f"PATTERN SEQ(A a, KL(B b), C c) WHERE {condition}"
        best: dict[tuple[int, int], int] = {}
        for match in ck.detect(stream, text):
            of = match["a"]["t"], match["c"]["t"]
            best[of] = max(best.get(of, 0), len(match["b"]))
        largest = [
            (m["a"]["t"], m["c"]["t"], len(m["b"])) for m in ck.detect(stream, text, sets="maximal")
        ]
        assert sorted(largest) == sorted((*of, size) for of, size in best.items())
        assert len(largest) == 4


def test_explanation_names_the_work_done_in_order():
    stream = ck.events(ck.sample_stocks(200), time="ts", type="ticker")
    text = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"
    assert "order of the stream" not in str(ck.detect(stream, text).explain())
    next_match = ck.detect(stream, f"{text} STRATEGY skip-till-next-match")
    assert "in the order of the stream: each match depends" in str(next_match.explain())
    skipping = ck.detect(stream, f"{text} AFTER MATCH SKIP PAST LAST EVENT")
    assert "found side by side, chosen in the order of the stream" in str(skipping.explain())
