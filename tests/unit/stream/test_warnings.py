"""Warnings about a stream say which pattern they are about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import cepkit as ck
from cepkit.stream.warnings import StreamWarning

FRAME = pd.DataFrame({"ts": [1.0, 2.0, None], "kind": ["A", "Bb", "A"]})
STREAM = ck.events(FRAME, time="ts", type="kind", unit="s")
TEXT = "PATTERN SEQ(A a, B b) WITHIN 5 seconds"
OTHER = "PATTERN SEQ(A a, C c) WITHIN 5 seconds"
DROPPED = "rows left out of the stream: 1 without a time"
ABSENT = "no event has the type 'B': did you mean 'Bb'?"


def told_by(action: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    assert {one.category for one in caught} == {StreamWarning}
    assert {one.filename for one in caught} == {__file__}
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    "verb",
    [
        lambda text: ck.detect(STREAM, text, ["a", "b"]),
        lambda text: ck.aggregate(STREAM, f"{text} AGG COUNT", method="a-seq"),
        lambda text: ck.aggregate(STREAM, f"{text} AGG COUNT", method="detect"),
    ],
    ids=["detect", "a-seq", "aggregates of matches"],
)
def test_dropped_rows_and_absent_types_name_the_pattern(verb: Callable[[str], Any]) -> None:
    dropped, absent = told_by(lambda: verb(TEXT))
    assert dropped.startswith(f"{DROPPED} ({TEXT}")
    assert absent.startswith(f"{ABSENT} ({TEXT}")


def test_a_profile_and_traces_name_the_pattern() -> None:
    dropped, absent = told_by(lambda: ck.profile(STREAM, TEXT))
    assert (dropped, absent) == (f"{DROPPED} ({TEXT})", f"no event has the type 'B' ({TEXT})")
    assert told_by(lambda: ck.simulate(STREAM, TEXT, "prefix-counters")) == [f"{DROPPED} ({TEXT})"]
    traced = told_by(lambda: ck.simulate(STREAM, TEXT, "eager-nfa"))
    assert traced == [f"{DROPPED} ({TEXT})"]


def test_several_patterns_warn_of_rows_once_and_of_types_each() -> None:
    asked = [f"{text} AGG COUNT" for text in (TEXT, OTHER)]
    assert told_by(lambda: ck.aggregate(STREAM, asked)) == [
        DROPPED,
        f"{ABSENT} ({asked[0]})",
        f"no event has the type 'C' ({asked[1]})",
    ]


def test_a_long_pattern_is_one_short_line() -> None:
    order = [f"a{i}" for i in range(60)]
    events = ",\n".join(f"A {variable}" for variable in order)
    (told,) = told_by(lambda: ck.detect(STREAM, f"PATTERN SEQ({events})", order))
    assert told.startswith(f"{DROPPED} (PATTERN SEQ(A a0, A a1, ")
    assert told.endswith("…)")
    assert len(told) < 160


def test_numbers_that_are_compared_as_texts():
    frame = pd.DataFrame(
        {"ts": [0, 1, 2], "type": ["A", "B", "C"], "price": ["9", "10", "11"], "code": list("9ab")}
    )
    stream = ck.events(frame, time="ts", type="type", unit="s")
    with pytest.warns(StreamWarning, match="'price' holds numbers as texts.*'11' < '9'"):
        ck.detect(stream, "PATTERN SEQ(A a, B b) WHERE a.price < b.price WITHIN 9 seconds")
    for silent in ("a.price = b.price", "a.code < b.code", "length(a.price) < 3"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ck.detect(stream, f"PATTERN SEQ(A a, B b) WHERE {silent} WITHIN 9 seconds")
    padded = ck.events(
        frame.assign(price=["09", "10", "11"]), time="ts", type="type", unit="s"
    )  # in the order of the numbers
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(padded, "PATTERN SEQ(A a, B b) WHERE a.price < b.price WITHIN 9 seconds")


def test_a_pattern_without_a_window_over_a_large_stream():
    stream = ck.events(ck.sample_stocks(20_000), time="ts", type="ticker")
    with pytest.warns(StreamWarning, match="without WITHIN matches events however far apart: some"):
        ck.detect(stream, "PATTERN SEQ(MSFT a, GOOG b, MSFT c)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(stream, "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 second")
        ck.detect(stream.head(100), "PATTERN SEQ(MSFT a, GOOG b)")


DAYS = pd.DataFrame(
    {
        "day": pd.to_datetime(
            ["2024-05-01", "2024-05-01", "2024-05-01", "2024-05-02", "2024-05-02"]
        ),
        "kind": ["order", "paid", "order", "paid", "order"],
        "id": [1, 1, 2, 3, 2],
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(order o, NOT(paid p)) WHERE p.id = o.id WITHIN 30 days",
        "SEQ(order o, paid p) WITHIN 30 days PARTITION BY id",
        "SEQ(order o, paid p) WITHIN 30 days",
        "SEQ(paid p, KL(order o)) WHERE o.id >= p.id WITHIN 30 days",
        "SEQ(ANY o, ANY p) WHERE o.kind = 'order' AND p.kind = 'paid'",
    ],
)
def test_ties_of_events_that_a_pattern_wants_in_order_are_told_once(text: str) -> None:
    stream = ck.events(DAYS, time="day", type="kind")
    (told,) = told_by(lambda: ck.detect(stream, f"PATTERN {text}").count())
    assert "'o' and 'p'" in told or "'p' and 'o'" in told
    assert "as at 2024-05-01T00:00:00" in told
    assert "ties='arrival'" in told
    arrival = ck.events(DAYS, time="day", type="kind", ties="arrival")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(arrival, f"PATTERN {text}").count()


@pytest.mark.parametrize(
    "text",
    [
        "AND(order o, paid p) WITHIN 30 days",
        "SEQ(order o, NOT(paid p)) WHERE p.id = o.id AND o.id = 2 WITHIN 30 days",
        "SEQ(order o, order p) WITHIN 30 days PARTITION BY id",
        "SEQ(order o, paid p) WHERE p.day - o.day > 1 hour",
        "SEQ(order o, paid p) WHERE o.id > p.id + 1",
    ],
)
def test_ties_that_change_nothing_are_not_told(text: str) -> None:
    stream = ck.events(DAYS, time="day", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(stream, f"PATTERN {text}").count()


def test_chance_ties_of_a_fine_clock_are_told_only_within_one_key() -> None:
    frame = pd.DataFrame({"t": [1, 1, 2, 2], "kind": list("ABAB"), "user": list("uuuv")})
    stream = ck.events(frame, time="t", type="kind", unit="s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 1 minute").count()
    (told,) = told_by(lambda: ck.detect(stream, "PATTERN SEQ(A a, B b) PARTITION BY user"))
    assert "as at 1970-01-01T00:00:01" in told


def test_ties_are_told_of_aggregates_and_of_one_pattern_among_several() -> None:
    stream = ck.events(DAYS, time="day", type="kind")
    text = "PATTERN SEQ(order o, paid p) WITHIN 30 days"
    for action in (
        lambda: ck.aggregate(stream, f"{text} AGG COUNT"),
        lambda: ck.detect(stream, [text, f"{text} PARTITION BY id"]),
    ):
        (told,) = told_by(action)
        assert f"({text}" in told
