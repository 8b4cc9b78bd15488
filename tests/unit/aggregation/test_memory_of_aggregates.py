"""Aggregation by detection holds sums of matches in memory, not the matches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit import memory
from cepkit.aggregation.rows import matched
from cepkit.errors import LimitError
from cepkit.routes import detected

# 50 x 50 pairs of an a and a c with 50 b's between them: 125,000 matches.
KINDS = "A" * 50 + "B" * 50 + "C" * 50
TRIPLES = "PATTERN SEQ(A a, B b, C c) AGG COUNT, SUM(b.x), MIN(c.x), MAX(a.y)"


def stream(kinds: str) -> ck.api.Stream:
    n = len(kinds)
    frame = pd.DataFrame({"t": range(n), "kind": list(kinds), "x": np.arange(n), "y": 0.5})
    return ck.events(frame, time="t", type="kind", unit="s")


@pytest.mark.parametrize("emit", ["trigger", "changes", "new", "total"])
@pytest.mark.parametrize("window", ["", "WITHIN 140 s", "WITHIN 140 EVENTS"])
def test_far_more_matches_than_fit_the_memory_are_aggregated(monkeypatch, emit, window):
    text = f"{TRIPLES} {window}"
    want = ck.aggregate(stream(KINDS), text, emit=emit, method="detect").to_pandas()
    monkeypatch.setattr(detected, "_MERGED", 5000)
    # All matches would be 125,000 rows of 52 bytes, five times over.
    monkeypatch.setattr(memory, "free_memory", lambda: 20_000_000)
    found = ck.aggregate(stream(KINDS), text, emit=emit, method="detect").to_pandas()
    pd.testing.assert_frame_equal(found, want)


@pytest.mark.slow
def test_numbers_beyond_64_bits_are_merged_exactly(monkeypatch):
    monkeypatch.setattr(detected, "_MERGED", 5000)
    monkeypatch.setattr(matched, "SAFE", 0.0)  # so that no lane may carry them
    text = f"{TRIPLES} WITHIN 140 s"
    small = ck.aggregate(stream(KINDS), text, method="detect").to_pandas()
    monkeypatch.undo()
    want = ck.aggregate(stream(KINDS), text, method="detect").to_pandas()
    pd.testing.assert_frame_equal(small, want, check_dtype=False)


@pytest.mark.parametrize("emit", ["trigger", "changes"])
def test_pairs_that_do_not_fit_are_refused_and_not_kept(monkeypatch, emit):
    monkeypatch.setattr(detected, "_MERGED", 5000)
    monkeypatch.setattr(memory, "free_memory", lambda: 400_000)
    with pytest.raises(LimitError) as error:
        ck.aggregate(stream(KINDS), f"{TRIPLES} WITHIN 140 s", emit=emit, method="detect")
    assert "matches, which need" in error.value.found
    assert "emit='total'" in error.value.hint
