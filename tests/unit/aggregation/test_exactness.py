"""Numbers: of any size, missing ones, infinite ones, and floats that must not be subtracted."""

from __future__ import annotations

import math
from math import comb

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.aggregation.kernels.records import Tracks
from cepkit.errors import LimitError
from tests.unit.aggregation.cases import stream

A_SEQ = ("prefix-counters", "window-product")


@pytest.mark.parametrize("method", A_SEQ)
def test_counts_beyond_64_bits_are_exact(method: str) -> None:
    # Each of 12 types 60 times in a row: 60 ** 12 matches, some 2 ** 71.
    kinds = "abcdefghijkl"
    events = stream(" ".join(kind for kind in kinds for _ in range(60)))
    pattern = f"PATTERN SEQ({', '.join(f'{k.upper()} {k}' for k in kinds)}) AGG COUNT"
    result = ck.aggregate(events, pattern, method=method, emit="total")
    assert result.to_pandas()["count"].tolist() == [60**12]
    assert int(result.to_arrow()["count"][0].as_py()) == 60**12
    assert "2.18e+21" in str(result)


@pytest.mark.parametrize("method", A_SEQ)
def test_counts_near_the_edge_of_64_bits_are_exact(method: str) -> None:
    # One type in all positions: chains of n events, of which the last completes comb(m - 1, n - 1).
    m, n = 80, 16
    names = [f"v{i}" for i in range(n)]
    pattern = f"PATTERN SEQ({', '.join(f'A {v}' for v in names)}) WITHIN 1 hour AGG COUNT"
    found = ck.aggregate(stream("a " * m), pattern, method=method).to_pandas()
    assert found["count"].tolist() == [comb(i, n) for i in range(1, m + 1)]
    assert found["new_matches"].tolist() == [comb(i - 1, n - 1) for i in range(1, m + 1)]


def test_to_arrow_refuses_integers_of_too_many_digits() -> None:
    events = stream("a " * 300)
    pattern = f"PATTERN SEQ({', '.join(f'A v{i}' for i in range(150))}) AGG COUNT"
    result = ck.aggregate(events, pattern, emit="total")
    assert result.to_pandas()["count"].tolist() == [comb(300, 150)]
    with pytest.raises(LimitError, match="89 digits"):
        result.to_arrow()


@pytest.mark.parametrize("method", A_SEQ)
def test_float_sums_stay_within_a_billionth(method: str) -> None:
    rng = np.random.default_rng(3)
    kinds = rng.choice(list("abcd"), 4000)
    weights = rng.lognormal(0, 3, 4000)
    events = stream(" ".join(kinds), w=weights.tolist())
    text = "PATTERN SEQ(A a, B b, C c, D d) WITHIN 60 s AGG SUM(b.w), MAX(b.w)"
    got = ck.aggregate(events, text, method=method).to_pandas()["sum(b.w)"]
    want = ck.aggregate(events, text, method="detect").to_pandas()["sum(b.w)"]
    assert np.allclose(got, want, rtol=1e-9, atol=0, equal_nan=True)
    assert math.isfinite(float(got.iloc[-1]))


@pytest.mark.parametrize("rest", ["", "GROUP BY k", "PARTITION BY k"])
@pytest.mark.parametrize("items", ["a p, b q, c r", "a p, b q, NOT(d n), c r", "a p, a q, b r"])
def test_hundreds_of_live_starts_give_the_same_by_every_method(items: str, rest: str) -> None:
    rng = np.random.default_rng(11)
    events = ck.events(
        pd.DataFrame(
            {
                "ts": pd.Timestamp(0) + pd.to_timedelta(np.cumsum(rng.integers(0, 3, 2500)), "s"),
                "kind": rng.choice(list("abcd"), 2500),
                "x": rng.integers(-5, 5, 2500),
                "w": rng.normal(size=2500),
                "k": rng.integers(0, 3, 2500),
            }
        ),
        time="ts",
        type="kind",
    )
    text = (
        f"PATTERN SEQ({items}) WITHIN 600 s "
        f"AGG COUNT, SUM(q.x), SUM(q.w), MIN(p.w), MAX(r.x) {rest}"
    )
    tables = [
        ck.aggregate(events, text, method=method).to_pandas() for method in (*A_SEQ, "detect")
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0], rtol=1e-9)
    counted = [
        ck.aggregate(
            events, text.replace("COUNT,", "COUNT").partition(" SUM")[0] + f" {rest}", method=method
        ).to_pandas()
        for method in A_SEQ
    ]
    for table in counted:
        assert table["count"].tolist() == tables[0]["count"].tolist()


def test_selected_tracks_keep_the_memory_order_of_compiled_loops():
    lanes = np.arange(6).reshape(2, 3)
    tracks = Tracks(np.arange(3), lanes, lanes.astype(float), lanes)
    for at in (np.array([0, 2]), np.array([True, False, True])):
        taken = tracks.take(at)
        assert taken.ints.tolist() == [[0, 2], [3, 5]]
        assert all(each.flags.c_contiguous for each in taken)
