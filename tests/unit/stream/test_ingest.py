"""Arrow columns become NumPy columns of one layout, in stream order."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.errors import LimitError, StreamError
from cepkit.stream import MISSING_INTEGER, Dropped, Schema, event_columns
from cepkit.stream.reading import ingest
from cepkit.stream.reading.ingest import attribute

SCHEMA = Schema("ts", "kind", unit="us")


def table(ts, kind=None, **columns):
    kinds = ["A"] * len(ts) if kind is None else kind
    return pa.table({"ts": pa.array(ts, pa.int64()), "kind": kinds, **columns})


def column(values, kind=None, **settings):
    return attribute(pa.array(values, kind), "x", Schema("ts", "kind", **settings))


def test_unsorted_rows_are_sorted_and_ties_keep_their_arrival():
    got = event_columns(table([3, 1, 2, 1], x=[30, 10, 20, 11]), SCHEMA, ["x"])
    assert got.ts.tolist() == [1, 1, 2, 3]
    assert got.attributes["x"].values.tolist() == [10, 11, 20, 30]
    assert got.rows.tolist() == [1, 3, 2, 0]
    assert got.source_rows(np.array([0, 3])).tolist() == [1, 0]


def test_sorted_rows_are_left_where_they_are():
    got = event_columns(table([1, 1, 2]), SCHEMA)
    assert got.rows is None
    assert not got.dropped


@given(st.lists(st.none() | st.integers(-5, 5)), st.data())
def test_order_is_that_of_a_stable_sort(ts, data):
    kinds = data.draw(
        st.lists(st.sampled_from(["A", "B", "", None]), min_size=len(ts), max_size=len(ts))
    )
    rows = table(ts, pa.array(kinds, pa.string()), x=pa.array(range(len(ts)), pa.int64()))
    got = event_columns(rows, SCHEMA, ["x"])
    kept = [i for i in range(len(ts)) if ts[i] is not None and kinds[i] is not None]
    expected = sorted(kept, key=lambda i: ts[i])
    assert got.attributes["x"].values.tolist() == expected
    assert got.source_rows(np.arange(len(got))).tolist() == expected
    assert [got.type_names[c] for c in got.types] == [kinds[i] for i in expected]
    assert got.type_names == tuple(sorted({kinds[i] for i in expected}))
    assert sum([got.dropped.null_time, got.dropped.null_type]) == len(ts) - len(kept)


def test_rows_without_time_or_type_are_dropped_and_counted_once():
    got = event_columns(
        table([1, None, None, 4], ["A", "B", None, None], x=[1, 2, 3, 4]), SCHEMA, ["x"]
    )
    assert got.dropped == Dropped(null_time=2, null_type=1)
    assert got.attributes["x"].values.tolist() == [1]
    assert got.type_names == ("A",)
    assert len(got.source) == 4


def test_equal_rows_are_different_events():
    assert len(event_columns(table([1, 1, 1], x=[5, 5, 5]), SCHEMA)) == 3


def test_the_empty_text_is_a_type():
    assert event_columns(table([1, 2], ["", "A"]), SCHEMA).type_names == ("", "A")


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"ts": pa.array([], pa.int64()), "kind": pa.array([], pa.string()), "x": []}),
        pa.table({"ts": pa.nulls(0), "kind": pa.nulls(0), "x": pa.nulls(0)}),
        pa.table({"ts": pa.nulls(3), "kind": pa.nulls(3), "x": pa.nulls(3)}),
        pa.schema(
            [
                ("ts", pa.int64()),
                ("kind", pa.dictionary(pa.int32(), pa.string())),
                ("x", pa.list_(pa.float64())),
            ]
        ).empty_table(),
    ],
)
def test_no_events(rows):
    got = event_columns(rows, SCHEMA, ["x"])
    assert len(got) == 0
    assert got.type_names == ()
    assert got.types.dtype == np.int32
    assert len(got.attributes["x"].values) == 0


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([2, 10, 2, None], pa.int16(), ("10", "2")),
        ([2.0, 2.5, 2.0, float("nan")], pa.float64(), ("2", "2.5")),
        ([True, False, True, None], pa.bool_(), ("false", "true")),
        (["b", "a", "b", None], pa.large_string(), ("a", "b")),
        ([dt.date(2024, 1, 2)] * 3 + [None], pa.date32(), ("2024-01-02",)),
        ([decimal.Decimal("1.5")] * 3 + [None], pa.decimal128(5, 2), ("1.50",)),
    ],
)
def test_types_are_texts(values, kind, expected):
    rows = pa.table({"ts": range(4), "kind": pa.array(values, kind, from_pandas=False)})
    got = event_columns(rows, SCHEMA)
    assert got.type_names == expected
    assert got.types[0] == got.types[2]
    assert got.dropped == Dropped(null_type=1)


@pytest.mark.parametrize("encoded", [pa.array([3, 1, 3]), pa.array(["3", "1", "3"])])
def test_dictionaries_of_types(encoded):
    rows = pa.table({"ts": range(3), "kind": encoded.dictionary_encode()})
    assert event_columns(rows, SCHEMA).type_names == ("1", "3")


def test_a_dictionary_may_hold_unused_doubled_and_null_texts():
    texts = pa.array(["z", "a", None, "a", "unused"])
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None], pa.int8()), texts)
    got = event_columns(pa.table({"ts": range(5), "kind": kinds, "x": kinds}), SCHEMA, ["x"])
    assert got.type_names == ("a", "z")
    assert got.types.tolist() == [1, 0, 0]
    assert got.dropped == Dropped(null_type=2)
    texts = got.attributes["x"].dictionary[got.attributes["x"].values]
    assert texts.tolist() == ["z", "a", "a"]


def test_chunks_with_different_dictionaries_are_merged():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    got = attribute(pa.chunked_array(chunks), "x", SCHEMA)
    assert got.dictionary.tolist() == ["a", "b", "c"]
    assert got.values.tolist() == [1, 0, 2, 1]


def test_a_type_that_has_no_text_is_refused():
    with pytest.raises(StreamError, match="the type column 'kind' holds list"):
        event_columns(table([1], [[1]]), SCHEMA)


@pytest.mark.parametrize("many", [0, 100])
@given(st.lists(st.none() | st.text()))
def test_codes_compare_as_texts(many, values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "_MANY", many)
        check_codes(values)


def check_codes(values):
    got = column(values, pa.string())
    assert got.kind == "text"
    assert got.dictionary.tolist() == sorted({v for v in values if v is not None})
    assert [None if c < 0 else got.dictionary[c] for c in got.values] == values
    assert got.missing().tolist() == [v is None for v in values]
    assert got.has_missing == (None in values)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64()])
def test_integers(kind):
    got = column([1, None, 3], kind)
    assert (got.kind, got.values.dtype) == ("integer", np.int64)
    assert got.values.tolist() == [1, MISSING_INTEGER, 3]
    assert got.has_missing
    assert not column([1], kind).has_missing


def test_unsigned_integers_beyond_int64_are_floats():
    got = column([2**64 - 1, None], pa.uint64())
    assert got.kind == "float"
    assert got.values[0] == 2.0**64
    assert np.isnan(got.values[1])
    assert column([None], pa.uint64()).kind == "integer"


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_null_and_nan_are_the_same_in_floats(kind):
    values = [np.float16(1.5), None, np.float16("nan")]
    got = attribute(pa.array(values, kind, from_pandas=False), "x", SCHEMA)
    assert (got.kind, got.values.dtype, got.has_missing) == ("float", np.float64, True)
    assert got.missing().tolist() == [False, True, True]


def test_decimals_are_floats():
    got = column([decimal.Decimal("1.25"), None], pa.decimal128(10, 2))
    assert got.values[0] == 1.25
    assert got.missing().tolist() == [False, True]


def test_truth_values():
    got = column([True, None, False], pa.bool_())
    assert (got.kind, got.values.dtype) == ("boolean", np.int8)
    assert got.values.tolist() == [1, -1, 0]


def test_times_as_attributes_know_the_zone():
    got = column(
        [np.datetime64("1970-01-01T02", "ms"), None], pa.timestamp("ms"), timezone="+02:00"
    )
    assert (got.kind, got.values.tolist()) == ("timestamp", [0, MISSING_INTEGER])
    assert column([dt.date(1970, 1, 2)], pa.date32()).values.tolist() == [86_400_000_000]


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        ([1, 2], "s"),
        ([1000.0, 2000.0], "ms"),
        (["1970-01-01T00:00:01Z", "1970-01-01 00:00:02+00:00"], None),
    ],
)
def test_time_column_is_a_time_in_conditions_for_every_type(times, unit):
    rows = pa.table({"ts": times, "kind": ["A", "A"]})
    got = event_columns(rows, Schema("ts", "kind", unit=unit), ["ts", "kind"])
    assert got.kinds == {"ts": "timestamp", "kind": "text"}
    assert got.attributes["ts"].values.tolist() == got.ts.tolist() == [1_000_000, 2_000_000]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_microseconds(unit):
    values = pa.array([np.timedelta64(2, "s").astype(f"timedelta64[{unit}]"), None])
    got = column(values, pa.duration(unit))
    assert (got.kind, got.values.tolist()) == ("duration", [2_000_000, MISSING_INTEGER])
    assert got.has_missing


def test_durations_of_nanoseconds_are_floored_as_times_are():
    got = column([np.timedelta64(-1, "ns"), np.timedelta64(1999, "ns")], pa.duration("ns"))
    assert got.values.tolist() == [-1, 1]


def test_duration_of_too_many_years_is_refused():
    with pytest.raises(StreamError, match="146,000 years"):
        column([np.timedelta64(2**62, "us")], pa.duration("us"))


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float64()),
        pa.large_list(pa.float64()),
        pa.list_(pa.int32(), 2),
        pa.list_(pa.decimal128(5, 1)),
    ],
)
def test_lists_of_one_length_are_rows(kind):
    got = column([[1, 2], [3, 4]], kind)
    assert got.kind == "array"
    assert got.values.tolist() == [[1, 2], [3, 4]]
    assert not got.has_missing


@pytest.mark.parametrize("kind", [pa.list_(pa.float64(), 2), pa.list_(pa.float64())])
def test_missing_lists_and_numbers(kind):
    array = pa.array([None, [1, None], None, [3, 4]], kind)
    for values in (array, pa.concat_arrays([array, array])[4:], array[0:4]):
        got = attribute(values, "x", SCHEMA)
        np.testing.assert_array_equal(got.values, [[np.nan] * 2] * 3 + [[3, 4]])
        assert got.missing().tolist() == [True, True, True, False]
        assert got.has_missing


def test_lists_of_unequal_length_are_padded():
    got = column([[1.0], [], [1.0, 2.0, 3.0]])
    nan = np.nan
    np.testing.assert_array_equal(got.values, [[1, nan, nan], [nan] * 3, [1, 2, 3]])
    assert got.missing().tolist() == [False, True, False]


def test_lists_that_would_be_padded_to_gigabytes_are_refused():
    lengths = np.ones(30_001, dtype=np.int64)
    lengths[0] = 30_000
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    lists = pa.LargeListArray.from_arrays(offsets, np.zeros(offsets[-1]))
    with pytest.raises(LimitError, match="differ too much in length"):
        attribute(lists, "x", SCHEMA)


@pytest.mark.parametrize(
    "kind",
    [
        pa.struct([("a", pa.int64())]),
        pa.list_(pa.string()),
        pa.binary(),
        pa.time64("us"),
    ],
)
def test_other_types_are_carried_but_not_read(kind):
    rows = table([2, 1], x=pa.nulls(2, kind))
    assert event_columns(rows, SCHEMA).source.column_names == ["ts", "kind", "x"]
    with pytest.raises(StreamError, match="the column 'x' holds"):
        event_columns(rows, SCHEMA, ["x"])


def test_a_column_of_nulls_is_all_missing():
    got = column([None, None], pa.null())
    assert (got.kind, got.has_missing) == ("null", True)


def test_only_the_carried_columns_go_to_the_output():
    schema = Schema("ts", "kind", unit="us", columns=("x",))
    got = event_columns(table([1], x=[1], y=[2]), schema, ["y"])
    assert got.source.column_names == ["ts", "kind", "x"]
    assert list(got.attributes) == ["y"]


def test_arrays_are_writeable_copies():
    x = np.arange(3.0)
    rows = table([1, 2, 3], x=pa.array(x), y=["a", "b", "c"], z=[True, False, True])
    got = event_columns(rows, SCHEMA, ["x", "y", "z"])
    arrays = [got.ts, got.types, *(c.values for c in got.attributes.values())]
    assert all(a.flags.writeable and a.flags.c_contiguous for a in arrays)
    got.attributes["x"].values[0] = 99.0
    assert x[0] == 0.0


def test_slices_of_tables():
    rows = table(range(6), list("abcabc"), x=[1, None, 3, 4, None, 6], b=[True, None] * 3)
    got = event_columns(rows.slice(1, 4), SCHEMA, ["x", "b"])
    assert got.ts.tolist() == [1, 2, 3, 4]
    assert got.attributes["x"].values.tolist() == [MISSING_INTEGER, 3, 4, MISSING_INTEGER]
    assert got.attributes["b"].values.tolist() == [-1, 1, -1, 1]
    assert [got.type_names[c] for c in got.types] == list("bcab")


def test_unknown_attribute_is_refused_with_the_nearest_name():
    with pytest.raises(StreamError, match="did you mean 'price'"):
        event_columns(table([1], price=[1.0]), SCHEMA, ["pricee"])
