"""Columns of pandas become Arrow's columns; repeated objects are converted once."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.columnar.results.flat import flat_frame
from cepkit.errors import StreamError
from cepkit.stream.columns import decoded, is_coded, texts_at
from cepkit.stream.reading import pandas_columns
from cepkit.stream.reading.pandas_columns import from_pandas

DAY = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
TIMES = [pd.Timestamp("2024-03-01", tz="Asia/Kolkata"), pd.NaT, pd.Timestamp(0, tz="Asia/Kolkata")]
COLUMNS = {
    "texts": ["a", "b", None, "a", "ü", ""],
    "missing texts": ["a", float("nan"), pd.NA, None],
    "no texts": [None, None],
    "truth": [True, False, None, True],
    "integers": [1, 2, None, 1],
    "numbers": [1, 2.5, 2.5, None],
    "decimals": [Decimal("1.5")] * 3,
    "dates": [dt.date(2024, 1, 1), None] * 3,
    "times": [DAY, None, DAY, DAY],
    "lists": [[1, 2]] * 4,
    "structs": [{"x": 1}] * 4,
    "bytes": [b"x", b"y", b"x", None],
    "nothing": [],
}


def as_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("many", [1, 1000])
def test_object_columns_are_converted_as_arrow_does(name, many):
    frame = pd.DataFrame({"x": pd.Series(COLUMNS[name] * many, dtype=object)})
    assert from_pandas(frame).equals(as_arrow(frame))


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.5, np.nan, np.inf]),
        np.array([1.5, -0.0], np.float32),
        np.array([1, 2**63], np.uint64),
        np.array([True, False]),
        np.array(["2024-03-01", "NaT"], "M8[s]"),
        np.array(["2024-03-01", "1969-01-01"], "M8[ns]"),
        np.array([1, -1], "m8[ms]"),
        pd.Series(TIMES),
        pd.Series(TIMES).dropna().dt.as_unit("us"),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series(TIMES[::2]).astype("timestamp[us, tz=UTC][pyarrow]"),
        np.array([], float),
        np.array([], "M8[us]"),
    ],
    ids=lambda values: str(values.dtype),
)
def test_typed_columns_are_converted_as_arrow_does(values):
    frame = pd.DataFrame({"x": values})
    assert from_pandas(frame).equals(as_arrow(frame))


@given(st.lists(st.none() | st.text(max_size=3), max_size=8), st.integers(1, 40))
def test_codes_stand_for_texts(some, times):
    # Equal texts may be different objects.
    texts = [None if text is None else "".join([*text]) for text in some * times]
    frame = pd.DataFrame({"x": pd.Series(texts, dtype=object)})
    coded = from_pandas(frame, coded=True)
    assert decoded(coded).equals(as_arrow(frame))
    if is_coded(coded.schema.field(0)):
        column = coded.column(0).chunk(0)
        at = pa.array([None, *range(len(texts)), 0])
        assert texts_at(column, at).to_pylist() == [None, *texts, texts[0]]
        one = pa.array([len(texts) - 1] * 5)
        assert texts_at(column, one).to_pylist() == [texts[-1]] * 5


def test_texts_that_occur_once_are_not_coded():
    frame = pd.DataFrame({"x": [f"text {number}" for number in range(5000)]})
    assert not is_coded(from_pandas(frame, coded=True).schema.field(0))


def test_dictionary_includes_texts_that_first_occur_late():
    texts = ["a"] * 40_000 + ["b"] + ["c"] * 40_000 + ["a", "b"]
    frame = pd.DataFrame({"x": texts}, dtype=object)
    coded = from_pandas(frame, coded=True)
    assert coded.column(0).chunk(0).dictionary.to_pylist() == ["a", "b", "c"]
    assert decoded(coded).column(0).to_pylist() == texts


def test_texts_that_one_array_could_not_hold_are_not_coded(monkeypatch):
    frame = pd.DataFrame({"x": ["four"] * 1000}, dtype=object)
    for most, coded in ((4000, True), (3999, False)):
        monkeypatch.setattr(pandas_columns, "_MOST_BYTES", most)
        assert is_coded(from_pandas(frame, coded=True).schema.field(0)) is coded


def test_columns_that_do_not_lie_together_are_read():
    values = np.array([["a", "b"], ["b", "c"], ["a", "c"]] * 500, dtype=object)
    frame = pd.DataFrame(values, columns=["x", "y"])
    assert from_pandas(frame).equals(as_arrow(frame))
    assert from_pandas(frame[::2]).equals(as_arrow(frame[::2]))


@pytest.mark.parametrize("several", [1, 500])
def test_times_among_dates_are_refused(several):
    days = [dt.date(2024, 3, 1), pd.NaT, pd.Timestamp("2024-03-01 12:00")] * several
    rows = [{"t": day, "kind": "A"} for day in (days[0], None, days[2])]
    for source in (rows, pd.DataFrame({"t": pd.Series(days, dtype=object), "kind": "A"})):
        with pytest.raises(StreamError, match="'t' holds 2024-03-01 12:00:00 in row 2"):
            len(ck.events(source, time="t", type="kind"))
    assert len(ck.events([rows[0]], time="t", type="kind")) == 1


def frame_of_events() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "t": pd.date_range("2024-03-01", periods=6, freq="s", tz="UTC"),
            "kind": ["A", "B", None, "A", "B", "B"],
            "x": [1.5, 2.5, 3.5, np.nan, 5.5, 6.5],
            "who": ["me", "you", "me", "me", None, "you"],
            "n": range(6),
        }
    )


@pytest.mark.filterwarnings("ignore::cepkit.stream.warnings.StreamWarning")
def test_a_frame_that_changes_later_changes_no_match():
    frame = frame_of_events()
    expected = ck.detect(events(frame.copy()), PAIR).to_pandas()
    matches = ck.detect(events(frame), PAIR)
    frame.loc[:, "x"] = -1.0
    frame.loc[:, "t"] = frame["t"] + pd.Timedelta("1 day")
    frame.loc[:, "who"] = "they"
    pd.testing.assert_frame_equal(matches.to_pandas(), expected)


PAIR = "PATTERN SEQ(A a, B b)"
EITHER = "PATTERN OR(SEQ(A a, B b), SEQ(B c, B b)) WITHIN 3 seconds"
SET = "PATTERN SEQ(A a, KL(B b)) WITHIN 5 seconds"
RETURNED = "PATTERN SEQ(A a, ANY b) RETURN a.who AS one, b.who AS other, a.x + b.n AS sum"


def events(source: object) -> ck.api.Stream:
    return ck.events(source, time="t", type="kind")


@pytest.mark.filterwarnings("ignore::cepkit.stream.warnings.StreamWarning")
@pytest.mark.parametrize("text", [PAIR, EITHER, SET, RETURNED])
@pytest.mark.parametrize("order", ["in order", "not in order"])
def test_matches_of_a_frame_are_those_of_its_arrow_table(text, order):
    frame = frame_of_events()
    if order == "not in order":
        frame = frame.sample(frac=1, random_state=1, ignore_index=True)
    table = as_arrow(frame)
    of_frame, of_table = (ck.detect(events(each), text) for each in (frame, table))
    assert len(of_frame) > 2
    assert of_frame.schema == of_table.schema
    assert of_frame.to_arrow().equals(of_table.to_arrow())
    assert of_frame.to_arrow(nested=False).equals(of_table.to_arrow(nested=False))
    pd.testing.assert_frame_equal(of_frame.to_pandas(), of_table.to_pandas())
    flat = of_table.to_arrow(nested=False)
    columns = dict(zip(flat.column_names, flat.columns, strict=True))
    at_once = flat_frame(columns, of_table.may_lack())
    pd.testing.assert_frame_equal(of_frame.to_pandas(), at_once)
