"""Time ranges of streams: a stream with since and until is that of the rows between them."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import StreamError
from cepkit.stream.reading import readers

BEGIN = pd.Timestamp("2024-03-31 00:00")
PATTERNS = (
    "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds",
    "PATTERN SEQ(A a, NOT(C c), B b) WITHIN 4 events",
    "PATTERN SEQ(A a, B b)",
)


def rows(n=300, seed=1, *, ordered=True):
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, 200, n)
    seconds = np.sort(seconds) if ordered else seconds
    return pd.DataFrame(
        {
            "ts": BEGIN + pd.to_timedelta(seconds, "s"),
            "type": rng.choice(["A", "B", "C", None], n, p=[0.3, 0.3, 0.3, 0.1]),
            "x": rng.integers(0, 9, n),
        }
    )


def sources(frame, folder, group):
    """Return a frame as each kind of source."""
    table = pa.Table.from_pandas(frame)
    pq.write_table(table, folder / "events.parquet", row_group_size=group)
    (folder / "several").mkdir(exist_ok=True)
    middle = len(table) // 2
    for number, part in enumerate((table.slice(0, middle), table.slice(middle))):
        pq.write_table(part, folder / f"several/{number}.parquet", row_group_size=group)
    pa_csv.write_csv(table, folder / "events.csv")
    names = "events.parquet", "several", "events.csv"
    return [frame, table, *(folder / name for name in names)]


def answers(stream):
    found = [ck.detect(stream, pattern).to_pandas() for pattern in PATTERNS]
    return [len(stream), ck.profile(stream, PATTERNS[0]).rates, *map(keys, found)]


def keys(frame):
    return sorted(map(tuple, frame[["a.ts", "a.x", "b.ts", "b.x"]].itertuples(index=False)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ranges")


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(
    seed=st.integers(0, 99),
    ordered=st.booleans(),
    group=st.sampled_from((7, 64, 1000)),
    ends=st.tuples(st.none() | st.integers(-5, 205), st.none() | st.integers(-5, 205)),
)
def test_range_of_any_source_is_the_stream_of_its_rows(folder, seed, ordered, group, ends):
    frame = rows(60, seed, ordered=ordered)
    since, until = (None if end is None else BEGIN + pd.Timedelta(seconds=end) for end in ends)
    if None not in (since, until) and since >= until:
        since, until = until, since + pd.Timedelta(seconds=1)
    inside = pd.Series(True, index=frame.index)
    if since is not None:
        inside &= frame["ts"] >= since
    if until is not None:
        inside &= frame["ts"] < until
    expected = answers(ck.events(frame[inside].reset_index(drop=True), time="ts", type="type"))
    for source in sources(frame, folder, group):
        stream = ck.events(source, time="ts", type="type", since=since, until=until)
        assert answers(stream) == expected


@pytest.mark.parametrize(
    "since",
    [
        "2024-03-31T00:01:00",
        "2024-03-31 00:01:00Z",
        "2024-03-31T02:01:00+02:00",
        dt.datetime(2024, 3, 31, 0, 1, tzinfo=dt.UTC),
        pd.Timestamp("2024-03-31 00:01:00", tz="UTC"),
        np.datetime64("2024-03-31T00:01:00"),
    ],
)
def test_since_is_taken_in_any_form_of_a_time(since):
    frame = rows()
    expected = (frame["ts"] >= BEGIN + pd.Timedelta(minutes=1)) & frame["type"].notna()
    assert len(ck.events(frame, time="ts", type="type", since=since)) == expected.sum()


def test_since_without_zone_is_of_the_zone_of_the_stream():
    frame = rows()
    stream = ck.events(
        frame, time="ts", type="type", timezone="Europe/Copenhagen", since="2024-03-31 00:01"
    )
    expected = (frame["ts"] >= BEGIN + pd.Timedelta(minutes=1)) & frame["type"].notna()
    assert len(stream) == expected.sum()


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "min"])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
def test_numbers_count_in_the_unit_of_the_stream(unit, kind):
    step = 1000 if unit == "ns" else 1  # times are microseconds
    numbers = pa.array(range(100 * step, 200 * step, step), pa.int64()).cast(kind)
    table = pa.table({"ts": numbers, "type": ["A"] * 100})
    stream = ck.events(table, time="ts", type="type", unit=unit, since=150 * step, until=152 * step)
    assert len(stream) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": "yesterday"}, "since='yesterday' is no time"),
        ({"until": 5}, "until=5, and the times of the stream are no numbers"),
        ({"since": [1]}, r"since=\[1\]"),
        ({"since": True}, "since=True"),
        ({"until": pd.NaT}, "until=NaT is no time"),
        ({"since": "2024-03-02", "until": "2024-03-01"}, "is not before until="),
        ({"since": "2024-03-02", "until": "2024-03-02"}, "is not before until="),
    ],
)
def test_range_without_meaning_is_refused(options, message):
    with pytest.raises(StreamError, match=message):
        ck.events(rows(), time="ts", type="type", **options)


@pytest.mark.parametrize("name", ["events.parquet", "several"])
def test_row_groups_outside_of_range_are_not_read(tmp_path, monkeypatch, name):
    sources(rows(), tmp_path, 10)
    read = []
    whole = readers.read_table

    def read_table(*arguments, **options):
        table = whole(*arguments, **options)
        read.append(len(table))
        return table

    monkeypatch.setattr(readers, "read_table", read_table)
    stream = ck.events(
        tmp_path / name, time="ts", type="type",
        since=BEGIN + pd.Timedelta(seconds=100), until=BEGIN + pd.Timedelta(seconds=101),
    )  # fmt: skip
    read.clear()
    assert len(stream) == len(stream.rows().filter(pa.compute.field("type").is_valid()))
    assert 0 < max(read) <= 30


def test_row_pattern_and_preview_see_the_range():
    frame = rows()
    stream = ck.events(
        frame, time="ts", type="type", since="2024-03-31 00:01", until="2024-03-31 00:02"
    )
    query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A))"
    inside = (frame["ts"] >= "2024-03-31 00:01") & (frame["ts"] < "2024-03-31 00:02")
    assert len(ck.from_match_recognize(query, stream).to_pandas()) == inside.sum()
    assert "a time range of a pandas DataFrame" in repr(stream)
    assert "until: 2024-03-31T00:02:00+00:00" in repr(stream)
