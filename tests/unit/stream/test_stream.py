import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import PatternError, StreamError, UnsupportedError
from cepkit.stream import Stream, events
from cepkit.stream.stream import is_spark

FRAME = pd.DataFrame(
    {
        "ts": pd.to_datetime(["2024-01-03", "2024-01-01", None, "2024-01-01"]),
        "kind": ["C", "A", "x", "B"],
        "price": [3.0, np.nan, 0.0, 2.0],
        "note": ["c", None, "n", "b"],
    }
)


def stream(source=FRAME, **settings) -> Stream:
    return events(source, time="ts", type="kind", **settings)


def sources():
    return [FRAME, pa.Table.from_pandas(FRAME), pa.RecordBatch.from_pandas(FRAME)]


@pytest.mark.parametrize("source", sources())
def test_frames_and_tables_give_the_same_columns(source):
    got = stream(source).columns()
    assert [got.type_names[c] for c in got.types] == ["A", "B", "C"]
    assert got.dropped.null_time == 1
    assert list(got.attributes) == ["ts", "kind", "price", "note"]
    assert got.attributes["price"].missing().tolist() == [True, False, False]
    assert len(stream(source)) == 3


def test_stream_is_local_and_lists_its_columns():
    assert stream().place == "local"
    assert stream().column_names == ("ts", "kind", "price", "note")


def test_only_the_attributes_asked_for():
    got = stream(columns=["note"]).columns(["price"])
    assert list(got.attributes) == ["price"]
    assert got.source.column_names == ["ts", "kind", "note"]


def test_columns_include_only_those_that_conditions_can_read():
    rows = pa.table({"ts": [1], "kind": ["A"], "s": [[[1]]], "x": [1]})
    assert list(stream(rows, unit="s").columns().attributes) == ["ts", "kind", "x"]


def test_columns_include_fields_of_structs():
    rows = pa.table({"ts": [1], "kind": ["A"], "s": [{"a": 1}], "x": [1]})
    assert list(stream(rows, unit="s").columns().attributes) == ["ts", "kind", "s.a", "x"]


def test_head_gives_the_first_events_in_stream_order():
    head = stream(columns=["note"]).head(2)
    assert isinstance(head, Stream)
    got = head.columns(["price"])
    assert [got.type_names[c] for c in got.types] == ["A", "B"]
    assert len(stream().head(100)) == 3
    assert len(stream().head(0)) == 0
    with pytest.raises(StreamError):
        stream().head(-1)


def test_head_without_columns_in_the_output_keeps_those_of_conditions():
    assert stream(columns=[]).head(2).columns(["price"]).attributes["price"].values.size == 2


def test_a_stream_of_one_type_and_an_empty_one():
    one = pa.table({"ts": [2, 1], "kind": ["A", "A"]})
    assert stream(one, unit="s").columns().type_names == ("A",)
    empty = stream(FRAME.iloc[:0])
    assert len(empty) == 0
    assert empty
    assert len(empty.head(3).columns()) == 0


def test_times_as_an_index():
    with pytest.raises(StreamError, match="reset_index"):
        stream(FRAME.set_index("ts"))


def test_other_frames_by_the_arrow_protocol():
    class Frame:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"ts": [1], "kind": ["A"]}).__arrow_c_stream__(requested_schema)

    assert len(stream(Frame(), unit="s")) == 1


@pytest.mark.parametrize("source", [None, 5, [1, 2], {"ts": [1]}])
def test_events_refuses_values_that_are_no_source(source):
    with pytest.raises(StreamError, match="a stream from"):
        stream(source)


def test_errors_come_when_the_stream_is_made():
    with pytest.raises(StreamError, match="did you mean 'ts'"):
        events(FRAME, time="t", type="kind")
    with pytest.raises(StreamError, match="did you mean 'price'"):
        stream(columns=["prize"])
    with pytest.raises(StreamError, match="no unit is given"):
        events(FRAME, time="price", type="kind")
    with pytest.raises(StreamError, match="more than one column 'x'"):
        stream(pd.DataFrame([[1, 2, 3, 4]], columns=["ts", "kind", "x", "x"]))
    with pytest.raises(StreamError, match="'soon' in row 1"):
        stream(pa.table({"ts": ["2024-01-01", "soon"], "kind": ["A", "A"]}))


