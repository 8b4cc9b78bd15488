"""Aggregates of matches over a streaming DataFrame, as a streaming DataFrame.

A bucket's new stretch of time is a cell of the batch: it sees what may be live in it and owns the
rows of its own moments. Expiries are told when the watermark has passed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.elements import Emit
from cepkit.columnar.slices.candidates import Owned
from cepkit.errors import UnsupportedError
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.routes.aggregates import Way
from cepkit.spark.aggregates.one_pass import sink_for
from cepkit.spark.aggregates.query import AggregateQuery
from cepkit.spark.aggregates.query import prepare as prepare_aggregates
from cepkit.spark.aggregates.sinks import AggregatesSink
from cepkit.spark.passes.one_pass import Cell
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.live import Live
from cepkit.spark.streaming.pieces import unpacking
from cepkit.spark.streaming.prepare import check_live, check_window, choose_buckets, identity_of
from cepkit.spark.streaming.result import StreamAggregates
from cepkit.spark.streaming.searches import FAR, Taken
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class AggregateSearch:
    """The rows of aggregates.

    Attributes:
        sink: Makes them of a cell.
        rows: Their columns.
        window: As for any search.
        ahead: As for any search.
        at_any_time: Whether expiries have rows.
        kind: What the rows are.
    """

    sink: AggregatesSink
    rows: pa.Schema
    window: int
    ahead: int
    at_any_time: bool
    kind: str = "row"

    def is_due(self, ts: npt.NDArray[np.int64], owned: Owned) -> bool:
        """Return whether an event, or what expires, may lie in the stretch."""
        assert owned.until is not None
        least = -FAR if owned.since is None else owned.since
        least -= self.window if self.at_any_time else 0
        return bool(((ts >= least) & (ts < owned.until)).any())

    def batches(
        self, events: EventColumns, owned: Owned, taken: Taken | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose moments lie in the stretch."""
        assert taken is None
        yield from self.sink(iter([Cell(events, owned, self.window)]))


def aggregate(
    stream: Stream,
    query: Query,
    functions: Mapping[str, Function],
    way: Way,
    emit: Emit,
    *,
    plan: Plan | None = None,
    buckets: int | None = None,
) -> StreamAggregates:
    """Return the aggregates of a query's matches in a streaming DataFrame.

    Args:
        stream: Events in a streaming DataFrame.
        query: The query, with a window in time.
        way: How it is aggregated.
        emit: Which rows; a total is never known.
        plan: How matches are detected where they have to be; None: in pattern order.
        buckets: Into how many buckets the groups are hashed; None: 16.

    Raises:
        PatternError: An aggregate cannot take the column that it is of.
        UnsupportedError: What must be remembered for the query has no bound.
    """
    check_live(stream)
    if emit == "total":
        raise UnsupportedError(
            "emit='total' over a streaming DataFrame, which has no end",
            hint="emit='new' gives what each trigger completes: sum it up behind",
        )
    prepared = prepare_aggregates(stream, query, functions, way, emit, plan)
    bucket, unpacked = aggregate_bucket(prepared)
    count = choose_buckets(prepared.cut.key, buckets)
    sending = bucket.sending
    identity = identity_of(
        stream, str(query), sending, count, emit=emit, aggregates=", ".join(functions)
    )
    sink, output, _ = sink_for({0: prepared}, ())
    table = sink.aggregation.rows
    own = [
        F.col(table.schema.names[at]).alias(name)
        for name, at in zip(table.of[0].names, table.places[0], strict=True)
    ]

    def rows(found: DataFrame) -> DataFrame:
        return found.mapInArrow(unpacking(unpacked), output).select(*own)

    return StreamAggregates(stream, Live(bucket, identity, prepared.cut.key, count, rows), query)


def aggregate_bucket(prepared: AggregateQuery) -> tuple[Bucket, RowReader]:
    """Return what is done in the buckets of a stream, and what reads the rows that they give.

    Raises:
        UnsupportedError: What must be remembered for the query has no bound, or no order.
    """
    request, cut = prepared.request, prepared.cut
    check_window(request.query, request.compiled)
    if request.compiled.in_turn or cut.window is None:
        raise UnsupportedError(
            "aggregates under skip-till-next-match over a streaming DataFrame",
            hint="detect the matches, and aggregate them with Spark: groupBy(window(...))",
        )
    sink, _, _ = sink_for({0: prepared}, ())
    assert isinstance(sink, AggregatesSink)
    window = min(max(cut.window, 0), FAR)
    rows = sink.aggregation.rows.schema
    ahead = window if cut.ahead else 0
    search = AggregateSearch(sink, rows, window, ahead, at_any_time=request.emit == "changes")
    # Rows stand in the order of arrival; numbers are of use where slices are cut apart.
    return Bucket(replace(request.sending, numbers=()), (search,)), RowReader(rows)


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of aggregates.

    Attributes:
        rows: Their columns.
    """

    rows: pa.Schema

    def __call__(self, kind: str) -> Callable[[pa.Buffer], pa.RecordBatch] | None:
        """Return what reads the pieces of a kind; None: they are no rows."""
        if kind != "row":
            return None
        return lambda piece: pa.ipc.read_record_batch(piece, self.rows)
