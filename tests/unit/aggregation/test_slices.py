"""Aggregates of a local stream do not depend on the slices that its matches are detected in."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.columnar import parts
from cepkit.columnar.slices import cutting
from cepkit.routes.ways import EMITS
from cepkit.stream.columns import EventColumns
from tests.small_streams import EACH, aggregate_whole, side_by_side, small_streams, types_in


@pytest.mark.parametrize("window", ["2 s", "2 s EXCLUSIVE"])
@pytest.mark.parametrize("structure", EACH)
def test_slices_do_not_show_in_any_rows(structure, window, monkeypatch):
    table = side_by_side(small_streams(types_in(structure), 4))
    pattern = f"PATTERN {structure} WITHIN {window} AGG COUNT, SUM(q.x) GROUP BY g"
    whole = [aggregate_whole(table, pattern, emit, "detect") for emit in EMITS]
    monkeypatch.setattr(cutting, "SLICE_ROWS", 1)
    monkeypatch.setattr(cutting, "WINDOWS_PER_SLICE", 0)
    numbers = set()
    slices = parts.slices

    def counted(*given):
        found = list(slices(*given))
        numbers.add(len(found))
        return found

    monkeypatch.setattr(parts, "slices", counted)
    assert [aggregate_whole(table, pattern, emit, "detect") for emit in EMITS] == whole
    assert numbers == {5}


def test_total_without_group_by_reads_no_rows_of_the_source(monkeypatch, tmp_path):
    ck.sample_stocks(300).to_parquet(tmp_path / "stocks.parquet")
    monkeypatch.setattr(cutting, "SLICE_ROWS", 50)
    monkeypatch.setattr(cutting, "WINDOWS_PER_SLICE", 0)

    def read(_):
        raise AssertionError("rows are read, of files all columns")

    monkeypatch.setattr(EventColumns, "source", property(read))
    stream = ck.events(tmp_path / "stocks.parquet", time="ts", type="ticker")
    pattern = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 second AGG COUNT, MAX(b.price)"
    assert ck.aggregate(stream, pattern, emit="total").to_pandas()["count"][0] > 0