def test_a_missing_attribute():
    with pytest.raises(StreamError, match="did you mean 'price'"):
        stream().columns(["prices"])


def test_a_column_of_mixed_values_is_refused_by_name():
    frame = pd.DataFrame({"ts": [1, 2], "kind": ["A", "A"], "odd": ["a", 1]})
    with pytest.raises(StreamError, match="odd"):
        stream(frame, unit="s").columns()
    assert len(stream(frame, unit="s", columns=[]).columns([])) == 2


def test_names_that_are_no_texts_and_categories():
    frame = pd.DataFrame({0: [2, 1], 1: pd.Categorical(["b", "a"], categories=["z", "b", "a"])})
    got = events(frame, time="0", type="1", unit="s").columns()
    assert got.type_names == ("a", "b")
    assert got.source.column_names == ["0", "1"]


def test_repr_shows_rows_zone_and_times():
    text = repr(stream(timezone="Europe/Copenhagen"))
    assert "4 rows" in text
    assert "Europe/Copenhagen" in text
    assert "2024-01-03" in text
    assert "<table>" in stream()._repr_html_()


def test_names_and_values_are_escaped_in_html():
    rows = pa.table({"ts": [1], "kind": ["<img src=x onerror=y>"], "<script>": ["</td>&\"'"]})
    shown = stream(rows, unit="s")._repr_html_()
    assert "<script>" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown
    assert "&lt;/td&gt;&amp;&quot;&#x27;" in shown


def test_repr_stays_small_for_long_names_and_values():
    long = "'" * 10_000
    rows = {f"{i}{long}": [long] * 50 for i in range(100)}
    rows = pa.table({"ts" + long: range(50), "kind" + long: [long] * 50, **rows})
    got = events(rows, time="ts" + long, type="kind" + long, unit="s")
    assert len(got._repr_html_()) <= 20_000
    assert len(repr(got)) <= 20_000


def test_showing_never_raises(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("ts,kind\n2024-01-01,A\n")
    got = stream(path)
    assert "x.csv" in repr(got)
    path.unlink()
    assert "cannot be shown" in repr(got)
    assert "cannot be shown" in got._repr_html_()
    broken = Stream(object(), got.schema, ("ts", "kind"))
    assert "cannot be shown" in repr(broken)
    beyond = pa.table({"ts": pa.array([2**60], pa.timestamp("s")), "kind": ["A"]})
    assert repr(Stream(beyond, got.schema, ("ts", "kind")))


class FakeSpark:
    """A stand-in for a Spark DataFrame with the parts that a stream uses."""

    columns = ("ts", "kind", "x")
    dtypes = (("ts", "bigint"), ("kind", "string"), ("x", "int"))

    def __init__(self, steps=()):
        self.steps = steps

    def dropna(self, subset):
        return type(self)((*self.steps, ("dropna", subset)))

    def orderBy(self, name):  # noqa: N802 - Spark's name
        return type(self)((*self.steps, ("orderBy", name)))

    def limit(self, n):
        return type(self)((*self.steps, ("limit", n)))

    def toArrow(self):  # noqa: N802 - Spark's name
        assert self.steps == (("dropna", ["ts", "kind"]), ("orderBy", "ts"), ("limit", 2))
        return pa.table({"ts": [1, 2], "kind": ["A", "B"], "x": [1, 2]})


SparkFrame = type("DataFrame", (FakeSpark,), {"__module__": "pyspark.sql.classic.dataframe"})


def test_spark_is_known_by_its_name_and_left_alone():
    got = stream(SparkFrame(), unit="s")
    assert got.place == "spark"
    assert got.column_names == ("ts", "kind", "x")
    assert "Spark" in repr(got)
    assert "Spark" in got._repr_html_()
    for ask in (got.columns, lambda: len(got)):
        with pytest.raises(UnsupportedError, match="head"):
            ask()
    assert not is_spark(FRAME)
    pytest.importorskip("pyspark")
    assert len(got.head(2).columns(["x"])) == 2


def test_spark_columns_are_checked():
    with pytest.raises(StreamError, match="no unit is given"):
        stream(SparkFrame())
    with pytest.raises(StreamError, match="leave unit out"):
        events(SparkFrame(), time="kind", type="x", unit="s")
    with pytest.raises(StreamError, match="no column"):
        events(SparkFrame(), time="time", type="kind")


def test_the_package_does_not_load_spark():
    code = "import sys, cepkit.stream as e; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("column", "dense"),
    [
        ([1.5, np.nan, 0.0], pa.array([1.5, None, 0.0])),
        ([0, 7, 0], pa.array([0, 7, 0])),
        ([True, False, False], pa.array([True, False, False])),
        (pd.to_datetime(["2024-01-01", None, "1969-01-01"]), None),
    ],
)
def test_sparse_columns_of_pandas_are_columns(column, dense):
    frame = pd.DataFrame({"t": [0, 1, 2], "k": ["A", "B", "B"]})
    plain = events(frame.assign(x=column), time="t", type="k", unit="s").columns()
    frame["x"] = pd.arrays.SparseArray(column)
    frame["t"] = pd.arrays.SparseArray(frame["t"])
    stream = events(frame, time="t", type="k", unit="s")
    assert "3 rows" in repr(stream)
    found = stream.columns()
    assert found.ts.tolist() == [0, 1_000_000, 2_000_000]
    assert found.kinds == plain.kinds
    assert found.source["x"].to_pylist() == plain.source["x"].to_pylist()
    if dense is not None:
        assert found.source["x"].combine_chunks().equals(dense)
    assert isinstance(frame.dtypes["x"], pd.SparseDtype)  # the user's frame is as it was


