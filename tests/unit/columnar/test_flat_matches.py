"""Matches as flat columns: their names, their types, and how one gets at single matches."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal

import cepkit as ck
from cepkit.columnar.results.flat import flat_name, nested_frame, parts_of
from cepkit.errors import ArgumentError, LimitError, UnsupportedError

PAIR = "PATTERN SEQ(A a, B b)"
EITHER = "PATTERN AND(B b, OR(A a, C c)) WITHIN 9 s"
SET = "PATTERN SEQ(A a, KL(B b), C c)"
NONE = "PATTERN SEQ(D d, KL(A a))"


def stream(kinds: str = "ABBC", **columns: object) -> ck.api.Stream:
    """Return events of one-letter types, a second apart."""
    table = pa.table({"t": range(len(kinds)), "kind": list(kinds)} | columns)
    return ck.events(table, time="t", type="kind", unit="s")


def find(text: str, *, source: ck.api.Stream | None = None, **options: object) -> object:
    """Return the matches by the pattern's own order."""
    source = source or stream(x=[1, 2, 3, 4])
    return ck.detect(source, text, ck.choose_plan(text, ck.profile(source, text)), **options)


def test_flat_matches_have_a_column_per_variable_and_attribute():
    frame = find(PAIR).to_pandas()
    assert frame.to_dict("list") == {
        "a.t": [0, 0], "a.kind": ["A", "A"], "a.x": [1, 1],
        "b.t": [1, 2], "b.kind": ["B", "B"], "b.x": [2, 3],
        "match_start": [0, 0], "match_end": [1, 2],
    }  # fmt: skip
    assert frame["b.x"].dtype == np.int64


def test_sets_have_a_list_in_each_column():
    frame = find(SET, sets="maximal").to_pandas()
    assert frame["b.x"].tolist() == [[2, 3]]
    assert frame["b.x"].list.len().tolist() == [2]
    assert frame["b.x"].explode().tolist() == [2, 3]
    assert frame["a.x"].tolist() == [1]


def test_columns_of_other_branches_are_missing_and_integers_stay_integers():
    frame = find(EITHER).to_pandas().sort_values(["match_start", "match_end"])
    assert frame["a.x"].tolist() == [1, 1, pd.NA, pd.NA]
    assert frame["c.x"].tolist() == [pd.NA, pd.NA, 4, 4]
    assert frame["b.x"].tolist() == [2, 3, 2, 3]
    assert frame["a.x"].dtype == frame["c.x"].dtype == pd.ArrowDtype(pa.int64())
    assert frame["b.x"].dtype == np.int64
    nested = find(EITHER).to_pandas(nested=True)
    assert nested["a"].isna().sum() == 2


def test_negated_events_have_no_columns():
    source = stream("ABCB", x=[1, 2, 3, 4])
    frame = find("PATTERN SEQ(A a, NOT(C c), B b) WITHIN 9 s", source=source).to_pandas()
    assert not [name for name in frame if name.startswith("c.")]


