"""Columns of Parquet files that are made row group by row group are those of the whole table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.stream.columns import EventColumns
from cepkit.stream.reading.by_group import columns_by_group
from cepkit.stream.reading.column_cache import ColumnCache, load

_ROWS = 3000
_MICROSECONDS = np.arange(_ROWS) * 7
_TIMES = {
    "microseconds": pa.array(_MICROSECONDS, pa.timestamp("us")),
    "whole nanoseconds": pa.array(_MICROSECONDS * 1000, pa.timestamp("ns")),
    "fine nanoseconds": pa.array(_MICROSECONDS * 1000 + 3, pa.timestamp("ns")),
    "not in order": pa.array(_MICROSECONDS[::-1], pa.timestamp("us")),
    "some missing": pa.array([None if i % 50 == 3 else i for i in range(_ROWS)], pa.date32()),
}


def _attributes() -> dict[str, pa.Array]:
    numbers = range(_ROWS)
    return {
        "float": pa.array([None if i % 31 == 0 else i / 3 for i in numbers]),
        "short": pa.array(np.arange(_ROWS).astype(np.int16)),
        "unsigned": pa.array(np.arange(_ROWS).astype(np.uint64)),
        "truth": pa.array([i % 3 == 0 for i in numbers]),
        "duration": pa.array(numbers, pa.duration("ms")),
        "text": pa.array([None if i % 41 == 0 else f"s{i % 11 + i // 800}" for i in numbers]),
        "moment": pa.array(numbers, pa.timestamp("ns")),
        "nothing": pa.array([None] * _ROWS, pa.null()),
        "list": pa.array([[1.0, 2.0][: i % 3] for i in numbers]),
    }


@pytest.mark.parametrize("times", _TIMES)
@pytest.mark.parametrize("typed", ["type", "short", None])
def test_columns_of_row_groups_equal_those_of_the_whole_table(
    times: str, typed: str | None, tmp_path: Path
) -> None:
    types = pa.array([None if i % 97 == 0 else f"T{i % 7 - i // 900}" for i in range(_ROWS)])
    table = pa.table({"ts": _TIMES[times], "type": types, **_attributes()})
    path = tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=700)
    names = tuple(table.column_names)
    roles: dict[str, Any] = {"time": "ts"} if typed is None else {"time": "ts", "type": typed}
    schema = ck.events(table, **roles).schema
    required = tuple(name for name in names if name != "ts")
    of_groups, of_table = (
        load(source, schema, names, required, ColumnCache()) for source in (path, table)
    )
    _check_equal(of_groups, of_table)


def test_only_columns_whose_row_groups_are_independent_are_made_by_group(tmp_path: Path) -> None:
    table = pa.table({"ts": _TIMES["fine nanoseconds"], **_attributes()})
    path = tmp_path / "events.parquet"
    pq.write_table(table, path, row_group_size=700)
    made = columns_by_group(path, table.column_names, ck.events(table, time="ts").schema)
    assert {*table.column_names} - {*made} == {"ts", "unsigned", "list"}


def _check_equal(one: EventColumns, other: EventColumns) -> None:
    assert np.array_equal(one.ts, other.ts)
    names = [np.array([*columns.type_names])[columns.types] for columns in (one, other)]
    assert np.array_equal(*names)
    assert one.dropped == other.dropped
    assert np.array_equal(
        one.source_rows(np.arange(len(one))), other.source_rows(np.arange(len(other)))
    )
    for name, column in one.attributes.items():
        expected = other.attributes[name]
        assert (column.kind, column.has_missing) == (expected.kind, expected.has_missing)
        if column.kind == "text":
            texts = [
                np.append(c.dictionary, np.array([None]))[c.values] for c in (column, expected)
            ]
            assert [*column.dictionary] == sorted(column.dictionary)
            assert np.array_equal(*texts)
        else:
            is_float = column.values.dtype.kind == "f"
            assert np.array_equal(column.values, expected.values, equal_nan=is_float)
