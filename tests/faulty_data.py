"""Faulty and extreme data, and patterns for them: the same answer from every source.

What the tests of local sources (tests/unit/stream/test_data_faults.py) and of Spark
(tests/spark/test_data_faults.py) share. Spark takes one job for several questions, so what is asked
of a table stands in the branches of one OR where it can.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import cepkit as ck
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan

if TYPE_CHECKING:
    from pathlib import Path

    from cepkit.errors import CepkitError

NAN, INF, MAX = float("nan"), float("inf"), 2**63 - 1
MIN = -MAX - 1
NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.int8(): pd.Int8Dtype(), pa.bool_(): pd.BooleanDtype()}


def table(**columns: Any) -> pa.Table:
    """Return events of the types A and B in turn, a second apart, unless columns say otherwise."""
    size = max(map(len, columns.values()))
    return pa.table(
        {"id": range(size), "t": range(size), "k": (["A", "B"] * size)[:size]} | columns
    )


def moments(*texts: str, zone: str | None = None) -> pa.Array:
    """Return times to the microsecond, null for NaT."""
    return pa.array(np.array(texts, dtype="datetime64[us]")).cast(pa.timestamp("us", zone))


def decimals(texts: str) -> list[Decimal | None]:
    """Return decimal numbers, null for a dash."""
    return [None if text == "-" else Decimal(text) for text in texts.split()]


def local_sources(events: pa.Table, folder: Path) -> dict[str, Any]:
    """Return the same events in memory and in a file."""
    path = folder / "events.parquet"
    pq.write_table(events, path, row_group_size=5)
    frame = events.to_pandas(types_mapper=NULLABLE.get)
    return {"Arrow": events, "pandas": frame, "Parquet": path}


Match = dict[str, int]
Asked = tuple[pa.Table, dict[str, Any], str]
"""Events, the arguments of `events`, and a pattern."""


def stream_of(source: Any, options: dict[str, Any]) -> Any:
    return ck.events(source, time="t", type="k", columns=["id"], **options)


def sequence(condition: str) -> str:
    """Return a pattern of two events."""
    return f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 100 s"


def found_in(source: Any, options: dict[str, Any], pattern: str) -> list[Match]:
    """Return the matches in a local source: the id of the event of each variable."""
    matches = ck.detect(stream_of(source, options), pattern, plan=as_plan(None, parse(pattern)))
    found = matches.to_arrow()
    # Of the other columns Python could not hold every value.
    ids = {v: pc.struct_field(found[v].combine_chunks(), "id") for v in matches.variables}
    rows = zip(*(column.to_pylist() for column in ids.values()), strict=True)
    return in_order({v: e for v, e in zip(ids, row, strict=True) if e is not None} for row in rows)


def in_order(matches: Any) -> list[Match]:
    return sorted(matches, key=lambda match: sorted(match.items()))


# Clocks in Copenhagen show 02:30 twice in October, and never in March.
CLOCKS = (
    *("2024-10-27 01:30", "2024-10-27 02:30", "2024-10-27 02:45", "2024-10-27 03:00"),
    *("2024-03-31 01:59:59.999999", "2024-03-31 02:30", "2024-03-31 03:00", "2024-03-31 03:00:01"),
    *("1969-12-31 23:59:59.999999", "0001-01-01", "9999-12-31 23:59:59.999999", "1582-10-10"),
)
VALUES = table(
    f=pa.array([NAN, None, INF, -INF, 1e308, 1e308, -0.0, 0.0, 5e-324, 1.5, -INF, NAN]),
    g=pa.array([0.1, None, 0.1, NAN, INF, -0.0, 0.0, 3.4e38, 1.5, 1.5, 2.0, 7.0], pa.float32()),
    i=pa.array([MAX, MIN, MIN, None, 0, -1, 2**53, 2**53 + 1, MIN + 1, MAX, None, MIN]),
    j=pa.array([127, -128, None, 127, 0, 0, 1, -1, 5, 5, None, 7], pa.int8()),
    d=pa.array(
        decimals("0.1 0.1000000001 99999999999999999999.99 -1 1.50 1.5 - - 1e-10 0 -0.0 0.1"),
        pa.decimal128(38, 10),
    ),
    s=pa.array(["é", "e\u0301", None, "", "\uffff", "\U0001f600", " a", "a", "A", "a", "NaN", "A"]),
    c=pa.array(["x", "x", None, "y", "z", "x", "y", "y", None, "z", "x", "x"]).dictionary_encode(),
    n=pa.array([1, 1, None, 2, 3, 1, 2, 2, None, 3, 1, 1]).dictionary_encode(),
    b=pa.array([True, True, None, False] * 3),
    day=pa.array([dt.date(1969, 12, 31), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 3),
    u=moments(*CLOCKS),
    z=moments(*CLOCKS, zone="America/New_York"),
    p=pa.array([0, 1_500_000, None, -1] * 3, pa.duration("us")),
    h=pa.array([[1.0, 2.0], [2.0, 4.0], [NAN, 1.0], [], None, [3.0, 1.0]] * 2),
)
CONDITIONS = (
    *("a.f < b.f", "a.f = b.f", "NOT a.f < b.f", "a.f != b.f", "a.f IN (b.f, 1.5)"),
    *("(a.f + b.f) IS NULL", "a.f * b.f > 0", "a.f / b.f > 1", "a.f % b.f = 0"),
    *("a.g = 0.1 OR b.g IS NULL", "a.g = b.g", "a.g < b.f", "sqrt(a.f) > log(b.g)"),
    *("a.i < b.i", "a.i = b.i", "(a.i + b.i) IS NULL", "(a.i * b.i) IS NOT NULL", "-a.i < b.j"),
    *("abs(a.i) > b.j", "a.i % b.i = 0", "a.i - b.i > 0", "a.i = b.f", "a.j - b.j > 127"),
    *("b.j = a.i", "a.d < b.d", "a.d = b.d", "a.d = 0.1 OR b.d = 0", "a.d < b.f"),
    *("a.s < b.s", "a.s = b.s", "a.s IN ('', 'NaN', b.s)", "a.c = b.c", "a.c < b.c", "a.n < b.n"),
    *("a.b = b.b", "a.b OR NOT b.b", "a.day < b.day", "corr(a.h, b.h) > 0"),
    *("b.day - a.day > 1 week", "b.u - a.day > 1 d", "a.u < '1970-01-01' AND b.u < a.u"),
    *("abs(b.u - a.u) < 90 min", "b.u - a.u = 1 h", "b.z - a.z > 1 h", "a.u < b.z"),
    *(
        "(b.u - a.z) * 2 < 1 h",
        "(b.u - a.u) / 7 < (b.z - a.z) % 1 h",
        "b.p - a.p < 2 s OR a.p = b.p",
    ),
)


def values() -> list[Asked]:
    """Return one pattern with a branch for each; a condition is about its own branch alone."""
    numbers = range(len(CONDITIONS))
    branches = ", ".join(f"SEQ(A a{i}, B b{i})" for i in numbers)
    own = [re.sub(r"\b([ab])\.", rf"\g<1>{i}.", f"({CONDITIONS[i]})") for i in numbers]
    pattern = f"PATTERN OR({branches}) WHERE {' AND '.join(own)} WITHIN 100 s"
    return [(VALUES, ZONE, pattern)]


ZONE = {"unit": "s", "timezone": "Europe/Copenhagen"}
KEYS = {
    # Pairs of events with equal keys: null and NaN, 0.0 and -0.0, null and the least integer (the
    # marker of missing integers), and a local time in a gap and the time after it. The last pairs
    # differ in one column each.
    "f": pa.array([NAN, None, 0.0, -0.0, INF, INF, 1.5, 1.5, 1.0, 1.0]),
    "g": pa.array([None, NAN, -0.0, 0.0, -INF, -INF, 0.1, 0.1, 1.0, 1.0], pa.float32()),
    "i": pa.array([None, MIN, MAX, MAX, 0, 0, 2**53, 2**53, 2**53, 2**53 + 1]),
    "d": pa.array(decimals("- - 1.0 1.00 1e-10 1e-10 0 0 0 0")),
    "s": pa.array([None, None, "", "", "é", "é", "a", "a", "a", "a"]),
    "c": pa.array([None, None, *["x"] * 4, "y", "y", "y", "y"]).dictionary_encode(),
    "b": pa.array([None, None, *[True] * 4, *[False] * 4]),
    "day": pa.array([None, None, *[dt.date(1, 1, 1)] * 6, *[dt.date(2024, 1, 1)] * 2]),
    "u": moments("NaT", "NaT", *["2024-03-31 02:30", "2024-03-31 03:30"] * 2, *["1969-01-01"] * 4),
    "p": pa.array([None, None, *[0] * 4, *[-1] * 4], pa.duration("us")),
}


def keys() -> list[Asked]:
    """Return patterns whose events agree on all of `KEYS`, by partition and by equality."""
    events = table(**KEYS)
    by = ", ".join(KEYS)
    equal = " AND ".join(f"a.{name} = b.{name}" for name in KEYS)
    return [
        (events, ZONE, f"PATTERN SEQ(A a, B b) PARTITION BY {by}"),
        (events, ZONE, f"PATTERN SEQ(A a, B b) WITHIN 2 EVENTS PARTITION BY {by}"),
        (events, ZONE, f"PATTERN SEQ(A a, B b) WHERE {equal}"),
    ]


def times() -> list[Asked]:
    """Return streams with times of every kind, with values that are hard to read."""
    texts = ["2024-10-27 02:30", "NaT", "2024-10-27T02:30:00+01:00", "\t", "1970-01-01"]
    limit = 2**62
    near = "PATTERN AND(A a, B b) WHERE b.t - a.t <= 1 h WITHIN 1 h"
    any_time = "PATTERN SEQ(A a, B b) WHERE b.t - a.t > 0 s"
    spelt = pa.array(["2024-01-01", "2024-01-01T00:00", "2024-01-01 00Z", "2024-01-02"])
    copenhagen = {"timezone": "Europe/Copenhagen"}
    nano = pa.array([-1001, -1000, -1, 0, 999, 1000, MAX, MIN, None])
    return [
        (table(t=pa.array([0.0, 1.0, NAN, None, -1.5, -0.5000001, 2.0])), {"unit": "s"}, near),
        (table(t=nano), {"unit": "ns"}, any_time),
        (table(t=pa.array([1 - limit, 0, limit - 2, limit - 1])), {"unit": "us"}, any_time),
        (table(t=pa.array(decimals("- 1e-6 -0.5 2"))), {"unit": "h"}, near),
        (table(t=pa.array([*texts, "1969-12-31T23:00Z"])), copenhagen, near),
        (table(t=moments(*CLOCKS)), copenhagen, near),
        (table(t=moments(*CLOCKS, zone="Asia/Kolkata")), {}, near),
        (table(t=pa.nulls(4)), {}, any_time),
        # Spellings of one time, which is a key here: no events of one key are parted.
        (table(t=spelt), {"timezone": "UTC"}, "PATTERN AND(A a, B b) WHERE a.t = b.t"),
    ]


TYPES = {
    "1, 1.5, inf, -inf": pa.array([1.0, 1.5, NAN, None, INF, -INF, 1.0]),
    "0.5, 16777216, inf": pa.array([0.5, NAN, 2.0**24, INF, 0.5], pa.float32()),
    f"{MAX}, {MIN}": pa.array([MAX, MIN, None, MAX]),
    "true, false": pa.array([True, False, None, True]),
    "1.50, -0.10": pa.array(decimals("1.50 - -0.10 1.50")),
    "0001-01-01, 9999-12-31": pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "A, , a ,é": pa.array(["A", "", None, "a ", "é", "e\u0301"]),
    "x, y": pa.array(["x", None, "y", "x"]).dictionary_encode(),
}


def types() -> list[Asked]:
    """Return for each of `TYPES` the pairs of events of two types."""
    asked: list[Asked] = []
    for names, column in TYPES.items():
        listed = ", ".join(f"'{name}'" for name in re.split(", ?", names))
        pattern = f"PATTERN SEQ(a IN ({listed}), b IN ({listed})) WITHIN 100 s"
        asked.append((table(k=column), {"unit": "s"}, pattern))
    return asked


def arrivals() -> list[Asked]:
    """Return streams with columns of numbers and times of every kind for the order of arrival."""
    came = [
        pa.array([MIN, -1, 0, MAX]),
        pa.array([INF, 0.5, -0.5, -INF]),
        pa.array(decimals("-1e-10 1e-10 0 1e20")),
        moments("0001-01-01", "9999-12-31", "1970-01-01", "1969-12-31"),
        moments(*CLOCKS[:4], zone="Asia/Kolkata"),
    ]
    pattern = "PATTERN AND(A a, B b) WITHIN 2 EVENTS"
    options = {"unit": "s", "arrival": "n"}
    return [(table(n=numbers), options, pattern) for numbers in came]


def one_time() -> list[Asked]:
    """Return many events at one time."""
    size = 20_000
    events = table(t=pa.array(np.zeros(size, np.int64)), x=pa.array(np.arange(size) // 2))
    pattern = "PATTERN AND(A a, B b) WHERE a.x = b.x AND a.id % 1000 = 0 WITHIN 0 s"
    return [(events, {"unit": "s"}, pattern)]


def structs() -> list[Asked]:
    """Return events with fields at two depths of a column, some of them missing."""
    whole = {"a": 1, "day": dt.date(2024, 1, 1), "in": {"b": 2, "s": "x"}}
    kind = pa.array([whole]).type
    parts = [whole, {**whole, "a": 5}, None, {**whole, "in": None}, whole, {**whole, "a": None}]
    events = table(x=pa.array(parts, kind), y=[1] * 6)
    return [
        (events, SECONDS, "PATTERN SEQ(A a, B b) WHERE a.x.a < b.x.a"),
        (events, SECONDS, "PATTERN SEQ(A a, B b) WHERE a.x.in.s = b.x.in.s AND a.x.day = b.x.day"),
        (events, SECONDS, "PATTERN SEQ(A a, B b) PARTITION BY x.in.b WITHIN 3 EVENTS"),
    ]


SECONDS = {"unit": "s"}
CASES = {case.__name__: case for case in (values, keys, times, types, arrivals, one_time, structs)}


PAIR = "PATTERN SEQ(A a, B b) WITHIN 100 s"
COUNTED = "PATTERN SEQ(A a, B b) WITHIN 4 EVENTS"
TEXTS = pa.array(["2024-01-01", "soon", None, "2024-01-02"])
CAME = {"unit": "s", "arrival": "n"}
ERRORS: dict[str, Asked] = {
    "no unit": (table(t=pa.array([0, 1])), {}, PAIR),
    "a unit of no number": (table(t=moments("2024-01-01", "2024-01-02")), SECONDS, PAIR),
    "a time of day": (table(t=pa.array([dt.time(1), dt.time(2)])), {}, PAIR),
    "a truth value as a time": (table(t=pa.array([True, False])), {}, PAIR),
    "a text that is no time": (table(t=TEXTS), {}, PAIR),
    "an infinite time": (table(t=pa.array([0.0, 1.0, INF])), SECONDS, PAIR),
    "a time out of range": (table(t=pa.array([0, 1, MAX])), {"unit": "ms"}, PAIR),
    "lists as types": (table(k=pa.array([["A"], ["B"]])), SECONDS, PAIR),
    "structs as types": (table(k=pa.array([{"a": 1}, {"a": 2}])), SECONDS, PAIR),
    "times as types": (table(k=moments("2024-01-01", "2024-01-02")), SECONDS, PAIR),
    "bytes as types": (table(k=pa.array([b"A", b"B"])), SECONDS, PAIR),
    "no such column": (table(x=pa.array([1, 2])), SECONDS, sequence("a.y < b.y")),
    "a struct": (table(x=pa.array([{"a": 1}, {"a": 2}])), SECONDS, sequence("a.x = b.x")),
    "lists of texts": (table(x=pa.array([["a"], ["b"]])), SECONDS, sequence("a.x = b.x")),
    "lists compared": (table(x=pa.array([[1.0], [2.0]])), SECONDS, sequence("a.x < b.x")),
    "a text beside a number": (table(x=pa.array(["1", "2"])), SECONDS, sequence("a.x < 3")),
    "a number beside a duration": (table(x=pa.array([1, 2])), SECONDS, sequence("b.t - a.t > 8")),
    "arrival as a text": (table(n=pa.array(["1", "2"])), CAME, PAIR),
    "no arrival": (table(n=pa.array([1.0, NAN, None, 4.0])), CAME, COUNTED),
    "arrival twice": (table(n=pa.array([1, 2, 2, 4])), CAME, COUNTED),
}


def said(error: CepkitError) -> tuple[object, ...]:
    """Return an error without the parts that only a local stream has: rows and numbers."""
    problem = re.sub(r" in row \d+ \(rows count from 0\)", "", error.found)
    return type(error), problem.partition("more than once")[0], error.expected, error.hint
