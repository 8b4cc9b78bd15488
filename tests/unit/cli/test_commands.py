"""Each command does as its help says."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.cli.durations import DurationsWritten
from cepkit.tracing import Trace

MATCHES = 9  # of the sample, as its README says


def test_version(cepkit):
    ran = cepkit("--version")
    assert (ran.code, ran.out.strip()) == (0, f"cepkit {ck.__version__}")


@pytest.mark.parametrize(
    "command", [[], ["demo"], ["profile"], ["plan"], ["detect"], ["simulate"], ["aggregate"]]
)
def test_help(cepkit, command):
    ran = cepkit(*command, "--help")
    assert ran.code == 0
    assert "usage: cepkit" in ran.out


def test_functions_of_conditions_are_found_and_listed(cepkit, on_stocks):
    text = "PATTERN SEQ(MSFT a, GOOG b) WHERE floor(a.price) = ceil(b.price) AND {} WITHIN 1 min"
    some = on_stocks("detect", "--pattern-text", text.format("contains(lower(a.ticker), 'sf')"))
    none = on_stocks("detect", "--pattern-text", text.format("contains(a.ticker, 'sf')"))
    assert (some.code, none.code) == (0, 0)
    assert "\n0 matches" not in some.out
    assert none.out != some.out
    assert "  substring(text, start, count)" in cepkit("detect", "--help").out


def test_profile_prints_and_saves_the_same_statistics(on_stocks, folder):
    ran = on_stocks("profile", "--json", "s.json")
    assert (ran.code, ran.err) == (0, "")
    saved = ck.Statistics.from_json(Path("s.json").read_text(encoding="utf-8"))
    assert ran.out.strip() == str(saved)
    assert saved.events == 2_000


def test_profile_json_on_stdout_is_nothing_but_json(on_stocks):
    assert json.loads(on_stocks("profile", "--json", "-").out)["events"] == 2_000


def test_plan_compares_and_chooses(on_stocks):
    ran = on_stocks("plan")
    assert (ran.code, ran.err) == (0, "")
    for planner in ("given-order", "by-frequency", "greedy"):
        assert planner in ran.out
    assert "c → b → a" in ran.out.split("chosen")[1]


def test_plan_from_saved_statistics_needs_no_events(on_stocks, cepkit):
    on_stocks("profile", "--json", "s.json")
    saved = cepkit("plan", "--pattern", "p.cep", "--statistics", "s.json", "--json", "-")
    assert saved.code == 0
    found = json.loads(saved.out)
    assert found["chosen"]["orders"] == [["c", "b", "a"]]
    assert {plan["planner"] for plan in found["plans"]} >= {"given-order", "greedy"}


def test_plan_of_a_named_planner(on_stocks):
    assert "a → b → c" in on_stocks("plan", "--planner", "given-order").out.split("chosen")[1]


def test_plan_by_another_cost_model(on_stocks):
    assert on_stocks("plan").out.splitlines()[0] == "cost: partial-matches"
    by_latency = on_stocks("plan", "--cost", "latency", "--planner", "dp-order")
    assert by_latency.out.splitlines()[0] == "cost: latency"
    assert by_latency.out.split("chosen")[1].splitlines()[1].endswith("c")
    wrong = on_stocks("plan", "--cost", "latenzy")
    assert wrong.code == 1
    assert "did you mean 'latency'?" in wrong.err


def test_plan_runs_the_plans_over_the_first_events(on_stocks, cepkit):
    ran = on_stocks("plan", "--run", 500)
    assert (ran.code, ran.err) == (0, "")
    assert "candidates" in ran.out
    assert "measured on the first 500 events" in ran.out
    assert max(map(len, ran.out.split("chosen")[0].splitlines())) <= 100
    found = json.loads(on_stocks("plan", "--run", "--json", "-").out)
    done = [plan["measured"] for plan in found["plans"]]
    assert {measured["events"] for measured in done} == {2_000}
    assert {measured["matches"] for measured in done} == {MATCHES}
    assert found["plans"][-1]["plan"].count("⋈") == 2
    on_stocks("profile", "--json", "s.json")
    nothing = cepkit("plan", "--pattern", "p.cep", "--statistics", "s.json", "--run")
    assert nothing.code == 2
    assert "nothing to run plans over: --events, --time missing" in nothing.err
    assert on_stocks("plan", "--run", 0).code == 2


def test_plan_of_neither_events_nor_statistics_is_a_wrong_command_line(cepkit):
    ran = cepkit("plan", "--pattern", "p.cep")
    assert ran.code == 2
    assert "--statistics" in ran.err


def test_detect_shows_the_first_matches_and_the_number(on_stocks):
    ran = on_stocks("detect", "--explain")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].split() == [
        "a.ts", "a.price", "b.ts", "b.price", "c.ts", "c.price",
    ]  # fmt: skip
    assert f"\n{MATCHES} matches in" in ran.out
    assert "survivors" in ran.out


@pytest.mark.parametrize(
    "how",
    [
        ["--plan", "a,b,c"],
        ["--plan", "b, c, a"],
        ["--planner", "given-order"],
        ["--local"],
        ["--timezone", "Europe/Copenhagen"],
    ],
)
def test_every_way_finds_the_same(on_stocks, how):
    assert f"\n{MATCHES} matches in" in on_stocks("detect", *how).out


def test_detect_by_saved_statistics_does_not_profile(on_stocks, monkeypatch):
    on_stocks("profile", "--json", "s.json")
    monkeypatch.setattr(ck, "profile", None)
    assert f"\n{MATCHES} matches in" in on_stocks("detect", "--statistics", "s.json").out


def test_detect_writes_parquet(on_stocks):
    ran = on_stocks("detect", "--out", "m.parquet")
    assert ran.code == 0
    assert f"{MATCHES} matches, written to m.parquet" in ran.out
    table = pq.read_table("m.parquet")
    assert table.column_names == ["a", "b", "c", "match_start", "match_end"]
    assert len(table) == MATCHES


def test_detect_writes_a_flat_csv(on_stocks):
    on_stocks("detect", "--out", "m.csv")
    table = pa_csv.read_csv("m.csv")
    assert table.column_names[:3] == ["a.ts", "a.ticker", "a.price"]
    assert len(table) == MATCHES


@pytest.mark.parametrize(
    ("options", "text"), [((), '"PT90.5S"'), (("--durations", "seconds"), "90.5")]
)
def test_durations_in_csv_have_a_unit(cepkit, options, text):
    rows = "t,k\n2024-01-01T10:00:00,A\n2024-01-01T10:01:30.5,B\n"
    Path("e.csv").write_text(rows, encoding="utf-8")
    pattern = "PATTERN SEQ(A a, B b) RETURN b.t - a.t AS gap"
    given = ("--events", "e.csv", "--time", "t", "--type", "k", "--pattern-text", pattern)
    assert cepkit("detect", *given, "--out", "m.csv", *options).code == 0
    assert Path("m.csv").read_text(encoding="utf-8").splitlines()[1].split(",")[0] == text


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "PT0S"),
        (100_000_000, "PT100S"),
        (1, "PT0.000001S"),
        (-90_500_000, "-PT90.5S"),
        (2**62, "PT4611686018427.387904S"),
        (None, None),
    ],
)
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_duration_in_iso_8601_is_exact(microseconds, text, unit):
    column = pa.array([microseconds], pa.duration("us"))
    if unit == "ns" and abs(microseconds or 0) < 2**60:
        column = column.cast(pa.duration("ns"))
    rows = pa.record_batch({"x": column})
    written = DurationsWritten(rows.schema, "iso").batch(rows)
    assert written.to_pydict() == {"x": [text]}


def test_a_csv_of_no_matches_has_its_columns(on_stocks):
    on_stocks("detect", "--out", "m.csv", "--limit", 0)
    assert "c.volume" in pa_csv.read_csv("m.csv").column_names


def test_detect_stops_at_its_limit(on_stocks):
    ran = on_stocks("detect", "--limit", 3, "--out", "m.parquet")
    assert "3 matches (stopped there: --limit)" in ran.out
    assert len(pq.read_table("m.parquet")) == 3


def test_detect_says_that_there_are_more_matches_than_shown(on_stocks):
    text = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"
    assert "more; --out FILE writes them all" in on_stocks("detect", "--pattern-text", text).out


def test_detect_as_json(on_stocks):
    found = json.loads(on_stocks("detect", "--json", "-", "--explain").out)
    assert found["matches"] == MATCHES
    assert found["plan"]["orders"] == [["c", "b", "a"]]
    assert found["steps"][-1]["survivors"] == MATCHES


def test_the_pattern_from_stdin(on_stocks, monkeypatch):
    text = Path("p.cep").read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    assert f"\n{MATCHES} matches in" in on_stocks("detect", "--pattern", "-").out


def test_an_older_result_is_replaced_only_when_asked(on_stocks):
    on_stocks("detect", "--out", "m.parquet")
    refused = on_stocks("detect", "--out", "m.parquet", "--limit", 1)
    assert refused.code == 1
    assert "--overwrite" in refused.err
    assert len(pq.read_table("m.parquet")) == MATCHES
    assert on_stocks("detect", "--out", "m.parquet", "--limit", 1, "--overwrite").code == 0
    assert len(pq.read_table("m.parquet")) == 1


def test_event_types_and_control_characters_are_shown_as_texts(on_stocks):
    Path("odd.csv").write_text(
        "ts,ticker,note\n2024-03-04T10:00:00Z,X,\x1b[31mred\n2024-03-04T10:00:01Z,Y,plain\n",
        encoding="utf-8",
    )
    text = "PATTERN SEQ(a IN (X, Z), Y b) WHERE a.note != b.note"
    ran = on_stocks("detect", "--pattern-text", text, "--events", "odd.csv")
    assert "1 match in" in ran.out
    assert "\x1b" not in ran.out
    assert "a.ticker" in ran.out
    assert "b.ticker" not in ran.out


def test_a_branch_of_an_or_lacks_the_others_events(on_stocks):
    text = "PATTERN OR(SEQ(AAPL a, DELL b), SEQ(DELL c, AAPL d)) WITHIN 1 hour"
    ran = on_stocks("detect", "--pattern-text", text, "--limit", 3)
    assert ran.code == 0
    assert "3 matches" in ran.out
    assert " - " in ran.out


def test_events_count_in_the_order_of_the_arrival_column(cepkit, folder):
    Path("e.csv").write_text("t,kind,came\n0,A,1\n1,X,0\n2,B,2\n", encoding="utf-8")
    given = ("--events", "e.csv", "--time", "t", "--unit", "s", "--type", "kind")
    text = ("--pattern-text", "PATTERN SEQ(A a, B b) WITHIN 2 EVENTS", "--json", "-")
    by_rows = cepkit("detect", *given, *text)
    by_column = cepkit("detect", *given, *text, "--arrival", "came")
    assert json.loads(by_rows.out)["matches"] == 0
    assert json.loads(by_column.out)["matches"] == 1


def test_events_of_equal_time_count_in_the_order_of_their_arrival(cepkit, folder):
    Path("e.csv").write_text("t,kind\n1,B\n1,A\n1,B\n", encoding="utf-8")
    given = ("--events", "e.csv", "--time", "t", "--unit", "s", "--type", "kind")
    text = ("--pattern-text", "PATTERN SEQ(A a, B b)", "--json", "-")
    counts = [
        json.loads(cepkit("detect", *given, *text, *ties).out)["matches"]
        for ties in ((), ("--ties", "none"), ("--ties", "arrival"))
    ]
    assert counts == [0, 0, 1]


@pytest.mark.parametrize(
    "ends", [("--since", "1", "--until", "3"), ("--since", "1970-01-01T00:00:01", "--until", "3.0")]
)
def test_events_outside_of_the_time_range_are_left_out(cepkit, folder, ends):
    Path("e.csv").write_text("t,kind\n0,A\n1,A\n2,B\n3,B\n", encoding="utf-8")
    given = ("--events", "e.csv", "--time", "t", "--unit", "s", "--type", "kind")
    text = ("--pattern-text", "PATTERN SEQ(A a, B b)", "--json", "-")
    assert json.loads(cepkit("detect", *given, *text, *ends).out)["matches"] == 1
    ran = cepkit("detect", *given, *text, "--since", "3", "--until", "1")
    assert (ran.code, "is not before until=" in ran.err) == (1, True)


SETS = "PATTERN SEQ(MSFT a, KL(GOOG b), AAPL c) WITHIN 9 hours"


def test_detect_shows_some_sets_where_there_are_too_many(on_stocks):
    ran = on_stocks("detect", "--pattern-text", SETS, "--json", "found.json", "--explain")
    assert ran.code == 0
    assert "2.08e+66 matches" in ran.out
    assert "--sets maximal" in ran.out
    assert "[14:31:13.92Z, " in ran.out
    assert json.loads(Path("found.json").read_text(encoding="utf-8"))["matches"] == "2.08e+66"


def test_detect_writes_the_largest_sets(on_stocks):
    on_stocks("detect", "--pattern-text", SETS, "--sets", "maximal", "--out", "m.parquet")
    assert len(pq.read_table("m.parquet")) == 1632
    refused = on_stocks("detect", "--pattern-text", SETS, "--out", "n.parquet")
    assert refused.code != 0
    assert "2.08e+66 matches" in refused.err
    assert not Path("n.parquet").exists()


def test_simulate_prints_the_counts_of_each_mechanism(on_stocks):
    ran = on_stocks("simulate", "--mechanism", "eager-nfa", "--mechanism", "chain-nfa")
    assert (ran.code, ran.err) == (0, "")
    eager, chain = ran.out.split("chain-nfa")
    assert "eager-nfa over 2,000 events" in eager
    assert chain.startswith(" c → b → a over 2,000 events")
    for told in (eager, chain):
        assert re.search(rf"^matches +{MATCHES}$", told, re.MULTILINE)


def test_simulate_writes_a_trace_and_a_page(on_stocks, folder):
    ran = on_stocks(
        "simulate", "--limit", 50, "--plan", "a,b,c", "--json", "t.json", "--html", "t.html"
    )
    assert (ran.code, ran.err) == (0, "")
    assert Trace.from_json("t.json").plan == "a → b → c"
    assert "<html" in Path("t.html").read_text(encoding="utf-8")


def test_simulate_writes_the_counts_of_each_mechanism(on_stocks, folder):
    both = ("--mechanism", "eager-nfa", "--mechanism", "chain-nfa")
    ran = on_stocks("simulate", *both, "--out", "counted.csv")
    assert "2 rows, written to" in ran.out
    counted = pd.read_csv("counted.csv")
    assert list(counted["mechanism"]) == ["eager-nfa", "chain-nfa"]
    assert list(counted["matches"]) == [MATCHES] * 2
    assert list(counted["events"]) == [2000] * 2
    assert (counted["peak_instances"] > 0).all()


def test_page_of_simulate_has_only_chosen_attributes_and_redacts(on_stocks, folder):
    text = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price AND a.volume < b.volume"
    options = ("simulate", "--pattern-text", f"{text} WITHIN 1 minute", "--limit", 50)
    options = (*options, "--html", "t.html", "--overwrite")
    assert on_stocks(*options).code == 0
    whole = Path("t.html").read_text(encoding="utf-8")
    assert on_stocks(*options, "--attribute", "price", "--redact", "price").code == 0
    page = Path("t.html").read_text(encoding="utf-8")
    assert '"volume"' in whole
    assert '"volume"' not in page
    assert '"#1"' in page
    unknown = on_stocks(*options, "--redact", "prize")
    assert "did you mean 'price'?" in unknown.err
    refused = on_stocks("simulate", "--redact", "price")
    assert refused.code == 2
    assert "about the page of --html" in refused.err


def test_simulate_refuses_an_unknown_mechanism(on_stocks):
    ran = on_stocks("simulate", "--mechanism", "eager")
    assert ran.code == 1
    assert "there is no mechanism 'eager'" in ran.err
