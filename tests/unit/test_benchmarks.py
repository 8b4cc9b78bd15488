"""The benchmarks run; their results are in docs/benchmarks.md."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from benchmarks import ecube, engine, larger_than_memory, operators, spark_large
from cepkit import aggregate, events, parse


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("peers", ["--events", "20000", "--runs", "1", "--only", "P1", "P5"]),
        ("aggregation", ["--events", "5000", "--only", "keys"]),
        ("planning", ["--small"]),
        ("larger_than_memory", ["--events", "20000", "30000", "--limit-mb", "8192"]),
        ("threads", ["--events", "20000", "--runs", "1", "--only", "peers,operators"]),
    ],
)
def test_a_benchmark_runs_and_writes_its_tables(name, options, tmp_path):
    command = [sys.executable, "-m", f"benchmarks.{name}", *options, "--out", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    tables = sorted(tmp_path.glob("*.csv"))
    assert tables
    assert all(len(table.read_text().splitlines()) > 1 for table in tables)


def test_the_file_larger_than_memory_is_in_order_and_has_all_events(monkeypatch, tmp_path):
    monkeypatch.setattr(larger_than_memory, "PIECE", 1_000)
    larger_than_memory.write_events(tmp_path / "e.parquet", 2_500)
    table = pq.read_table(tmp_path / "e.parquet")
    ts = table.column("ts").to_numpy()
    assert len(table) == 2_500
    assert (ts[1:] >= ts[:-1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "cases", "tables"),
    [(engine, ("CASES", "NEXT_MATCH"), 5), (operators, ("EVENTS", "STEPS", "PAIRS", "HELD"), 5)],
    ids=["engine", "operators"],
)
def test_benchmark_measures_its_first_cases_and_writes_all_tables(
    benchmark, cases, tables, monkeypatch, tmp_path
):
    for name in cases:
        monkeypatch.setattr(benchmark, name, getattr(benchmark, name)[:1])
    benchmark.main(["--events", "20000", "--out", str(tmp_path)])
    written = sorted(tmp_path.glob("*.csv"))
    assert len(written) == (tables if sys.platform == "linux" else tables - 1)
    assert all(len(table.read_text().splitlines()) > 1 for table in written)


def test_every_case_of_the_engine_and_of_operators_is_a_pattern_with_a_plan():
    for case in (*engine.CASES, *engine.NEXT_MATCH):
        assert engine.compiled(case.text, case.order)
    for case in operators.EVENTS:
        assert operators.compiled(case.text, tuple(case.order), "every")
    for _, text, plan, choice in operators.HELD:
        assert operators.compiled(text, plan, choice)
    for _, text in operators.PAIRS:
        assert operators.compiled(text, operators.BUSHY, "every")
    for case in operators.STEPS:
        assert parse(case.text)


def test_the_stream_of_the_large_benchmark_goes_on_where_a_chunk_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(spark_large, "_CHUNK", 400)
    spark_large._write_events(tmp_path / "events.parquet", 1_000)
    table = pq.read_table(tmp_path / "events.parquet")
    assert len(table) == 1_000
    ts = table.column("ts").to_pylist()
    assert ts == sorted(ts)
    # A chunk of two seconds after the other, and not one on top of the other.
    assert (ts[-1] - ts[0]).total_seconds() > 4


@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("seed", range(5))
def test_ecube_counts_the_matches_that_aggregate_counts(place, seed):
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.integers(0, 60, 200))  # with ties
    stream = events(
        pd.DataFrame({"ts": ts, "type": rng.choice([*"ABCDE"], 200)}),
        time="ts",
        type="type",
        unit="us",
    )
    counts = ecube.counts(stream.columns(()), "AB", "CD", place, 7)
    for own, found in zip("CD", counts, strict=True):
        names = [*"AB", own] if place == "behind" else [own, *"AB"]
        items = ", ".join(f"{name} {name.lower()}" for name in names)
        rows = aggregate(stream, f"PATTERN SEQ({items}) WITHIN 7 us AGG COUNT")
        assert rows.to_pandas()["count"].tolist() == found.tolist()
    assert sum(counts[0]) > 0
