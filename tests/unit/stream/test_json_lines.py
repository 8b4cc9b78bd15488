"""JSON files, fields of structs, and frames that are computed when they are read."""

import gzip
import json
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.errors import StreamError
from cepkit.stream.reading.nested import flattened

ROWS = [
    {
        "ts": f"2024-01-01T10:00:0{i}Z",
        "event": {"kind": "AB"[i % 2], "action": {"x": i}},
        "user": {"name": "xy"[i // 2]},
    }
    for i in range(4)
]
LINES = "\n".join(map(json.dumps, ROWS))
TEXT = (
    "PATTERN SEQ(A a, B b)\n"
    "WHERE a.user.name = b.user.name AND a.event.action.x < b.event.action.x\n"
    "WITHIN 10 seconds"
)


def found(source):
    stream = ck.events(source, time="ts", type="event.kind", timezone="Europe/Rome")
    matches = ck.detect(stream, TEXT).to_pandas()
    assert stream.columns(()).ts[0] == 1_704_103_200_000_000  # Z counts, not the zone of others
    return sorted(zip(matches["a.event.action.x"], matches["b.event.action.x"], strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.jsonl", LINES), ("a.ndjson", f"\ufeff{LINES}\n\n"), ("a.json", json.dumps(ROWS))],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_json_file_gives_matches_of_nested_fields(tmp_path, name, text, zipped):
    path = tmp_path / (f"{name}.gz" if zipped else name)
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    assert found(path) == [(0, 1), (2, 3)]


def in_parquet(table):
    path = Path(tempfile.mkdtemp(), "a.parquet")
    pq.write_table(table, path, row_group_size=2)
    return path


@pytest.mark.parametrize(
    "made",
    [
        lambda table: table,
        lambda table: table.to_pylist(),
        lambda table: table.to_pandas(),
        lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
        in_parquet,
        lambda table: table.to_reader(),
        pa_dataset.dataset,
        pl.from_arrow,
        lambda table: pl.from_arrow(table).lazy(),
        duckdb.from_arrow,
    ],
    ids=[
        "table",
        "rows",
        "pandas",
        "Arrow in pandas",
        "Parquet",
        "reader",
        "dataset",
        "polars",
        "lazy",
        "duckdb",
    ],
)
def test_source_gives_matches_of_nested_fields(made):
    assert found(made(pa.Table.from_pylist(ROWS))) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{oops}\n', "line 2 of"),
        ('{"a": 1}\n\n7\n', "line 3 of"),
        ('{"a": 1}\n{"a": "x"}\n', "Column(/a) changed from number to string"),
        ("", "is empty"),
        ("[]", "is an empty array"),
        ("[1]", "holds a int at place 0"),
        ("[{]", "is not JSON"),
        ('{"records": [{"t": 1}, {"t": 2}], "n": 2}', "with a list of objects in 'records'"),
    ],
)
def test_broken_json_file_is_named(tmp_path, text, message):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(StreamError) as error:
        ck.events(path, time="ts", type="kind")
    assert message in str(error.value)
    assert "b.json" in str(error.value)


def test_json_times_with_and_without_zone_are_refused(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(
        '{"t": "2024-01-01T10:00:00", "k": "A"}\n{"t": "2024-01-01T10:00:00Z", "k": "A"}'
    )
    with pytest.raises(StreamError, match="names no time zone"):
        ck.events(path, time="t", type="k")


def test_json_line_longer_than_a_block_is_read(tmp_path):
    path = tmp_path / "d.jsonl"
    row = {"t": "2024-01-01T10:00:00", "k": "A", "note": "x" * 5_000_000}
    path.write_text("\n".join([json.dumps(row)] * 2))
    assert len(ck.events(path, time="t", type="k")) == 2


def test_column_named_like_a_field_is_refused():
    table = pa.table({"t": [1], "k": ["A"], "user": [{"name": "x"}], "user.name": ["y"]})
    with pytest.raises(StreamError, match=r"more than one column 'user\.name'"):
        ck.events(table, time="t", type="k", unit="s")


def test_field_of_missing_struct_is_missing():
    table = flattened(pa.table({"a": pa.array([{"b": {"c": 1}}, None, {"b": None}])}))
    assert table.to_pydict() == {"a.b.c": [1, None, None]}


@pytest.mark.parametrize("clause", ["PARTITION BY user.name", 'PARTITION BY "match".x'])
def test_dotted_column_prints_as_text_that_parses_again(clause):
    query = ck.parse(f"PATTERN SEQ(A a, B b) WITHIN 1 hour {clause}")
    assert ck.parse(str(query)) == query


def test_folder_of_json_files_is_one_stream(tmp_path):
    (tmp_path / "b.jsonl").write_text('{"ts": 2, "type": "B", "user": {"name": "ann"}}\n')
    with gzip.open(tmp_path / "a.json.gz", "wt") as file:
        file.write('[{"ts": 1, "type": "A", "x": 1.5}]')
    (tmp_path / "_SUCCESS").touch()
    stream = ck.events(str(tmp_path), time="ts", type="type", unit="s")
    assert set(stream.column_names) == {"ts", "type", "x", "user.name"}
    assert ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 1 s").count() == 1


def test_folder_of_json_files_includes_its_folders_and_leaves_out_notes(tmp_path):
    for day in ("1", "2"):
        (tmp_path / day).mkdir()
        (tmp_path / day / "a.jsonl").write_text(f'{{"ts": {day}, "type": "B"}}\n')
    (tmp_path / "README.md").touch()
    assert len(ck.events(tmp_path, time="ts", type="type", unit="s")) == 2


@pytest.mark.parametrize("name", ["b.json", "b.ndjson.gz", "b.tsv", "b.parquet", "b.xlsx"])
def test_folder_of_files_of_several_formats_is_refused(tmp_path, name):
    (tmp_path / "a.csv").write_text("ts,type\n2,B\n")
    (tmp_path / name).touch()
    with pytest.raises(StreamError, match=f"holds 'a.csv' and '{name}'"):
        ck.events(tmp_path, time="ts", type="type", unit="s")


def test_field_with_values_of_several_kinds_is_refused_with_how_to_make_them_texts(tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_text('{"a": {"id": 1}}\n{"a": {"id": "x"}}\n')
    with pytest.raises(StreamError, match=r"jq -c '\.a\.id \|= tostring' "):
        ck.events(path, time="t")
