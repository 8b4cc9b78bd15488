"""DEFINE: kinds of events, lowered to types and conditions."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern.builder import any_event, event, kind, kl, not_, seq, var
from cepkit.pattern.nodes import labels_of

SENSOR = """DEFINE hot AS temp > 30, cold AS temp < 20 AND valve = 'open'
PATTERN SEQ(hot a, NOT(alarm x), cold b)
WITHIN 10 minutes"""


def test_kinds_are_conditions_of_where():
    query = ck.parse(SENSOR)
    plain = ck.parse(
        "PATTERN SEQ(ANY a, NOT(alarm x), ANY b) "
        "WHERE a.temp > 30 AND b.temp < 20 AND b.valve = 'open' WITHIN 10 minutes"
    )
    assert query == plain
    assert hash(query) == hash(plain)


def test_kinds_are_written_as_they_were_defined():
    assert str(ck.parse(SENSOR)) == SENSOR
    assert str(pickle.loads(pickle.dumps(ck.parse(SENSOR)))) == SENSOR


def test_define_behind_pattern_is_written_before_it():
    head, structure, window = SENSOR.splitlines()
    assert str(ck.parse(f"{structure} {window} {head}")) == SENSOR


def test_conditions_of_kinds_stand_before_those_of_where():
    text = "DEFINE big AS order WHERE amount > 100 PATTERN SEQ(big a, b) WHERE a.k = b.k"
    query = ck.parse(text)
    assert query == ck.parse("PATTERN SEQ(order a, b) WHERE a.amount > 100 AND a.k = b.k")
    assert str(query).splitlines()[2] == "WHERE a.k = b.k"


def test_condition_of_a_kind_that_where_repeats_is_written_once():
    text = "DEFINE hot AS temp > 30 PATTERN SEQ(hot a, b) WHERE a.temp > 30 AND b.temp > 1"
    query = ck.parse(text)
    assert query == ck.parse(str(query))
    assert str(query).endswith("WHERE b.temp > 1")


def test_constants_of_two_types_are_two_conditions():
    query = ck.parse("DEFINE one AS x = 1 PATTERN SEQ(one a, b) WHERE a.x = 1.0")
    assert str(query).endswith("WHERE a.x = 1.0")


def test_query_without_the_condition_of_a_kind_is_written_with_types():
    query = replace(ck.parse(SENSOR), where=None)
    assert str(query) == "PATTERN SEQ(ANY a, NOT(alarm x), ANY b)\nWITHIN 10 minutes"


def test_several_kinds_of_one_event_are_a_choice():
    text = "DEFINE hot AS t > 30, cold AS t < 20 PATTERN a IN (hot, cold)"
    assert ck.parse(text) == ck.parse("PATTERN ANY a WHERE a.t < 20 OR a.t > 30")
    assert ck.parse(str(ck.parse(text))) == ck.parse(text)


def test_kind_of_a_kind_has_the_conditions_of_both():
    text = "DEFINE big AS order WHERE x > 1, huge AS big WHERE x > 9 PATTERN SEQ(big a, huge b)"
    plain = "PATTERN SEQ(order a, order b) WHERE a.x > 1 AND b.x > 1 AND b.x > 9"
    assert ck.parse(text) == ck.parse(plain)
    assert ck.parse(str(ck.parse(text))) == ck.parse(plain)


def test_kinds_of_repeated_groups_are_conditions_of_each_repetition():
    text = "DEFINE hot AS t > 30, cold AS t < 20 PATTERN KL(SEQ(hot a, cold b)){2}"
    query = ck.parse(text)
    assert query == ck.parse("PATTERN KL(SEQ(ANY a, ANY b)){2} WHERE a.t > 30 AND b.t < 20")
    assert str(query) == text.replace(" PATTERN", "\nPATTERN")


def test_labels_name_kinds():
    query = ck.parse("DEFINE hot AS t > 30, cold AS t < 2 PATTERN SEQ(hot a, b IN (hot, cold))")
    assert labels_of(query.structure) == {"a": "a: hot", "b": "b: cold or hot"}


def test_event_may_be_called_like_its_kind():
    query = ck.parse("DEFINE hot AS t > 30 PATTERN SEQ(hot, B b)")
    assert query == ck.parse("PATTERN SEQ(ANY hot, B b) WHERE hot.t > 30")
    assert "PATTERN SEQ(hot, B b)" in str(query)


def test_field_of_a_column_has_its_path():
    query = ck.parse("DEFINE admin AS user.role = 'admin' PATTERN admin a")
    assert query == ck.parse("PATTERN ANY a WHERE a.user.role = 'admin'")
    assert str(query).startswith("DEFINE admin AS user.role = 'admin'")


def test_columns_with_odd_names_are_quoted_in_define():
    for name in ('"or.role"', '"my col"', '"a.b c"', '"group"', "user.or"):
        text = f"DEFINE odd AS {name} = 1\nPATTERN odd a"
        assert str(ck.parse(text)) == text


def test_builder_has_kinds():
    e = var("e")
    hot = kind("hot", e.temp > 30)
    cold = kind("cold", (e.temp < 20) & (e.valve == "open"))
    alarm = not_(event("x", "alarm"))
    built = seq(event("a", hot), alarm, event("b", cold)).within("10 minutes")
    assert built.query == ck.parse(SENSOR)
    assert str(built) == SENSOR
    big = kind("big", e.x > 1, "order")
    huge = kind("huge", e.x > 9, big)
    text = "DEFINE huge AS order WHERE x > 1 AND x > 9 PATTERN KL(huge b)"
    assert kl(event("b", huge)).query == ck.parse(text)


def test_builder_refuses_two_kinds_of_one_name():
    one, two = kind("hot", var("e").x > 1), kind("hot", var("e").x > 2)
    with pytest.raises(PatternError, match="two kinds are called 'hot'"):
        _ = seq(event("a", one), event("b", two)).query


def test_builder_refuses_a_kind_about_two_events():
    with pytest.raises(PatternError, match="a condition on a, b"):
        kind("hot", var("a").x > var("b").x)


def test_variable_alone_in_a_builders_condition_is_refused():
    with pytest.raises(PatternError, match="x alone is not a value"):
        _ = any_event("a").where("x > 1").query


def test_matches_of_kinds_are_those_of_their_conditions():
    rows = [{"t": 0, "type": "alarm", "temp": 0, "valve": None}]
    rows += [
        {"t": t, "type": "reading", "temp": temp, "valve": "open"}
        for t, temp in enumerate([35, 31, 25, 12], 1)
    ]
    stream = ck.events(rows, time="t", type="type", unit="s")
    matches = ck.detect(stream, SENSOR)
    assert matches.count() == 2
    no_cold = ck.why_not(stream, SENSOR.replace("temp < 20", "temp < 2"))
    assert "b.temp < 2" in str(no_cold)


def test_kind_called_like_a_type_of_the_stream_is_refused():
    stream = ck.events([{"t": 1, "type": "hot", "x": 1}], time="t", type="type", unit="s")
    with pytest.raises(PatternError, match="'hot', which is a type of the stream") as error:
        ck.detect(stream, "DEFINE hot AS x > 0 PATTERN hot a").count()
    assert error.value.span.column == 8


def test_equal_kinds_of_two_patterns_are_shared_under_other_names():
    stream = ck.events(ck.sample_stocks(2_000), time="ts", type="ticker")
    one = "DEFINE dear AS price > 40 PATTERN SEQ(dear a, AAPL b, GOOG c) WITHIN 1 minute"
    other = "DEFINE high AS price > 40 PATTERN SEQ(high x, AAPL y, INTC z) WITHIN 1 minute"
    shared = ck.choose_plan([one, other], ck.profile(stream, [one, other]))
    assert 'SEQ(ANY, AAPL) where "ANY".price > 40' in str(shared)
