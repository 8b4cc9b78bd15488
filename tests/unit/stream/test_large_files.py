"""Files that are too large to be kept are read in pieces; the answers are those of small ones."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.columnar.pieces import Pieces
from cepkit.columnar.results.matches import Matches
from cepkit.errors import LimitError
from cepkit.stream.reading import column_cache, marks
from cepkit.stream.reading.file_parts import FileParts

PATTERN = "PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.s = b.s WITHIN 3 seconds"
ROWS = 4_000


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    monkeypatch.setattr(marks, "_SETTLED", -(10**18))


def rows(seed=1, *, ordered=True):
    rng = np.random.default_rng(seed)
    ts = rng.integers(0, 1_000_000, ROWS)
    types = np.sort(rng.choice(["A", "B"], ROWS)) if seed == 2 else rng.choice(["A", "B"], ROWS)
    return pa.table(
        {
            "ts": pa.array(np.sort(ts) if ordered else ts, pa.timestamp("ms")),
            "type": types,
            "x": rng.integers(0, 9, ROWS),
            "s": pa.array(rng.choice(["u", "v", None], ROWS)),
        }
    )


@pytest.fixture
def path(tmp_path):
    pq.write_table(rows(), tmp_path / "events.parquet", row_group_size=170)
    return tmp_path / "events.parquet"


def stream_of(path, **options):
    return ck.events(path, time="ts", type="type", **options)


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(column_cache, "MOST_KEPT", -1)


def test_small_file_is_loaded_and_kept(path):
    stream = stream_of(path)
    assert type(ck.detect(stream, PATTERN)) is Matches
    assert stream.kept.size > 0


def test_large_file_is_not_loaded(path, large, tmp_path, monkeypatch):
    whole = ck.detect(stream_of(rows()), PATTERN)
    monkeypatch.setattr(column_cache, "load", None)
    stream = stream_of(path)
    matches = ck.detect(stream, PATTERN)
    assert type(matches) is not Matches  # it is read in pieces
    assert matches.count() == whole.count() > 0
    assert stream.kept.size == 0
    assert matches.searched == 1
    written = matches.write_parquet(tmp_path / "matches.parquet")
    assert written == sum(map(len, matches.batches())) == whole.count()
    key = ["a.ts", "b.ts", "a.x", "b.x"]
    frames = [found.to_pandas().sort_values(key, ignore_index=True) for found in (matches, whole)]
    pd.testing.assert_frame_equal(*frames)
    assert matches.explain().to_pandas()["survivors"].iloc[-1] == whole.count()
    assert len(matches.head(3)) == 3
    assert len(matches.timeline(2)) == 4
    assert "a" in repr(matches)


def test_large_file_with_few_columns_in_the_output_gives_the_answers_of_a_table(path, large):
    found = []
    for source in (path, rows()):
        stream = stream_of(source, columns=["x"])
        found.append(
            (
                ck.detect(stream, PATTERN).count(),
                ck.detect(stream, [PATTERN, "PATTERN A a"]).counts().to_dict(),
                len(ck.aggregate(stream, f"{PATTERN} AGG COUNT, MIN(b.s)", method="detect")),
                ck.profile(stream, PATTERN).events,
                ck.calibrate(stream, PATTERN.replace("a.s = b.s", "b.x < $k"), k=[3]).rows,
            )
        )
    assert found[0] == found[1]
    assert found[0][0] > 0


@pytest.mark.parametrize("emit", ["trigger", "changes", "new", "total"])
@pytest.mark.parametrize("end", ["AGG COUNT, AVG(a.x)", "AGG SUM(b.x) GROUP BY s"])
def test_large_file_is_aggregated_in_pieces(path, large, monkeypatch, emit, end):
    texts = [f"PATTERN SEQ(A a, B b) WITHIN 3 seconds {end}", f"{PATTERN} {end}"]
    whole = ck.aggregate(stream_of(rows()), texts, emit=emit)
    monkeypatch.setattr(column_cache, "load", None)
    for result, expected in zip(
        ck.aggregate(stream_of(path), texts, emit=emit), whole, strict=True
    ):
        pd.testing.assert_frame_equal(result.to_pandas(), expected.to_pandas())


@pytest.mark.filterwarnings("ignore:no event has the type 'C'")
def test_several_patterns_read_a_large_file_one_after_the_other(path, large, monkeypatch):
    patterns = {"pair": PATTERN, "none": "PATTERN SEQ(A a, C c) WITHIN 1 second"}
    patterns["next"] = "PATTERN SEQ(A a, B b) WITHIN 1 second STRATEGY skip-till-next-match"
    whole = ck.detect(stream_of(rows()), patterns)
    counts = whole.counts().to_dict()
    together = whole.together.to_pandas()
    monkeypatch.setattr(column_cache, "load", None)
    matches = ck.detect(stream_of(path), patterns)
    assert matches.counts().to_dict() == counts
    assert matches["pair"].count() == counts["pair"] > 0
    found = matches.together.to_pandas()
    key = ["pattern", "a.ts", "a.x", "b.ts", "b.x"]
    frames = [each[key].sort_values(key, ignore_index=True) for each in (found, together)]
    pd.testing.assert_frame_equal(*frames)
    assert "pair" in str(matches.explain())
    limited = ck.detect(stream_of(path), patterns, limit=3)
    assert limited.counts().to_dict() == {"pair": 3, "none": 0, "next": 3}


def test_plan_of_large_file_expects_the_matches_of_all_of_it(path, large):
    matches = ck.detect(stream_of(path), PATTERN)
    assert matches.plan.statistics.events == ROWS
    assert matches.plan.forecast.matches == pytest.approx(matches.count(), rel=0.5)


def test_query_that_needs_all_events_loads_the_file(path, large):
    matches = ck.detect(stream_of(path), "PATTERN SEQ(A a, B b) WHERE a.x = 0 AND b.x = 0")
    assert type(matches) is Matches
    adapted = ck.detect(stream_of(path), PATTERN, adapt="slices")
    assert adapted.count() == ck.detect(stream_of(path), PATTERN).count()


def test_row_groups_without_types_of_the_pattern_are_not_read(tmp_path, large):
    pq.write_table(rows(seed=2), tmp_path / "e.parquet", row_group_size=500)
    stream = stream_of(tmp_path / "e.parquet")
    matches = ck.detect(stream, "PATTERN SEQ(A a, A b) WITHIN 1 second")
    assert (
        matches.count()
        == ck.detect(stream_of(rows(seed=2)), "PATTERN SEQ(A a, A b) WITHIN 1 second").count()
    )
    parts = stream.parts(())
    own = parts.with_types(frozenset("A"))
    assert 0 < own.rows < parts.rows == ROWS
    assert parts.with_types(None).rows == parts.with_types(frozenset("AB")).rows == ROWS


def test_warnings_are_those_of_the_whole_stream(path, large):
    with pytest.warns(UserWarning, match="no event has the type 'C'"):
        ck.detect(stream_of(path), "PATTERN SEQ(A a, C c) WITHIN 1 second").count()


def test_file_that_changes_meanwhile_is_refused(path, large):
    matches = ck.detect(stream_of(path), PATTERN)
    pq.write_table(rows(seed=3), path, row_group_size=100)
    with pytest.raises(ck.CepkitError, match="has changed since its events were read"):
        matches.count()


def test_unsorted_file_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "unsorted.parquet"
    pq.write_table(rows(ordered=False), path, row_group_size=100)
    monkeypatch.setattr(column_cache, "free_memory", lambda: 20_000)
    monkeypatch.setattr("cepkit.columnar.pieces.free_memory", lambda: 20_000)
    stream = stream_of(path)
    with pytest.raises(LimitError, match="not in the order of time") as caught:
        ck.detect(stream, PATTERN)
    assert "cepkit sort" in caught.value.hint
    assert "need about" in caught.value.found


def test_output_columns_that_do_not_fit_are_refused_before_they_are_read(path, monkeypatch):
    stream = stream_of(path)
    columns = stream.columns(())
    monkeypatch.setattr(column_cache, "free_memory", lambda: 20 * ROWS)
    with pytest.raises(LimitError, match="need about") as caught:
        len(columns.source)
    assert "in pieces" in caught.value.hint
    assert "order of time" not in caught.value.found


def test_rows_at_once_grow_with_the_disorder(tmp_path):
    at_once = []
    for number, ordered in enumerate((True, False)):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(rows(ordered=ordered), path, row_group_size=100)
        stream = stream_of(path)
        parts = FileParts.of(path, stream.schema, stream.column_names)
        at_once.append(parts.rows_at_once(0))
    assert at_once[0] <= 200
    assert at_once[1] == ROWS


def test_ranges_of_time_are_read_in_pieces(path, large):
    options = {"since": "1970-01-01 00:02", "until": "1970-01-01 00:05"}
    stream = stream_of(path, **options)
    matches = ck.detect(stream, PATTERN)
    assert type(matches) is not Matches  # it is read in pieces
    assert matches.count() == ck.detect(stream_of(rows(), **options), PATTERN).count()
    assert stream.parts(()).rows < ROWS


@pytest.mark.parametrize("ties", ["none", "arrival"])
@pytest.mark.parametrize("end", ["", " STRATEGY skip-till-next-match"])
def test_arrival_column_orders_events_of_equal_time_in_pieces(tmp_path, large, ties, end):
    table = rows().append_column("n", pa.array(np.random.default_rng(5).permutation(ROWS)))
    seconds = pa.compute.floor_temporal(table.column("ts"), unit="second")
    table = table.set_column(0, "ts", seconds)
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=170)
    options = {"arrival": "n", "ties": ties}
    matches = ck.detect(stream_of(tmp_path / "e.parquet", **options), PATTERN + end)
    assert type(matches) is not Matches  # it is read in pieces
    whole = ck.detect(stream_of(table, **options), PATTERN + end)
    key = ["a.n", "b.n"]
    frames = [m.to_pandas()[key].sort_values(key, ignore_index=True) for m in (matches, whole)]
    pd.testing.assert_frame_equal(*frames)
    assert len(frames[0]) > 0


def test_error_of_a_part_is_raised_once_and_ends_the_search(path, large, monkeypatch):
    matches = ck.detect(stream_of(path), PATTERN)

    def broken(*_):
        raise LimitError("no more", hint="none")

    monkeypatch.setattr(Pieces, "_numbered", broken)
    with pytest.raises(LimitError, match="no more"):
        matches.count()


def nested(table):
    """Return the same events with type, x and s in structs, some of which are missing."""
    kind = pa.StructArray.from_arrays([table["type"].combine_chunks()], ["kind"])
    values = [table["x"].combine_chunks(), table["s"].combine_chunks()]
    missing = pa.array([i % 11 == 0 for i in range(len(table))])
    inner = pa.StructArray.from_arrays([values[1]], ["name"])
    user = pa.StructArray.from_arrays([values[0], inner], ["x", "who"], mask=missing)
    tags = pa.array([["a", "b"]] * len(table))
    return pa.table({"ts": table["ts"], "event": kind, "user": user, "tags": tags})


def test_large_file_with_structs_is_read_in_pieces(tmp_path, large, monkeypatch):
    table = nested(rows())
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=170)
    text = """PATTERN SEQ(A a, B b) WHERE a.user.x < b.user.x AND a.user.who.name = b.user.who.name
        WITHIN 3 seconds RETURN a.ts, b.ts AS until, a.user.x AS x, b.user.who.name AS who"""
    whole = ck.detect(ck.events(table, time="ts", type="event.kind"), text)
    monkeypatch.setattr(column_cache, "load", None)
    stream = ck.events(tmp_path / "events.parquet", time="ts", type="event.kind")
    assert stream.column_names == ("ts", "event.kind", "user.x", "user.who.name", "tags")
    matches = ck.detect(stream, text)
    assert type(matches) is not Matches
    assert matches.count() == whole.count() > 0
    keys = ["a.ts", "until", "x", "who"]
    frames = [m.to_pandas()[keys].sort_values(keys, ignore_index=True) for m in (matches, whole)]
    pd.testing.assert_frame_equal(*frames, check_dtype=False)
    everything = "PATTERN SEQ(A a, B b) WHERE a.user.x < b.user.x WITHIN 50 ms"
    flat = [
        ck.detect(each, everything)
        .to_arrow(nested=False)
        .sort_by([("a.ts", "ascending"), ("b.ts", "ascending"), ("a.user.x", "ascending")])
        for each in (stream, ck.events(table, time="ts", type="event.kind"))
    ]
    assert flat[0].num_rows == flat[1].num_rows > 0
    assert flat[0].column_names == flat[1].column_names
    profile = ck.profile(stream, text)
    assert profile.events == len(table)
