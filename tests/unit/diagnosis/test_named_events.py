"""Why named events are no match: each kind of requirement, with the values on both sides."""

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import PatternError, StreamError
from tests.unit.diagnosis.cases import failing, missed, stream_of

ROWS = [
    (0, "A", 27.10),
    (60, "B", 26.90),
    (60, "C", 30.0),
    (15_120, "C", 31.0),
    (100, "N", 1.0),
    (200, "B", 29.0),
]
"""Rows 0 to 5; the last two came late."""


def asked(text, rows=ROWS, **named):
    return ck.why_not(stream_of(rows), text, **named)


def test_why_not_of_a_match_says_that_it_is_one():
    why = asked("PATTERN SEQ(A a, B b) WHERE a.price < b.price WITHIN 1 hour", a=0, b=5)
    assert why.found
    assert failing(why) == []
    assert str(why).startswith("A match after all.")


def test_an_event_of_another_type_is_an_answer():
    why = asked("PATTERN SEQ(A a, B b) WITHIN 1 hour", a=1, b=5)
    assert failing(why) == [("A a", "row 1 is a B, a must be an A")]


def test_a_comparison_tells_both_sides_and_the_difference():
    why = asked("PATTERN SEQ(A a, B b) WHERE a.price < b.price WITHIN 1 hour", a=0, b=1)
    assert failing(why) == [("a.price < b.price", "27.1 < 26.9 fails by 0.2")]
    (finding,) = [f for f in why.requirements if not f.holds]
    assert finding.by == pytest.approx(0.2)
    assert finding.events == (0, 1)
    assert not why.found


def test_failed_comparison_of_equal_sides_says_equal():
    why = asked("PATTERN SEQ(A a, B b) WHERE a.price < 27.1", a=0, b=1)
    assert ("a.price < 27.1", "27.1 < 27.1 fails: equal") in failing(why)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("a.price BETWEEN 28 AND 30", "27.1 >= 28 fails by 0.9"),
        ("a.price IN (20, 27)", "27.1 IN (20, 27) fails by 0.1"),
        ("NOT (a.price > 27)", "27.1 <= 27 fails by 0.1"),
        ("a.price < 20 OR a.price > 27.5", "27.1 > 27.5 fails by 0.4"),
        ("a.price * 2 < 50", "54.2 < 50 fails by 4.2"),
        ("abs(a.price) = 27", "27.1 = 27 fails by 0.1"),
        ("a.price != 27.1", "27.1 != 27.1 fails"),
        ("a.price IS NULL", "a.price = 27.1 fails"),
        ("a.kind = 'B'", "'A' = 'B' fails"),
        ("1 > 2", "1 > 2 fails by 1"),
        ("a.ts < '2024-03-04 09:59:30'", "2024-03-04 10:00:00 < '2024-03-04 09:59:30' fails"),
    ],
)
def test_conditions_of_every_form(condition, told):
    why = asked(f"PATTERN SEQ(A a, B b) WHERE {condition}", a=0, b=5)
    assert [found for _, found in failing(why)] == [told]


def test_condition_on_a_missing_value_fails_as_missing():
    why = asked("PATTERN SEQ(A a) WHERE a.price < 3", [(0, "A", np.nan)], a=0)
    assert failing(why) == [("a.price < 3", "a.price is missing")]


def test_the_order_tells_who_is_early_and_by_how_much():
    why = asked("PATTERN SEQ(C c, A a)", c=2, a=0)
    assert failing(why) == [("c before a", "a is 1 min before c, a must be after")]
    why = asked("PATTERN SEQ(B b, C c)", b=1, c=2)
    assert failing(why) == [("b before c", "b and c are at the same time, c must be after")]


def test_order_requirements_leave_out_implied_ones():
    why = asked("PATTERN SEQ(A a, N n, B b, C c)", a=0, n=4, b=5, c=3)
    told = [f.detail for f in why.requirements if "before" in f.detail]
    assert len(told) == 3


def test_failed_window_says_by_how_much_it_is_exceeded():
    why = asked("PATTERN SEQ(A a, C c) WITHIN 4 hours", a=0, c=3)
    assert failing(why) == [("WITHIN 4 hours", "4 h 12 min, 12 min too long")]
    why = asked("PATTERN SEQ(A a, C c) WITHIN 60 seconds EXCLUSIVE", a=0, c=2)
    assert failing(why) == [("WITHIN 1 minute EXCLUSIVE", "1 min, must be less")]
    why = asked("PATTERN SEQ(A a, C c) WITHIN 2 EVENTS", a=0, c=3)
    assert failing(why) == [("WITHIN 2 EVENTS", "4 events, 2 too many")]


