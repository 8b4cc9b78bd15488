"""Columns of every type of Arrow and pandas are read as their plain values, or refused clearly."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import CepkitError, StreamError

TEXTS = pa.array(["a", "b", None, "a"])
NUMBERS = pa.array([1, 2, None, 1])
MOMENTS = pa.array([0, 1, None, 0], pa.timestamp("s"))
LISTS = pa.array([[1, 2], [3], None, [1, 2]])


def coded(values: pa.Array) -> pa.Array:
    """Return values by codes into all of them."""
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), pa.int8()), values)


def runs(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(values) + 1)), values)


NARROW_DECIMALS = [
    getattr(pa, f"decimal{bits}") for bits in (32, 64) if hasattr(pa, f"decimal{bits}")
]
"""PyArrow has them since version 19."""

HALVES = [None if each is None else np.float16(each) for each in (1.5, 2, None, 1.5)]

SPELLINGS = {
    "texts": (TEXTS, [TEXTS.cast(pa.large_string()), TEXTS.cast(pa.string_view())]),
    "texts by code": (TEXTS, [TEXTS.dictionary_encode(), coded(TEXTS), runs(TEXTS)]),
    "views by code": (TEXTS, [coded(TEXTS.cast(pa.string_view()))]),
    "numbers": (NUMBERS, [NUMBERS.dictionary_encode(), coded(NUMBERS), runs(NUMBERS)]),
    "NaN": (pa.array([1.0, 2.0, None, 1.0]), [coded(pa.array([1.0, 2.0, np.nan, 1.0]))]),
    "half floats": (pa.array([1.5, 2, None, 1.5]), [pa.array(HALVES, pa.float16())]),
    "decimals": (
        pa.array([Decimal(100), None, Decimal(200), Decimal(100)], pa.decimal128(5, 0)),
        [
            pa.array([Decimal(100), None, Decimal(200), Decimal(100)], kind)
            for kind in (
                *(narrow(5, 0) for narrow in NARROW_DECIMALS),
                pa.decimal128(3, -2),
                pa.decimal256(60, 2),
            )
        ],
    ),
    "timestamps": (MOMENTS, [MOMENTS.dictionary_encode(), runs(MOMENTS)]),
    "dates": (MOMENTS.cast(pa.date32()), [MOMENTS.cast(pa.date32()).dictionary_encode()]),
    "durations": (
        NUMBERS.cast(pa.duration("us")),
        [coded(NUMBERS.cast(pa.duration("us")))],
    ),
    "lists": (LISTS, [coded(LISTS), LISTS.cast(pa.list_(pa.float16()))]),
}
CASES = [(name, i) for name, (_, others) in SPELLINGS.items() for i in range(len(others))]


def stream(column, **others):
    rows = {"t": [0, 1, 2, 3], "k": ["A", "B", "A", "B"], "x": column, **others}
    return ck.events(pa.table(rows), time="t", type="k", unit="s")


@pytest.mark.parametrize(("name", "number"), CASES)
def test_values_are_equal_in_every_arrow_type_of_a_column(name, number):
    column, others = SPELLINGS[name]
    plain, other = (stream(one).columns().attributes["x"] for one in (column, others[number]))
    assert other.missing().tolist() == plain.missing().tolist()
    if plain.kind == "text":
        assert _texts(other) == _texts(plain)
    else:
        assert np.array_equal(other.values, plain.values, equal_nan=True)


def _texts(column):
    return [None if code < 0 else column.dictionary[code] for code in column.values]


ODD = {
    "views of lists": pa.array(LISTS.to_pylist(), pa.list_view(pa.int64())),
    "unions": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0, 1], pa.int8()), [pa.array(range(4)), pa.array(["a"] * 4)]
    ),
    "a zone that is none": pa.array(range(4), pa.timestamp("us", "Mars/Olympus")),
}
CARRIED = {
    "bytes": pa.array([b"a"] * 4),
    "views of bytes": pa.array([b"a"] * 4, pa.binary_view()),
    "bytes by code": pa.array([b"a"] * 4).dictionary_encode(),
    "maps": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "times of day": pa.array([dt.time(1)] * 4),
    "months": pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval()),
    "lists of texts": pa.array([["a"]] * 4),
    "uuids": pa.array([b"a" * 16] * 4, pa.uuid()),
}
PAIR = "PATTERN SEQ(A a, B b) WITHIN 10 s"
ALIKE = "PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 10 s"


@pytest.mark.parametrize("name", CARRIED)
def test_column_that_conditions_cannot_read_is_carried(name):
    found = stream(CARRIED[name])
    matches = ck.detect(found, PAIR)
    assert len(matches.to_pandas()) == matches.count() == 3
    with pytest.raises(StreamError, match="which conditions cannot read"):
        ck.detect(found, ALIKE).count()


@pytest.mark.parametrize("name", ODD)
def test_column_that_arrow_cannot_handle_is_refused_unless_left_out(name):
    rows = {"t": range(4), "k": ["A", "B", "A", "B"], "y": range(4), "x": ODD[name]}
    for pattern, columns in product((PAIR, ALIKE), (None, ["x"])):
        found = ck.events(pa.table(rows), time="t", type="k", unit="s", columns=columns)
        with pytest.raises(StreamError, match="the column 'x' holds") as error:
            ck.detect(found, pattern).count()
        assert "columns=" in error.value.hint
    left_out = ck.events(pa.table(rows), time="t", type="k", unit="s", columns=["y"])
    assert ck.detect(left_out, PAIR).count() == 3


STRUCTS = {
    "numbers in structs": pa.array([{"a": 1}] * 4),
    "views in structs": pa.array([{"a": "b"}] * 4, pa.struct([("a", pa.string_view())])),
}


@pytest.mark.parametrize("name", STRUCTS)
def test_field_of_struct_is_a_column(name):
    events = stream(STRUCTS[name])
    rows = ck.detect(events, "PATTERN SEQ(A a, B b) WHERE a.x.a = b.x.a WITHIN 10 s").to_pandas()
    assert len(rows) == 3
    assert {"a.x.a", "b.x.a"} < {*rows.columns}
    with pytest.raises(CepkitError, match=r"'x' is a struct: its fields are columns, 'x\.a'"):
        ck.detect(events, ALIKE)


ROLES = {
    **ODD,
    **CARRIED,
    **STRUCTS,
    "texts": TEXTS,
    "truth values": pa.array([True] * 4),
    "lists": LISTS,
}


@pytest.mark.parametrize("name", ROLES)
def test_a_role_that_a_column_cannot_have_is_refused_at_once(name):
    rows = pa.table({"n": range(4), "k": ["A", "B", "A", "B"], "x": ROLES[name]})
    with pytest.raises(CepkitError):
        ck.events(rows, time="x", type="k")
    with pytest.raises(CepkitError):
        ck.events(rows, time="n", type="k", unit="s", arrival="x")
    if name not in ("texts", "truth values"):
        with pytest.raises(CepkitError):
            ck.events(rows, time="n", type="x", unit="s")


CATEGORIES = {
    "numbers": [1, 2, None, 1],
    "times": pd.to_datetime(["2024-01-01", "1969-01-01", None, "2024-01-01"]),
    "durations": pd.to_timedelta([1, 2, None, 1], unit="s"),
    "dates": [dt.date(1, 1, 1), dt.date(9999, 1, 1), None, dt.date(1, 1, 1)],
    "decimals": [Decimal("1.5"), Decimal(2), None, Decimal("1.5")],
    "texts": ["a", "b", None, "a"],
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_of_pandas_are_their_values(name):
    plain = pd.Series(CATEGORIES[name], dtype=object if name in ("dates", "decimals") else None)
    rows = pd.DataFrame({"t": range(4), "k": ["A", "B", "A", "B"], "x": plain})
    counts = [
        ck.detect(ck.events(frame, time="t", type="k", unit="s"), pattern).count()
        for frame in (rows, rows.assign(x=plain.astype("category")))
        for pattern in (ALIKE, "PATTERN SEQ(A a, B b) PARTITION BY x", PAIR)
    ]
    assert counts[:3] == counts[3:] == [1, 1, 3]
