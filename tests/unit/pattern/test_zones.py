"""The zone of a pattern: where it is written, and what it changes."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern.builder import event, fn, seq, var
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.zones import OF_CLOCKS, at_clock, without_zones

PLAIN = (
    "PATTERN ANY a WHERE hour(a.ts) = 3 AND a.ts < '2024-05-01' RETURN day(a.ts), a.x",
    "DEFINE late AS hour(ts) > 22, early AS ts < '2024-05-01' PATTERN SEQ(late a, early b)",
    "PATTERN SEQ(A a, B b, A c) WITHIN 60 calendar days WITHIN 2 calendar weeks FROM a TO b",
    "PATTERN SEQ(A a, KL(B b)) WHERE same_day(a, b) AND NOT same_week(a.ts, b) OR a.x = 3",
    """PATTERN SEQ(A a, KL(SEQ(B b, C c)){1,2}) WHERE hour(b.ts) IN (3, 4)
        AND c.ts > TIMESTAMP '2024-05-01' AND a.ts < TIMESTAMP '2024-05-01 00:00Z'""",
)
TEXTS = (
    *(f"{text} AT TIME ZONE 'Asia/Kathmandu'" for text in PLAIN),
    "PATTERN SEQ(A a, B b) WHERE same_day(a, b AT TIME ZONE 'UTC') AT TIME ZONE 'Asia/Tokyo'",
    """PATTERN SEQ(A at, B time) WHERE hour(at.ts AT TIME ZONE 'UTC') > 3 AT TIME ZONE '+02:00'
        RETURN hour(at.ts), day(time.ts AT TIME ZONE 'Asia/Tokyo') AS there""",
    """DEFINE late AS hour(ts) > 22, early AS hour(ts AT TIME ZONE 'Europe/Rome') < 5
        PATTERN SEQ(late a, early b) AT TIME ZONE 'Europe/Rome'""",
)


@pytest.mark.parametrize("text", TEXTS)
def test_pattern_with_a_zone_is_read_as_it_is_written(text: str) -> None:
    query = ck.parse(text)
    again = ck.parse(str(query))
    assert again == query
    assert str(again) == str(query)
    assert at_clock(query, "America/Lima") is query


@pytest.mark.parametrize("text", PLAIN)
def test_zone_of_a_stream_counts_as_if_it_were_written(text: str) -> None:
    query, written = ck.parse(text), ck.parse(f"{text} AT TIME ZONE 'Asia/Tokyo'")
    assert query != written
    assert at_clock(query, "Asia/Tokyo") == written
    assert at_clock(query, "UTC") is query
    assert without_zones(written) == without_zones(query)


def test_zone_of_a_stream_leaves_other_patterns_alone() -> None:
    query = ck.parse(
        "PATTERN SEQ(A a, B b) WHERE a.x = '2024' AND b.ts - a.ts < 1 day WITHIN 1 day"
    )
    assert at_clock(query, "Europe/Rome") is query


def test_builder_names_a_zone() -> None:
    built = seq(event("a", "A"), event("b", "B")).where(fn("hour", var("a").ts) > 3)
    text = "PATTERN SEQ(A a, B b) WHERE hour(a.ts) > 3 AT TIME ZONE 'Europe/Rome'"
    assert built.at_time_zone("Europe/Rome").query == ck.parse(text)
    with pytest.raises(PatternError, match="not a known time zone"):
        built.at_time_zone("Rome")


def test_functions_of_one_time_read_the_clock() -> None:
    parts = {
        name
        for name, f in FUNCTIONS.items()
        if [takes for takes, _ in f.signatures] == [("timestamp",)]
    }
    assert parts == OF_CLOCKS


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("quarter(a.ts) = 2", "ceil(month(a.ts) / 3)"),
        ("DATE_TRUNC('day', a.ts) = b.ts", "date(a.ts) is the begin of the day"),
        ("a.ts < now()", "a pattern knows no present"),
        ("a.ts < current_timestamp", "a pattern knows no present"),
        ("datediff(a.ts, b.ts) < 3", "b.ts - a.ts is a duration"),
        ("dayofweek(a.ts) = 3", "weekday(a.ts)"),
    ],
)
def test_functions_that_only_sql_has_are_named(condition: str, hint: str) -> None:
    with pytest.raises(PatternError) as caught:
        ck.parse(f"PATTERN SEQ(A a, B b) WHERE {condition}")
    assert hint in str(caught.value.hint)
