"""`cepkit detect` and `profile` of several patterns: files, folders and texts, each by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import cepkit as ck
from cepkit.tracing import Trace
from tests.unit.cli.conftest import PATTERN, STOCKS

PAIR = "PATTERN SEQ(MSFT x, GOOG y)\nWHERE x.price < y.price\nWITHIN 1 hour\n"


@pytest.fixture
def rules(folder):
    """A folder of two patterns and of something else."""
    (folder / "rules").mkdir()
    Path("rules/three.cep").write_text(PATTERN, encoding="utf-8")
    Path("rules/pair.cep").write_text(PAIR, encoding="utf-8")
    Path("rules/readme.txt").write_text("no pattern", encoding="utf-8")
    return "rules"


def counts():
    stream = ck.events(STOCKS, time="ts", type="ticker")
    return {"pair": ck.detect(stream, PAIR).count(), "three": ck.detect(stream, PATTERN).count()}


@pytest.mark.parametrize(
    "given",
    [
        ("--pattern", "rules"),
        ("--pattern", "rules/pair.cep", "--pattern", "rules/three.cep"),
    ],
)
def test_patterns_are_counted_by_the_names_of_their_files(on_stocks, rules, given):
    ran = on_stocks("detect", *given, "--json", "-")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert data["matches"] == counts()
    assert data["plans"].keys() == {"pair", "three"}


def test_numbers_and_steps_are_printed(on_stocks, rules):
    ran = on_stocks("detect", "--pattern", rules, "--explain", "--share", "none")
    lines = ran.out.splitlines()
    assert lines[0].split() == ["pattern", "plan", "matches"]
    assert [line.split()[0] for line in lines[1:3]] == ["pair", "three"]
    assert f"{sum(counts().values()):,} matches of 2 patterns" in ran.out
    assert "2 queries, 5 steps, 0 of them shared" in ran.out


@pytest.mark.parametrize("name", ["found.csv", "found.parquet"])
def test_one_file_has_the_matches_of_all(on_stocks, rules, name):
    ran = on_stocks("detect", "--pattern", rules, "--out", name)
    assert (ran.code, ran.err) == (0, "")
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    found = read(name)
    assert found.columns[0] == "pattern"
    assert found["pattern"].value_counts().to_dict() == counts()


def test_texts_have_numbers_and_limits_are_of_each(on_stocks):
    ran = on_stocks(
        "detect", "--pattern-text", PATTERN, "--pattern-text", PAIR, "--limit", 4, "--json", "-"
    )
    assert json.loads(ran.out)["matches"] == {"pattern 1": 4, "pattern 2": 4}


def test_statistics_of_all_are_saved_and_plan_all(on_stocks, rules, monkeypatch):
    assert on_stocks("profile", "--pattern", rules, "--json", "s.json").code == 0
    monkeypatch.setattr("cepkit.api.several.measured_together", None)
    ran = on_stocks("detect", "--pattern", rules, "--statistics", "s.json", "--json", "-")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["matches"] == counts()


def test_plans_that_share_are_printed_and_saved(on_stocks, rules):
    assert on_stocks("profile", "--pattern", rules, "--json", "s.json").code == 0
    ran = on_stocks("plan", "--pattern", rules)
    assert ran.out.startswith("shared plan of 2 patterns: ")
    assert "cost (work)" in ran.out
    saved = on_stocks("plan", "--pattern", rules, "--statistics", "s.json", "--json", "-")
    data = json.loads(saved.out)
    assert data["plans"].keys() == {"pair", "three"}
    assert data["cost"] <= data["alone"]
    alive = on_stocks("plan", "--pattern", rules, "--cost", "partial-matches")
    assert "cost (partial-matches)" in alive.out
    ran = on_stocks("plan", "--pattern", rules, "--run")
    assert (ran.code, "--run is for one pattern" in ran.err) == (2, True)


def test_an_error_names_the_file_or_the_number(on_stocks, rules):
    Path("rules/typo.cep").write_text("PATTERN SEQ(MSFT a, GOOG b\nWITHIN 1 s", encoding="utf-8")
    ran = on_stocks("detect", "--pattern", rules)
    assert ran.code == 1
    assert ran.err.splitlines()[:3] == [
        "error in the pattern of rules/typo.cep, line 2, column 1", "  WITHIN 1 s", "  ^^^^^^",
    ]  # fmt: skip
    odd = PAIR.replace("x.price", "x.prise")
    ran = on_stocks("detect", "--pattern-text", PATTERN, "--pattern-text", odd)
    assert ran.err.startswith("error in pattern 2, line 2, column 7\n  WHERE x.prise")
    Path("rules/typo.cep").write_text(odd, encoding="utf-8")
    ran = on_stocks("detect", "--pattern", rules)
    assert ran.err.startswith("error in pattern 'typo', line 2, column 7\n")


def test_patterns_are_simulated_as_one_mechanism(on_stocks, rules):
    ran = on_stocks(
        "simulate", "--pattern", rules, "--limit", 300, "--json", "t.json", "--html", "t.html"
    )
    assert (ran.code, ran.err) == (0, "")
    stream = ck.events(STOCKS, time="ts", type="ticker")
    both = {"pair": PAIR, "three": PATTERN}
    expected = ck.simulate(stream, both, limit=300).totals.by_pattern
    assert Trace.from_json("t.json").totals.by_pattern == expected
    assert "three" in ran.out
    assert "<html" in Path("t.html").read_text(encoding="utf-8")
    ran = on_stocks("simulate", "--pattern", rules, "--mechanism", "eager-nfa")
    assert "'eager-nfa' takes one pattern, and there are 2" in ran.err
    ran = on_stocks("simulate", "--pattern", rules, "--plan", "a,b")
    assert (ran.code, "--plan is for one pattern" in ran.err) == (2, True)


def test_equal_names_empty_folders_and_single_pattern_options_are_refused(on_stocks, rules):
    (Path("rules") / "old").mkdir()
    Path("rules/old/pair.cep").write_text(PAIR, encoding="utf-8")
    ran = on_stocks("detect", "--pattern", rules, "--pattern", "rules/old/pair.cep")
    assert "two patterns are called 'pair': 'rules/pair.cep' and 'rules/old/pair.cep'" in ran.err
    assert "Hint: " in ran.err
    Path("none").mkdir()
    ran = on_stocks("detect", "--pattern", "none")
    assert "no pattern in the folder 'none'\nExpected: .cep files" in ran.err
    for option in ("--plan", "--planner"):
        ran = on_stocks("detect", "--pattern", rules, option, "a")
        assert (ran.code, f"{option} is for one pattern" in ran.err) == (2, True)


def test_stream_of_several_patterns_without_out_is_refused(on_stocks, rules):
    pytest.importorskip("pyspark")
    ran = on_stocks("detect", "--pattern", rules, "--stream")
    assert (ran.code, "--stream without --out" in ran.err) == (1, True)
