"""Arrival numbers on Spark: one for each event, from a column of any type, or an error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepkit.columnar.results.matches import Matches
from cepkit.errors import StreamError, UnsupportedError
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.cells.layout import Cut
from cepkit.spark.cells.sending import sending_for
from cepkit.spark.passes.numbering import numbered
from cepkit.spark.passes.scan import Scan
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import events
from tests.spark.test_batch_matches import found, plan_of
from tests.strategies import result_of

COUNTED = parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 EVENTS")
KEYED = parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 EVENTS PARTITION BY y, s")
BESIDE = parse("PATTERN SEQ(A a, B b) STRATEGY strict-contiguity PARTITION BY s")
NEIGHBOURS = parse("PATTERN SEQ(A a, B b) STRATEGY partition-contiguity PARTITION BY y")
BOTH = parse("PATTERN SEQ(A a, A b) WITHIN 3 EVENTS STRATEGY strict-contiguity PARTITION BY y")


def table(n: int = 600) -> pa.Table:
    """Return events of which some have no time or no type, with keys of every kind."""
    rng = np.random.default_rng(5)
    nan, zero = float("nan"), -0.0
    kinds = [None if i % 29 == 0 else "AABX"[i * 7 % 4] for i in range(n)]
    return pa.table(
        {
            "id": range(n),
            "ts": [None if i % 31 == 0 else i * 700_000 // 2 * 2 for i in range(n)],
            "kind": kinds,
            "x": rng.integers(0, 9, n).astype(float),
            "y": pa.array(([1.0, None, nan, 0.0, zero, 2.0] * n)[:n], pa.float64()),
            "s": (["p", "q", None] * n)[:n],
            "gaps": rng.permutation(n * 3)[:n] / 7,
        }
    )


def stream_of(source, arrival=None):
    return events(source, time="ts", type="kind", unit="us", arrival=arrival)


@pytest.mark.filterwarnings("ignore:rows left out")
@pytest.mark.parametrize(
    ("query", "arrival", "size"),
    [
        *((COUNTED, *cut) for cut in ((None, 40), ("id", None), ("gaps", 40))),
        *((query, "gaps", 40) for query in (KEYED, BESIDE, NEIGHBOURS, BOTH)),
        (KEYED, None, 40),
        (NEIGHBOURS, "id", None),
    ],
    ids=str,
)
def test_cells_of_every_kind_find_the_local_matches(spark, monkeypatch, query, arrival, size):
    monkeypatch.setattr("cepkit.spark.cells.layout.LEAST_EVENTS", 50)  # so that there are some
    rows = table()
    expected = Matches(stream_of(rows, arrival), query, plan_of(query))
    assert expected.count() > 0
    if arrival is not None:
        rows = rows.take(pa.array(np.random.default_rng(1).permutation(len(rows))))
    frame = spark.createDataFrame(rows)
    frame = frame if arrival is None else frame.repartition(3)
    matches = found(stream_of(frame, arrival), query, slice_events=size)
    names = expected.variables
    assert result_of(matches.collect(), names) == result_of(expected.to_arrow(), names)
    assert matches.dropped == stream_of(table()).columns([]).dropped == Dropped(20, 20)
    assert ("slices of" in matches.route) == (query is COUNTED or size is not None)
    assert ("buckets of" in matches.route) == (query is not COUNTED and size is None)


def test_numbers_are_those_of_all_events_in_ranges_of_any_sizes(spark):
    frame = spark.range(20_000, numPartitions=3).selectExpr(
        "id AS ts", "if(id % 50 = 7, 'A', 'X') AS kind", "pow(id, 3) AS came", "id AS number"
    )
    stream = events(frame, time="ts", type="kind", unit="s", arrival="came")
    query = parse("PATTERN SEQ(A a, A b) WITHIN 9 EVENTS")
    read = replace(stream, schema=replace(stream.schema, columns=()))
    sending = sending_for(read, (query,), ("number",), numbers=("arrival",))
    made = numbered(Scan(stream, (query,), sending, Cut(8, "arrival")))
    rows = made.rows.toPandas()
    assert len(rows) == made.extent.events == 400
    assert made.extent.last == 19_999
    assert (rows["arrival"] == rows["c3"]).all()


@pytest.mark.filterwarnings("ignore:rows left out")
def test_a_frame_that_was_shuffled_is_counted_and_read_in_one_order(spark):
    frame = spark.createDataFrame(table().drop_columns(["gaps"])).repartition(5).orderBy("id")
    expected = Matches(stream_of(table()), COUNTED, plan_of(COUNTED))
    matches = found(stream_of(frame), COUNTED, slice_events=50)
    assert result_of(matches.collect(), ("a", "b")) == result_of(
        expected.to_arrow(), expected.variables
    )


@pytest.mark.parametrize("query", [COUNTED, KEYED], ids=["stream", "partition"])
def test_arrivals_that_do_not_tell_events_apart_are_refused(spark, query):
    rows = table(90)
    missing = rows.set_column(0, "id", pa.array([None if i < 40 else i for i in range(90)]))
    with pytest.raises(StreamError, match="'id' has no value for 37 of 84 events"):
        found(stream_of(spark.createDataFrame(missing), "id"), query)
    doubled = rows.set_column(0, "id", pa.array([i // 45 for i in range(90)]))
    matches = found(stream_of(spark.createDataFrame(doubled), "id"), query)
    with pytest.raises(StreamError, match="'id' holds values more than once: in one part"):
        matches.collect()


def test_texts_are_no_arrivals(spark):
    with pytest.raises(StreamError, match="the arrival column 's' holds text"):
        stream_of(spark.createDataFrame(table(9)), "s")


def test_the_first_events_are_those_that_came_first(spark):
    rows = [(1, "A", 5), (1, "B", 3), (1, "C", 4)]
    frame = spark.createDataFrame(rows, "ts int, kind string, n int")
    first = stream_of(frame, "n").head(2)
    assert first.source.column("kind").to_pylist() == ["B", "C"]


def test_empty_frame_has_no_matches(spark):
    for query in (COUNTED, KEYED, BESIDE):
        for arrival in (None, "id", "gaps"):
            frame = spark.createDataFrame(table(3).slice(0, 0))
            assert found(stream_of(frame, arrival), query).collect() == []


def test_tasks_that_read_files_do_not_know_the_numbers(spark, tmp_path):
    pq.write_table(table(), tmp_path / "e.parquet")
    stream = stream_of(spark.read.parquet(str(tmp_path)))
    assert found(stream, COUNTED).route.startswith("rows through Spark")
    with pytest.raises(UnsupportedError, match="arrival numbers"):
        found(stream, COUNTED, route="files")
