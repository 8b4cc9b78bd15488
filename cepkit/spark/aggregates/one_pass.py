"""Queries that are aggregated in one pass over a Spark stream, in the same cells.

The rows of all queries form one DataFrame with the number of the query; each query's result is a
part of it. For `emit="total"` each cell adds up its own matches, and a second round merges the few
small sums of each group.

Source: ASEQ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.routes.sharing import Cluster
from cepkit.spark.aggregates.query import AggregateQuery, route_for, sending_for_aggregates
from cepkit.spark.aggregates.sinks import ELEMENT, AggregatesSink, Aggregation, TotalsSink
from cepkit.spark.cells.layout import NO_WINDOW
from cepkit.spark.passes.delivery import Route
from cepkit.spark.passes.one_pass import Pass, start_pass
from cepkit.spark.passes.one_table import QUERY, OneTable, one_table
from cepkit.spark.passes.scan import Scan
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream


@dataclass(frozen=True, eq=False, slots=True)
class AggregationPass:
    """The aggregates of some queries, to be computed by an action.

    Attributes:
        aggregation: The part that workers need.
        pass_: The pass over the stream.
        frame: The rows of all queries.
    """

    queries: Mapping[int, AggregateQuery]
    aggregation: Aggregation
    pass_: Pass
    frame: DataFrame

    @property
    def columns(self) -> OneTable:
        """The columns of `frame` by query."""
        return self.aggregation.rows

    def rows_of(self, query: int) -> DataFrame:
        """Return the rows of a query, with its own columns."""
        columns = zip(self.columns.of[query].names, self.columns.places[query], strict=True)
        own = [F.col(self.columns.schema.names[at]).alias(name) for name, at in columns]
        return self.frame.where(F.col(QUERY) == query).select(*own)

    def way_of(self, query: int) -> tuple[str, str]:
        """Return the method of a query, and the reason."""
        for cluster in self.aggregation.clusters:
            if query in cluster.queries:
                return "shared-counters", cluster.reason
        return self.queries[query].method, self.queries[query].reason


def start(
    stream: Stream,
    queries: Mapping[int, AggregateQuery],
    clusters: Iterable[Cluster] = (),
    *,
    statistics: Statistics | None = None,
    slice_seconds: float | None = None,
    route: Route | None = None,
    reported: bool = False,
) -> AggregationPass:
    """Return a pass over a stream; if its size is unknown, a job counts it now.

    Args:
        stream: The stream; its DataFrame is read again for each action.
        queries: The queries, by number: sequences, or one whose matches are detected.
        clusters: The clusters of queries that share counters.
        slice_seconds: The length of a time slice; None: chosen.
        route: How the events reach the workers; None: chosen.
        reported: Whether the user was already warned of rows that are no events.
    """
    scan = scan_for(stream, queries, statistics, slice_seconds)
    emit = next(iter(queries.values())).request.emit
    pass_ = start_pass(scan, route_for(emit, scan.cut, route), reported=reported)
    sink, output, between = sink_for(queries, clusters)
    match sink:
        case TotalsSink():
            frame = _totals(pass_, sink, between, output)
        case AggregatesSink():
            frame = pass_.rows(sink, output)
    return AggregationPass(queries, sink.aggregation, pass_, frame)


def scan_for(
    stream: Stream,
    queries: Mapping[int, AggregateQuery],
    statistics: Statistics | None = None,
    slice_seconds: float | None = None,
) -> Scan:
    """Return the scan of a stream for some queries, with a cut that suits all of them."""
    requests, cuts = zip(*((each.request, each.cut) for each in queries.values()), strict=True)
    first = requests[0]
    windows = [cut.window for cut in cuts if cut.window is not None]
    cut = replace(
        cuts[0],
        window=max(windows) if len(windows) == len(cuts) else None,
        key=cuts[0].key if all(each.key == cuts[0].key for each in cuts) else None,
        uncut=next((cut.uncut for cut in cuts if cut.uncut != NO_WINDOW), NO_WINDOW),
        length=slice_seconds if cuts[0].clock == "time" else None,
    )
    read = tuple(request.query for request in requests)
    sending = sending_for_aggregates(
        stream,
        read,
        {name for request in requests for name in request.sending.attributes},
        first.sending.numbers,
        every_type=any(request.sending.types is None for request in requests),
    )
    return Scan(stream, read, sending, cut, statistics, first.compiled.programs[0].partition_by)


def sink_for(
    queries: Mapping[int, AggregateQuery], clusters: Iterable[Cluster]
) -> tuple[AggregatesSink | TotalsSink, t.StructType, t.StructType]:
    """Return the tasks' sink, and Spark's columns of the rows and of the tasks' output."""
    rows, output = one_table({q: (one.promised, one.output.fields) for q, one in queries.items()})
    requests = {q: one.request for q, one in queries.items()}
    aggregation = Aggregation(requests, tuple(clusters), rows)
    if any(request.emit != "total" for request in requests.values()):
        return AggregatesSink(aggregation), output, output
    sums, between = one_table({q: _sums(one) for q, one in queries.items()})
    return TotalsSink(aggregation, sums), output, between


def _totals(
    pass_: Pass, sink: TotalsSink, between: t.StructType, output: t.StructType
) -> DataFrame:
    """Return totals: the sums of cells, merged in a second round."""
    sums = pass_.rows(sink, between)
    # Without any events Spark may run no task, but there must still be a total.
    if zeros := sink.zeros():
        nothing = pa.Table.from_batches(zeros)
        sums = sums.unionAll(sums.sparkSession.createDataFrame(nothing, between))
    places = sorted({place for own in sink.sums.places.values() for place in own[:-1]})
    groups = [sink.sums.schema.names[place] for place in places]
    parts = sums.repartition(pass_.delivery.tasks, QUERY, *groups)
    return parts.mapInArrow(sink.joined, output)


def _sums(prepared: AggregateQuery) -> tuple[pa.Schema, Sequence[t.StructField]]:
    """Return the columns of a query's sums, in Arrow and in Spark: those of its groups, the sum."""
    groups = prepared.request.query.group_by
    schema = pa.schema([*(prepared.promised.field(name) for name in groups), ELEMENT])
    fields = [field for field in prepared.output.fields if field.name in groups]
    return schema, [*fields, t.StructField(ELEMENT.name, t.BinaryType())]
