"""Runs: sets that their first and last member decide, so there are as many as such pairs."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck

ROWS = pd.DataFrame(
    {"t": range(1, 9), "kind": list("ABBXBCBC"), "price": [1, 2, 3, 9, 4, 5, 6, 7], "k": 1}
)
STREAM = ck.events(ROWS, time="t", type="kind", unit="s")


def sets(text: str, **options: object) -> list[list[int]]:
    matches = ck.detect(STREAM, f"PATTERN {text}", **options)
    column = matches.to_arrow()["b"].to_pylist()
    assert matches.count() == len(column)
    return sorted([event["price"] for event in each] for each in column)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "KL(FIRST B b)",
            [[2], [2, 3], [2, 3, 4], [2, 3, 4, 6], [3], [3, 4], [3, 4, 6], [4], [4, 6], [6]],
        ),
        ("SEQ(A a, FIRST KL(FIRST B b))", [[2], [2, 3], [2, 3, 4], [2, 3, 4, 6]]),
        ("SEQ(A a, FIRST KL(FIRST B b){2,3})", [[2, 3], [2, 3, 4]]),
        ("SEQ(A a, FIRST KL(FIRST B b)) WHERE b.price > a.price + 1", [[3], [3, 4], [3, 4, 6]]),
        # What is between and does not fit by itself is no part of the run.
        ("SEQ(A a, FIRST KL(FIRST B b)) WHERE b.price != 3", [[2], [2, 4], [2, 4, 6]]),
        # Of a whole run more can be said, and what fails is no match: it has no smaller run.
        ("SEQ(A a, FIRST KL(FIRST B b), FIRST C c) WHERE max(b.price) < 4", [[2], [2, 3]]),
        ("SEQ(A a, FIRST KL(FIRST B b), NEXT C c)", [[2, 3, 4], [2, 3, 4, 6]]),
        # As many as there are before the next step.
        ("SEQ(A a, FIRST KL(FIRST B b), NOT(B x), FIRST C c)", [[2, 3, 4], [2, 3, 4, 6]]),
        ("SEQ(A a, NEXT KL(FIRST B b)) WHERE count(b) = 3", [[2, 3, 4]]),
        ("SEQ(A a, FIRST KL(B b){2})", [[2, 3], [2, 4], [2, 6]]),
        ("KL(NEXT B b)", [[2], [2, 3], [3], [4], [6]]),
        ("SEQ(A a, NEXT KL(NEXT B b))", [[2], [2, 3]]),
        ("SEQ(A a, KL(NEXT B b), NEXT X x)", [[2, 3], [3]]),
        ("KL(NEXT ANY b){8}", [[1, 2, 3, 9, 4, 5, 6, 7]]),
    ],
)
def test_runs_are_the_expected_sets(text: str, expected: list[list[int]]) -> None:
    assert sets(text) == expected


def test_the_longest_runs() -> None:
    assert sets("SEQ(A a, FIRST KL(FIRST B b))", sets="maximal") == [[2, 3, 4, 6]]
    assert sets("SEQ(A a, NEXT KL(NEXT B b))", sets="maximal") == [[2, 3]]


def test_number_of_runs_is_that_of_prefixes() -> None:
    rows = pd.DataFrame({"t": range(1_001), "kind": ["A", *["B"] * 1_000]})
    stream = ck.events(rows, time="t", type="kind", unit="s")
    for word in ("FIRST", "NEXT"):
        assert ck.detect(stream, f"PATTERN SEQ(A a, {word} KL({word} B b))").count() == 1_000
    pairs = ck.detect(stream, "PATTERN SEQ(A a, KL(FIRST B b))").count()
    assert pairs == 1_000 * 1_001 // 2
    steps = ck.detect(stream, "PATTERN SEQ(A a, FIRST KL(FIRST B b))").explain().steps
    assert sum(step.candidates for step in steps if step.variable != "b") <= 3 * 1_001


def test_events_that_came_late_are_not_side_by_side() -> None:
    late = ROWS.iloc[[0, 1, 3, 2, 4, 5, 6, 7]]
    stream = ck.events(late, time="t", type="kind", unit="s")
    found = ck.detect(stream, "PATTERN KL(NEXT B b)").to_arrow()["b"].to_pylist()
    prices = sorted([event["price"] for event in each] for each in found)
    # Row 2 came after the X, and so right before row 4.
    assert prices == [[2], [3], [3, 4], [4], [6]]


def test_aggregates_of_runs_are_those_of_their_matches() -> None:
    text = "PATTERN SEQ(A a, FIRST KL(FIRST B b)) AGG COUNT, SUM(b.price)"
    (row,) = ck.aggregate(STREAM, text, emit="total").to_pandas().to_dict("records")
    assert row["count"] == 4
    assert row["sum(b.price)"] == sum(map(sum, sets("SEQ(A a, FIRST KL(FIRST B b))")))


@pytest.mark.parametrize("mechanism", ["chain-nfa", "evaluation-tree"])
def test_several_patterns_in_a_mechanism_may_have_runs(mechanism: str) -> None:
    patterns = ["PATTERN SEQ(A a, KL(FIRST B b))", "PATTERN SEQ(A a, B b)"]
    trace = ck.simulate(STREAM, patterns, mechanism)
    detected = [ck.detect(STREAM, pattern).count() for pattern in patterns]
    assert [*trace.totals.by_pattern.values()] == detected


def test_mechanisms_support_runs() -> None:
    for pattern in (
        "SEQ(A a, NEXT KL(NEXT B b))",
        "SEQ(A a, FIRST KL(B b))",
        "SEQ(A a, KL(FIRST B b))",
    ):
        trace = ck.simulate(STREAM, f"PATTERN {pattern}")
        assert len(trace.matches) == ck.detect(STREAM, f"PATTERN {pattern}").count()
