"""FIRST: a step looks no further than the first fitting event; results never show its NOT."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events

ROWS = pd.DataFrame(
    {
        "t": pd.to_datetime([1, 2, 3, 3, 4, 5, 6], unit="s"),
        "kind": list("AABBBCB"),
        "price": [1, 4, 2, 3, 5, 9, 6],
        "k": [1, 2, 1, 1, 2, 1, 1],
    }
)
STREAM = ck.events(ROWS, time="t", type="kind")


def found(text: str, **options: object) -> list[tuple[int, ...]]:
    table = ck.detect(STREAM, f"PATTERN {text}", **options).to_arrow()
    numbers = {time: row for row, time in enumerate(ROWS["price"])}
    columns = [c for c in table.column_names if len(c) == 1]
    rows = zip(*(table.column(c).to_pylist() for c in columns), strict=True)
    return sorted(tuple(numbers[event["price"]] for event in row) for row in rows)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        # Nothing is consumed, and of equal times neither is the first.
        ("SEQ(A a, FIRST B b)", [(0, 2), (0, 3), (1, 2), (1, 3)]),
        ("SEQ(A a, FIRST B b) WHERE b.price > a.price", [(0, 2), (0, 3), (1, 4)]),
        ("SEQ(A a, FIRST B b) WHERE b.k = a.k", [(0, 2), (0, 3), (1, 4)]),
        ("SEQ(A a, FIRST B b) PARTITION BY k", [(0, 2), (0, 3), (1, 4)]),
        ("SEQ(A a, FIRST B b) WHERE b.price >= 3", [(0, 3), (1, 3)]),
        # A residual predicate.
        ("SEQ(A a, FIRST B b) WHERE abs(a.price - b.price) > 1", [(0, 3), (1, 2)]),
        # What b must be beside later events does not say which is the first.
        ("SEQ(A a, FIRST B b, C c) WHERE b.price + 6 >= c.price", [(0, 3, 5), (1, 3, 5)]),
        ("SEQ(A a, FIRST B b, FIRST C c)", [(0, 2, 5), (0, 3, 5), (1, 2, 5), (1, 3, 5)]),
        ("SEQ(A a, AND(FIRST C c, B b)) WHERE b.price = 6", [(0, 5, 6), (1, 5, 6)]),
        ("SEQ(A a, NOT(B x), FIRST C c) WHERE x.price = 5", []),
        ("SEQ(A a, FIRST B b) STRATEGY skip-till-next-match", [(0, 2), (1, 3)]),
        ("SEQ(A a, FIRST B b) STRATEGY strict-contiguity", [(1, 2)]),
    ],
)
def test_the_first_that_fits(text: str, matches: list[tuple[int, ...]]) -> None:
    assert found(text) == matches


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SEQ(A a, OR(FIRST B b, FIRST C c)) WHERE a.price = 4", 3),
        ("SEQ(KL(A a){2}, FIRST B b)", 2),
        ("SEQ(KL(A a), FIRST B b) WHERE b.price > max(a.price)", 4),
    ],
)
def test_after_choices_and_sets(text: str, number: int) -> None:
    assert ck.detect(STREAM, f"PATTERN {text}").count() == number


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("window", ["", "WITHIN 1 hour", "WITHIN 100000 EVENTS"])
def test_first_equals_not_of_an_earlier_event(order: str, window: str) -> None:
    stream = ck.events(zipf_events(2_000, seed=3), time="ts", type="type")
    where = "a.price < b.price AND a.key = b.key AND b.diff + a.diff > 0"
    first = f"PATTERN SEQ(T01 a, FIRST T02 b) WHERE {where} {window}"
    absent = where.replace("b.", "x.")
    long = f"PATTERN SEQ(T01 a, NOT(T02 x), T02 b) WHERE {where} AND {absent} {window}"
    frames = [ck.detect(stream, text, plan=list(order)).to_pandas() for text in (first, long)]
    assert len(frames[0])
    order_of_rows = ["match_start", "match_end"]
    one, other = (f.sort_values(order_of_rows).reset_index(drop=True).astype(str) for f in frames)
    pd.testing.assert_frame_equal(one, other)


def test_a_step_looks_no_further_than_the_first() -> None:
    stream = ck.events(zipf_events(20_000, seed=3), time="ts", type="type")
    matches = ck.detect(stream, "PATTERN SEQ(T01 a, FIRST T02 b, FIRST T03 c)")
    steps = {step.variable: step for step in matches.explain().steps}
    assert [*steps] == ["a", "b", "c"]
    assert steps["b"].candidates == steps["b"].survivors
    assert matches.count() == steps["c"].survivors < 2 * steps["a"].survivors


def test_results_never_show_the_not_of_first() -> None:
    pattern = "PATTERN SEQ(A a, FIRST B b, C c) WHERE b.price > a.price"
    matches = ck.detect(STREAM, pattern)
    texts = [
        str(matches.explain()),
        str(ck.profile(STREAM, pattern)),
        str(ck.why_not(STREAM, pattern, a=0, b=4)),
        str(ck.why_not(STREAM, pattern)),
        *matches.to_arrow().column_names,
    ]
    assert "FIRST B b" in texts[2]
    assert "there is row 2 (B, 1 s before b)" in texts[2]
    assert not any("earlier" in text or "NOT(" in text for text in texts)


@pytest.mark.parametrize("method", ["prefix-counters", "window-product", "detect"])
def test_matches_are_counted_without_being_made(method: str) -> None:
    text = "PATTERN SEQ(A a, FIRST B b, FIRST C c) PARTITION BY k AGG COUNT"
    total = ck.aggregate(STREAM, text, method=method, emit="total").to_pandas()
    assert total["count"].tolist() == [ck.detect(STREAM, text.replace("AGG COUNT", "")).count()]


def test_a_key_that_the_earlier_ones_need_not_have_is_refused() -> None:
    text = "PATTERN SEQ(A a, FIRST B b, C c) WHERE a.k = c.k AND b.k = c.k AGG COUNT"
    with pytest.raises(ck.CepkitError, match="does not include the events before FIRST 'b'"):
        ck.aggregate(STREAM, text, method="prefix-counters")


def test_plan_by_slices_finds_the_matches_of_a_given_order():
    stream = ck.events(ck.sample_stocks(80_000), time="ts", type="ticker")
    pattern = "PATTERN SEQ(MSFT a, FIRST AAPL b) WHERE a.price < b.price WITHIN 30 seconds"
    matches = ck.detect(stream, pattern)
    assert "random slices" in str(matches.explain())
    assert matches.count() == ck.detect(stream, pattern, ["a", "b"]).count() > 0
