"""A verb checks its pattern once, before anything is read or planned."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import UnsupportedError
from cepkit.pattern import builder, checks
from cepkit.pattern.parsing import parser

TEXT = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds"
EVENTS = pd.DataFrame(
    {"ts": pd.date_range("2024-03-04", periods=4, freq="s"), "type": list("ABAB"), "x": range(4)}
)


@pytest.fixture
def stream():
    return ck.events(EVENTS, time="ts", type="type")


@pytest.fixture
def checked(monkeypatch):
    """The queries that were checked since the test began."""
    queries = []

    def check(query):
        queries.append(query)
        return checks.check(query)

    for module in (builder, parser):
        monkeypatch.setattr(module, "check", check)
    return queries


def verbs(stream):
    statistics = ck.Statistics.assumed({"a": 1, "b": 1})
    return {
        "detect": lambda pattern: ck.detect(stream, pattern, ["a", "b"]),
        "check_detectable": lambda pattern: builder.as_query(pattern).check_detectable(stream),
        "profile": lambda pattern: ck.profile(stream, pattern),
        "choose_plan": lambda pattern: ck.choose_plan(pattern, statistics, "greedy"),
        "compare_plans": lambda pattern: ck.compare_plans(pattern, statistics, ["greedy"]),
        "compare_plans, run": lambda pattern: ck.compare_plans(
            pattern, statistics, ["greedy"], run=True, stream=stream
        ),
        "why_not": lambda pattern: ck.why_not(stream, pattern),
    }


@pytest.mark.parametrize("verb", verbs(None))
def test_a_pattern_is_checked_once(verb, stream, checked):
    query = ck.parse(TEXT)
    for pattern in (TEXT, query):
        checked.clear()
        verbs(stream)[verb](pattern)
        assert checked == [query] or (pattern is query and not checked)


def test_plans_that_cannot_run_are_refused_before_they_are_searched(stream, monkeypatch):
    monkeypatch.setattr("cepkit.planners.compare.compare_plans", None)
    with pytest.raises(UnsupportedError, match="AGG"):
        ck.compare_plans(
            f"{TEXT} AGG COUNT", ck.Statistics.assumed({"a": 1}), run=True, stream=stream
        )
