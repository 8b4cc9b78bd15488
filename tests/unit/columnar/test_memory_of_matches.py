"""Matches are gathered while they fit into memory, and refused with a clear error otherwise."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

import cepkit as ck
from cepkit import memory
from cepkit.columnar.results import frames, rows
from cepkit.errors import LimitError

PAIRS = "PATTERN SEQ(A a, B b)"


def stream(kinds: str) -> ck.api.Stream:
    """Return events of one-letter types, a second apart."""
    n = len(kinds)
    frame = pd.DataFrame({"t": range(n), "kind": list(kinds), "x": np.arange(n) % 7, "s": "text"})
    return ck.events(frame, time="t", type="kind", unit="s")


MANY = stream("AB" * 3000)  # 4.5 million pairs


@pytest.fixture
def free(monkeypatch):
    """Set how many bytes are free."""

    def set_free(size: float) -> None:
        monkeypatch.setattr(memory, "free_memory", lambda: int(size))
        monkeypatch.setattr(frames, "_PIECE", int(size) // 50)

    return set_free


WAYS = {
    "to_pandas": lambda matches: matches.to_pandas(),
    "nested": lambda matches: matches.to_pandas(nested=True),
    "to_arrow": lambda matches: matches.to_arrow(),
    "head": lambda matches: matches.head(10**12),
    "timeline": lambda matches: matches.timeline(10**12),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@every_way
def test_matches_forecast_beyond_memory_are_refused_at_once(way, free):
    free(30e6)
    matches = ck.detect(MANY, PAIRS)
    with pytest.raises(LimitError) as error:
        way(matches)
    (expected,) = re.findall(r"^([\d,]+) matches are expected", error.value.found)
    assert int(expected.replace(",", "")) == pytest.approx(4_501_500, rel=0.05)
    for other in ("limit=1000", ".count()", "aggregate(", ".write_parquet(", ".batches()"):
        assert other in error.value.hint


@every_way
def test_search_stops_at_the_memory_limit_and_keeps_nothing(way, free):
    matches = ck.detect(MANY, PAIRS, ["a", "b"])  # by a plan that expects nothing
    matches.head(3)
    free(20e6)
    tracemalloc.start()
    before, in_arrow = tracemalloc.get_traced_memory()[0], pa.total_allocated_bytes()
    with pytest.raises(LimitError) as error:
        way(matches)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # The error is still there, and its traceback.
    assert "more than " in error.value.found
    assert kept < 20e6 / 3
    assert pa.total_allocated_bytes() - in_arrow < 20e6 / 2


def test_a_limit_that_fits_is_given(free):
    free(30e6)
    assert len(ck.detect(MANY, PAIRS, limit=5000).to_pandas()) == 5000
    assert len(ck.detect(MANY, PAIRS).head(5000)) == 5000


def test_limit_beyond_memory_is_refused(free):
    free(30e6)
    with pytest.raises(LimitError, match="1,000,000 matches are asked for"):
        ck.detect(MANY, PAIRS, limit=1_000_000).to_pandas()


def test_a_forecast_that_is_wrong_refuses_nothing_once_matches_are_counted(free):
    free(1e6)
    matches = ck.detect(stream("AB" * 50), PAIRS)
    steps = matches.plan.expected[0]
    wrong = tuple(dataclasses.replace(step, partial_matches=1e9) for step in steps)
    matches.plan = dataclasses.replace(matches.plan, expected=(wrong,))
    with pytest.raises(LimitError, match="are expected"):
        matches.to_pandas()
    assert matches.count() == 1275
    assert len(matches.to_pandas()) == 1275


def test_a_burst_is_expected(free):
    """Evenly, 4,000 events in a day would make hardly a match; they come within a second."""
    n = 4000
    times = np.append(np.sort(np.random.default_rng(3).uniform(0, 1, n)), 86_400)
    frame = pd.DataFrame({"t": times, "kind": ["A", "B"] * (n // 2) + ["C"]})
    matches = ck.detect(ck.events(frame, time="t", type="kind", unit="s"), f"{PAIRS} WITHIN 1 s")
    free(20e6)
    with pytest.raises(LimitError, match=r"^(1,9|2,0)\d\d,\d\d\d matches are expected"):
        matches.to_pandas()


def test_counted_matches_beyond_memory_are_refused_at_once(free):
    matches = ck.detect(MANY, PAIRS, ["a", "b"])
    matches.count()
    free(30e6)
    with pytest.raises(LimitError, match="there are 4,501,500 matches, which need about"):
        matches.to_pandas()


def test_sets_are_refused_by_their_number_before_they_are_made(free):
    # 2^17 - 1 sets: fewer than may be written, and more than fit.
    matches = ck.detect(stream("A" + "B" * 17 + "C"), "PATTERN SEQ(A a, KL(B b), C c)")
    for nested in (True, False):
        free(30e6 if nested else 4e6)
        with pytest.raises(LimitError, match="131,071 matches, which need about"):
            matches.to_pandas(nested=nested)


def test_memory_that_the_system_refuses_is_an_error_of_the_result(monkeypatch):
    def refused(self: object, make: object, **options: object) -> object:
        yield from ()
        raise MemoryError

    matches = ck.detect(MANY, PAIRS)
    monkeypatch.setattr(type(matches), "_made", refused)
    for way in (matches.to_arrow, matches.to_pandas, lambda: matches.to_pandas(nested=True)):
        with pytest.raises(LimitError, match="no more memory is free"):
            way()


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WITHIN 20 s",
        "PATTERN OR(SEQ(A a, B b), SEQ(C c, A d)) WITHIN 20 s",
        "PATTERN SEQ(A a, KL(B b){1,2}, C c) WITHIN 20 s",
    ],
)
@pytest.mark.parametrize("piece", [1, 2000])
def test_a_frame_made_in_pieces_is_that_made_at_once(monkeypatch, text, piece):
    matches = ck.detect(stream("ABCBA" * 6), text)
    whole = frames.to_frame(matches.to_arrow())
    monkeypatch.setattr(frames, "_PIECE", piece)
    assert_frame_equal(matches.to_pandas(nested=True), whole)
    flat = matches.to_pandas()
    monkeypatch.setattr(frames, "_PIECE", 1 << 30)
    assert_frame_equal(flat, matches.to_pandas())


def test_dictionaries_that_matches_share_with_the_stream_are_not_counted():
    kinds = pa.array(["A", "B"] * 100).dictionary_encode()
    names = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(200, np.int32)), pa.array([f"name {i}" for i in range(100_000)])
    )
    table = pa.table({"t": range(200), "kind": kinds, "name": names})
    matches = ck.detect(ck.events(table, time="t", type="kind", unit="s"), PAIRS, limit=1)
    [batch] = matches.batches()
    assert batch.nbytes > 1e6
    assert frames._bytes_of(batch) < 1000


def test_weight_of_a_frame_is_the_memory_that_it_takes():
    matches = ck.detect(stream("AB" * 150), PAIRS, ["a", "b"])
    matches.head(3)
    tracemalloc.start()
    frame = matches.to_pandas(nested=True)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert frames._weight(frame) == pytest.approx(taken, rel=0.25)


def test_a_flat_frame_takes_hardly_more_than_its_values_and_is_counted_so(monkeypatch):
    matches = ck.detect(stream("AB" * 500), PAIRS, ["a", "b"])
    matches.head(3)
    rooms = []
    take = memory.Room.take
    monkeypatch.setattr(
        memory.Room, "take", lambda room, *args: rooms.append(room) or take(room, *args)
    )
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    frame = matches.to_pandas()
    in_arrow = pa.total_allocated_bytes() - before
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    values = int(frame.memory_usage(index=False).sum())
    assert rooms[-1].size == pytest.approx(values, rel=0.05)
    assert held + in_arrow < values + 20 * len(frame)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the addresses of a process")
@pytest.mark.parametrize("ask", ["to_pandas()", "to_arrow()"])
def test_under_ulimit_the_process_lives(ask):
    # A plan that expects nothing: what comes has to be stopped.
    script = f"""
