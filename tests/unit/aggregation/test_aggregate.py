"""`cepkit.aggregate`: its refusals and their messages, the method it chooses, its output."""

from __future__ import annotations

import math

import pandas as pd
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import PatternError, StreamError, UnsupportedError
from tests.unit.aggregation.cases import METHODS, stream, values

EVENTS = stream("a b c", x=[1, 2, 3], k=[1, 1, 1])


@pytest.mark.parametrize(
    ("pattern", "reason", "place"),
    [
        ("AND(A a, B b)", "AND is not a sequence", "AND(A a, B b)"),
        ("SEQ(A a, OR(B b, C c))", "OR is not a sequence", "OR(B b, C c)"),
        ("SEQ(A a, KL(B b){1,3})", "only sets of any size are counted", "KL(B b){1,3}"),
        ("SEQ(A a, KL(B b) GREEDY)", "events beside a set decide", "KL(B b) GREEDY"),
        ("SEQ(A a, KL(B b)) WHERE avg(b.x) > 1", "is about a whole set", "avg(b.x) > 1"),
        ("SEQ(A a, KL(B b)) WHERE b.x < a.x", "b.x < a.x compares events", "b.x < a.x"),
        ("SEQ(KL(B b), NOT(A a), C c)", "where the first set, 'b', ends", "NOT(A a)"),
        ("SEQ(KL(B b), FIRST C c)", "where the first set, 'b', ends", "FIRST C c"),
        ("SEQ(NOT(A a), B b)", "'a' must be absent before the first event", "NOT(A a)"),
        ("SEQ(A a, NOT(B b))", "'b' must be absent after the last event", "B b"),
        ("SEQ(A a, B b) WHERE a.x < b.x", "a.x < b.x compares events", "a.x < b.x"),
        ("SEQ(A a, B b, C c) WHERE a.k = b.k", "does not include 'c'", "a.k"),
        ("SEQ(A a, NOT(C c), B b) WHERE a.k = c.k", "the other events need not agree", "a.k"),
        ("SEQ(A a, NOT(C c), B b) WHERE a.k = b.k", "does not include 'c'", "a.k"),
    ],
)
def test_a_seq_refuses_unsupported_operators_with_reason_and_place(
    pattern: str, reason: str, place: str
) -> None:
    text = f"PATTERN {pattern} WITHIN 9 s AGG COUNT"
    with pytest.raises(UnsupportedError) as refused:
        ck.aggregate(EVENTS, text, method="a-seq")
    assert reason in refused.value.found
    span = refused.value.span
    assert span is not None
    assert span.text[span.start : span.end] == place
    assert "method 'auto'" in str(refused.value) or "PARTITION BY" in str(refused.value)
    found = ck.aggregate(EVENTS, text)
    assert found.method == "detect"
    assert reason in found.reason


def test_events_side_by_side_are_detected() -> None:
    text = "PATTERN SEQ(A a, B b) AGG COUNT STRATEGY strict-contiguity"
    assert ck.aggregate(EVENTS, text).reason == (
        "the strategy strict-contiguity chooses among matches"
    )
    assert values(EVENTS, text) == [(2, 1, 1)]


def test_a_window_in_events_leaves_a_match_behind_when_an_event_arrives() -> None:
    events = stream("a b x b@3 x@5 a b")
    text = "PATTERN SEQ(A a, B b) WITHIN 4 EVENTS AGG COUNT"
    assert values(events, text, emit="new") == [(2, 1, 1), (3, 1, 1), (7, 1, 1)]
    assert values(events, text, emit="total") == [(3,)]
    # The first event is the fourth from the end until the fifth arrives, whatever its type.
    assert values(events, text) == [(2, 1, 1), (3, 2, 1), (7, 1, 1)]
    assert values(events, text, emit="changes") == [
        (2, "trigger", 1, 1),
        (3, "trigger", 2, 1),
        (5, "expiry", 0, 0),
        (7, "trigger", 1, 1),
    ]


