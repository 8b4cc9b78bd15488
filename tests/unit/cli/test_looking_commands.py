"""Commands that look at patterns and streams: check, explain, why-not, and profile by itself."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from tests.unit.cli.conftest import PATTERN, STOCKS

RIGHT = "PATTERN SEQ(MSFT a, GOOG b)"


def test_the_command_alone_prints_its_help(cepkit):
    ran = cepkit()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == cepkit("--help").out


def test_a_right_pattern_is_printed(cepkit, folder):
    ran = cepkit("check", "--pattern", "p.cep")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("p: PATTERN SEQ(MSFT a, GOOG b, AAPL c)")


def test_check_reports_every_wrong_pattern(on_stocks):
    texts = [RIGHT, "PATTERN SEQ(A a", f"{RIGHT} WHERE a.prce < 3"]
    ran = on_stocks("check", *(part for text in texts for part in ("--pattern-text", text)))
    assert ran.code == 1
    assert ran.out == f"pattern 1: {RIGHT}\n"
    assert "error in pattern 2, line 1, column 16" in ran.err
    assert "error in pattern 3, line 1, column" in ran.err
    assert "did you mean 'price'?" in ran.err
    assert ran.err.endswith("error: 2 of 3 patterns cannot be run\n")


def test_check_writes_patterns_and_errors_as_json(on_stocks):
    texts = [RIGHT, f"{RIGHT}\nWHERE a.prce < 3", "<b>"]
    options = [part for text in texts for part in ("--pattern-text", text)]
    ran = on_stocks("check", *options, "--json", "-")
    assert ran.code == 1
    right, wrong, nothing = json.loads(ran.out)["patterns"]
    assert right == {"name": "pattern 1", "pattern": RIGHT, "error": None}
    assert wrong["error"]["found"] == "the stream has no column 'prce'"
    assert wrong["error"]["hint"] == "did you mean 'price'?"
    assert (wrong["error"]["line"], wrong["error"]["column"]) == (2, 7)
    assert texts[1].splitlines()[1][6 : 6 + wrong["error"]["length"]] == "a.prce"
    assert nothing["pattern"] is None
    assert on_stocks("check", *options[:2], "--json", "checked.json").code == 0
    assert json.loads(Path("checked.json").read_text(encoding="utf-8"))["patterns"] == [right]


def test_check_warns_of_a_type_that_never_occurs(on_stocks):
    ran = on_stocks("check", "--pattern-text", "PATTERN SEQ(MSFT a, GOG b)")
    assert ran.code == 0
    assert "no event has the type 'GOG': did you mean 'GOOG'?" in ran.err


def test_events_to_check_against_need_their_columns(cepkit):
    ran = cepkit("check", "--pattern", "p.cep", "--events", STOCKS)
    assert ran.code == 2
    assert "--time is missing" in ran.err


def test_steps_are_explained_and_written(on_stocks):
    ran = on_stocks("explain", "--out", "steps.csv", "--plan", "c,b,a")
    assert "candidates" in ran.out
    steps = pd.read_csv("steps.csv")
    assert list(steps["variable"]) == ["c", "b", "a"]
    assert steps["survivors"].iloc[-1] == 9
    saved = json.loads(on_stocks("explain", "--json", "-", "--plan", "c,b,a").out)
    assert [step["survivors"] for step in saved["steps"]] == list(steps["survivors"])
    assert saved["plan"]["orders"] == [["c", "b", "a"]]


def test_shared_steps_are_explained(on_stocks, cepkit):
    both = ("--pattern-text", PATTERN, "--pattern-text", RIGHT + " WITHIN 1 minute")
    assert "pattern 2" in on_stocks("explain", *both).out
    ran = on_stocks("explain", *both, "--plan", "b,a")
    assert ran.code == 2
    assert "--plan is for one pattern" in ran.err


def test_why_not_prints_the_funnel_and_writes_near_misses(on_stocks):
    text = PATTERN.replace("1 hour", "5 minutes")
    ran = on_stocks("why-not", "--pattern-text", text, "--out", "misses.csv")
    assert "before" in ran.out
    misses = pd.read_csv("misses.csv")
    saved = json.loads(on_stocks("why-not", "--pattern-text", text, "--json", "-").out)
    assert saved["found"] is False
    assert [row["a"] for row in saved["near_misses"]] == list(misses["a"])
    assert saved["funnel"][-1]["after"] == 0


def test_no_near_miss_is_a_file_of_a_head(on_stocks):
    text = "PATTERN SEQ(NONE a, NEVER b) WITHIN 1 second"
    on_stocks("why-not", "--pattern-text", text, "--out", "misses.csv")
    assert "relative" in pd.read_csv("misses.csv").columns


def test_named_events_are_no_match(on_stocks):
    saved = json.loads(on_stocks("why-not", "--event", "a=3", "--json", "-").out)
    assert saved["found"] is False
    assert "a cannot be part of one" in saved["reason"]


@pytest.mark.parametrize("ids", [[10, 11, 12, 13], [0.5, 1.5, 2.5, 3.5], ["p", "q", "r", "s"]])
def test_events_of_a_set_are_named_by_a_column_of_any_kind(cepkit, ids):
    rows = pd.DataFrame({"t": range(4), "kind": list("ABBC"), "id": ids})
    rows.to_csv("log.csv", index=False)
    given = ("--events", "log.csv", "--time", "t", "--type", "kind", "--unit", "s", "--id", "id")
    asked = ("--pattern-text", "PATTERN SEQ(A a, KL(B b), C c)", "--event", f"a={ids[0]}")
    members = [part for each in ids[1:3] for part in ("--event", f"b={each}")]
    saved = json.loads(cepkit("why-not", *given, *asked, *members, "--json", "-").out)
    assert saved["found"] is True
    ran = cepkit("why-not", *given, *asked, "--event", "b=x")
    assert ran.code == 1
    assert "id 'x'" in ran.err


@pytest.mark.parametrize("event", ["a", "a=", "=3", "a=first"])
def test_an_event_that_names_none_is_refused(on_stocks, event):
    ran = on_stocks("why-not", "--event", event)
    assert ran.code == 2
    assert f"--event {event}" in ran.err.replace("'", "")


def test_profile_without_a_pattern_lists_types_and_columns(cepkit, folder):
    given = ("--events", STOCKS, "--time", "ts", "--type", "ticker")
    ran = cepkit("profile", *given, "--out", "types.csv", "--json", "all.json")
    assert "2,000 events of 12 types" in ran.out
    assert "difference" in ran.out
    events = pd.read_csv(STOCKS)
    types = pd.read_csv("types.csv")
    assert dict(zip(types["type"], types["events"], strict=True)) == dict(
        events["ticker"].value_counts()
    )
    columns = json.loads(Path("all.json").read_text(encoding="utf-8"))["columns"]
    assert {c["column"]: c["largest"] for c in columns}["volume"] == events["volume"].max()


def test_plans_are_written_as_rows(on_stocks):
    on_stocks("plan", "--out", "plans.csv")
    plans = pd.read_csv("plans.csv")
    assert {"planner", "plan", "cost"} <= set(plans.columns)
    assert len(plans) > 3


class _Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def test_events_come_from_standard_input(on_stocks, monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(STOCKS.read_bytes()))
    ran = on_stocks("detect", "--events", "-", "--json", "-")
    assert json.loads(ran.out)["matches"] == 9


GERMAN = b"Tag;Zeit;Art;Preis\n01.02.2024;10:00:00;A;1,5\n01.02.2024;10:00:01;B;2,5\n"


def test_csv_with_semicolons_on_standard_input_is_read(cepkit, monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(GERMAN))
    ran = cepkit(
        *("detect", "--events", "-", "--time", "Tag", "Zeit", "--type", "Art", "--json", "-"),
        *("--sep", ";", "--decimal", ",", "--time-format", "%d.%m.%Y %H:%M:%S"),
        *("--pattern-text", "PATTERN SEQ(A a, B b) WHERE b.Preis - a.Preis = 1"),
    )
    assert json.loads(ran.out)["matches"] == 1


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (GERMAN, (), "separated by ';': --sep ';'"),
        (GERMAN, ("--sep", ";"), "no column 'ts'"),
        (b"ts,kind\n1,2,3\n", (), "standard input cannot be read"),
        (b"\xff\xfe", (), "standard input is not a CSV file, or not in UTF-8"),
    ],
)
def test_error_about_standard_input_names_no_file(cepkit, monkeypatch, content, options, message):
    monkeypatch.setattr("sys.stdin", _Stdin(content))
    ran = cepkit("profile", "--events", "-", "--time", "ts", "--type", "kind", *options)
    assert ran.code == 1
    assert message in ran.err
    assert "cepkit-" not in ran.err


def test_time_format_is_refused_on_spark(on_stocks):
    ran = on_stocks("detect", "--spark", "--time-format", "%Y")
    assert ran.code == 1
    assert "--time-format with --spark" in ran.err


def test_standard_input_holds_one_thing(on_stocks, monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(PATTERN.encode()))
    ran = on_stocks("detect", "--events", "-", "--pattern", "-")
    assert ran.code == 1
    assert "the pattern or the events, not both" in ran.err


def test_no_events_on_standard_input(on_stocks, monkeypatch):
    monkeypatch.setattr("sys.stdin", _Stdin(b""))
    ran = on_stocks("profile", "--events", "-")
    assert ran.code == 1
    assert "is empty" in ran.err


def test_clock_error_shows_certainty(on_stocks):
    ran = on_stocks("detect", "--pattern", "p.cep", "--clock-error", "1 minute")
    assert (ran.code, ran.err) == (0, "")
    assert "certainty" in ran.out.splitlines()[0]
    assert " certain, " in ran.out
    assert " possible\n" in ran.out


def test_why_not_with_clock_error_names_clocks(on_stocks):
    options = ("--event", "a=1", "--event", "b=0", "--clock-error", "1 hour")
    ran = on_stocks("why-not", "--pattern-text", RIGHT, *options)
    assert "clock" in ran.out


def test_sample_and_error_bound_of_the_command(on_stocks):
    ran = on_stocks("detect", "--pattern-text", f"{RIGHT} WITHIN 1 hour", "--sample", 3)
    assert (ran.code, ran.err) == (0, "")
    assert "3 matches in" in ran.out
    text = f"{RIGHT} WITHIN 1 hour AGG COUNT"
    ran = on_stocks("aggregate", "--pattern-text", text, "--error", 0.05, "--seed", 4)
    assert "count low" in ran.out
    assert "by sampling" in ran.out
