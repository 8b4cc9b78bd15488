"""The command on Spark: the same matches as in this process, and the demo from end to end."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest

from cepkit.cli import main, spark_files
from cepkit.stream.generators import stock_events
from tests.interrupts import interrupted

STOCKS = Path(__file__).parents[2] / "sample_data" / "stocks.csv"
PATTERN = """
PATTERN SEQ(MSFT a, GOOG b, AAPL c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 1 hour
"""
MATCHES = 9


@pytest.fixture
def detect(spark, tmp_path, monkeypatch):
    """Run `cepkit detect` in a folder of its own; returns its exit code."""
    monkeypatch.chdir(tmp_path)

    def run(events: object, *more: object) -> int:
        arguments = ["detect", "--pattern-text", PATTERN, "--events", events]
        return main([str(a) for a in (*arguments, "--time", "ts", "--type", "ticker", *more)])

    return run


def rows(path: str, kind: str) -> list[tuple[object, ...]]:
    """Return the prices and the ends of the matches in a file or folder, in one order."""
    table = pa_dataset.dataset(path, format=kind).to_table()
    if kind == "parquet":
        table = table.flatten()
    columns = [table[name].to_pylist() for name in ("a.price", "b.price", "c.price", "match_end")]
    return sorted(zip(*columns, strict=True))


def test_csv_and_parquet_and_both_engines_agree(detect, capsys):
    # A name that Spark would take for a glob; times in nanoseconds, as pandas writes them.
    pq.write_table(pa_csv.read_csv(STOCKS), "a [1] of {b}.parquet")
    assert detect(STOCKS, "--out", "local.parquet") == 0
    assert detect(STOCKS, "--spark", "--out", "csv.parquet") == 0
    assert detect("a [1] of {b}.parquet", "--spark", "--out", "parquet.parquet") == 0
    assert capsys.readouterr().out.count(f"{MATCHES} matches, written") == 3
    expected = rows("local.parquet", "parquet")
    assert len(expected) == MATCHES
    assert rows("csv.parquet", "parquet") == expected
    assert rows("parquet.parquet", "parquet") == expected


def test_csv_output(detect):
    assert detect(STOCKS, "--spark", "--out", "m.csv") == 0
    table = pa_dataset.dataset("m.csv", format="csv").to_table()
    assert table.column_names[:3] == ["a.ts", "a.ticker", "a.price"]
    assert len(table) == MATCHES


@pytest.mark.parametrize("form", ["iso", "seconds"])
def test_durations_of_both_engines_are_written_alike(spark, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    times = ("10:00:00", "10:01:30.5", "10:00:02", "10:00:00.000001", "12:00:00")
    lines = [
        f"2024-01-0{n // 4 + 1}T{time},{kind}\n" for n, time in enumerate(times) for kind in "AB"
    ]
    Path("e.csv").write_text(f"t,k\n{''.join(lines)}", encoding="utf-8")
    pattern = "PATTERN AND(A a, B b) RETURN b.t - a.t AS gap"
    given = ["detect", "--events", "e.csv", "--time", "t", "--type", "k", "--pattern-text", pattern]
    written = []
    for out, more in (("here.csv", []), ("there.csv", ["--spark"])):
        assert main([*given, "--out", out, "--durations", form, *more]) == 0
        column = pa_dataset.dataset(out, format="csv").to_table()["gap"]
        assert pa.types.is_string(column.type) == (form == "iso")
        written.append(sorted(column.to_pylist()))
    assert written[0] == written[1]
    assert written[0][0] == ("-PT0.000001S" if form == "iso" else -93600.0)


def test_the_first_matches_are_shown(detect, capsys):
    assert detect(STOCKS, "--spark", "--limit", 3, "--explain") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "3 matches" in out
    assert "survivors" in out


def test_a_folder_of_an_older_run_is_replaced_only_when_asked(detect, capsys):
    assert detect(STOCKS, "--spark", "--out", "m.parquet") == 0
    assert detect(STOCKS, "--spark", "--out", "m.parquet") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert detect(STOCKS, "--out", "m.parquet", "--overwrite") == 0
    assert Path("m.parquet").is_file()


def test_times_without_a_zone_mean_the_same_to_both_engines(detect):
    text = STOCKS.read_text(encoding="utf-8").replace("Z,", ",")
    Path("local_times.csv").write_text(text, encoding="utf-8")
    assert detect("local_times.csv", "--out", "local.parquet") == 0
    assert detect("local_times.csv", "--spark", "--out", "spark.parquet") == 0
    pq.write_table(pa_csv.read_csv("local_times.csv"), "local_times.parquet")
    assert detect("local_times.parquet", "--spark", "--out", "fine.parquet") == 0
    expected = rows("local.parquet", "parquet")
    assert rows("spark.parquet", "parquet") == expected
    assert rows("fine.parquet", "parquet") == expected


def test_errors_on_spark_are_the_local_ones_and_leave_no_files(detect, tmp_path, capsys):
    before = sorted(tmp_path.rglob("*"))
    assert detect(tmp_path / "no.csv", "--spark", "--out", "m.parquet") == 1
    assert capsys.readouterr().err.startswith("error: there is no file")
    assert detect(STOCKS, "--spark", "--planner", "gredy", "--out", "m.parquet") == 1
    assert "did you mean 'greedy'?" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.spark
def test_demo_runs_and_leaves_only_its_report(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "cepkit.cli", "demo", "--events", "20000", "--report", "out/d.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran
    assert re.search(r"^ +[\d,]+ matches in ", ran.stdout, re.MULTILINE)
    assert re.search(r"s, [\d,]+ events/s$", ran.stdout, re.MULTILINE)
    assert "out/d.html" in ran.stdout
    report = (tmp_path / "out" / "d.html").read_text(encoding="utf-8")
    assert "d → c → a → b" in report
    assert not re.search(r"(src|href)=[\"']https?:", report), "the report must work offline"
    # Nothing of Spark's stays where the demo was started.
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


_IN_A_CALL = """
import os, signal, threading
from cepkit.cli.spark_files import quiet_session

session = quiet_session()
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    session.sparkContext._jvm.java.lang.Thread.sleep(60_000)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.spark
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_in_a_call_of_java_prints_only_interrupted(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", _IN_A_CALL],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "interrupted\n", "")


def test_log_leaves_out_only_errors_caused_by_an_interrupt():
    def record(error: BaseException) -> logging.LogRecord:
        about = (type(error), error, None)
        return logging.LogRecord("py4j", logging.ERROR, __file__, 1, "failed", None, about)

    broken = BrokenPipeError("while a connection is shut down")
    assert spark_files._is_no_interrupt(record(broken))
    broken.__context__ = KeyboardInterrupt()
    assert not spark_files._is_no_interrupt(record(broken))
    assert not spark_files._is_no_interrupt(record(KeyboardInterrupt()))


@pytest.mark.spark
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_a_run_on_spark_quietly(tmp_path):
    pq.write_table(stock_events(400_000), tmp_path / "big.parquet")
    # Of this there is no end.
    text = "PATTERN SEQ(ANY a, ANY b, ANY c) WITHIN 1 hour"
    command = [sys.executable, "-m", "cepkit.cli", "detect", "--spark", "--pattern-text", text]
    command += ["--events", "big.parquet", "--time", "ts", "--type", "ticker", "--plan", "a,b,c"]

    def writes(_):
        deadline = time.monotonic() + 300
        while not list(tmp_path.glob(".m.parquet.*")) and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(2)

    told = interrupted([*command, "--out", "m.parquet"], tmp_path, writes)
    assert told == (130, "", "interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["big.parquet"]


def test_sets_do_not_go_into_csv(detect, capsys, tmp_path):
    sets = "PATTERN SEQ(MSFT a, KL(GOOG b)) WITHIN 1 minute"
    for more in ((), ("--spark",)):
        assert detect(STOCKS, "--pattern-text", sets, "--out", "m.csv", *more) != 0
        err = capsys.readouterr().err
        assert "a CSV file cannot hold 'b', which is a list" in err
        assert "write a .parquet file" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["events.jsonl", "events.json", "logs"])
def test_json_is_read_as_by_the_local_engine(spark, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    rows = [{"ts": f"2024-03-01T10:00:0{i}Z", "event": {"kind": "AB"[i % 2]}} for i in range(6)]
    lines = "\n".join(map(json.dumps, rows))
    Path("events.jsonl").write_text(lines)
    Path("events.json").write_text(json.dumps(rows))
    Path("logs").mkdir()
    Path("logs", "a.jsonl").write_text(lines)
    text = "PATTERN SEQ(A a, B b) WITHIN 3 seconds"
    common = ("--pattern-text", text, "--time", "ts", "--type", "event.kind", "--json")
    for more in ((), ("--spark",)):
        assert main(["detect", "--events", form, *common, f"{len(more)}.json", *more]) == 0
    local, there = (json.loads(Path(f"{n}.json").read_text()) for n in (0, 1))
    assert local["matches"] == there["matches"] == 5


def test_separator_and_encoding_are_passed_to_spark(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("ts;art\n1;Öl\n2;Luft\n3;Luft\n", encoding="latin-1")
    common = ("--time", "ts", "--type", "art", "--unit", "s", "--sep", ";", "--encoding", "latin-1")
    asked = ("detect", "--events", "a.txt", "--pattern-text", "PATTERN SEQ(Öl a, Luft b)")
    for more in ((), ("--spark",)):
        assert main([*asked, *common, "--json", f"{len(more)}.json", *more]) == 0
    local, there = (json.loads(Path(f"{n}.json").read_text()) for n in (0, 1))
    assert local["matches"] == there["matches"] == 2


def test_decimal_point_on_spark_gives_the_numbers_read_here(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(
        "ts;k;price;dotted;mixed;note\n1;A;1,5;1.5;1,5;a,b\n2;B;-,25e1;2.5;x;c\n3;B;7;;2;d\n"
    )
    text = "PATTERN SEQ(A a, B b) WHERE a.price + 1 > b.price"
    common = ("--time", "ts", "--type", "k", "--unit", "s", "--sep", ";", "--decimal", ",")
    asked = ("detect", "--events", "a.csv", "--pattern-text", text, *common)
    for more in ((), ("--spark",)):
        assert main([*asked, "--out", f"{len(more)}.parquet", *more]) == 0
    local, there = (pq.read_table(f"{n}.parquet").flatten().flatten() for n in (0, 1))
    assert local.to_pydict() == there.to_pydict()
    assert there.to_pydict()["a.price"] == [1.5]
    assert there.schema.field("a.price").type == "double"


def test_times_in_utc_beside_a_decimal_comma_are_read_on_spark(spark, tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("ts;k;v\n2024-03-04 14:30:02.28Z;A;1,5\n2024-03-04 14:30:03Z;B;2,5\n")
    text = "PATTERN SEQ(A a, B b) WHERE b.v - a.v = 1 WITHIN 1 minute"
    asked = ("detect", "--spark", "--events", str(path), "--pattern-text", text, "--json", "-")
    assert main([*asked, "--time", "ts", "--type", "k", "--sep", ";", "--decimal", ","]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] == 1


def test_csv_files_with_columns_in_another_order_are_refused_on_spark(spark, tmp_path, capsys):
    (tmp_path / "1.csv").write_text("ts,k,x,y\n2024-01-01,A,a,b\n")
    (tmp_path / "2.csv").write_text("ts,k,y,x\n2024-01-02,B,c,d\n")
    asked = ("detect", "--spark", "--events", str(tmp_path), "--pattern-text", "PATTERN ANY a")
    assert main([*asked, "--time", "ts", "--type", "k"]) == 1
    assert "differ in columns or their order" in capsys.readouterr().err
