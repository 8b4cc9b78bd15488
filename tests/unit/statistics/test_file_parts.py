"""Statistics of large files: counts are those of a stream in memory, shares come close to them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.statistics.measuring import file_parts
from cepkit.stream.reading import column_cache, marks

PATTERNS = (
    "PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.s = b.s WITHIN 20 seconds",
    "PATTERN SEQ(A a, B b) WHERE a.k = b.k AND a.x > 3 PARTITION BY s WITHIN 20 seconds",
    "PATTERN SEQ(A a, NOT(C c), B b) WITHIN 5 seconds",
    "PATTERN SEQ(A a, B b) WHERE a.k = b.y WITHIN 10 events",
)
EXACT = ("rates", "same_key", "events", "dropped", "first", "last", "never_occurring", "missing",
         "over_time", "keys", "lateness")  # fmt: skip


def rows(seed, n, disorder):
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.integers(0, 3_600_000, n)) + rng.integers(0, disorder + 1, n)
    some = rng.random(n) < 0.05
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("ms"), mask=np.roll(some, 1)),
            "type": pa.array(rng.choice(["A", "B", "C"], n), mask=np.roll(some, 2)),
            "x": pa.array(rng.integers(0, 9, n), mask=some),
            "y": pa.array(rng.integers(0, 50, n).astype(float), mask=np.roll(some, 3)),
            "k": rng.integers(0, 50, n),
            "s": pa.array(rng.choice(["u", "v", "w"], n), mask=np.roll(some, 5)),
        }
    )


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("seed", "n", "disorder"), [(1, 5_000, 0), (2, 3_000, 9_000), (3, 40, 0)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_profile_of_large_file_equals_that_of_its_table(
    tmp_path, monkeypatch, pattern, seed, n, disorder
):
    monkeypatch.setattr(marks, "_SETTLED", -(10**18))
    monkeypatch.setattr(column_cache, "MOST_KEPT", -1)
    monkeypatch.setattr(file_parts, "_MERGED", 100)
    table = rows(seed, n, disorder)
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=130)
    whole = ck.profile(ck.events(table, time="ts", type="type"), pattern)
    stream = ck.events(tmp_path / "e.parquet", time="ts", type="type")
    found = ck.profile(stream, pattern)
    assert stream.kept.size == 0
    for name in EXACT:
        if name == "over_time" and n < 1_000:
            continue  # few events have fewer buckets; rows that are none are known too late
        assert getattr(found, name) == getattr(whole, name), name
    if n > 1_000:
        for names, share in whole.selectivities.items():
            assert found.selectivities[names].share == pytest.approx(share.share, rel=0.2)
        assert found.forecast.matches == pytest.approx(whole.forecast.matches, rel=0.3)
    brief = ck.choose_plan(pattern, found)
    assert str(brief)