def test_partition_contiguity_and_one_event_twice():
    rows = [(0, "A", 1), (1, "X", 1), (2, "B", 2)]
    why = asked("PATTERN SEQ(A a, B b) WITHIN 1 hour PARTITION BY price", rows, a=0, b=2)
    assert failing(why) == [("PARTITION BY price", "price = 1 and 2")]
    why = asked("PATTERN SEQ(A a, B b) STRATEGY strict-contiguity", rows, a=0, b=2)
    assert failing(why) == [("STRATEGY strict-contiguity", "1 other event between")]
    why = asked("PATTERN AND(A a, ANY b)", rows, a=0, b=0)
    assert failing(why) == [("a is not b", "both are row 0")]


def test_a_not_names_the_event_that_breaks_it():
    text = "PATTERN SEQ(A a, NOT(N n), B b) WITHIN 1 hour"
    why = asked(text, a=0, b=5)
    assert failing(why) == [("NOT(N n)", "there is row 4 (N, 1 min 40 s after a)")]
    assert [seen.id for seen in why.culprits] == [4]
    assert asked(text, a=0, b=1).found


def test_an_event_may_be_named_for_a_not():
    text = "PATTERN SEQ(A a, NOT(N n), B b) WHERE n.price < a.price WITHIN 1 hour"
    why = asked(text, a=0, b=5, n=4)
    assert why.reason == "No match: row 4 is such an event, which NOT(N n) forbids."
    why = asked(text, a=0, b=1, n=4)
    assert why.found
    told = [f.detail for f in why.requirements if f.detail.startswith("row 4 is not one")]
    assert told == ["row 4 is not one: b is 40 s before n, b must be after"]


def test_sets_are_judged_whole():
    text = "PATTERN SEQ(A a, KL(B b){2,3}) WHERE avg(b.price) > 28 AND b.price > 20 WITHIN 1 hour"
    why = asked(text, a=0, b=[1])
    assert failing(why) == [
        ("avg(b.price) > 28", "26.9 > 28 fails by 1.1"),
        ("b{2,3}", "1 event, 1 too few"),
    ]
    assert failing(asked(text, a=0, b=[1, 5])) == [
        ("avg(b.price) > 28", "27.95 > 28 fails by 0.05")
    ]
    assert asked(text.replace("28", "27.9"), a=0, b=[5, 1]).found


def test_a_set_is_completed_one_event_at_a_time():
    why = asked("PATTERN SEQ(A a, KL(B b)) WHERE count(b) >= 2 WITHIN 1 hour", a=0)
    assert why.found
    assert [seen.id for seen in why.events] == [0, 1, 5]


def test_next_match_names_the_match_that_took_the_event():
    text = "PATTERN SEQ(A a, B b) WITHIN 1 hour STRATEGY skip-till-next-match"
    why = asked(text, a=0, b=5)
    assert failing(why) == [
        ("STRATEGY skip-till-next-match", "row 0 was taken by the match a = row 0, b = row 1")
    ]
    assert asked(text, a=0, b=1).found
    assert not asked(text, b=5).found


def test_next_match_names_the_set_that_took_the_event():
    text = "PATTERN SEQ(A a, KL(B b){1,2}) WITHIN 1 hour STRATEGY skip-till-next-match"
    assert asked(text, a=0, b=1).found
    why = asked(text, a=0, b=[1, 5])
    taken = "row 0 and row 1 were taken by the match a = row 0, b = row 1"
    assert failing(why) == [("STRATEGY skip-till-next-match", taken)]


def test_unnamed_variable_gets_the_nearest_events_first():
    rows = [(0, "A", 1.0), (10, "C", 9.0), (12, "B", 2.0), (30, "B", 2.0), (5, "B", 0.5)]
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price WITHIN 20 seconds"
    why = asked(text, rows, a=0, c=1)
    assert why.reason == "No match: a and c are fine together, but no b fits them."
    assert missed(why) == [
        "b before c: c is 2 s before b, c must be after",
        "a.price < b.price: 1 < 0.5 fails by 0.5",
    ]
    assert failing(why) == [("b before c", "c is 2 s before b, c must be after")]
    assert [seen.id for seen in why.events if not seen.given] == [2]


