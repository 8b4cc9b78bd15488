"""NEXT: the very next event of the partition by arrival, looked up by its number."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.pattern.conditions import NUMBER, NUMBER_BEFORE

ROWS = pd.DataFrame(
    {
        "t": pd.to_datetime([1, 2, 3, 3, 4, 5, 6], unit="s"),
        "kind": list("AABBBCB"),
        "price": [1, 4, 2, 3, 5, 9, 6],
        "k": [1, 2, 1, 1, 2, 1, 1],
    }
)
STREAM = ck.events(ROWS, time="t", type="kind")


def found(stream: ck.Stream, text: str) -> list[tuple[object, ...]]:
    table = ck.detect(stream, f"PATTERN {text}").to_arrow()
    numbers = {price: row for row, price in enumerate(ROWS["price"])}
    columns = [table.column(c).to_pylist() for c in table.column_names if len(c) == 1]
    return sorted(
        tuple(
            [numbers[one["price"]] for one in event]
            if isinstance(event, list)
            else numbers[event["price"]]
            for event in row
        )
        for row in zip(*columns, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("SEQ(A a, NEXT B b)", [(1, 2)]),
        ("SEQ(A a, NEXT B b) PARTITION BY k", [(0, 2), (1, 4)]),
        ("SEQ(A a, NEXT B b) WHERE b.price > a.price", []),
        # Of equal times neither is after the other, and one of them is the next.
        ("SEQ(B a, NEXT B b)", [(3, 4)]),
        ("SEQ(A a, FIRST B b, NEXT C c)", []),
        ("SEQ(A a, B b, NEXT C c)", [(0, 4, 5), (1, 4, 5)]),
        ("SEQ(A a, NOT(NEXT B b), C c)", [(0, 5)]),
        ("SEQ(A a, NOT(NEXT B b)) WITHIN 2 seconds", [(0,)]),
        ("SEQ(A a, NOT(NEXT B b), C c) WHERE b.price > a.price", [(0, 5), (1, 5)]),
        ("SEQ(AND(A a, B b), NEXT C c)", [(0, 4, 5), (1, 4, 5)]),
        ("SEQ(KL(A a), NEXT B b)", [([0, 1], 2), ([1], 2)]),
    ],
)
def test_the_event_that_comes_next(text: str, matches: list[tuple[object, ...]]) -> None:
    assert found(STREAM, text) == matches


def test_next_after_an_omitted_optional_follows_the_event_before_it() -> None:
    pattern = "PATTERN SEQ(A a, OPT(C x), NEXT B b) WHERE a.price = 4"
    table = ck.detect(STREAM, pattern).to_arrow()
    assert {b["price"] for b in table["b"].to_pylist()} == {2, 6}


def test_next_is_by_arrival_not_by_time() -> None:
    late = ROWS.iloc[[0, 2, 1, 3, 4, 5, 6]]
    stream = ck.events(late, time="t", type="kind")
    # Row 2 came after row 0 and before row 1, which came late.
    assert found(stream, "SEQ(A a, NEXT B b)") == [(0, 2), (1, 3)]


def test_results_never_show_the_arrival_numbers_of_next() -> None:
    matches = ck.detect(STREAM, "PATTERN SEQ(A a, NEXT B b)")
    assert not {NUMBER, NUMBER_BEFORE} & {*matches.to_arrow()["a"].type.names}
    for text in (
        matches.explain(),
        ck.why_not(STREAM, "PATTERN SEQ(A a, NEXT B b)", a=0, b=2),
        ck.simulate(STREAM, "PATTERN SEQ(A a, NEXT B b)"),
    ):
        assert "number" not in str(text)
        assert "\x01" not in str(text)
    assert "b is NEXT after a" in str(ck.why_not(STREAM, "PATTERN SEQ(A a, NEXT B b)", a=0, b=2))


def test_only_neighbours_are_looked_at() -> None:
    steps = ck.detect(STREAM, "PATTERN SEQ(A a, NEXT B b)").explain().steps
    assert [step.candidates for step in steps] == [2, 1]