@pytest.mark.parametrize(
    "values",
    [[Decimal("1"), Decimal("Infinity")], ["a", "\ud800"], [1, "a"], [1j, 2j], [2**70, 1]],
)
def test_column_that_arrow_cannot_convert_is_refused_by_name(values):
    frame = pd.DataFrame({"t": [0, 1], "k": ["A", "B"], "y": [1, 2]})
    frame["x"] = pd.Series(values, dtype=object)
    stream = events(frame, time="t", type="k", unit="s")
    with pytest.raises(
        StreamError, match="the column 'x' of the DataFrame cannot be read"
    ) as error:
        stream.columns()
    assert "columns=" in error.value.hint
    assert len(events(frame, time="t", type="k", unit="s", columns=["y"]).columns()) == 2


def test_categories_of_intervals_are_carried():
    frame = pd.DataFrame({"t": [0, 1], "k": ["A", "B"], "x": pd.cut([1, 9], [0, 5, 10])})
    stream = events(frame, time="t", type="k", unit="s")
    kept = stream.columns(()).source.to_pandas()["x"]
    assert kept.tolist() == [pd.Interval(0, 5), pd.Interval(5, 10)]


def test_a_list_of_dictionaries_has_the_columns_of_all_rows():
    rows = [{"ts": 1, "kind": "A"}, {"ts": 2, "kind": "B", "x": 4.5}, {"kind": "A", "ts": 3}]
    columns = events(rows, time="ts", type="kind", unit="s").columns()
    assert columns.type_names == ("A", "B")
    assert columns.attributes["x"].has_missing
    with pytest.raises(StreamError, match="the values of 'ts' cannot be read"):
        events([{"ts": 1, "kind": "A"}, {"ts": "now", "kind": "B"}], time="ts", type="kind")
    with pytest.raises(StreamError, match="an empty list"):
        events([], time="ts", type="kind")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (1_709_290_000_000, "unit='ms' makes it 2024"),
        (1.709e9, "unit='s' makes it 2024"),
        (133_500_000_000_000_000, "unit='filetime' makes it 2024"),
        (3, "unit='s' if it counts seconds"),
    ],
)
def test_numeric_times_without_unit_get_a_hint_at_the_fitting_unit(number, hint):
    with pytest.raises(StreamError) as error:
        events([{"t": None}, {"t": number}], time="t")
    assert hint in str(error.value)


def test_numbers_read_as_texts_get_a_hint_at_the_decimal_comma():
    rows = [{"t": "2024-01-01", "price": "1,5"}]
    with pytest.raises(PatternError, match="if 'price' should hold numbers"):
        ck.detect(events(rows, time="t"), "PATTERN ANY a WHERE a.price > 1")