def test_violation_among_named_events_is_reported_for_any_completion():
    why = asked("PATTERN SEQ(A a, B b, C c) WITHIN 4 hours", a=0, c=3)
    assert why.reason == "No match: a and c cannot be part of one, with any b."
    assert failing(why) == [("WITHIN 4 hours", "4 h 12 min, 12 min too long")]


def test_near_miss_far_outside_the_window_is_reported():
    rows = [(0, "A", 1.0), (1_000_000, "B", 1.0)]
    why = asked("PATTERN SEQ(A a, B b) WITHIN 1 second", rows, a=0)
    assert failing(why) == [
        ("WITHIN 1 second", "11 d 13 h, 11 d 13 h too long"),
    ]


def test_type_that_never_occurs_fails_with_a_suggestion():
    why = asked("PATTERN SEQ(A a, Bb b) WITHIN 1 hour", a=0)
    assert failing(why) == [("Bb b", "there is no such event")]
    assert why.notes == ("no event has the type 'Bb': did you mean 'B'?",)


def test_or_reports_the_choice_that_comes_nearest():
    text = "PATTERN SEQ(A a, OR(B b, C c)) WHERE b.price > 29.5 AND c.price > 50 WITHIN 1 hour"
    why = asked(text, a=0)
    assert failing(why) == [("b.price > 29.5", "29 > 29.5 fails by 0.5")]
    with pytest.raises(PatternError, match="no branch of the pattern"):
        asked(text, b=1, c=2)


def test_events_are_named_by_a_column():
    frame = pd.DataFrame({"ts": [3, 1, 2], "kind": ["B", "A", "N"], "id": ["x", "y", "z"]})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    assert ck.why_not(stream, "PATTERN SEQ(A a, B b)", id="id", a="y", b="x").found
    assert ck.why_not(stream, "PATTERN SEQ(A a, B b)", a=1, b=0).found
    with pytest.raises(StreamError, match="occurs in no event"):
        ck.why_not(stream, "PATTERN SEQ(A a, B b)", id="id", a="q")


def test_variables_may_be_called_as_options_are():
    stream = stream_of(ROWS)
    assert ck.why_not(stream, "PATTERN SEQ(A stream, B id)", stream=0, bindings={"id": 1}).found


@pytest.mark.parametrize(
    ("named", "options", "message"),
    [
        ({"aa": 0}, {}, "did you mean 'a'"),
        ({"a": 99}, {}, "0 to 5"),
        ({"a": -1}, {}, "0 to 5"),
        ({"a": "x"}, {}, "the number of its row"),
        ({"a": [0, 1]}, {}, "only a variable under KL"),
        ({"a": []}, {}, "'a' names no event"),
        ({"a": "A"}, {"id": "kind", "more": (7, "A", 1.0)}, "2 times"),
        ({"a": 0}, {"id": "kid"}, "did you mean 'kind'"),
        ({}, {"violations": 4}, "1, 2 or 3"),
        ({}, {"limit": 0}, "1 to 1,000"),
        ({}, {"limit": 1001}, "1 to 1,000"),
    ],
)
def test_wrong_names_rows_and_options_are_refused(named, options, message):
    rows = [*ROWS, options.pop("more")] if "more" in options else ROWS
    with pytest.raises((PatternError, StreamError), match=message):
        ck.why_not(stream_of(rows), "PATTERN SEQ(A a, B b)", **options, **named)


def test_row_without_time_or_type_is_refused():
    frame = pd.DataFrame({"ts": [1.0, None], "kind": ["A", "B"]})
    stream = ck.events(frame, time="ts", type="kind", unit="s")
    with pytest.raises(StreamError, match="no time or no type"):
        ck.why_not(stream, "PATTERN SEQ(A a, B b)", b=1)


def test_a_named_event_is_not_one_that_a_greedy_opt_leaves_out():
    rows = [(0, "A", 1.0), (2, "B", 3.0), (3, "C", 9.0)]
    text = "PATTERN SEQ(A a, OPT(B b) GREEDY, C c) WHERE b.price > 4"
    assert asked(text, rows, a=0, c=2).found
    assert failing(asked(text, rows, a=0, b=1, c=2)) == [("b.price > 4", "3 > 4 fails by 1")]
