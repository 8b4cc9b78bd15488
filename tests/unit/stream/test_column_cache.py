"""Columns that a stream keeps once read: the answers are those of reading everything anew."""

import copy
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.errors import StreamError
from cepkit.stream.reading import column_cache, marks, readers

PATTERN = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds"


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """Let files count as settled at once, unless a test changes it."""
    monkeypatch.setattr(marks, "_SETTLED", -(10**18))


@pytest.fixture
def read(monkeypatch):
    """The names of the columns that were read from files, whole columns only."""
    names = []
    whole = readers.read_table

    def read_table(path, columns, *, limit=None, **options):
        if limit is None:
            names.extend(columns)
        return whole(path, columns, limit=limit, **options)

    monkeypatch.setattr(readers, "read_table", read_table)
    return names


def table(n=200, seed=1, *, nulls=False, ordered=True):
    rng = np.random.default_rng(seed)
    ts = rng.integers(0, 100_000, n)
    ts = np.sort(ts) if ordered else ts
    types, x, text = rng.choice(["A", "B", "C"], n), rng.uniform(0, 1, n), rng.choice(["u", "v"], n)
    missing = (rng.random(n) < 0.1) if nulls else np.zeros(n, bool)
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("ms"), mask=missing),
            "type": pa.array(types, pa.string(), mask=np.roll(missing, 7)),
            "x": pa.array(x, mask=np.roll(missing, 3)),
            "n": pa.array(rng.integers(0, 9, n), mask=np.roll(missing, 5)),
            "text": pa.array(text, mask=np.roll(missing, 9)),
        }
    )


def stream_of(source):
    return ck.events(source, time="ts", type="type")


def assert_same(one, other):
    assert one.type_names == other.type_names
    assert one.dropped == other.dropped
    assert one.attributes.keys() == other.attributes.keys()
    for name in ("ts", "types", "rows", "arrivals"):
        mine, yours = getattr(one, name), getattr(other, name)
        assert (mine is None) == (yours is None), name
        assert mine is None or np.array_equal(mine, yours), name
    for name, column in one.attributes.items():
        yours = other.attributes[name]
        assert column.kind == yours.kind
        assert column.has_missing == yours.has_missing
        assert column.dictionary.tolist() == yours.dictionary.tolist()
        assert np.array_equal(column.values, yours.values, equal_nan=column.kind == "float")
        assert column.values.flags.writeable == yours.values.flags.writeable
    assert one.source.equals(other.source)


def written(folder, form, *tables):
    for number, part in enumerate(tables):
        if form == "parquet":
            pq.write_table(part, folder / f"{number}.parquet", row_group_size=70)
        else:
            pa_csv.write_csv(part, folder / f"{number}.csv")
    return folder


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_columns_asked_for_one_after_another_are_those_of_one_reading(
    form, nulls, ordered, tmp_path
):
    parts = [table(150, 1, nulls=nulls, ordered=ordered), table(90, 2, nulls=nulls)]
    source = pa.concat_tables(parts) if form == "arrow" else written(tmp_path, form, *parts)
    stream, other = stream_of(source), stream_of(source)
    schema, names = other.schema, other.column_names
    for attributes in ((), ("x",), ("text", "ts"), ("n", "x"), ("type",)):
        expected = column_cache._at_once(other.source, schema, names, attributes)
        assert_same(stream.columns(attributes), expected)
        assert stream.kept.size > 0
    assert len(stream) == len(expected)


@pytest.mark.parametrize("part", [table(0), pa.table({"ts": [], "type": [], "x": []})])
def test_an_empty_file_has_no_events(part, tmp_path):
    part = part.set_column(0, "ts", part.column("ts").cast(pa.timestamp("ms")))
    pq.write_table(part, tmp_path / "a.parquet")
    assert len(stream_of(tmp_path / "a.parquet")) == 0


