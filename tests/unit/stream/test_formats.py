"""Every format of a source gives the same matches and the same values, by every way out."""

import csv
import datetime as dt
import gzip
import io
import itertools
import json
import math
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.cli import main

ROME = ZoneInfo("Europe/Rome")
FIRST = dt.datetime(2024, 3, 31, 0, 59, 59, tzinfo=dt.UTC)  # the night of summer time
SIZE = 6
COLUMNS = {
    "ts": pa.array([FIRST + dt.timedelta(seconds=i) for i in range(SIZE)], pa.timestamp("us")),
    "k": pa.array(["A", "B"] * (SIZE // 2)),
    "n": pa.array(range(SIZE)),
    "whole": pa.array([2**63 - 1, -(2**63) + 1, None, 0, 2**53 + 1, 2**53]),
    "real": pa.array([math.inf, -math.inf, math.nan, None, 0.1, -0.0], from_pandas=False),
    "truth": pa.array([True, False, None, True, True, True]),
    "text": pa.array(['say "hi"', "two\nlines, one; comma", "Grüße", "", None, "NA"]),
    "money": pa.array([Decimal("1.10"), Decimal("0.05"), None, Decimal("7.00")] + [None] * 2),
    "day": pa.array([dt.date(2024, 1, 2), dt.date(1969, 12, 31), None] + [dt.date(2024, 1, 1)] * 3),
    "zoned": pa.array(
        [dt.datetime(2024, 10, 27, 2, 30, i, 500_000, ROME) for i in range(5)] + [None],
        pa.timestamp("us", "Europe/Rome"),
    ),
    "local": pa.array(
        [dt.datetime(2024, 6, i, 2, 30, tzinfo=dt.UTC) for i in range(1, 6)] + [None],
        pa.timestamp("us"),
    ),
    "user": pa.array([{"id": {"x": i}, "name": "é"} for i in range(4)] + [{"id": None}, None]),
    "tags": pa.array([["x", 'y"z'], [], None, ["w"], ["x"], ["x"]]),
    "path": pa.array([[1.0, 2.0, 4.0], [2.0, 4.0, 8.0], None, [], [0.5], [1.0]]),
}
TABLE = pa.table(COLUMNS)
FLAT = [*TABLE.column_names[:11]]
CONDITIONS = {
    "whole": "a.whole > b.whole",
    "real": "a.real > b.real",
    "truth": "a.truth AND NOT b.truth",
    "text": """a.text < b.text OR a.text = 'say "hi"'""",
    "money": "a.money > b.money",
    "day": "a.day > b.day",
    "zoned": "a.zoned < b.zoned",
    "local": "a.local < b.local AND hour(a.local) = 2",
    "user.id.x": "a.user.id.x < b.user.id.x",
    "user.name": "a.user.name = b.user.name",
    "tags": "a.n < b.n",
    "path": "corr(a.path, b.path) > 0.99",
}
PLACES = {  # by hand, of rows that follow each other: the `n` of their first
    "whole": [0, 4],
    "real": [0, 4],
    "truth": [0],
    "text": [0],
    "money": [0],
    "day": [0],
    "zoned": [0, 2],
    "local": [0, 2],
    "user.id.x": [0, 2],
    "user.name": [0, 2],
    "tags": [0, 2, 4],
    "path": [0],
}


def in_parquet(table, folder, **options):
    pq.write_table(table, folder / "a.parquet", row_group_size=2, **options)
    return folder / "a.parquet"


def as_csv(table, **options):
    flat = table.select(FLAT)
    file = io.BytesIO()
    pa_csv.write_csv(flat, file, pa_csv.WriteOptions(**options))
    return file.getvalue()


def in_csv(table, folder):
    (folder / "a.csv").write_bytes(as_csv(table))
    return folder / "a.csv"


def in_zipped_csv(table, folder):
    (folder / "a.csv.gz").write_bytes(gzip.compress(as_csv(table)))
    return folder / "a.csv.gz"


def in_german_csv(table, folder):
    """Semicolons, decimal commas, and times of Rome by day, month and year."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=";")
    writer.writerow(FLAT)
    for row in table.select(FLAT).to_pylist():
        at = row["ts"].replace(tzinfo=dt.UTC).astimezone(ROME)
        row["ts"] = f"{at:%d.%m.%Y %H:%M:%S}"
        for name in ("real", "money"):
            row[name] = None if row[name] is None else str(row[name]).replace(".", ",")
        row["zoned"] = None if row["zoned"] is None else row["zoned"].isoformat()
        writer.writerow(row.values())
    (folder / "a.csv").write_bytes(file.getvalue().encode("latin-1"))
    return folder / "a.csv"


def rows_of_json(table):
    def plain(value):
        match value:
            case float() if not math.isfinite(value):
                return None
            case Decimal():
                return float(value)
            case dt.date():  # also a datetime
                return value.isoformat()
        return value

    return [{name: plain(v) for name, v in row.items()} for row in table.to_pylist()]


def in_json_lines(table, folder):
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows_of_json(table))
    (folder / "a.jsonl").write_text(text, encoding="utf-8")
    return folder / "a.jsonl"


def in_json_array(table, folder):
    with gzip.open(folder / "a.json.gz", "wt", encoding="utf-8") as file:
        json.dump(rows_of_json(table), file)
    return folder / "a.json.gz"


def halves(table):
    return [table.slice(0, SIZE // 2), table.slice(SIZE // 2)]


def in_folder(table, folder):
    for n, part in enumerate(halves(table)):
        pq.write_table(part, folder / f"{n}.parquet")
    return folder


def in_folder_of_csv(table, folder):
    for n, part in enumerate(halves(table)):
        (folder / f"{n}.csv").write_bytes(as_csv(part))
    return folder


def in_partitions(table, folder):
    pa_dataset.write_dataset(
        table, folder, format="parquet", partitioning=["k"], partitioning_flavor="hive"
    )
    return folder


def in_pandas(table):
    """Return a DataFrame with missing integers, which NumPy has not."""
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def in_duckdb(table, folder):
    return duckdb.connect().from_arrow(table)


SOURCES = {
    "pandas": lambda table, folder: in_pandas(table),
    "pandas of Arrow": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "Arrow": lambda table, folder: table,
    "record batch": lambda table, folder: table.combine_chunks().to_batches()[0],
    "reader": lambda table, folder: table.to_reader(),
    "dataset": lambda table, folder: pa_dataset.dataset(table),
    "scanned dataset": lambda table, folder: pa_dataset.dataset(in_parquet(table, folder)),
    "polars": lambda table, folder: pl.from_arrow(table),
    "lazy polars": lambda table, folder: pl.from_arrow(table).lazy(),
    "DuckDB": in_duckdb,
    "rows": lambda table, folder: table.to_pylist(),
    "frames": lambda table, folder: [*map(in_pandas, halves(table))],
    "frames of all": lambda table, folder: [halves(table)[0], pl.from_arrow(halves(table)[1])],
    "Parquet": in_parquet,
    "old Parquet": lambda table, folder: in_parquet(table, folder, version="1.0"),
    "folder": in_folder,
    "partitions": in_partitions,
    "files": lambda table, folder: sorted(in_folder(table, folder).iterdir()),
    "CSV": in_csv,
    "zipped CSV": in_zipped_csv,
    "folder of CSV": in_folder_of_csv,
    "files of CSV": lambda table, folder: sorted(in_folder_of_csv(table, folder).iterdir()),
    "German CSV": in_german_csv,
    "JSON lines": in_json_lines,
    "JSON array": in_json_array,
}
OPTIONS = {
    "German CSV": {
        "sep": ";",
        "decimal": ",",
        "encoding": "latin-1",
        "time_format": "%d.%m.%Y %H:%M:%S",
        "timezone": "Europe/Rome",
    }
}


def canonical(value):
    """Return a value as all formats can say it."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    match value:
        case float() if math.isnan(value):
            return None
        case np.ndarray() | list():
            return [canonical(item) for item in value]
        case pd.Timestamp() | dt.datetime():
            at = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
            return at.astimezone(dt.UTC)
        case dt.date():
            return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
        case Decimal():
            return float(value)
        case np.generic():
            return value.item()
    return value


def flat_values(name):
    column, *fields = name.split(".")
    values = TABLE.column(column).to_pylist()
    for field in fields:
        values = [None if value is None else value.get(field) for value in values]
    return [canonical(value) for value in values]


def expected(name, kind):
    """Return the values of a column in a format."""
    values = flat_values(name)
    if "CSV" in kind and name == "text":
        values = [value or None for value in values]
    if "German" in kind and name == "ts":
        values = [v.astimezone(ROME).replace(tzinfo=dt.UTC) for v in values]
    if "JSON" in kind and name == "real":
        values = [None if v is None or math.isinf(v) else v for v in values]
    return values


WAYS = {
    "pandas": lambda matches: matches.to_pandas().to_dict("list"),
    "arrow": lambda matches: matches.to_arrow(nested=False).to_pydict(),
    "stream": lambda matches: pa.table(matches).to_pydict(),
    "polars": lambda matches: matches.to_polars().to_dict(as_series=False),
}
"""The columns of matches by each way out."""


def rows_of(columns, name):
    """Return for each match the first row and both values, in the order of rows."""
    if "a.n" not in columns:
        columns = pa.table(columns).flatten().to_pydict()
    values = (map(canonical, columns[f"{variable}.{name}"]) for variable in "ab")
    return sorted(zip(columns["a.n"], *values, strict=True), key=lambda row: row[0])


@pytest.mark.parametrize("kind", SOURCES)
def test_source_gives_the_same_matches_and_values(kind, tmp_path):
    source = SOURCES[kind](TABLE, tmp_path)
    stream = ck.events(source, time="ts", type="k", **OPTIONS.get(kind, {}))
    # Each source in turn by another way out, so that each column takes each way from some sources.
    ways = itertools.islice(itertools.cycle(WAYS), [*SOURCES].index(kind), None)
    for way, (name, condition) in zip(ways, CONDITIONS.items(), strict=False):
        if "CSV" in kind and name not in FLAT:
            continue
        places, values = PLACES[name], expected(name, kind)
        if "JSON" in kind and name == "real":
            places = places[1:]
        text = f"PATTERN SEQ(A a, B b) WHERE a.n + 1 = b.n AND ({condition}) WITHIN 1 hour"
        wanted = [(n, values[n], values[n + 1]) for n in places]
        assert rows_of(WAYS[way](ck.detect(stream, text)), name) == wanted, f"{name} by {way}"


PAIRS = "PATTERN SEQ(A a, B b) WHERE a.n + 1 = b.n WITHIN 1 hour"


def again(source, kind, names):
    """Check the values of all pairs that are read again, as a stream and by their types."""
    stream = ck.events(source, time="match_start", type=None)
    rows = ck.detect(stream, "PATTERN ANY m WITHIN 1 hour").to_arrow(nested=False).to_pydict()
    columns = {name.removeprefix("m."): column for name, column in rows.items()}
    for name in names:
        values = expected(name, kind)
        wanted = [(n, values[n], values[n + 1]) for n in (0, 2, 4)]
        assert rows_of(columns, name) == wanted, name


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("kind", ["pandas", "polars", "Parquet", "JSON lines", "German CSV"])
def test_matches_in_parquet_are_read_again(kind, nested, tmp_path):
    (tmp_path / "in").mkdir()
    source = SOURCES[kind](TABLE, tmp_path / "in")
    stream = ck.events(source, time="ts", type="k", **OPTIONS.get(kind, {}))
    path = tmp_path / "matches.parquet"
    assert ck.detect(stream, PAIRS).write_parquet(path, nested=nested) == 3
    again(path, kind, FLAT if "CSV" in kind else CONDITIONS)


@pytest.mark.parametrize(
    ("kind", "piped"),
    [("folder of CSV", False)]
    + [(kind, piped) for kind in ("CSV", "zipped CSV", "Parquet") for piped in (False, True)]
    + [(kind, True) for kind in ("JSON lines", "JSON array")],
)
def test_csv_output_of_command_is_read_again(kind, piped, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    source = SOURCES[kind](TABLE.select(FLAT), tmp_path / "in")
    if piped:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes())))
    out = tmp_path / "matches.csv"
    options = ["--time", "ts", "--type", "k", "--pattern-text", PAIRS, "--out", str(out)]
    assert main(["detect", "--events", "-" if piped else str(source), *options]) == 0
    again(out, f"CSV of {kind}", FLAT)
