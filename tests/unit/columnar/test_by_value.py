"""Candidates in the order of a value: chosen where it pays, with the same matches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.slices import bands

SIZE = 6_000
GAPS = "abs(a.price - b.price) < 0.01"


def stream(*, whole: bool = False) -> ck.Stream:
    """Return prices at random, some of them missing."""
    random = np.random.default_rng(3)
    price = random.normal(100, 10, SIZE).round(3)
    price[::97] = np.nan
    price[5:8] = np.inf
    frame = pd.DataFrame(
        {
            "ts": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(SIZE), unit="s"),
            "type": random.choice(["A", "B"], SIZE),
            "price": (np.nan_to_num(price, posinf=0) * 1000).astype(np.int64) if whole else price,
        }
    )
    return ck.events(frame, time="ts", type="type")


def work(pattern: str, events: ck.Stream, order: list[str]) -> tuple[int, int]:
    """Return how many matches there are, and how many candidates were looked at for them."""
    matches = ck.detect(events, ck.parse(pattern), order)
    count = matches.count()
    return count, matches.explain().steps[-1].candidates


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
@pytest.mark.parametrize(
    "text",
    [
        f"PATTERN SEQ(A a, B b) WHERE {GAPS}",
        "PATTERN SEQ(A a, B b) WHERE 0.01 >= abs(b.price - a.price)",
        "PATTERN SEQ(A a, B b) WHERE abs(a.price * 2 - b.price * 2) <= 0.02",
        "PATTERN AND(A a, B b) WHERE b.price > a.price - 0.01 AND b.price < a.price + 0.01",
        "PATTERN AND(A a, B b) WHERE a.price < b.price + 0.01 AND b.price < a.price + 0.01",
        f"PATTERN SEQ(A a, B b) WHERE {GAPS} WITHIN 50 minutes",
        f"PATTERN SEQ(A a, NOT(B n), B b) WHERE {GAPS} AND abs(n.price - b.price) < 0.001",
    ],
)
def test_near_values_are_looked_up(
    text: str, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = stream()
    count, looked_at = work(text, events, order)
    with monkeypatch.context() as patch:
        patch.setattr(bands, "_MANY", SIZE)
        expected, all_candidates = work(text, events, order)
    assert count == expected > 0
    assert looked_at * 100 < all_candidates


def test_whole_numbers_are_near_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "PATTERN SEQ(A a, B b) WHERE abs(a.price - b.price) <= 3"
    events = stream(whole=True)
    count, _ = work(text, events, ["a", "b"])
    with monkeypatch.context() as patch:
        patch.setattr(bands, "_MANY", SIZE)
        assert count == work(text, events, ["a", "b"])[0] > 0


def test_limit_of_a_distance_may_come_from_the_other_event() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE abs(a.price - b.price) < 0.0001 * a.price"
    count, looked_at = work(text, stream(), ["a", "b"])
    assert 0 < count <= looked_at < SIZE * 50


def test_a_short_window_is_scanned_in_time() -> None:
    text = f"PATTERN SEQ(A a, B b) WHERE {GAPS} WITHIN 5 minutes"
    _, looked_at = work(text, stream(), ["a", "b"])
    assert looked_at > SIZE * 50


def test_explain_says_that_candidates_are_looked_up_by_value() -> None:
    matches = ck.detect(stream(), f"PATTERN SEQ(A a, B b) WHERE {GAPS} WITHIN 2 days", ["a", "b"])
    matches.count()
    assert "candidates for b: looked up by value, fewer than expected" in str(matches.explain())
