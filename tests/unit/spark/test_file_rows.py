"""Rows of Parquet files, read by this process: which ones, and no more than fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from cepkit.spark.passes.file_rows import FileRows
from cepkit.stream.schema import Schema


def table(count: int) -> pa.Table:
    draw = np.random.default_rng(count)
    return pa.table(
        {
            "t": pa.array(draw.integers(0, 99, count), mask=draw.random(count) < 0.1),
            "k": pa.array(draw.choice(["A", "B", "", "C"], count), mask=draw.random(count) < 0.1),
            "x": draw.random(count),
        }
    )


def rows_of(folder: Path, parts: list[pa.Table], size: int) -> FileRows:
    groups = []
    for number, part in enumerate(parts):
        path = folder / f"{number}.parquet"
        pq.write_table(part, path, row_group_size=size)
        footer = pq.read_metadata(path)
        groups += [(path, footer, group) for group in range(footer.num_row_groups)]
    return FileRows(tuple(groups), Schema("t", "k", "s"), table(0).schema)


@pytest.mark.parametrize("types", [None, frozenset("A"), frozenset({"", "C"}), frozenset()])
@pytest.mark.parametrize("sizes", [[], [0], [50], [30, 0, 70]])
@pytest.mark.parametrize("group", [7, 1000])
def test_rows_of_the_types_and_those_that_are_no_events(tmp_path, sizes, types, group):
    parts = [table(size) for size in sizes]
    everything = pa.concat_tables([table(0), *parts])
    rows = rows_of(tmp_path, parts, group)
    fits = pc.is_null(everything["k"])
    if types is not None:
        fits = pc.or_(fits, pc.is_in(everything["k"], value_set=pa.array([*types], pa.string())))
        assert rows.number(types) == fits.to_pylist().count(True)
        fits = pc.or_(fits, pc.is_null(everything["t"]))
        everything = everything.filter(fits)
    assert rows.number(None) == sum(sizes)
    assert rows.read(types, 1e9).equals(everything)
    assert rows.in_order == (len(sizes) < 2)


def test_a_text_that_is_stored_once_takes_its_full_size(tmp_path):
    long = pa.table({"t": range(1000), "k": ["A"] * 1000, "x": ["y" * 100_000] * 1000})
    pq.write_table(long, tmp_path / "e.parquet", row_group_size=100)
    footer = pq.read_metadata(tmp_path / "e.parquet")
    assert (tmp_path / "e.parquet").stat().st_size < 1e6
    groups = tuple((tmp_path / "e.parquet", footer, group) for group in range(10))
    rows = FileRows(groups, Schema("t", "k", "s"), long.schema)
    before = pa.total_allocated_bytes()
    assert 90e6 < rows.read(None, 20e6) < 110e6
    assert pa.total_allocated_bytes() - before < 1e6
    assert len(rows.read(None, 200e6)) == 1000
