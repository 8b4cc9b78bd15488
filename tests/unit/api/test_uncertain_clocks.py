"""Detection under uncertain clocks: results, errors of events, what is refused, and why-not."""

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import StreamError, UnsupportedError

ROWS = [
    {"ts": 0, "type": "A", "x": 1, "off": 1},
    {"ts": 100, "type": "B", "x": 2, "off": 15},
    {"ts": 88, "type": "C", "x": 3, "off": 15},
]
STREAM = ck.events(ROWS, time="ts", type="type", unit="ms")
PAIR = "PATTERN SEQ(A a, B b) WITHIN 100 ms"
LATE = "PATTERN SEQ(B b, C c)"


def detected(pattern, error="20 ms", **options):
    return ck.detect(STREAM, pattern, clock_error=error, **options)


def test_bounds_that_need_one_clock_slow_and_fast_are_not_possible():
    rows = [{"ts": 100 * i, "type": "ABC"[i]} for i in range(3)]
    stream = ck.events(rows, time="ts", type="type", unit="ms")
    bounds = "WITHIN {0} ms FROM a TO b WITHIN {0} ms FROM b TO c"
    for most, number in ((85, 0), (90, 1)):
        pattern = f"PATTERN SEQ(A a, B b, C c) {bounds.format(most)}"
        assert ck.detect(stream, pattern, clock_error="10 ms").count() == number


def test_without_error_all_matches_are_certain():
    assert detected(PAIR, "0 ms").counts().to_dict() == {"certain": 1, "possible": 0}
    assert ck.detect(STREAM, PAIR).counts().to_dict() == {"certain": 1, "possible": 0}


def test_result_has_certainty_in_all_forms(tmp_path):
    matches = detected(PAIR)
    assert matches.to_pandas()["certainty"].tolist() == ["possible"]
    assert matches.to_arrow().column("certainty").to_pylist() == ["possible"]
    assert [row["certainty"] for row in matches] == ["possible"]
    matches.write_parquet(tmp_path / "m.parquet")
    assert pd.read_parquet(tmp_path / "m.parquet")["certainty"].tolist() == ["possible"]
    assert "0 certain and 1 possible" in repr(matches)
    assert "possible" in matches._repr_html_()
    assert len(matches) == matches.count() == 1
    assert len(matches.timeline()) == 2
    assert len(matches.explain().steps) == 2
    assert matches.count() == 1


def test_condition_on_the_time_of_timestamps_is_a_difference():
    frame = pd.DataFrame(ROWS).assign(ts=lambda f: pd.to_datetime(f["ts"], unit="ms"))
    stream = ck.events(frame, time="ts", type="type")
    for limit, error, certainty in (("99 ms", "1 ms", "possible"), ("110 ms", "5 ms", "certain")):
        pattern = f"PATTERN SEQ(A a, B b) WHERE b.ts <= a.ts + {limit}"
        matches = ck.detect(stream, pattern, clock_error=error)
        assert matches.to_pandas()["certainty"].tolist() == [certainty]
        assert str(matches.query) == str(ck.parse(pattern))


def test_timeline_has_the_errors_of_clocks_and_the_certainty():
    tidy = ck.detect(STREAM, "PATTERN AND(B b, C c) WITHIN 20 ms", clock_error="off").timeline()
    assert tidy["clock_error"].tolist() == [15.0, 15.0]  # in the unit of the times
    assert tidy["certainty"].tolist() == ["possible", "possible"]
    frame = pd.DataFrame(ROWS).assign(ts=lambda f: pd.to_datetime(f["ts"], unit="ms"))
    timed = ck.detect(ck.events(frame, time="ts", type="type"), PAIR, clock_error="3 ms")
    assert timed.timeline()["clock_error"].tolist() == [pd.Timedelta(3, "ms")] * 2


def test_figure_shows_errors_as_bars_and_tells_certain_from_possible():
    rows = [*ROWS, {"ts": 300, "type": "A"}, {"ts": 320, "type": "B"}]
    stream = ck.events(rows, time="ts", type="type", unit="ms")
    chart = ck.draw(ck.detect(stream, PAIR, clock_error="7 ms"))
    assert [*chart.layout.yaxis.ticktext] == ["1 · possible", "2 · certain"]
    lines = {line.name: line for line in chart.data if line.mode == "lines"}
    assert (lines["certain"].line.dash, [*lines["certain"].x]) == ("solid", [300, 320])
    assert (lines["possible"].line.dash, [*lines["possible"].x]) == ("dot", [0, 100])
    ends = {x for x in lines[None].x if x is not None}
    assert ends == {-7, 7, 93, 107, 293, 307, 313, 327}
    assert "± 7" in chart.data[-1].hovertext[0]


def test_result_of_return_has_certainty():
    matches = detected(f"{PAIR} RETURN a.x AS x")
    assert [*matches.to_pandas()] == ["x", "match_start", "match_end", "certainty"]
    assert "certainty" in repr(matches)


def test_limit_cuts_the_matches():
    assert detected("PATTERN AND(ANY a, ANY b)", limit=2).count() == 2
    assert len(detected("PATTERN AND(ANY a, ANY b)", limit=2).to_pandas()) == 2


def test_plan_orders_the_wider_pattern():
    assert str(detected(PAIR, plan=["b", "a"]).plan.branches[0]) == "b → a"