def test_a_window_in_events_counts_inside_a_group() -> None:
    events = stream("a a b x x x b", k=[1, 2, 1, 1, 1, 2, 2])
    text = "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS AGG COUNT GROUP BY k"
    assert values(events, text, emit="changes") == [
        (3, "trigger", 1, 1, 1),
        (5, "expiry", 1, 0, 0),
        (7, "trigger", 2, 1, 1),
    ]


def test_live_count_is_taken_after_all_events_of_one_time() -> None:
    events = stream("a@1 b@2 x@2")
    text = "PATTERN SEQ(A a, B b) WITHIN 2 EVENTS AGG COUNT"
    assert values(events, text, emit="changes") == [(2, "trigger", 0, 1)]


def test_sets_are_counted_without_being_made() -> None:
    events = stream("a " + "b " * 90 + "c")
    assert values(events, "PATTERN SEQ(A a, KL(B b), C c) AGG COUNT", emit="total") == [
        (2**90 - 1,)
    ]


@pytest.mark.parametrize("window", ["", "WITHIN 20000 s"])
def test_sums_over_more_sets_than_floats_hold_are_exact(window: str) -> None:
    n = 1200
    events = stream("a " + "b " * n + "c", x=[0.0, *[0.1] * n, 0.0], k=[0, *[3] * n, 0])
    text = (
        f"PATTERN SEQ(A a, KL(B b), C c) {window} AGG COUNT, COUNT(b), AVG(b.x), SUM(b.x), SUM(b.k)"
    )
    (row,) = values(events, text, emit="total")
    in_sets = n * 2 ** (n - 1)
    assert row == (2**n - 1, in_sets, 0.1, math.inf, 3 * in_sets)


def test_sets_at_the_end_are_triggers_of_their_own() -> None:
    events = stream("a b b@3 b@3 b")
    text = "PATTERN SEQ(A a, KL(B b)) WITHIN 3 s AGG COUNT, COUNT(b)"
    assert values(events, text, emit="new") == [
        (2, 1, 1, 1),
        (3, 2, 3, 2),
        (3, 4, 8, 4),
        (4, 8, 20, 8),
    ]
    assert ck.aggregate(events, text).method == "window-product"
    assert values(events, text, emit="new", method="detect") == values(events, text, emit="new")


def test_an_absence_after_a_set_is_about_its_last_member() -> None:
    events = stream("a b d b c d c", x=[0, 1, 0, 2, 0, 0, 0])
    text = "PATTERN SEQ(A a, KL(B b), NOT(D d), C c) {} AGG COUNT, SUM(b.x), MAX(b.x)"
    # After the first d only sets with the second b are left; after the second none.
    for window in ("", "WITHIN 9 s"):
        assert values(events, text.format(window), emit="new") == [
            (5, 2, 5, 2, 2),
            (7, 0, None, None, 0),
        ]
        assert ck.aggregate(events, text.format(window)).method == "window-product"


def test_aggregates_of_sets_name_their_method_and_reason() -> None:
    events = stream("a b b c", x=[1, 2, 3, 4])
    counted = ck.aggregate(events, "PATTERN SEQ(A a, KL(B b), C c) WITHIN 9 s AGG COUNT")
    assert counted.method == "prefix-counters"
    summed = "PATTERN SEQ(A a, KL(B b), C c) AGG SUM(b.x)"
    for method in ("auto", "prefix-counters", "window-product"):
        found = ck.aggregate(events, summed, method=method)
        assert (found.method, found.reason) == (
            "window-product",
            "a product carries values along sets",
        )


def test_aggregates_of_sets_are_about_their_members() -> None:
    events = stream("a b b c", x=[0, 2, 5, 0])
    text = "PATTERN SEQ(A a, KL(B b), C c) AGG COUNT, COUNT(b), SUM(b.x), MAX(b.x), AVG(b.x)"
    # The sets are of 2, of 5, and of both.
    assert values(events, text) == [(4, 3, 4, 14, 5, 3.5, 3)]


