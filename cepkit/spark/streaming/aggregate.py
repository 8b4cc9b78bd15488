"""Aggregates of matches over a streaming DataFrame, as a streaming DataFrame.

A bucket's new stretch of time is a cell as in a batch: it sees the events that may be live in it
and owns the rows of its own moments. Expiries are emitted when the watermark has passed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.elements import Emit
from cepkit.columnar.slices.cutting import Owned
from cepkit.errors import UnsupportedError, telling
from cepkit.pattern.query import Query
from cepkit.pattern.several import ALONE, called
from cepkit.routes.sharing import Shared, SharingPlan, plan_sharing, shareable
from cepkit.routes.ways import way_of
from cepkit.spark.aggregates.aggregate import passes_of
from cepkit.spark.aggregates.one_pass import scan_for
from cepkit.spark.aggregates.query import AggregateQuery
from cepkit.spark.aggregates.query import prepare as prepare_aggregates
from cepkit.spark.aggregates.result import check_one_type
from cepkit.spark.aggregates.sinks import AggregatesSink, Aggregation
from cepkit.spark.matches.table import named_columns, pattern_column
from cepkit.spark.passes.one_pass import Cell
from cepkit.spark.passes.one_table import one_table
from cepkit.spark.profile.counting import unknown_rates
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.live import Live
from cepkit.spark.streaming.pieces import unpacking
from cepkit.spark.streaming.prepare import (
    Prepared,
    check_live,
    check_time_window,
    dealt_out,
    identity_of,
)
from cepkit.spark.streaming.result import StreamFrame
from cepkit.spark.streaming.searches import FAR, Carried, Reach, Search
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class AggregateSearch(Search):
    """The search for the rows of aggregates.

    Attributes:
        sink: Makes the rows of a cell.
    """

    sink: AggregatesSink

    def is_due(self, ts: npt.NDArray[np.int64], owned: Owned) -> bool:
        """Return whether an event or an expiry may lie in the stretch."""
        assert owned.until is not None
        least = -FAR if owned.since is None else owned.since
        least -= self.reach.window if self.at_any_time else 0
        return bool(((ts >= least) & (ts < owned.until)).any())

    def batches(
        self, events: EventColumns, owned: Owned, carried: Carried
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose moments lie in the stretch."""
        assert carried.taken is None
        yield from self.sink(iter([Cell(events, owned, self.reach.window)]))


def aggregate(
    stream: Stream,
    queries: Mapping[str, Query],
    functions: Sequence[Mapping[str, Function]],
    method: str,
    emit: Emit,
    share: Shared,
) -> StreamFrame:
    """Return the aggregates of queries in a streaming DataFrame, as one.

    Events are kept once, for the longest window.

    Args:
        queries: The queries, with windows in time, by their names; of several, the column `pattern`
            says of which a row is.
        method: How they are aggregated, as for `cepkit.aggregate`.
        emit: Which rows there are; no total, as the stream has no end.
        share: The parts counted once: "prefix", "none", or a plan; "auto" is "prefix", as nobody
            knows how often events will come.

    Raises:
        PlanError: The sharing plan is not one of these queries.
        PatternError: An aggregate cannot take the column that it is of, or two columns of one name
            are of different types.
        UnsupportedError: The events to keep for a query have no bound.
    """
    check_live(stream)
    if share == "chop-connect":
        raise UnsupportedError(
            "share='chop-connect' over a streaming DataFrame: the cheapest cut depends on the rates"
            " of events",
            hint="share=aggregate(recorded, patterns, share='chop-connect').plan",
        )
    ways = [way_of(query, method) for query in queries.values()]
    sequences, reasons = shareable(ways, functions, method)
    wanted = "prefix" if share == "auto" else share
    plan = plan_sharing(tuple(queries), sequences, functions, reasons, unknown_rates, wanted)
    prepared = prepare_aggregation(stream, queries, functions, method, emit, plan)
    table, output = prepared.table, prepared.output
    bucket, count = dealt_out(prepared, None)
    names = dict.fromkeys(name for each in functions for name in each)
    identity = identity_of(stream, queries, bucket, count, emit=emit, aggregates=", ".join(names))
    columns = named_columns(table, ())
    if ALONE not in queries:
        kinds = ((c.name, c.type) for each in table.of.values() for c in each)
        check_one_type((name, str(kind)) for name, kind in kinds)
        columns = [pattern_column([*queries]), *columns]
    reader = RowReader(table.schema)

    def rows(pieces: DataFrame) -> DataFrame:
        return pieces.mapInArrow(unpacking(reader), output).select(*columns)

    live = Live(bucket, identity, prepared.key, count, rows)
    sharing = None if ALONE in queries else plan
    return StreamFrame(stream, live, "Aggregates", queries, sharing=sharing)


def prepare_aggregation(
    stream: Stream,
    queries: Mapping[str, Query],
    functions: Sequence[Mapping[str, Function]],
    method: str,
    emit: Emit,
    plan: SharingPlan,
) -> Prepared:
    """Return the searches for the aggregates of queries in the buckets of a stream.

    Raises:
        PatternError: An aggregate cannot take the column that it is of.
        UnsupportedError: The events to keep for a query have no bound, or no order.
    """
    if emit == "total":
        raise UnsupportedError(
            "emit='total' over a streaming DataFrame, which has no end",
            hint="emit='new' gives what each trigger completes: sum it up afterwards",
        )
    prepared: dict[int, AggregateQuery] = {}
    for q, (name, query) in enumerate(queries.items()):
        way = way_of(query, method)
        with telling(called(name)):
            prepared[q] = prepare_aggregates(stream, query, functions[q], way, emit)
            _check_bounded(prepared[q])
    scan = scan_for(stream, prepared)
    rows, output = one_table({q: (one.promised, one.output.fields) for q, one in prepared.items()})
    searches = []
    for members in passes_of(prepared, plan):
        requests = {q: prepared[q].request for q in sorted(members)}
        clusters = tuple(each for each in plan.clusters if members.issuperset(each.queries))
        windows = [min(max(prepared[q].cut.window or 0, 0), FAR) for q in members]
        # Only queries whose matches are detected, each by itself, look ahead.
        ahead = max(windows) if any(prepared[q].cut.ahead for q in members) else 0
        sink = AggregatesSink(Aggregation(requests, clusters, rows))
        reach, expires = Reach(max(windows), ahead), emit == "changes"
        searches.append(AggregateSearch(sink, reach=reach, kind="row", at_any_time=expires))
    # Rows are in the order of arrival already; numbers are needed only where slices are cut.
    bucket = Bucket(replace(scan.sending, numbers=()), tuple(searches))
    return Prepared(bucket, scan.cut.key, rows, output)


def _check_bounded(prepared: AggregateQuery) -> None:
    """Refuse a query for which all events would have to be kept, or be in order.

    Raises:
        UnsupportedError: It is such a query.
    """
    request = prepared.request
    check_time_window(request.query, request.compiled)
    if request.compiled.chooses or prepared.cut.window is None:
        raise UnsupportedError(
            "aggregates under skip-till-next-match, or with AFTER MATCH SKIP, over a streaming"
            " DataFrame",
            hint="detect the matches, and aggregate them with Spark: groupBy(window(...))",
        )


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of aggregates.

    Attributes:
        rows: Their columns.
    """

    rows: pa.Schema

    def __call__(self, kind: str) -> Callable[[pa.Buffer], pa.RecordBatch] | None:
        """Return the function that reads pieces of a kind; None: they are no rows."""
        if kind != "row":
            return None
        return lambda piece: pa.ipc.read_record_batch(piece, self.rows)
