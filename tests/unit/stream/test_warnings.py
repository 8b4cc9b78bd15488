"""Warnings about a stream say which pattern they are about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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


@pytest.mark.parametrize("prices", [["1.234,5", "2,5"], ["1,234", "2"], ["1\u00a0000", "900"]])
def test_numbers_with_thousands_that_are_compared_as_texts(prices):
    frame = pd.DataFrame({"ts": [0, 1], "type": ["A", "B"], "price": prices})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    with pytest.warns(StreamWarning, match="'price' holds numbers as texts"):
        ck.detect(stream, "PATTERN SEQ(A a, B b) WHERE a.price < b.price WITHIN 9 seconds")


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


NOW = 1_706_781_600  # 2024-02-01 10:00


@pytest.mark.parametrize(
    ("first", "unit", "message"),
    [
        (NOW * 1e3, "s", "in the year 56055, with unit='s'; unit='ms' makes it 2024"),
        (NOW * 1e6, "ms", "unit='us' makes it 2024"),
        (NOW * 1e9, "us", "unit='ns' makes it 2024"),
        (133_512_552_000_000_000, "us", "year 6200, with unit='us'; unit='filetime' makes it"),
        (NOW, "min", "unit='s' makes it 2024"),
        (NOW, "filetime", "in the year 1601, with unit='filetime'; unit='s' makes it 2024"),
        (-(10**9), "s", "in the year 1938, with unit='s'$"),
    ],
)
@pytest.mark.parametrize("made", [pa.table, pd.DataFrame])
def test_unit_that_makes_another_century_warns(first, unit, message, made):
    rows = made({"t": [None, int(first), int(first) + 1], "k": ["A", "B", "A"]})
    with pytest.warns(StreamWarning, match=message) as warned:
        ck.events(rows, time="t", type="k", unit=unit)
    assert len(warned) == 1
    assert warned[0].filename == __file__


@pytest.mark.parametrize(("first", "unit"), [(NOW, "s"), (0, "ms"), (5, "d"), (NOW * 10**9, "ns")])
def test_probable_unit_does_not_warn(first, unit, recwarn):
    ck.events(pa.table({"t": [first, None], "k": ["A", "B"]}), time="t", type="k", unit=unit)
    assert not recwarn


NANOSECONDS = pa.array([*(NOW * 10**9 + nano for nano in (0, 1001, 1999, 1999, 1002)), None])


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("ns")])
@pytest.mark.parametrize("place", ["memory", "file", "pandas"])
def test_nanoseconds_that_become_ties_warn_once(tmp_path, kind, place):
    source = table = pa.table({"t": NANOSECONDS.cast(kind), "k": ["A", "B"] * 3})
    if place == "file":
        source = tmp_path / "a.parquet"
        pq.write_table(table, source)
    elif place == "pandas":
        source = table.to_pandas(types_mapper=pd.ArrowDtype)
    unit = "ns" if kind == pa.int64() else None
    for ties in ("none", "arrival"):
        stream = ck.events(source, time="t", type="k", unit=unit, ties=ties)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            stream.columns([])
        said = [str(warning.message) for warning in warned]
        assert [text.partition(" of them")[0] for text in said] == [
            "times in 't' are rounded down to microseconds, which makes 2"
        ] * (ties == "none")


def test_whole_microseconds_of_nanoseconds_do_not_warn(recwarn):
    times = pa.array([NOW * 10**9, NOW * 10**9]).cast(pa.timestamp("ns"))
    ck.events(pa.table({"t": times, "k": ["A", "B"]}), time="t", type="k").columns([])
    assert not recwarn


def test_one_tie_of_nanoseconds_in_thousands_of_rows_does_not_warn(recwarn):
    times = [
        NOW * 10**9 + 5,
        NOW * 10**9 + 7,
        *range(NOW * 10**9 + 10**6, (NOW + 2) * 10**9, 10**6),
    ]
    table = pa.table({"t": pa.array(times).cast(pa.timestamp("ns")), "k": ["A"] * len(times)})
    ck.events(table, time="t", type="k").columns([])
    assert not recwarn


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
def test_ties_in_a_sequence_warn_once(text: str) -> None:
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
def test_ties_without_effect_do_not_warn(text: str) -> None:
    stream = ck.events(DAYS, time="day", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(stream, f"PATTERN {text}").count()


def test_ties_of_a_fine_clock_warn_only_within_one_key() -> None:
    frame = pd.DataFrame({"t": [0, 0, 2, 2], "kind": list("ABAB"), "user": list("uuuv")})
    stream = ck.events(frame, time="t", type="kind", unit="s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 1 minute").count()
    (told,) = told_by(lambda: ck.detect(stream, "PATTERN SEQ(A a, B b) PARTITION BY user"))
    assert "as at 1970-01-01T00:00:00" in told
    (told,) = told_by(lambda: ck.aggregate(stream, "PATTERN SEQ(A a, B b) AGG COUNT GROUP BY user"))
    assert "as at 1970-01-01T00:00:00" in told
    finer = ck.events(frame.assign(t=[0, 0, 2.5, 2.5]), time="t", type="kind", unit="s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.detect(finer, "PATTERN SEQ(A a, B b) PARTITION BY user").count()


def test_ties_warn_for_aggregates_and_for_one_pattern_of_several() -> None:
    stream = ck.events(DAYS, time="day", type="kind")
    text = "PATTERN SEQ(order o, paid p) WITHIN 30 days"
    for action in (
        lambda: ck.aggregate(stream, f"{text} AGG COUNT"),
        lambda: ck.detect(stream, [text, f"{text} PARTITION BY id"]),
    ):
        (told,) = told_by(action)
        assert f"({text}" in told