def test_variable_unbound_in_a_branch_counts_as_missing() -> None:
    events = stream("a b", x=[3, 4])
    text = "PATTERN OR(A a, B b) AGG COUNT, COUNT(a), SUM(a.x)"
    assert values(events, text) == [(1, 1, 1, 3, 1), (2, 2, 1, 3, 1)]


def test_auto_takes_prefix_counters_for_few_starts_and_a_product_for_many() -> None:
    text = "PATTERN SEQ(A a, NOT(C n), B b) WITHIN {} s AGG COUNT"
    events = stream("a b a b c " * 120, x=[0.5] * 600)
    few, many = (ck.aggregate(events, text.format(s)) for s in (10, 400))
    assert (few.method, many.method) == ("prefix-counters", "window-product")
    assert "STARTs live at once" in many.reason
    lanes = ", SUM(b.x), MIN(b.x)"
    few, many = (ck.aggregate(events, text.format(s) + lanes) for s in (10, 400))
    assert (few.method, many.method) == ("prefix-counters", "window-product")
    no_window = ck.aggregate(events, "PATTERN SEQ(A a, B b) AGG COUNT")
    assert (no_window.method, "without a window" in no_window.reason) == ("prefix-counters", True)


def test_auto_takes_a_product_that_whole_numbers_can_be_subtracted_from() -> None:
    events = stream("a b c " * 3, x=[1, 2, 3] * 3)
    found = ck.aggregate(events, "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT, SUM(b.x), COUNT(a.x)")
    assert (found.method, "subtracted" in found.reason) == ("window-product", True)
    absent = ck.aggregate(events, "PATTERN SEQ(A a, NOT(C n), B b) WITHIN 9 s AGG COUNT")
    assert absent.method == "prefix-counters"


@pytest.mark.parametrize("method", METHODS)
def test_triggers_of_one_time_show_the_same_live_counts(method: str) -> None:
    events = stream("a@1 b@2 b@2 a@2 b@3")
    text = "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT"
    assert values(events, text, method=method) == [(2, 2, 1), (2, 2, 1), (3, 4, 2)]


@pytest.mark.parametrize("method", METHODS)
def test_event_that_fits_several_positions_is_bound_once_in_a_match(method: str) -> None:
    text = "PATTERN SEQ(A a, ANY b, A c) WITHIN 9 s AGG COUNT"
    assert [row[1] for row in values(stream("a a a b a"), text, method=method)] == [0, 0, 1, 7]


@pytest.mark.parametrize("method", METHODS)
def test_null_is_a_group_and_no_key(method: str) -> None:
    keys = pd.array([1, None, 1, None, None], "Int64")
    events = stream("a a b b b", k=keys)
    by_group = "PATTERN SEQ(A a, B b) AGG COUNT GROUP BY k"
    assert values(events, by_group, method=method) == [
        (3, 1, 1, 1),
        (4, None, 1, 1),
        (5, None, 2, 1),
    ]
    by_key = "PATTERN SEQ(A a, B b) WHERE a.k = b.k AGG COUNT"
    assert values(events, by_key, method=method) == [(3, 1, 1), (4, 1, 0), (5, 1, 0)]


def test_totals_of_groups_come_in_the_order_of_groups() -> None:
    events = stream("a a b b", k=["z", "a", "z", "a"])
    rows = values(events, "PATTERN SEQ(A a, B b) AGG COUNT GROUP BY k", emit="total")
    assert rows == [("a", 1), ("z", 1)]


def test_times_keep_their_zone() -> None:
    def kind(times: object, **options: str) -> pa.DataType:
        frame = pd.DataFrame({"t": times, "kind": ["A"]})
        events = ck.events(frame, time="t", type="kind", **options)
        return ck.aggregate(events, "PATTERN A a AGG COUNT").to_arrow().schema.field("ts").type

    assert kind(pd.to_datetime(["2024-01-01"])) == pa.timestamp("us")
    assert kind(pd.to_datetime(["2024-01-01"]), timezone="+02:00") == pa.timestamp("us", "+02:00")
    tokyo = pd.to_datetime(["2024-01-01"]).tz_localize("Asia/Tokyo")
    assert kind(tokyo) == pa.timestamp("us", "Asia/Tokyo")
    assert kind([1], unit="s") == pa.timestamp("us", "UTC")


