"""The same rows give the same events and matches from every format."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.stream.reading.nested import flattened

pytestmark = pytest.mark.filterwarnings("ignore::cepkit.stream.warnings.StreamWarning")

Rows = list[dict[str, Any]]

MOMENTS = st.datetimes(dt.datetime(1960, 1, 1), dt.datetime(2150, 1, 1))  # noqa: DTZ001 - naive
# Texts that no format takes for anything else: an empty field of a CSV file is null.
TEXTS = st.text("xyz \"',;\n\u00e9\U0001f600", min_size=1).map(lambda text: f"_{text}_")
KIND = pa.schema(
    [
        ("id", pa.int64()),
        ("t", pa.timestamp("us")),
        ("k", pa.string()),
        ("n", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("user", pa.struct([("name", pa.string()), ("at", pa.struct([("x", pa.int64())]))])),
    ]
)
ROW = st.fixed_dictionaries(
    {
        "t": MOMENTS,
        "k": st.sampled_from("AB"),
        "n": st.none() | st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-2, 2),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.just(0.5),
        "s": st.none() | TEXTS,
        "b": st.none() | st.booleans(),
        "user": st.none()
        | st.fixed_dictionaries(
            {"name": st.none() | TEXTS, "at": st.none() | st.fixed_dictionaries({"x": st.just(1)})}
        ),
    }
)
FIRST = {"n": 1, "f": 0.5, "s": "_x_", "b": True, "user": {"name": "_x_", "at": {"x": 1}}}
"""Values of a first row, so that a format without types has some of each column."""

PATTERN = """
PATTERN AND(A a, B b)
WHERE a.n < b.n OR a.f > b.f OR a.s = b.s OR a.b != b.b OR a.user.name < b.user.name
   OR a.user.at.x IS NULL
"""


@st.composite
def rows_of_events(draw: st.DrawFn) -> Rows:
    """Draw rows, the first of which has a value in each column."""
    rows = draw(st.lists(ROW, min_size=1, max_size=6))
    return [{"id": i, **row, **(FIRST if not i else {})} for i, row in enumerate(rows)]


def as_json(rows: Rows) -> list[str]:
    return [json.dumps(row | {"t": row["t"].isoformat()}, ensure_ascii=False) for row in rows]


def in_csv(rows: Rows, path: Path) -> Path:
    pa_csv.write_csv(flattened(pa.Table.from_pylist(rows, KIND)), path)
    return path


def in_text(text: str, path: Path) -> Path:
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


def in_german_csv(rows: Rows, path: Path) -> Path:
    frame = flattened(pa.Table.from_pylist(rows, KIND)).to_pandas(types_mapper=pd.ArrowDtype)
    frame["t"] = [row["t"].strftime("%d.%m.%Y %H:%M:%S.%f") for row in rows]
    frame.to_csv(path, sep=";", decimal=",", index=False, encoding="utf-16")
    return path


def in_parquet(rows: Rows, path: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(rows, KIND), path, row_group_size=2)
    return path


GERMAN = {"sep": ";", "decimal": ",", "encoding": "utf-16", "time_format": "%d.%m.%Y %H:%M:%S.%f"}
FORMATS: dict[str, tuple[Callable[[Rows, Path], Any], dict[str, Any]]] = {
    "CSV": (lambda rows, folder: in_csv(rows, folder / "a.csv"), {}),
    "German CSV": (lambda rows, folder: in_german_csv(rows, folder / "a.csv"), GERMAN),
    "JSON lines": (lambda rows, folder: in_text("\n".join(as_json(rows)), folder / "a.jsonl"), {}),
    "JSON array": (
        lambda rows, folder: in_text(f"[{','.join(as_json(rows))}]", folder / "a.json.gz"),
        {},
    ),
    "Parquet": (lambda rows, folder: in_parquet(rows, folder / "a.parquet"), {}),
    "folder": (lambda rows, folder: in_parquet(rows, folder / "a.parquet").parent, {}),
    "reader": (lambda rows, _: pa.Table.from_pylist(rows, KIND).to_reader(), {}),
    "rows": (lambda rows, _: rows, {}),
    "pandas": (lambda rows, _: pd.DataFrame(rows, dtype=object), {}),
    "Arrow in pandas": (
        lambda rows, _: pa.Table.from_pylist(rows, KIND).to_pandas(types_mapper=pd.ArrowDtype),
        {},
    ),
    "polars": (lambda rows, _: pl.from_arrow(pa.Table.from_pylist(rows, KIND)), {}),
    "DuckDB": (lambda rows, _: duckdb.from_arrow(pa.Table.from_pylist(rows, KIND)), {}),
    "tables": (lambda rows, _: [pa.Table.from_pylist([row], KIND) for row in rows], {}),
}


def events_of(source: Any, options: dict[str, Any]) -> tuple[list[int], dict[str, list[Any]], Any]:
    """Return the times of events, the values that conditions read, and the ids of matches."""
    stream = ck.events(source, time="t", type="k", **options)
    names = ["id", "n", "f", "s", "b", "user.name", "user.at.x"]
    columns = stream.columns(names)
    values = {}
    for name in names:
        column = columns.attributes[name]
        known = column.values if column.dictionary is None else column.values.tolist()
        missing = column.missing()
        values[name] = [
            None if gone else column.dictionary[value] if column.kind == "text" else value
            for value, gone in zip(known, missing, strict=True)
        ]
    matches = ck.detect(stream, PATTERN).to_pandas()
    found = sorted(zip(matches["a.id"], matches["b.id"], strict=True))
    return columns.ts.tolist(), values, found


@given(rows=rows_of_events())
@pytest.mark.parametrize("name", FORMATS)
def test_format_gives_the_events_and_matches_of_an_arrow_table(name: str, rows: Rows) -> None:
    make, options = FORMATS[name]
    expected = events_of(pa.Table.from_pylist(rows, KIND), {})
    with tempfile.TemporaryDirectory() as folder:
        assert events_of(make(rows, Path(folder)), options) == expected
