"""What a studio hands over, run: as Python, as a command, as SQL on DuckDB."""

from __future__ import annotations

import shlex

import pandas as pd
import pytest

import cepkit as ck

duckdb = pytest.importorskip("duckdb", reason="cepkit[duckdb] installs it")
sqlglot = pytest.importorskip("sqlglot", reason="cepkit[sql] installs it")

TRADES = ck.sample_stocks(2_000)
TRADES["ts"] = TRADES["ts"].dt.tz_localize(None)
SECONDS = (TRADES["ts"] - TRADES["ts"][0]).dt.total_seconds()
RISING = """PATTERN SEQ(MSFT a, GOOG b, AAPL c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 3 minutes"""
CALM = """PATTERN SEQ(MSFT a, NOT(INTC n), GOOG b, OPT(AAPL c))
WHERE a.price < b.price AND n.volume > 400
WITHIN 20 seconds"""
FROM = TRADES["ts"][60].isoformat()


def handed(pattern, source, **options):
    """Return what a studio hands over, its stream, and its matches as a frame."""
    stream = ck.events(source, **{"time": "ts", "type": "ticker", **options})
    studio = ck.studio(stream, pattern)
    assert studio.wait()
    studio.turn("hand over")
    assert studio.wait()
    return studio.panel("hand over").value, studio.matches.to_pandas()


def rows(frame):
    """Return the matches as a set of times: of each variable, and of the ends."""
    times = [name for name in sorted(frame) if name.endswith(".ts") or name.startswith("match_")]
    return sorted(frame[times].astype(str).itertuples(index=False, name=None))


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"my trades.{request.param}"
    getattr(TRADES, f"to_{request.param}")(path, index=False)
    return path


@pytest.mark.parametrize(("pattern", "options"), [(RISING, {"since": FROM}), (CALM, {})])
def test_python_and_command_find_the_matches_of_the_studio(file, pattern, options, tmp_path):
    from cepkit.cli import main

    texts, matches = handed(pattern, file, **options)
    assert len(matches)
    names: dict = {}
    exec(texts["Python"], names)
    assert rows(names["matches"].to_pandas()) == rows(matches)
    words = shlex.split(texts["The command"].replace("\\\n", " "))
    found = tmp_path / "found.csv"
    assert words[0] == "cepkit"
    assert not main([*words[1:], "--out", str(found)])
    assert len(pd.read_csv(found)) == len(matches)


@pytest.mark.parametrize("pattern", [RISING, CALM])
def test_sql_on_duckdb_finds_the_matches_of_the_studio(file, pattern):
    texts, matches = handed(pattern, file)
    with duckdb.connect() as connection:
        connection.sql(f"CREATE VIEW events AS FROM '{file}'")
        assert rows(connection.sql(texts["DuckDB"]).df()) == rows(matches)


def test_sql_of_numeric_times_finds_the_matches_of_the_studio(tmp_path):
    file = tmp_path / "trades.parquet"
    TRADES.assign(ts=SECONDS).to_parquet(file)
    texts, matches = handed(RISING, file, unit="s")
    with duckdb.connect() as connection:
        connection.sql(f"CREATE VIEW events AS FROM '{file}'")
        found = connection.sql(texts["DuckDB"]).df()
    assert len(found) == len(matches) > 0


@pytest.mark.parametrize(
    ("title", "dialect"), [("Snowflake", "snowflake"), ("Spark SQL", "spark"), ("Trino", "trino")]
)
def test_sql_is_read_by_the_parser_of_its_system(title, dialect):
    texts, _ = handed(CALM, TRADES)
    assert sqlglot.parse_one(texts[title], dialect=dialect)


def test_sql_of_flink_is_that_of_trino_in_backquotes():
    """There is no parser of Flink's; what it does not share with the standard is its quotes."""
    texts, _ = handed(RISING, TRADES)
    assert texts["Flink SQL"].replace("`", '"') == texts["Trino"]


@pytest.mark.parametrize(
    ("pattern", "options", "why"),
    [
        ("PATTERN SEQ(MSFT a, KL(GOOG b)) WITHIN 1 second", {}, "KL"),
        (RISING, {"time": "n", "unit": "min"}, "unit='min'"),
        (RISING, {"ties": "arrival"}, "no order"),
    ],
)
def test_sql_that_would_be_wrong_is_handed_over_as_the_reason(pattern, options, why):
    texts, _ = handed(pattern, TRADES.assign(n=SECONDS), **options)
    for title in ("DuckDB", "Flink SQL", "Trino"):
        assert all(line.startswith("-- ") for line in texts[title].splitlines())
        assert why in texts[title]
    assert all(f"--{name} {given}" in texts["The command"] for name, given in options.items())


def test_events_in_memory_have_a_name_to_fill_in():
    texts, _ = handed(RISING, TRADES)
    assert "--events EVENTS.parquet" in texts["The command"]
    assert "ck.detect(stream, pattern)" in texts["Python"]
    assert "ck.events(" not in texts["Python"]
