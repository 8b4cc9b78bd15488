"""Valid patterns that are probably mistakes warn, with their place in the text."""

from __future__ import annotations

import warnings

import pytest

from cepkit.pattern.builder import event, next_of, seq, var
from cepkit.pattern.parsing.parser import parse
from cepkit.stream.warnings import StreamWarning


@pytest.mark.parametrize(
    ("condition", "instead"),
    [
        ("a.x = NULL", "write a.x IS NULL"),
        ("NULL = a.x", "write a.x IS NULL"),
        ("b.y > 3 AND NOT (a.x != NULL OR a.x > b.y)", "write a.x IS NOT NULL"),
        ("a.x IN (NULL)", "write a.x IS NULL"),
        ("a.x NOT IN (1, NULL)", "write a.x IS NOT NULL, and NOT IN without NULL"),
    ],
)
def test_comparison_with_null_is_warned_of(condition, instead):
    with pytest.warns(
        StreamWarning, match=f"a comparison with NULL never holds: {instead}\n"
    ) as told:
        parse(f"PATTERN SEQ(A a, B b)\nWHERE {condition}")
    (warning,) = told
    assert warning.filename == __file__
    assert "\nline 2, column " in str(warning.message)
    assert str(warning.message).rstrip("^").endswith(" ")


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, NEXT B b) WHERE a.user = b.user",
        "SEQ(A a, B b, NEXT KL(NEXT C c)) WHERE a.user = b.user AND c.user = b.user",
        "SEQ(A a, NOT(NEXT X x), B b) WHERE a.user = b.user",
    ],
)
def test_next_between_events_of_one_key_without_partitions_is_warned_of(text):
    with pytest.warns(StreamWarning, match="one of another 'user' .* PARTITION BY user\n") as told:
        parse(f"PATTERN {text}")
    assert len(told) == 1


def test_strict_contiguity_between_events_of_one_key_is_warned_of():
    instead = "PARTITION BY user STRATEGY partition-contiguity"
    with pytest.warns(StreamWarning, match=f"^strict-contiguity counts all events .*{instead}"):
        parse("PATTERN SEQ(A a, B b) WHERE a.user = b.user STRATEGY strict-contiguity")


def test_warning_about_a_pattern_of_the_builder_names_the_pattern():
    a, b = var("a"), var("b")
    pattern = seq(event("a", "A"), next_of(event("b", "B"))).where(a.user == b.user)
    with pytest.warns(StreamWarning, match=r"PARTITION BY user \(PATTERN SEQ\(A a, NEXT B b\)"):
        assert pattern.query


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b) WHERE a.x IS NULL AND b.x IN (1, NULL)",
        "SEQ(A a, NEXT B b) WHERE a.user = b.user PARTITION BY user",
        "SEQ(A a, NEXT B b) WHERE a.low = b.high",
        "SEQ(A a, NEXT B b, C c) WHERE a.user = b.user",
        "KL(NEXT A a) WHERE a[i].state = a[i-1].state",
        "SEQ(A a, FIRST B b) WHERE a.user = b.user",
    ],
)
def test_pattern_that_may_well_be_meant_is_not_warned_of(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(f"PATTERN {text}")