def test_a_file_is_decoded_once_and_only_the_columns_that_are_needed(tmp_path, read):
    path = written(tmp_path, "parquet", table())
    stream = stream_of(path)
    matches = ck.detect(stream, PATTERN)
    number = matches.count()
    assert sorted(read) == ["ts", "type", "x"]
    assert ck.detect(stream, PATTERN).count() == number
    assert sorted(read) == ["ts", "type", "x"]
    stream.forget()
    assert stream.kept.size == 0
    assert ck.detect(stream, PATTERN).count() == number
    assert sorted(read) == sorted(2 * ["ts", "type", "x"])
    read.clear()
    assert matches.to_arrow().num_rows == number
    assert sorted(read) == ["n", "text", "ts", "type", "x"]


def test_a_file_that_changed_is_read_again(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(200, 1), path)
    stream = stream_of(path)
    before = ck.detect(stream, PATTERN).count()
    pq.write_table(table(200, 2), path)
    fresh = ck.detect(stream_of(path), PATTERN).count()
    assert fresh != before
    assert ck.detect(stream, PATTERN).count() == fresh


def test_a_file_more_in_a_folder_is_read(tmp_path):
    stream = stream_of(written(tmp_path, "parquet", table(200, 1)))
    assert len(stream) == 200
    pq.write_table(table(50, 2), tmp_path / "9.parquet")
    assert len(stream) == 250


def test_rows_of_a_file_that_changed_are_not_mixed_with_its_old_events(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(200, 1), path)
    matches = ck.detect(stream_of(path), PATTERN)
    number = matches.count()
    pq.write_table(table(200, 2), path)
    assert matches.count() == number
    with pytest.raises(StreamError, match="has changed since its events were read"):
        matches.to_arrow()


def test_a_file_written_just_now_is_read_whole_and_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(marks, "_SETTLED", 10**18)
    path = tmp_path / "a.parquet"
    pq.write_table(table(200, 1), path)
    stream = stream_of(path)
    matches = ck.detect(stream, PATTERN)
    pq.write_table(table(200, 2), path)
    assert matches.to_arrow().num_rows == matches.count()
    assert stream.kept.size == 0


def test_a_file_that_changes_while_it_is_read_is_read_at_once(tmp_path, monkeypatch):
    path = written(tmp_path, "parquet", table(200, 1))
    marks = iter(range(100))
    monkeypatch.setattr(column_cache, "_mark", lambda source: ((next(marks),),))
    stream = stream_of(path)
    columns = stream.columns(("x",))
    assert_same(
        columns, column_cache._at_once(stream.source, stream.schema, stream.column_names, ("x",))
    )
    assert stream.kept.size == 0


def test_columns_beyond_memory_are_not_kept(tmp_path, monkeypatch):
    path = written(tmp_path, "parquet", table())
    stream = stream_of(path)
    number = ck.detect(stream, PATTERN).count()
    assert "kept in memory" in repr(stream)
    stream.forget()
    assert "kept in memory" not in repr(stream)
    monkeypatch.setattr(column_cache, "MOST_KEPT", 100)
    assert ck.detect(stream, PATTERN).count() == number
    assert stream.kept.size == 0
    monkeypatch.setattr(column_cache, "MOST_KEPT", 1 << 30)
    monkeypatch.setattr(column_cache, "free_memory", lambda: 400)
    assert ck.detect(stream, PATTERN).count() == number
    assert stream.kept.size == 0


def test_copies_and_pickles_take_nothing_along():
    stream = stream_of(table())
    stream.columns(("x",))
    assert stream.kept.size
    assert pickle.loads(pickle.dumps(stream)).kept.size == 0
    assert copy.deepcopy(stream).kept.size == 0


def test_a_pandas_frame_is_read_each_time():
    frame = table().to_pandas()
    stream = stream_of(frame)
    before = ck.detect(stream, PATTERN).count()
    frame["x"] = np.arange(len(frame), dtype=np.float64)
    after = ck.detect(stream, PATTERN).count()
    assert after == ck.detect(stream_of(pd.DataFrame(frame)), PATTERN).count()
    assert after != before
    assert stream.kept.size == 0


def test_a_column_that_cannot_go_to_the_output_is_refused_before_the_search(tmp_path):
    part = table(20).append_column("t", pa.array([0] * 20, pa.timestamp("us", "Nowhere/Land")))
    pq.write_table(part, tmp_path / "a.parquet")
    with pytest.raises(StreamError, match="not a known time zone"):
        ck.detect(stream_of(tmp_path / "a.parquet"), PATTERN)
