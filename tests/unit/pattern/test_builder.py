"""The builder gives the values that the text gives."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from cepkit.errors import ArgumentError, PatternError
from cepkit.pattern.builder import (
    and_,
    any_event,
    as_query,
    avg,
    count,
    event,
    fn,
    kl,
    max_,
    not_,
    or_,
    same_day,
    same_week,
    seq,
    sum_,
    var,
)
from cepkit.pattern.parsing.parser import parse, parse_condition
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.terms import expression_of, prev

a, b, c = var("a"), var("b"), var("c")
NAN = float("nan")
PAIR = seq(event("a", "A"), event("b", "B"))


class Rude:
    def __repr__(self):
        raise RuntimeError("no repr")


def test_a_whole_query():
    built = (
        seq(event("a", "MSFT"), not_(any_event("x")), kl(event("b", "GOOG", "AAPL"), 2, 5))
        .where(a.price < 3, avg(b.price) > a.price)
        .where("count(b) > 2")
        .within("4 hours", exclusive=True)
        .strategy("skip-till-next-match")
        .partition_by("exchange", "day")
        .agg(count(), sum_(b.volume), "MIN(a.price)")
        .group_by("sector")
    )
    text = """PATTERN SEQ(MSFT a, NOT(ANY x), KL(b IN (AAPL, GOOG)){2,5})
        WHERE a.price < 3 AND avg(b.price) > a.price AND count(b) > 2
        WITHIN 4 hours EXCLUSIVE STRATEGY skip-till-next-match PARTITION BY exchange, day
        AGG COUNT, SUM(b.volume), MIN(a.price) GROUP BY sector"""
    assert built.query == parse(text)
    assert parse(str(built)) == built.query


def test_builder_makes_nested_structures():
    built = and_(event("A"), or_(event("b", "B"), seq(event("c", "C"), any_event("d"))))
    assert built.query == parse("PATTERN AND(A, OR(B b, SEQ(C c, ANY d)))")


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ((a.x < b.x) & (b.x < 3) & ~(a.x == b.x), "a.x < b.x AND b.x < 3 AND NOT a.x = b.x"),
        ((a.x < 1) | (a.x > 2) | (a.x != 3), "a.x < 1 OR a.x > 2 OR a.x != 3"),
        ((a.x <= 1) & ((a.x >= 2) | a.flag), "a.x <= 1 AND (a.x >= 2 OR a.flag)"),
        (1 + a.x * 2 - b["in"] / -3 > abs(b.y), "1 + a.x * 2 - b.in / -3 > abs(b.y)"),
        (2 - a.x % 2 == -b.x, "2 - a.x % 2 = -b.x"),
        (a["b c"].is_in(["x", 1]), "a.\"b c\" IN ('x', 1)"),
        (a.x.not_in((True, None)), "a.x NOT IN (TRUE, NULL)"),
        (a.x.between(1, b.x), "a.x BETWEEN 1 AND b.x"),
        (a.x.not_between(1, 2), "a.x NOT BETWEEN 1 AND 2"),
        (a.x.is_null(), "a.x IS NULL"),
        (a.x.is_not_null(), "a.x IS NOT NULL"),
        (fn("least", a.x, 1) < max_(b.x), "least(a.x, 1) < max(b.x)"),
        (fn("mine", "t") == count(b), "mine('t') = count(b)"),
        (a.x < np.float64(0.5), "a.x < 0.5"),
        (a.x < np.int32(7), "a.x < 7"),
        (a.x > 7, "a.x > 7"),
        (b.ts - a.ts > timedelta(seconds=5), "b.ts - a.ts > 5 seconds"),
        (timedelta(0) < b.ts - a.ts, "b.ts - a.ts > 0 s"),
        (a.ts - timedelta(hours=1.5) < b.ts, "a.ts - 90 min < b.ts"),
        (2 * (b.ts - a.ts) < a.x * pd.Timedelta("3 ms"), "2 * (b.ts - a.ts) < a.x * 3 ms"),
        ((b.ts - a.ts) / np.timedelta64(1, "s") < 3, "(b.ts - a.ts) / 1 second < 3"),
        (np.timedelta64(5000, "ns") < b.ts - a.ts, "b.ts - a.ts > 5 us"),
        ((b.ts - a.ts).between(-timedelta(1), timedelta(1)), "b.ts - a.ts BETWEEN -1 d AND 1 d"),
    ],
)
def test_conditions(term, text):
    assert expression_of(term) == parse_condition(text)


@pytest.mark.parametrize(
    ("pattern", "window"),
    [
        (PAIR.within("90 min"), TimeWindow(5_400_000_000)),
        (PAIR.within(timedelta(days=1)), TimeWindow(86_400_000_000)),
        (PAIR.within("100 events"), CountWindow(100)),
        (PAIR.within(events=100, exclusive=True), CountWindow(100, True)),
        (PAIR.within("1 s exclusive"), TimeWindow(1_000_000, True)),
    ],
)
def test_windows(pattern, window):
    assert pattern.query.window == window


def test_builder_steps_do_not_change_earlier_patterns():
    first = PAIR.where(a.x < b.x)
    first.where(b.x < 3).strategy(Strategy.STRICT_CONTIGUITY)
    assert first == PAIR.where(a.x < b.x)
    assert PAIR.query.where is None


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: a.x < b.x < c.x, "chained comparisons"),
        (lambda: a.x < b.x and b.x < c.x, "has no truth value"),
        (lambda: not a.x, "has no truth value"),
        (lambda: 3 in a.x, None),
        (lambda: list(a), None),
        (lambda: a.x < 3 & b.x, "bracket each comparison"),
        (lambda: a.x == None, "is_null"),  # noqa: E711
        (lambda: a.x < b, "'b' alone is not a value"),
        (lambda: a.ts < date(2024, 5, 1), "a time is written as a text"),
        (lambda: a.ts < np.datetime64("2024-05-01", "ns") + 1, "a time of whole microseconds"),
        (lambda: a.ts < pd.NaT, "a time of whole microseconds"),
        (lambda: a.d < pd.Timedelta(5, "ns"), "a duration of whole microseconds"),
        (lambda: a.d < np.timedelta64(1, "M"), "a duration of whole microseconds"),
        (lambda: a.d < np.timedelta64("NaT"), "a duration of whole microseconds"),
        (lambda: PAIR.where(a.d < timedelta(weeks=10**8)).query, "292,000 years"),
        (lambda: a.x.is_in("abc"), "list of values"),
        (lambda: a[0], "a column's name"),
        (lambda: prev(a.x + 1), "attribute of a variable"),
        (lambda: PAIR.where(sum_(a.x + 1) > 3).query, "which is of many matches"),
        (lambda: PAIR.within(4), "duration with its unit"),
        (PAIR.within, "window of nothing"),
        (lambda: PAIR.within("4 h", events=3), "both"),
        (lambda: PAIR.strategy("skip-till-next"), "did you mean"),
        (lambda: PAIR.agg(a.x), "not an aggregate"),
        (lambda: seq(PAIR.within("1 s"), event("c", "C")), "has its own condition"),
        (lambda: seq("A a"), "part of a pattern"),
        (lambda: PAIR.where(a.x < NAN).query, "finite"),
        (lambda: PAIR.where(a.x.is_in([])).query, "IN with an empty list"),
        (lambda: seq().query, "SEQ of nothing"),
        (lambda: PAIR.where(c.x < 3).query, "not a variable of the pattern"),
        (lambda: as_query(3), "type int"),
    ],
)
def test_mistakes_are_refused(mistake, message):
    with pytest.raises((PatternError, TypeError) if message is None else PatternError) as caught:
        mistake()
    if message is not None:
        assert message in str(caught.value)


def test_an_event_refuses_a_type_that_is_no_text_and_no_kind():
    for wrong in (3, {"A": 1}, object(), ["A"]):
        with pytest.raises(ArgumentError, match="types="):
            event("a", "A", wrong)


def test_a_window_takes_whole_events_and_a_truth_value():
    for options in ({"events": "3"}, {"events": 2.5}, {"duration": "1 s", "exclusive": "no"}):
        with pytest.raises(ArgumentError):
            PAIR.within(**options)


def test_as_query_takes_text_builder_and_query():
    query = parse("PATTERN SEQ(A a, B b)")
    assert as_query(str(query)) == as_query(PAIR) == as_query(query) == query


def test_patterns_and_variables_can_be_copied_and_pickled():
    pattern = PAIR.where(a.x < 3)
    assert pickle.loads(pickle.dumps(pattern)) == pattern
    assert copy.deepcopy(pattern) == pattern
    assert str(copy.copy(a).x) == "a.x"


def test_pattern_deeper_than_a_hundred_levels_is_refused_in_every_use():
    total, part = var("a").x, event("a", "A")
    for _ in range(20_000):
        total, part = total + 1, seq(part)
    pattern = event("a", "A").where(total < 1)
    for use in (str, repr, lambda it: it.query, as_query):
        for deep in (pattern, part):
            with pytest.raises(PatternError, match="100 levels"):
                use(deep)
    with pytest.raises(PatternError, match="100 levels"):
        bool(total)


@pytest.mark.parametrize(
    ("duration", "hint"),
    [
        (10**5000, "a very large int seconds"),
        (Rude(), "4 hours"),
        (5, "5 seconds"),
        ([1], "4 hours"),
    ],
    ids=["large", "rude", "number", "list"],
)
def test_within_refuses_values_that_are_no_duration_with_a_hint(duration, hint):
    with pytest.raises(PatternError) as error:
        PAIR.within(duration)
    assert error.value.hint == f'within("{hint}")'


@pytest.mark.parametrize(
    "time",
    [
        datetime(2024, 5, 1, 9, 30),  # noqa: DTZ001 - by the clock of the stream
        datetime(2024, 5, 1, 9, 30, tzinfo=UTC),
        pd.Timestamp("2024-05-01 11:30", tz="Europe/Berlin"),
        np.datetime64("2024-05-01T09:30"),
    ],
)
def test_times_of_python_are_those_of_texts(time):
    zone = "" if getattr(time, "tzinfo", None) is None else "Z"
    written = parse(f"PATTERN SEQ(A a, B b) WHERE a.ts < TIMESTAMP '2024-05-01 09:30{zone}'")
    assert seq(event("a", "A"), event("b", "B")).where(a.ts < time).query == written


def test_aggregates_of_values_are_built_as_they_are_written():
    a, b = var("a"), var("b")
    built = PAIR.agg(avg(b.t - a.t), count(a.user, distinct=True), "P95(b.x)", avg(b.x))
    text = "PATTERN SEQ(A a, B b) AGG AVG(b.t - a.t), COUNT(DISTINCT a.user), P95(b.x), AVG(b.x)"
    assert built.query == parse(text)
    over = built.having(avg(b.t - a.t) > timedelta(minutes=5)).query
    assert parse(str(over)) == over


def test_days_and_weeks_of_events_and_times_are_built_as_they_are_written():
    built = PAIR.where(same_day(a, b) & ~same_week(a.t, b.t)).query
    assert built == parse("PATTERN SEQ(A a, B b) WHERE same_day(a, b) AND NOT same_week(a.t, b.t)")
    assert parse(str(built)) == built
