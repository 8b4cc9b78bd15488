"""Counts of matches for the values of parameters."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import LimitError, PatternError, StreamError, UnsupportedError

FRAME = pd.DataFrame(
    {"t": range(40), "type": list("AB") * 20, "x": [i * 7 % 11 for i in range(40)], "m": "ab" * 1}
)
STREAM = ck.events(FRAME, time="t", type="type", unit="s")
PAIRS = "PATTERN SEQ(A a, B b) WHERE b.x - a.x > $k WITHIN 5 seconds"


def test_values_are_those_where_the_number_of_matches_changes():
    curve = ck.calibrate(STREAM, PAIRS)
    frame = curve.to_pandas()
    assert frame["k"].is_monotonic_increasing
    assert frame["matches"].iloc[-1] == 0
    assert curve.runs == 1
    assert (frame["matches"].diff().dropna() < 0).all()


def test_values_are_short_where_differences_of_decimals_are_not():
    frame = pd.DataFrame({"t": range(4), "type": list("AABB"), "x": [0.1, 0.3, 0.4, 0.6]})
    curve = ck.calibrate(ck.events(frame, time="t", type="type", unit="s"), PAIRS)
    assert [row.values[0] for row in curve.rows] == [0.1, 0.3, 0.5]
    for row in curve.rows:
        assert (
            row.matches
            == ck.detect(
                ck.events(frame, time="t", type="type", unit="s"), curve.bind(k=row.values[0])
            ).count()
        )


def test_columns_that_are_not_in_the_output_are_compared_with_parameters():
    bare = ck.events(FRAME, time="t", type="type", unit="s", columns=["m"])
    assert ck.calibrate(bare, PAIRS).rows == ck.calibrate(STREAM, PAIRS).rows


def test_two_parameters_have_every_choice():
    text = "PATTERN SEQ(A a, B b) WHERE b.x - a.x > $k AND b.t - a.t <= $t WITHIN 9 seconds"
    curve = ck.calibrate(STREAM, text, k=[0, 3], t=[timedelta(seconds=1), timedelta(seconds=9)])
    assert len(curve.rows) == 4
    assert curve.runs == 1
    for row in curve.rows:
        k, t = row.values
        assert row.matches == ck.detect(STREAM, ck.parse(text).bind(k=k, t=t)).count()


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("PATTERN SEQ(A a, NOT(B b), A c) WITHIN $k", ["2 s", "5 s"], "under NOT a window"),
        ("PATTERN SEQ(A a, B b) WITHIN 9 s WITHIN $k FROM a TO b", ["2 s"], "outside of the"),
        ("PATTERN SEQ(A a, B b) WITHIN $k EVENTS", [2, 5], "outside of the conditions"),
        ("PATTERN SEQ(A a, KL(B b){$k}) WITHIN 9 s", [1, 2], "outside of the conditions"),
        ("PATTERN SEQ(A a, KL(B b)) WHERE sum(b.x) > $k WITHIN 9 s", [3, 9], "single events"),
        ("PATTERN SEQ(A a, NOT(B b), A c) WHERE b.x > $k WITHIN 9 s", [3, 9], "single events"),
        ("PATTERN SEQ(A a, FIRST B b) WHERE b.x > $k WITHIN 9 s", [3, 9], "FIRST"),
        ("PATTERN SEQ(A a, B b) WHERE b.x = $k WITHIN 9 s", [3, 9], "no bound of a comparison"),
        ("PATTERN SEQ(A a, B b) WHERE a.x > $k AND b.x > $k WITHIN 9 s", [3, 9], "several places"),
        (
            "PATTERN SEQ(A a, B b) WHERE b.x > $k WITHIN 9 s STRATEGY skip-till-next-match",
            [3, 9],
            "depends on the others",
        ),
        ("DEFINE big AS A WHERE x * $k > 6 PATTERN SEQ(big a, B b) WITHIN 9 s", [1, 2], "no bound"),
    ],
)
def test_other_parameters_take_a_detection_for_each_value(text, values, reason):
    curve = ck.calibrate(STREAM, text, k=values)
    assert curve.runs == len(values)
    assert reason in str(curve)
    for row in curve.rows:
        bound = ck.parse(text).bind(k=row.values[0])
        assert row.matches == ck.detect(STREAM, bound).count()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN $k", ["2 s", timedelta(seconds=5), "1 minute"]),
        ("PATTERN SEQ(A a, KL(B b){1,2}) WITHIN $k seconds EXCLUSIVE", [2, 3.5, 5]),
        ("PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN $k seconds PARTITION BY m", [2, 5]),
    ],
)
def test_values_of_a_window_take_one_detection(text, values):
    curve = ck.calibrate(STREAM, text, k=values)
    assert curve.runs == 1
    for row in curve.rows:
        bound = ck.parse(text).bind(k=row.values[0])
        assert row.matches == ck.detect(STREAM, bound).count()


def test_threshold_of_a_kind_takes_one_detection():
    text = "DEFINE big AS A WHERE x > $k PATTERN SEQ(big a, B b) WITHIN 9 s"
    curve = ck.calibrate(STREAM, text, k=[3, 9])
    assert curve.runs == 1
    for row in curve.rows:
        bound = ck.parse(text).bind(k=row.values[0])
        assert row.matches == ck.detect(STREAM, bound).count()


def test_whole_numbers_beyond_those_of_floats_are_compared_exactly():
    rows = [{"t": t, "type": "A", "x": 2**60 + t} for t in range(3)]
    stream = ck.events(rows, time="t", type="type", unit="s")
    for sign, expected in ((">", [2, 1, 0]), (">=", [3, 2, 0]), ("<", [0, 1, 3])):
        text = f"PATTERN A a WHERE a.x {sign} $k"
        curve = ck.calibrate(stream, text, k=[2**60, 2**60 + 1, 2**70])
        assert [row.matches for row in curve.rows] == expected


@pytest.mark.parametrize("zone", [None, "Europe/Rome", "UTC"])
def test_labels_without_a_zone_are_in_that_of_the_stream(zone):
    times = pd.date_range("2024-07-01 10:00", periods=6, freq="1h")
    frame = pd.DataFrame({"t": times, "x": [0, 9, 0, 9, 0, 0]})
    stream = ck.events(frame, time="t", timezone=zone)
    for labels in (times[[1, 4]], times[[1, 4]].tz_localize(zone or "UTC")):
        curve = ck.calibrate(stream, "PATTERN ANY a WHERE a.x > $k", k=[5], labels=labels)
        assert (curve.rows[0].hits, curve.rows[0].false_alarms) == (1, 1)


@pytest.mark.parametrize("value", ["2 s EXCLUSIVE", "3 calendar days", "5 EVENTS"])
def test_window_that_is_no_plain_duration_is_refused(value):
    with pytest.raises(PatternError, match="compared with"):
        ck.calibrate(STREAM, "PATTERN SEQ(A a, B b) WITHIN $k", k=[value])


def test_best_values_have_the_least_cost():
    curve = ck.calibrate(STREAM, PAIRS, labels=[3, 21], tolerance="1 second", miss=100)
    frame = curve.to_pandas()
    assert curve.cost(curve.best) == frame["cost"].min()
    assert curve.bind() == curve.query.bind(k=curve.best.values[0])
    assert "★" in str(curve)


def test_without_labels_there_is_no_best_value():
    curve = ck.calibrate(STREAM, PAIRS, k=[1])
    assert curve.best is None
    assert list(curve.to_pandas().columns) == ["k", "matches"]
    with pytest.raises(PatternError, match="no values"):
        curve.bind()
    assert curve.bind(k=3) == ck.parse(PAIRS).bind(k=3)


@pytest.mark.parametrize(
    "none", [[], pd.DataFrame({"time": []}), pd.DataFrame({"time": [0.5]})[:0]]
)
def test_labels_without_rows_need_no_unit(none):
    times = pd.to_datetime(FRAME["t"], unit="s", utc=True)
    stream = ck.events(FRAME.assign(t=times), time="t", type="type")
    curve = ck.calibrate(stream, PAIRS, k=[1], labels=none, tolerance="1 s")
    assert [(row.hits, row.misses) for row in curve.rows] == [(0, 0)]
    with pytest.raises(StreamError, match="0 incidents in the time"):
        ck.learn(stream, none, within="1 s")


def test_empty_stream_has_a_curve_of_zeros():
    stream = ck.events(FRAME[:0], time="t", type="type", unit="s")
    with pytest.warns(ck.StreamWarning if hasattr(ck, "StreamWarning") else UserWarning):
        curve = ck.calibrate(stream, PAIRS, k=[1, 2], labels=[1], tolerance="1 s")
    assert [row.matches for row in curve.rows] == [0, 0]
    assert [row.misses for row in curve.rows] == [1, 1]


@pytest.mark.parametrize(
    ("pattern", "options", "error", "said"),
    [
        ("PATTERN A a", {}, PatternError, "has no parameter"),
        (PAIRS, {"q": [1]}, PatternError, "no parameter $q"),
        (PAIRS, {"k": ["x"]}, PatternError, "compared with 'x'"),
        (PAIRS + " AGG COUNT", {}, UnsupportedError, "AGG"),
        (PAIRS + " RETURN a.x", {}, UnsupportedError, "RETURN"),
        (PAIRS, {"k": range(200_000)}, LimitError, "200,000 choices"),
        ("PATTERN A a WITHIN $k", {}, PatternError, "no values for $k"),
        ("PATTERN A a WITHIN $k", {"k": ["5 hurs"]}, PatternError, "hurs"),
        (PAIRS, {"labels": pd.DataFrame({"tim": [1]})}, StreamError, "no column 'time'"),
        (PAIRS, {"labels": [1], "by": "m"}, StreamError, "labels with keys"),
        (PAIRS.replace("b.x", "b.y"), {}, PatternError, "no column 'y'"),
    ],
)
def test_wrong_arguments_are_refused(pattern, options, error, said):
    with pytest.raises(error, match=said.replace("$", r"\$")):
        ck.calibrate(STREAM, pattern, **options)


def test_pattern_with_parameters_cannot_run():
    with pytest.raises(PatternError, match=r"\$k has no value") as refused:
        ck.detect(STREAM, PAIRS)
    assert "calibrate" in refused.value.hint


def test_query_with_parameters_is_written_as_it_was():
    query = ck.parse(PAIRS)
    assert str(query) == PAIRS
    assert ck.parse(str(query)) == query


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (-0.5, "-0.5"),
        ("it's", "'it''s'"),
        (True, "TRUE"),
        (None, "NULL"),
        (timedelta(minutes=2), "2 minutes"),
    ],
)
def test_values_are_written_as_constants(value, text):
    bound = ck.parse("PATTERN SEQ(A a, B b) WHERE b.x = $k").bind(k=value)
    assert str(bound).splitlines()[1] == f"WHERE b.x = {text}"


def test_parameters_in_texts_and_comments_are_none():
    query = ck.parse("PATTERN A a -- $no\nWHERE a.x = '$no' AND a.\"$no\" > 3")
    assert query.parameters == ()
