"""What `simulate` refuses with the mechanism that counts."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.errors import ArgumentError, PatternError, PlanError, UnsupportedError

TEXT = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 minute"


@pytest.fixture
def stream():
    return ck.events(ck.sample_stocks(20), time="ts", type="ticker")


@pytest.mark.parametrize("option", [{"adapt": "threshold"}, {"max_steps": 5}, {"max_work": None}])
def test_options_of_mechanisms_are_refused_with_prefix_counters(stream, option):
    (name,) = option
    with pytest.raises(ArgumentError, match=f"{name}= with prefix-counters"):
        ck.simulate(stream, TEXT, "prefix-counters", **option)


def test_several_patterns_are_refused_with_prefix_counters(stream):
    with pytest.raises(UnsupportedError, match="counts one pattern"):
        ck.simulate(stream, [TEXT, TEXT], "prefix-counters")


@pytest.mark.parametrize("plan", [["a", "b"], "ab", 3, [1, 2]])
def test_plan_that_is_no_pieces_is_refused_with_prefix_counters(stream, plan):
    with pytest.raises((ArgumentError, PatternError), match=r"plan=(.|\n)*Expected: .*list"):
        ck.simulate(stream, TEXT, "prefix-counters", plan)


def test_unknown_mechanism_is_answered_with_prefix_counters_too(stream):
    with pytest.raises(PlanError, match="evaluation-tree, prefix-counters"):
        ck.simulate(stream, TEXT, "prefix")


def test_aggregates_in_a_mechanism_are_refused_with_a_hint_to_prefix_counters(stream):
    with pytest.raises(UnsupportedError, match=r"AGG(.|\n)*mechanism='prefix-counters'"):
        ck.simulate(stream, f"{TEXT} AGG COUNT")