LARGE = 2**62 + 1
COLUMNS = {
    "integers": (pa.array([LARGE, 2, 3, 4]), np.dtype("int64")),
    "missing integers": (pa.array([LARGE, None, 3, 4]), pd.ArrowDtype(pa.int64())),
    "small": (pa.array([1, 2, 3, 255], pa.uint8()), np.dtype("uint8")),
    "truth": (pa.array([True, False, True, True]), np.dtype(bool)),
    "missing truth": (pa.array([True, None, True, True]), pd.ArrowDtype(pa.bool_())),
    "floats": (pa.array([1.5, 2, 3, 4], pa.float32()), np.dtype("float32")),
    "texts": (pa.array(["x", None, "", "ü"]), pd.ArrowDtype(pa.string())),
    "categories": (
        pa.DictionaryArray.from_arrays([0, 1, None, 0], ["x", "y", "never"]),
        pd.CategoricalDtype(["x", "y", "never"], ordered=False),
    ),
    "ordered": (
        pa.DictionaryArray.from_arrays([0, 1, 1, 0], ["low", "high"], ordered=True),
        pd.CategoricalDtype(["low", "high"], ordered=True),
    ),
    "seconds": (pa.array([0, None, 1, 2], pa.timestamp("s")), np.dtype("M8[s]")),
    "nanoseconds": (
        pa.array([1, 2, 3, 4], pa.timestamp("ns", "Asia/Kolkata")),
        pd.DatetimeTZDtype("ns", "Asia/Kolkata"),
    ),
    "long ago": (
        pa.array([-(2**55), 2, 3, None], pa.timestamp("us", "UTC")),
        pd.DatetimeTZDtype("us", "UTC"),
    ),
    "durations": (pa.array([1, None, 3, 2**50], pa.duration("us")), np.dtype("m8[us]")),
    "dates": (pa.array([dt.date(1, 1, 1), None] * 2), pd.ArrowDtype(pa.date32())),
    "decimals": (pa.array([Decimal("0.10")] * 4), pd.ArrowDtype(pa.decimal128(2, 2))),
    "bytes": (pa.array([b"\x00", None] * 2), pd.ArrowDtype(pa.binary())),
    "times of day": (pa.array([dt.time(1, 2, 3)] * 4), pd.ArrowDtype(pa.time64("us"))),
    "lists": (pa.array([[1, None], None, [], [2]]), pd.ArrowDtype(pa.list_(pa.int64()))),
    "structs": (
        pa.array([[{"x": 1}], None] * 2),
        pd.ArrowDtype(pa.list_(pa.struct({"x": pa.int64()}))),
    ),
    "nothing": (pa.nulls(4), pd.ArrowDtype(pa.null())),
    "months": (pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval()), np.dtype(object)),
    "uuids": (
        pa.array([b"a" * 16] * 4, pa.uuid()),
        pd.ArrowDtype(pa.uuid()) if pd.__version__ >= "3" else np.dtype(object),
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_values_of_every_type_are_unchanged_in_the_matches(name):
    values, dtype = COLUMNS[name]
    source = stream(x=values, n=range(4))
    matches = find("PATTERN SEQ(ANY a, ANY b)", source=source)
    frame = matches.to_pandas()
    assert len(frame) == 6
    assert frame["a.x"].dtype == frame["b.x"].dtype == dtype
    assert repr(frame)
    for variable in "ab":
        column = frame[f"{variable}.x"]
        back = [None if m else value for value, m in zip(column, column.isna(), strict=True)]
        assert back == values.take(pa.array(frame[f"{variable}.n"])).to_pylist()
    assert_frame_equal(matches.head(2), frame.head(2))
    if not isinstance(dtype, pd.CategoricalDtype):  # no match says which categories there are
        assert (matches.head(0).dtypes == frame.dtypes).all()


def test_types_follow_from_the_stream_not_from_the_matches():
    # The one event without a value is in no match.
    source = stream("ABC", x=[1, 2, None])
    frame = find(PAIR, source=source).to_pandas()
    assert frame["a.x"].dtype == pd.ArrowDtype(pa.int64())


def test_a_frame_can_be_written_to():
    frame = find(PAIR).to_pandas()
    frame.loc[0, "a.x"] = 7
    frame.loc[0, "a.kind"] = "changed"
    assert frame["a.x"].tolist() == [7, 1]
    assert find(PAIR).to_pandas()["a.x"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("variable", "attribute", "name"),
    [
        ("a", "price", "a.price"),
        ("a", "unit price", "a.unit price"),
        ("a", "b.c", "a.b.c"),
        ("a.b", "c", '"a.b".c'),
        ('a"b', "c", '"a""b".c'),
        ('a"', '."', '"a""".."'),
        ("select", "x", "select.x"),
        ("ä ö", "`x`", "ä ö.`x`"),
        ("a", "", "a."),
        ("a", "x\ny", "a.x\ny"),
    ],
)
def test_a_name_says_which_variable_and_which_attribute(variable, attribute, name):
    assert flat_name(variable, attribute) == name
    assert parts_of(name) == (variable, attribute)


def test_columns_of_names_with_dots_stay_distinct():
    source = stream("AB", **{"b.x": [1, 2], "x": [3, 4]})
    text = 'PATTERN SEQ(A a, B "a.b")'
    frame = find(text, source=source).to_pandas()
    assert [*frame] == [
        "a.t", "a.kind", "a.b.x", "a.x",
        '"a.b".t', '"a.b".kind', '"a.b".b.x', '"a.b".x', "match_start", "match_end",
    ]  # fmt: skip
    assert (frame["a.b.x"][0], frame['"a.b".x'][0]) == (1, 4)
    assert ck.draw(frame, time="t", type="kind") is not None


def test_nested_is_one_column_for_each_variable():
    matches = find(SET, sets="maximal")
    frame = matches.to_pandas(nested=True)
    assert frame["a"][0] == {"t": 0, "kind": "A", "x": 1}
    assert [event["x"] for event in frame["b"][0]] == [2, 3]
    assert_frame_equal(matches.head(nested=True), frame)


@pytest.mark.parametrize("text", [PAIR, EITHER, SET])
def test_arrow_and_parquet_are_nested_unless_asked(text, tmp_path):
    matches = find(text)
    flat = matches.to_pandas()
    assert matches.to_arrow().column_names == [*matches.variables, "match_start", "match_end"]
    table = matches.to_arrow(nested=False)
    assert table.column_names == [*flat]
    assert table.to_pylist() == [
        {name: None if value is pd.NA else value for name, value in row.items()}
        for row in flat.to_dict("records")
    ]
    assert pa.Table.from_batches(matches.batches(nested=False)) == table
    matches.write_parquet(tmp_path / "flat.parquet", nested=False)
    assert pa.parquet.read_table(tmp_path / "flat.parquet") == table
    assert pa.Table.from_batches(matches.batches()) == matches.to_arrow()


@pytest.mark.parametrize("text", [PAIR, EITHER, SET])
def test_flat_matches_can_be_nested_again(text):
    matches = find(text)
    assert_frame_equal(
        nested_frame(matches.to_pandas()), matches.to_pandas(nested=True), check_dtype=False
    )
    assert_frame_equal(nested_frame(matches.to_pandas(nested=True)), matches.to_pandas(nested=True))


@pytest.mark.parametrize("text", [PAIR, EITHER, SET])
def test_figures_are_drawn_of_flat_matches(text):
    matches = find(text)
    flat, nested = (
        ck.draw(matches.to_pandas(nested=n), time="t", type="kind") for n in (False, True)
    )
    assert flat.to_json() == nested.to_json()


def test_draw_ignores_columns_added_to_flat_matches():
    frame = find(PAIR).to_pandas()
    frame["gain"] = frame["b.x"] - frame["a.x"]
    assert ck.draw(frame[frame["gain"] > 0], time="t", type="kind") is not None
    several = ck.detect(stream(x=[1, 2, 3, 4]), {"pair": PAIR, "set": SET})
    assert ck.draw(several.together.to_pandas(), time="t", type="kind") is not None


def test_several_patterns_together_have_a_column_with_their_names():
    source = stream(x=[1, 2, 3, 4])
    several = ck.detect(source, {"pair": PAIR, "set": SET, "other": "PATTERN SEQ(B d, C c)"})
    frame = several.together.to_pandas()
    assert frame["pattern"].value_counts().to_dict() == {"pair": 2, "set": 3, "other": 2}
    assert frame["pattern"].dtype == pd.CategoricalDtype(["pair", "set", "other"])
    ours = frame[frame["pattern"] == "other"]
    assert ours["d.x"].tolist() == [2, 3]
    assert ours["a.x"].isna().all()
    assert sorted(map(len, frame["b.x"].dropna())) == [1, 1, 1, 1, 2]  # a list in all, as in one
    assert len(several.together) == several.together.count() == len(frame) == 7
    assert_frame_equal(several.together.head(3), frame.head(3))
    nested = several.together.to_pandas(nested=True)
    assert [*nested] == ["pattern", "a", "b", "c", "d", "match_start", "match_end"]
    assert [match["pattern"] for match in several.together] == nested["pattern"].tolist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([bytes([i] * 16) for i in range(4)], pa.uuid()),
        pd.period_range("2024-01", periods=4, freq="M"),
        pd.cut(pd.Series([0.1, 0.2, 0.6, 0.9]), 2),
    ],
    ids=["uuids", "months", "intervals"],
)
@pytest.mark.parametrize("text", [PAIR, EITHER, SET, NONE])
def test_nested_events_have_values_of_any_type(values, text):
    if isinstance(values, pa.Array):
        source = stream(x=values)
    else:
        rows = pd.DataFrame({"t": range(4), "kind": list("ABBC"), "x": values})
        source = ck.events(rows, time="t", type="kind", unit="s")
    x = source.head(4).source.column("x").to_pandas().tolist()
    found = find(text, source=source)
    assert len(found.to_pandas(nested=True)) == len(list(found)) == len(found)
    for match in found:
        for bound in match.values():
            for event in bound if isinstance(bound, list) else [bound]:
                if isinstance(event, dict):
                    assert event["x"] == x[event["t"]]
    assert "cannot be shown" not in repr(found)
    several = ck.detect(source, {"one": text, "set": "PATTERN SEQ(B b, KL(C a), C d)"})
    assert len(several.together.to_pandas(nested=True)) == len(found)


