"""Results go back to polars, DuckDB and whatever reads Arrow's streams."""

import sys

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import FileError, LimitError, UnsupportedError

ROWS = [{"t": t, "k": "AB"[t % 2], "x": t, "user": {"name": "ü"}} for t in range(6)]
STREAM = ck.events(ROWS, time="t", type="k", unit="s")
PAIRS = "PATTERN SEQ(A a, B b) WITHIN 3 seconds"
SETS = "PATTERN SEQ(A a, KL(B b)) WITHIN 3 seconds"
SQL = """
SELECT * FROM stream MATCH_RECOGNIZE (
  ORDER BY t MEASURES first(A.x) AS x ONE ROW PER MATCH PATTERN (A B) DEFINE A AS k = 'A'
)
"""
RESULTS = {
    "matches": lambda: ck.detect(STREAM, PAIRS),
    "sets": lambda: ck.detect(STREAM, SETS),
    "none": lambda: ck.detect(STREAM, "PATTERN SEQ(B b, A a) WHERE a.x > 99"),
    "several": lambda: ck.detect(STREAM, {"p": PAIRS, "q": PAIRS}).together,
    "aggregates": lambda: ck.aggregate(STREAM, f"{PAIRS} AGG COUNT, SUM(a.x)"),
    "row matches": lambda: ck.from_match_recognize(SQL, STREAM),
}


def in_order(rows):
    return sorted(repr(row).replace("Etc/UTC", "UTC") for row in rows)


@pytest.mark.parametrize("name", RESULTS)
def test_rows_go_to_other_tools(name):
    table = RESULTS[name]().to_arrow()
    assert in_order(pa.table(RESULTS[name]()).to_pylist()) == in_order(table.to_pylist())
    frame = RESULTS[name]().to_polars()
    assert frame.columns == list(RESULTS[name]().to_pandas().columns)
    assert len(frame) == len(pl.DataFrame(RESULTS[name]())) == len(table)
    with duckdb.connect() as connection:
        assert RESULTS[name]().to_duckdb(connection, 'a "table"') == len(table)
        found = connection.table('"a ""table"""').to_arrow_table()
    assert in_order(found.to_pylist()) == in_order(table.to_pylist())


def test_fields_of_events_are_columns_in_polars_and_paths_in_duckdb():
    matches = ck.detect(STREAM, PAIRS)
    frame = matches.to_polars()
    assert sorted(frame["a.x"].to_list()) == [0, 0, 2, 2, 4]
    assert set(frame["b.user.name"]) == {"ü"}
    with duckdb.connect() as connection:
        matches.to_duckdb(connection, "found")
        rows = connection.sql('SELECT a.x, b."user.name" FROM found ORDER BY a.x').fetchall()
    assert rows == [(0, "ü"), (0, "ü"), (2, "ü"), (2, "ü"), (4, "ü")]


def test_table_that_exists_is_kept_unless_overwritten():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE found AS SELECT 7 AS x")
        with pytest.raises(FileError, match="'found' exists already"):
            ck.detect(STREAM, PAIRS).to_duckdb(connection, "found")
        assert connection.sql("FROM found").fetchall() == [(7,)]
        assert ck.detect(STREAM, PAIRS).to_duckdb(connection, "found", overwrite=True) == 5
        assert connection.sql("SELECT count(*) FROM found").fetchall() == [(5,)]
        assert [name for (name,) in connection.sql("SHOW TABLES").fetchall()] == ["found"]


def test_error_on_the_way_to_duckdb_leaves_no_table(monkeypatch):
    matches = ck.detect(STREAM, PAIRS)

    def broken(*_, **__):
        raise LimitError("too many")
        yield

    monkeypatch.setattr(matches, "batches", broken)
    with duckdb.connect() as connection:
        with pytest.raises(LimitError, match="too many"):
            matches.to_duckdb(connection, "found")
        assert connection.sql("SHOW TABLES").fetchall() == []


def test_polars_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UnsupportedError, match="pip install polars"):
        ck.detect(STREAM, PAIRS).to_polars()