def test_a_result_is_shown_in_terminals_and_notebooks() -> None:
    found = ck.aggregate(EVENTS, "PATTERN SEQ(A a, C c) WITHIN 9 s AGG COUNT, AVG(c.x)")
    assert str(found).splitlines()[0] == (
        "Aggregates by window-product (whole numbers are subtracted as events expire), 1 row:"
    )
    assert "avg(c.x)" in found._repr_html_()
    assert len(found) == 1


@pytest.mark.parametrize(
    ("pattern", "options", "error", "found"),
    [
        ("PATTERN A a", {}, PatternError, "the pattern has no AGG"),
        ("PATTERN A a AGG COUNT", {"method": "best"}, StreamError, "method='best'"),
        ("PATTERN A a AGG COUNT", {"emit": "all"}, StreamError, "emit='all'"),
        ("PATTERN A a AGG SUM(a.nix)", {}, PatternError, "no column 'nix'"),
        ("PATTERN A a AGG COUNT GROUP BY ts", {}, PatternError, "another column of the result"),
        ("PATTERN SEQ(A a, NOT(B b), C c) AGG SUM(b.x)", {}, PatternError, "under NOT"),
    ],
)
def test_wrong_arguments_and_aggregates_are_refused(
    pattern: str, options: dict[str, str], error: type[Exception], found: str
) -> None:
    with pytest.raises(error, match=found):
        ck.aggregate(EVENTS, pattern, **options)


@pytest.mark.parametrize("method", ["a-seq", "detect"])
def test_columns_of_aggregates_and_groups_need_not_be_carried(method: str) -> None:
    frame = pd.DataFrame(
        {
            "ts": pd.to_datetime([1, 2], unit="s"),
            "kind": ["A", "B"],
            "k": ["x", "x"],
            "at": pd.to_datetime([3, 4], unit="s"),
            "other": [0, 0],
        }
    )
    events = ck.events(frame, time="ts", type="kind", columns=["other"])
    text = "PATTERN SEQ(A a, B b) WITHIN 9 s AGG MIN(b.at) GROUP BY k"
    assert values(events, text, method=method) == [(2, "x", pd.Timestamp(4, unit="s"), 1)]


def test_an_empty_stream_has_no_triggers() -> None:
    frame = pd.DataFrame({"ts": pd.to_datetime([]), "kind": pd.Series([], dtype=str)})
    events = ck.events(frame, time="ts", type="kind")
    with pytest.warns(UserWarning, match="the stream has no events"):
        assert values(events, "PATTERN SEQ(A a, B b) WITHIN 1 s AGG COUNT") == []


@pytest.mark.parametrize("method", ["auto", "detect"])
@pytest.mark.parametrize("emit", ["total", "trigger", "changes", "new"])
def test_rows_of_which_none_is_an_event_have_no_sum(method: str, emit: str) -> None:
    rows = pa.table({"t": [1, 2], "kind": pa.array([None, None], pa.string()), "x": [1, 2]})
    nothing = ck.events(rows, time="t", type="kind", unit="s")
    pattern = "PATTERN SEQ(A a, KL(B b)) WITHIN 5 s AGG COUNT, SUM(a.x)"
    with pytest.warns(match="no events"):
        found = ck.aggregate(nothing, pattern, emit=emit, method=method).to_arrow()
    if emit == "total":
        assert found.to_pylist() == [{"count": 0, "sum(a.x)": None}]
    else:
        assert found.num_rows == 0


def test_method_that_has_gone_names_its_successor() -> None:
    with pytest.raises(StreamError, match=r"two-step' was removed\nHint: method='detect'"):
        ck.aggregate(stream("a b"), "PATTERN SEQ(A a, B b) AGG COUNT", method="two-step")