import resource, warnings
from pathlib import Path
import cepkit as ck
from cepkit.errors import LimitError

stream = ck.events(ck.sample_stocks(200_000), time="ts", type="ticker")
text = "PATTERN SEQ(MSFT a, GOOG b, MSFT c) WITHIN 5 minutes"
matches = ck.detect(stream, text, ["a", "b", "c"])
matches.head(3)
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + (700 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    matches.{ask}
except LimitError as error:
    assert "matches, which need" in error.found, error
    assert matches.head(1000) is not None  # there is memory again
    print("refused")
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert ran.stdout == "refused\n", ran.stderr


@pytest.mark.parametrize("gather", [list, tuple, lambda matches: [*matches], len])
def test_a_list_of_more_than_fits_is_refused_before_there_is_room_for_it(gather, monkeypatch):
    sets = ck.detect(stream("A" + "B" * 40), "PATTERN SEQ(A a, KL(B b)) WITHIN 1 hour")
    with pytest.raises(LimitError, match=r"matches, too many for a list\nHint: \.count\(\)"):
        gather(sets)
    assert sets.count() == 2**40 - 1
    monkeypatch.setattr(rows, "_FEW", 0)
    monkeypatch.setattr(rows, "free_memory", lambda: 10_000)
    few = ck.detect(stream("AB" * 3), "PATTERN SEQ(A a, B b) WITHIN 1 hour", limit=3)
    assert len(list(few)) == 3
    monkeypatch.setattr(rows, "free_memory", lambda: 1_000)
    with pytest.raises(LimitError, match="3 matches, too many for a list"):
        gather(few)
    assert sum(1 for _ in few) == 3


def test_a_figure_has_no_more_rows_than_can_be_drawn():
    matches = ck.detect(MANY, PAIRS, ["a", "b"])
    assert ck.draw(matches, limit=1000) is not None
    with pytest.raises(LimitError, match="a timeline of 1,001 matches"):
        ck.draw(matches, limit=1001)
