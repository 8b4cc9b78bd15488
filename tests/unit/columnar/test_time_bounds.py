"""Conditions between the times of two events bound the candidates of a step."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cepkit as ck

SIZE = 400
STREAM = ck.events(
    pd.DataFrame(
        {"ts": pd.to_datetime(np.arange(SIZE), unit="s"), "kind": ["A", "B"] * (SIZE // 2)}
    ),
    time="ts",
    type="kind",
)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("SEQ(A a, B b) WHERE b.ts - a.ts <= 3 seconds", SIZE - 1),
        ("SEQ(A a, B b) WHERE b.ts - a.ts < 3 seconds", SIZE // 2),
        ("SEQ(A a, B b) WHERE b.ts <= a.ts + 3 seconds", SIZE - 1),
        ("SEQ(A a, B b) WHERE a.ts + 3 seconds = b.ts", SIZE // 2 - 1),
        ("SEQ(A a, B b) WHERE b.ts - a.ts BETWEEN 2 seconds AND 5 seconds", SIZE - 3),
        ("AND(A a, B b) WHERE abs(b.ts - a.ts) <= 1 second", SIZE - 1),
        ("AND(A a, B b) WHERE a.ts - b.ts > 396 seconds", 1),
        ("SEQ(A a, B b) WITHIN 3 seconds FROM a TO b", SIZE - 1),
        ("SEQ(A a, B b) WITHIN 3 seconds EXCLUSIVE FROM a TO b", SIZE // 2),
        ("AND(A a, B b) WITHIN 1 second FROM b TO a", SIZE - 1),
    ],
)
@pytest.mark.parametrize("plan", [["a", "b"], ["b", "a"]])
def test_no_more_is_looked_at_than_lies_between_the_bounds(text, matches, plan):
    found = ck.detect(STREAM, f"PATTERN {text}", plan)
    assert found.count() == matches
    last = found.explain().steps[-1]
    assert last.candidates == last.survivors == matches


def test_several_bounds_and_the_window_hold_together():
    text = """
        PATTERN SEQ(A a, B b, A c)
        WHERE b.ts - a.ts <= 3 seconds AND c.ts - b.ts <= 1 second
        WITHIN 10 seconds
    """
    found = ck.detect(STREAM, text, ["a", "c", "b"])
    expected = [(a, b, b + 1) for a in range(0, SIZE, 2) for b in (a + 1, a + 3) if b + 1 < SIZE]
    assert found.count() == len(expected)


def test_a_column_of_other_times_is_no_bound():
    frame = pd.DataFrame(
        {"ts": pd.to_datetime([0, 1, 2], unit="s"), "kind": list("ABB")},
    )
    frame["seen"] = frame["ts"][::-1].to_numpy()
    stream = ck.events(frame, time="ts", type="kind")
    found = ck.detect(stream, "PATTERN SEQ(A a, B b) WHERE b.seen - a.seen <= -2 seconds")
    assert found.count() == 1