def test_column_of_errors_is_in_the_unit_of_times():
    assert ck.detect(STREAM, LATE, clock_error="off").count() == 1
    rows = [{**row, "off": pd.Timedelta(row["off"], "ms")} for row in ROWS]
    own = ck.events(pd.DataFrame(rows), time="ts", type="type", unit="ms")
    assert ck.detect(own, LATE, clock_error="off").count() == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, None, 1], "has no value for some events"),
        ([1, -1, 1], "of -1,000 microseconds"),
        ([1, float("inf"), 1], "of inf microseconds"),
        (["a", "b", "c"], "a column of the kind text"),
    ],
)
def test_column_of_errors_is_refused_if_wrong(values, message):
    rows = [{**row, "off": value} for row, value in zip(ROWS, values, strict=True)]
    stream = ck.events(pd.DataFrame(rows), time="ts", type="type", unit="ms")
    with pytest.raises(StreamError, match=message):
        ck.detect(stream, LATE, clock_error="off")


@pytest.mark.parametrize("error", ["20", "twenty ms", "-1 ms", "20 lightyears"])
def test_wrong_duration_is_refused(error):
    with pytest.raises(StreamError, match="clock_error="):
        detected(PAIR, error)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("PATTERN SEQ(A a, KL(B b))", "a set of events KL"),
        ("PATTERN SEQ(A a, FIRST B b)", "first or next event"),
        ("PATTERN SEQ(A a, NEXT B b)", "first or next event"),
        ("PATTERN SEQ(A a, OPT(B b) GREEDY, C c)", "depends on the order"),
        ("PATTERN SEQ(A a, NOT(SEQ(B b, B d)), C c)", "absent together"),
        ("PATTERN SEQ(A a, NOT(B b), C c, NOT(B d))", "one event could break both"),
        ("PATTERN AND(A a, OR(NOT(B b), NOT(C c)))", "an OR of absences"),
        ("PATTERN OR(SEQ(A a, B b), SEQ(B b, C c))", "several choices"),
        (f"{PAIR} STRATEGY strict-contiguity", "STRATEGY strict-contiguity"),
        (f"{PAIR} STRATEGY skip-till-next-match", "STRATEGY skip-till-next-match"),
        ("PATTERN SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP"),
        ("PATTERN SEQ(A a, B b) WITHIN 3 EVENTS", "a window in events"),
        ("PATTERN SEQ(A a, B b) WITHIN 2 calendar days", "calendar days"),
        ("PATTERN SEQ(A a, B b) WHERE b.ts > '2024-01-01'", "reads the time"),
        ("PATTERN SEQ(A a, B b, C c) WHERE b.ts - a.ts < c.ts - b.ts", "reads the time"),
        ("PATTERN SEQ(A a, B b) WHERE b.ts - a.ts < 5", "reads the time"),
        ("PATTERN SEQ(A a, B b) WHERE b.ts - a.ts != 5 ms", "reads the time"),
        ("PATTERN SEQ(A a, B certainty)", "a column 'certainty'"),
        ([PAIR, PAIR], "several patterns"),
    ],
)
def test_what_has_no_meaning_is_refused(pattern, message):
    with pytest.raises(UnsupportedError, match=message) as refusal:
        detected(pattern)
    assert refusal.value.hint


def test_order_of_arrival_and_adaptation_are_refused():
    ties = ck.events(ROWS, time="ts", type="type", unit="ms", ties="arrival")
    with pytest.raises(UnsupportedError, match="order of arrival"):
        ck.detect(ties, PAIR, clock_error="1 ms")
    with pytest.raises(UnsupportedError, match="adapt="):
        detected(PAIR, adapt="slices")


@pytest.mark.parametrize(
    ("pattern", "events", "error", "note"),
    [
        (LATE, {"b": 1, "c": 2}, "20 ms", "was more than 12 ms slow, or that of b (row 1) was"),
        (LATE, {"b": 1, "c": 2}, "8 ms", "slow and that of b (row 1) fast, by more than 12 ms"),
        (
            "PATTERN AND(B b, C c) WHERE b.ts - c.ts < 10 ms", {"b": 1, "c": 2}, "20 ms",
            "was 2.001 ms slow, or that of b (row 1) was 2.001 ms fast",
        ),
        (LATE, {"b": 1, "c": 2}, "2 ms", "12.001 ms off, and clock_error= allows 4 ms"),
        (f"{LATE} WHERE b.x > c.x", {"b": 1, "c": 2}, "20 ms", "b.x > c.x fails"),
        ("PATTERN SEQ(A a, B b)", {"a": 0, "b": 1}, "20 ms", "a certain match"),
        ("PATTERN SEQ(A a, B b)", {"a": 0, "b": 1}, "60 ms", "no match if the clock of a"),
        (PAIR, {"a": 0, "b": 1}, "60 ms", "no match if the clock of b (row 1) was more than 0 s"),
        (
            "PATTERN SEQ(A a, NOT(C x), B b)", {"a": 0, "b": 1}, "10 ms",
            "the clock of x (row 2) was slow and that of b (row 1) fast, by 12 ms together",
        ),
    ],
)  # fmt: skip
def test_why_not_names_the_clocks(pattern, events, error, note):
    answer = ck.why_not(STREAM, pattern, clock_error=error, **events)
    assert note in answer.notes[-1]


def test_why_not_of_no_events_names_the_clocks_of_near_misses():
    answer = ck.why_not(STREAM, LATE, clock_error="20 ms")
    assert answer.notes[-1].startswith("near miss 1: a possible match: only if the clock of c")