def test_a_loop_finds_matches_one_after_the_other():
    matches = find(EITHER)
    assert list(matches) == matches.to_pandas(nested=True).to_dict("records")
    first = next(iter(find("PATTERN SEQ(ANY a, ANY b)", source=stream("A" * 3000))))
    assert first["a"]["kind"] == "A"
    assert first.keys() == {"a", "b", "match_start", "match_end"}


def test_len_is_the_count():
    matches = find(PAIR)
    assert len(matches) == matches.count() == 2
    assert len(find(PAIR, limit=1)) == 1


def test_len_of_more_than_python_can_count():
    matches = find(SET, source=stream("A" + "B" * 80 + "C"))
    with pytest.raises(LimitError, match=r"\.count\(\)"):
        len(matches)
    assert matches.count() == 2**80 - 1
    assert bool(find(SET, source=stream("A" + "B" * 80 + "C")))


def test_truth_value_of_matches_says_whether_there_are_any():
    assert find(PAIR)
    assert not find("PATTERN SEQ(C c, A a)")
    assert not find(PAIR, limit=0)


@pytest.mark.parametrize("key", [0, -1, slice(5), "a.price", ("a", "price")])
def test_indexing_matches_is_refused_with_alternatives(key):
    with pytest.raises(UnsupportedError, match=r"to_pandas\(\)(.|\n)*head\(10\)"):
        find(PAIR)[key]


def test_nested_is_true_or_false():
    with pytest.raises(ArgumentError, match="nested="):
        find(PAIR).to_pandas(nested="no")
