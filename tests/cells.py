"""Passes over a Spark stream without Spark: its cells, one after the other in this process.

The code of Spark's tasks deals out events (`dealing.split`) and puts their cells into sinks
(`run_sink`, `TotalsSink.joined`). This module does the work of Spark itself in a few lines: it
leaves out types that no pattern names, numbers events in the order of arrival, and brings the
pieces of a cell together, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sharing.together import rates_of
from cepkit.pattern.query import Query
from cepkit.routes.aggregates import attributes_read
from cepkit.routes.functions import functions_of
from cepkit.routes.sharing import Shared, plan_sharing, shareable
from cepkit.routes.ways import way_of
from cepkit.spark.aggregates.aggregate import passes_of
from cepkit.spark.aggregates.one_pass import scan_for, sink_for
from cepkit.spark.aggregates.query import prepare
from cepkit.spark.aggregates.sinks import TotalsSink
from cepkit.spark.cells import dealing
from cepkit.spark.cells.layout import Extent, Layout
from cepkit.spark.cells.sending import NUMBERS
from cepkit.spark.passes.delivery import layout_of
from cepkit.spark.passes.one_pass import Sink, run_sink
from cepkit.spark.passes.reports import TaskReport
from cepkit.spark.passes.scan import Scan
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from tests.aggregates import Row, plain, rows_in


@dataclass(frozen=True)
class Cut:
    """The cut of a stream.

    Attributes:
        length: The length of a slice, in seconds or in events; None: one slice.
        origin: The begin of slice 0, in the same unit from the first event on.
        buckets: The number of buckets of keys, if there is a key.
    """

    length: float | None = None
    origin: float = 0
    buckets: int = 1


def aggregate_in_cells(
    table: pa.Table,
    schema: Schema,
    queries: Sequence[Query],
    emit: Emit,
    cut: Cut,
    *,
    method: str = "auto",
    share: Shared = "none",
) -> list[Counter[Row]]:
    """Return the rows of each query, as `rows_in` writes them.

    Args:
        table: The events in the order of arrival.
        schema: The roles of the columns.
        queries: The queries.
        emit: The rows to emit.
        cut: The cut of the stream.
        method: As for `cepkit.aggregate`.
        share: As for `aggregate`.
    """
    stream = stream_of(table, schema)
    functions = [functions_of(query, {}) for query in queries]
    prepared = {
        q: prepare(stream, query, functions[q], way_of(query, method), emit)
        for q, query in enumerate(queries)
    }
    sequences, reasons = shareable(
        [one.request.way for one in prepared.values()], functions, method
    )
    read = attributes_read(sequences, functions)
    columns = Stream(table, schema, stream.column_names).columns(read)
    rates = partial(rates_of, columns=columns)
    plan = plan_sharing(tuple(map(str, prepared)), sequences, functions, reasons, rates, share)
    found: dict[int, Counter[Row]] = {q: Counter() for q in prepared}
    for members in passes_of(prepared, plan):
        own = {q: prepared[q] for q in members}
        clusters = [each for each in plan.clusters if members.issuperset(each.queries)]
        sink, _, _ = sink_for(own, clusters)
        rows, _ = in_cells(scan_for(stream, own), sink, table, cut)
        if isinstance(sink, TotalsSink):
            rows = list(sink.joined(iter(rows)))
        for batch in rows:
            for q, part in sink.aggregation.rows.parted(batch):
                found[q] += rows_in(pa.Table.from_batches([part]), queries[q])
    return list(found.values())


def stream_of(table: pa.Table, schema: Schema) -> Stream:
    """Return a stand-in for a stream of Spark that runs no job."""
    conf: Mapping[str, str] = {}
    session = SimpleNamespace(conf=conf, sparkContext=SimpleNamespace(defaultParallelism=2))
    frame: Any = SimpleNamespace(schema=from_arrow_schema(table.schema), sparkSession=session)
    return Stream(frame, schema, tuple(table.column_names))


def in_cells(
    scan: Scan, sink: Sink, table: pa.Table, cut: Cut
) -> tuple[list[pa.RecordBatch], list[TaskReport]]:
    """Return the rows and reports of a sink over two tasks, each with every other cell."""
    layout = _layout(scan, table, cut)
    packed = _packed(scan, layout, table)
    numbers = packed.column(0).to_numpy() // layout.buckets % 2
    rows, reports = [], []

    def task(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        cells = dealing.unpacked(scan.sending, iter([batch]))
        reports.append((yield from run_sink(sink, scan.sending, layout, cells)))

    for i in range(2):
        rows += task(packed.filter(pa.array(numbers == i)))
    return rows, reports


def _layout(scan: Scan, table: pa.Table, cut: Cut) -> Layout:
    """Return the cells that Spark's driver would choose for a length of slices."""
    unit, times = 1.0, np.arange(len(table))
    if scan.cut.clock == "time":
        unit, times = 1e6, table.column(scan.stream.schema.time).cast(pa.int64()).to_numpy()
    first, last = int(times.min(initial=0)), int(times.max(initial=0))
    cut_of_length = replace(scan.cut, length=cut.length)
    layout = layout_of(scan, Extent(len(table), first, last, len(table)), cut_of_length)
    buckets = cut.buckets if layout.cut.key is not None else 1
    return replace(layout, buckets=buckets, origin=layout.origin + round(cut.origin * unit))


def _packed(scan: Scan, layout: Layout, table: pa.Table) -> pa.RecordBatch:
    """Return the pieces of all cells, sorted by cell."""
    sending = scan.sending
    sent = table.select(sending.columns.names).cast(sending.columns)
    for clock in sending.numbers:
        numbers = np.arange(len(table))
        if clock == "place":
            numbers = _places(table, scan.partition_by)
        sent = sent.append_column(NUMBERS[clock], pa.array(numbers, pa.int64()))
    if sending.types is not None:
        has_type = np.isin(table.column(sending.schema.type).to_numpy(), list(sending.types))
        sent = sent.filter(pa.array(has_type))
    # In two batches, the later events first, because nothing may depend on the place of a row.
    half = len(sent) // 2
    parts = [sent.slice(half), sent.slice(0, half)]
    pieces = [
        batch for part in parts for batch in dealing.split(sending, layout, part.to_batches())
    ]
    if not pieces:
        return pa.RecordBatch.from_pydict({"cell": [], "packed": []}, dealing._FIELDS)
    together = pa.Table.from_batches(pieces).combine_chunks()
    order = np.argsort(together.column("cell").to_numpy(), kind="stable")
    (batch,) = together.take(pa.array(order)).combine_chunks().to_batches()
    return batch


def _places(table: pa.Table, partition_by: Collection[str]) -> np.ndarray[Any, Any]:
    """Return for each event the number of earlier arrivals in its partition."""
    counts: Counter[Row] = Counter()
    places = []
    for row in table.select(list(partition_by)).to_pylist():
        key = tuple(map(plain, row.values()))
        places.append(counts[key])
        counts[key] += 1
    return np.array(places, dtype=np.int64)
