"""The tools for streaming queries: running to the end, replays, watching, and the command."""

from __future__ import annotations

import os
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepkit as ck
from cepkit.cli import main
from cepkit.errors import StreamError
from tests.interrupts import interrupted
from tests.spark.live import KEYED, PATTERNS, identities, in_batch, make_events, sealed

ROLES = {"time": "ts", "type": "type"}


def test_a_replayed_stream_run_to_its_end_has_all_matches_of_the_batch(spark, tmp_path):
    table = make_events(3_000, disorder=0)
    player = ck.events(table, **ROLES).replay(
        tmp_path / "in", speed=3, disorder="2 seconds", seed=1
    )
    assert player.put() == len(player.files) == 3
    assert player.put() == 0
    stream = ck.events(player.frame(spark), **ROLES, lateness="2 seconds")
    text = PATTERNS["NOT at the end"]
    matches = ck.detect(stream, text)
    rows = matches.run_to_end(tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    assert identities(rows.toArrow()) == in_batch(table, text)
    written = spark.read.parquet(str(tmp_path / "out")).count()
    assert 0 < written < rows.count()


def test_aggregates_of_several_patterns_run_to_their_end_are_those_of_the_batch(spark, tmp_path):
    table = make_events(3_000, disorder=0)
    player = ck.events(table, **ROLES).replay(tmp_path / "in", speed=3, disorder="1 second")
    player.put()
    stream = ck.events(player.frame(spark), **ROLES, lateness="1 second")
    alike = f"PATTERN SEQ(A a, B b, C c) WHERE {KEYED} WITHIN 2 seconds AGG"
    queries = {
        "highest": f"{alike} COUNT, MAX(c.price) GROUP BY key",
        "number": f"{alike} COUNT GROUP BY key HAVING COUNT > 3",
        "detected": "PATTERN SEQ(A a, NOT(B b), C c) WHERE a.price < c.price"
        " WITHIN 200 milliseconds AGG COUNT GROUP BY key HAVING COUNT >= 1",
    }
    aggregates = ck.aggregate(stream, queries, emit="changes")
    assert "2 queries" not in repr(aggregates)
    assert "Aggregates of 3 queries in a streaming DataFrame: columns pattern, ts" in repr(
        aggregates
    )
    assert "cluster 1" in repr(aggregates)
    rows = aggregates.run_to_end(tmp_path / "out", checkpoint=tmp_path / "checkpoint").toArrow()
    for name, text in queries.items():
        own = rows.filter(pa.compute.equal(rows["pattern"], name))
        expected = ck.aggregate(ck.events(table, **ROLES), text, emit="changes").to_arrow()
        bare = text.partition(" HAVING")[0]
        every = ck.aggregate(ck.events(table, **ROLES), bare, emit="changes")
        assert 100 < len(expected) <= len(every) - (bare != text)
        assert _sorted(own.select(expected.column_names)) == _sorted(expected)


def _sorted(table):
    return sorted(map(repr, (tuple(row.values()) for row in table.to_pylist())))


def test_late_events_and_timeouts_are_rows_beside_the_matches(spark, tmp_path):
    table = make_events(2_000, disorder=0)
    player = ck.events(table, **ROLES).replay(tmp_path / "in", disorder="3 seconds", speed=2)
    player.put()
    stream = ck.events(player.frame(spark), **ROLES, lateness="1 second")
    text = f"PATTERN SEQ(A a, B b, C c) WHERE {KEYED} WITHIN 1 second"
    matches = ck.detect(stream, text, spark=ck.SparkOptions(late="collect", timeouts=True))
    rows = matches.run_to_end(tmp_path / "out", checkpoint=tmp_path / "checkpoint").toArrow()
    by_kind = {kind: rows.filter(pa.compute.equal(rows["kind"], kind)) for kind in KINDS}
    late = {row["event"]["id"] for row in by_kind["late"].to_pylist()}
    assert len(late) == len(by_kind["late"]) > 10
    others = table.filter(pa.array([number not in late for number in table["id"].to_pylist()]))
    ends = ["a", "b", "c", "match_start", "match_end"]
    assert identities(by_kind["match"].select(ends)) == in_batch(others, text)
    for awaited, shorter, bound in (("b", "A a, NOT(B b)", "a"), ("c", "A a, B b, NOT(C c)", "b")):
        where = "a.key = b.key" if awaited == "b" else KEYED
        pattern = f"PATTERN SEQ({shorter}) WHERE {where} WITHIN 1 second"
        expected = [row[: "ab".index(bound) + 1] for row in in_batch(others, pattern)]
        some = by_kind["timed-out"]
        some = some.filter(pa.compute.equal(some["awaited"], awaited))
        found = identities(some.select(["a", "b"][: len(expected[0])]))
        assert found == sorted(expected)
    first = by_kind["timed-out"].to_pylist()[0]
    assert (first["window_end"] - first["match_start"]).total_seconds() == 1


KINDS = ("match", "late", "timed-out")


def test_watch_shows_the_counts_of_each_batch(spark, tmp_path):
    table = make_events(2_000)
    player = ck.events(table, **ROLES).replay(tmp_path / "in", speed=4)
    player.put()
    stream = ck.events(player.frame(spark), **ROLES, lateness="1 second")
    recorded = ck.events(table, **ROLES)
    plan = ck.choose_plan(PATTERNS["SEQ"], ck.profile(recorded, PATTERNS["SEQ"]))
    matches = ck.detect(stream, PATTERNS["SEQ"], plan)
    writer = matches.writeStream.format("memory").queryName("seq")
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    watched = matches.watch(query)
    assert watched.totals()["match"] == spark.table("seq").count() > 0
    assert watched.table()["rows"].sum() == 2_000
    assert "Query seq, stopped; match" in repr(watched)
    assert "<table" in watched._repr_html_()
    explanation = matches.explain(watched)
    steps = explanation.steps
    assert [step.variable for step in steps] == [step.variable for step in plan.expected[0]]
    assert [step.expected_survivors for step in steps] == pytest.approx(
        [step.partial_matches for step in plan.expected[0]]
    )
    assert steps[-1].survivors == watched.totals()["match"]
    assert all(step.candidates >= step.survivors > 0 for step in steps)
    assert "2,000 rows in" in str(explanation)
    assert str(plan.branches[0]) in str(explanation)
    last = matches.watch(query, last=2)
    ends = sorted(row["match_end"] for row in spark.table("seq").collect())[-2:]
    assert sorted(last.last(2)["match_end"]) == ends
    assert str(ends[-1]) in repr(last)
    assert last._repr_html_().count("<table") == 2
    with pytest.raises(StreamError, match="instead of a running query"):
        matches.watch(matches)


def test_a_folder_that_has_files_is_not_replayed_into(tmp_path):
    (tmp_path / "mine").write_text("")
    stream = ck.events(make_events(10), **ROLES)
    with pytest.raises(StreamError, match="has files in it"):
        stream.replay(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_the_command_cleanly_and_the_same_command_goes_on(
    spark, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = make_events(3_000, disorder=0)
    player = ck.events(table, **ROLES).replay(tmp_path / "in", speed=3)
    player.put(1)
    command = ["detect", "--stream", "--events", "in"]
    command += ["--time", "ts", "--type", "type", "--pattern-text", PATTERNS["SEQ"]]
    command += ["--lateness", "1 second", "--checkpoint", "state", "--out", "out"]

    def first_batch(ran):
        while not ran.stderr.readline().startswith("batch 0: "):
            assert ran.poll() is None

    begun = [sys.executable, "-m", "cepkit.cli", *command]
    code, out, err = interrupted(begun, tmp_path, first_batch)
    assert code == 0, err
    assert "stopped; the same command continues from here" in err
    assert "Traceback" not in err
    assert "written to out" in out
    player.put()
    assert main([*command, "--once"]) == 0
    said = capsys.readouterr()
    assert "batch 1: " in said.err
    assert "matches written to out" in said.out
    matches = spark.read.parquet(str(tmp_path / "out")).toArrow()
    assert identities(matches) == in_batch(table, PATTERNS["SEQ"], sealed(table, 1))
    assert main([*command, "--once", "--lateness", "x"]) == 1


def test_the_command_takes_several_patterns(spark, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = make_events(3_000, disorder=0)
    ck.events(table, **ROLES).replay(tmp_path / "in", speed=3).put()
    (tmp_path / "rules").mkdir()
    for name, text in (("order", PATTERNS["SEQ"]), ("gap", PATTERNS["NOT in the middle"])):
        (tmp_path / "rules" / f"{name}.cep").write_text(text, encoding="utf-8")
    roles = ["--events", "in", "--time", "ts", "--type", "type", "--pattern", "rules"]
    more = ["--stream", "--lateness", "1 second", "--checkpoint", "state", "--out", "out", "--once"]
    assert main(["detect", *roles, *more]) == 0
    assert "Matches of 2 queries" in capsys.readouterr().err
    rows = spark.read.parquet(str(tmp_path / "out")).toArrow()
    for name, text, bound in (
        ("order", PATTERNS["SEQ"], ["a", "b", "c"]),
        ("gap", PATTERNS["NOT in the middle"], ["a", "c"]),
    ):
        own = rows.filter(pc.equal(rows["pattern"], name)).select(bound)
        assert identities(own) == in_batch(table, text, sealed(table, 1))
