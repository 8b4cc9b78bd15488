"""Aggregates on Spark without Spark: the cells of a stream, one after the other in this process.

Events are dealt out by the code that Spark's tasks run (`worker.split`), and their cells are
aggregated by it (`aggregated`, `joining`). What Spark itself does is done here in few lines: it
leaves out the types that nobody names, numbers events in the order of arrival, and brings the
pieces of a cell together, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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
from cepkit.routes.aggregates import way_of
from cepkit.routes.asked import functions_of
from cepkit.routes.several import Shared, attributes_read, plan_sharing, shareable
from cepkit.spark.aggregates.aggregate import passes_of
from cepkit.spark.aggregates.one_pass import pass_of, setting_of
from cepkit.spark.aggregates.prepared import prepare
from cepkit.spark.aggregates.worker import aggregated, joining
from cepkit.spark.cells import worker
from cepkit.spark.cells.delivery import Setting
from cepkit.spark.cells.layout import Extent, Layout
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from tests.aggregates import Row, plain, rows_in


@dataclass(frozen=True)
class Cut:
    """How a stream is cut.

    Attributes:
        length: Of a slice, in seconds or in events; None: it is one slice.
        origin: Where slice 0 begins, in the same unit and counted from the first event.
        buckets: Into how many keys are hashed, where there is a key.
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
    sharing: Shared = "none",
) -> list[Counter[Row]]:
    """Return the rows of each query, as `rows_in` writes them.

    Args:
        table: The events in the order in which they came, all of them events.
        schema: Which column is what.
        queries: What is asked.
        emit: Which rows.
        cut: How the stream is cut.
        method: As for `cepkit.aggregate`.
        sharing: What the queries share; as for `aggregate_several`.
    """
    conf: Mapping[str, str] = {}
    session = SimpleNamespace(conf=conf, sparkContext=SimpleNamespace(defaultParallelism=2))
    frame: Any = SimpleNamespace(schema=from_arrow_schema(table.schema), sparkSession=session)
    stream = Stream(frame, schema, tuple(table.column_names))
    asked = [functions_of(query, {}) for query in queries]
    prepared = {
        q: prepare(stream, frame, query, asked[q], way_of(query, method), emit)
        for q, query in enumerate(queries)
    }
    sequences, reasons = shareable(queries, asked, method)
    columns = Stream(table, schema, stream.column_names).columns(attributes_read(sequences, asked))
    rates = partial(rates_of, columns=columns)
    plan = plan_sharing(sequences, asked, reasons, rates, sharing)
    found: dict[int, Counter[Row]] = {q: Counter() for q in prepared}
    for members in passes_of(prepared, plan):
        own = {q: prepared[q] for q in members}
        clusters = [each for each in plan.clusters if members.issuperset(each.queries)]
        setting = setting_of(stream, frame, own, None, None)
        work, _, between = pass_of(own, clusters)
        job = setting.job(_layout(setting, table, cut))
        # Two tasks, each with every other cell.
        packed = _packed(job, table)
        numbers = [packed.column(0).to_numpy() // job.layout.buckets % 2 == i for i in range(2)]
        batches = [packed.filter(pa.array(mine)) for mine in numbers]
        rows = [
            row
            for batch in batches
            for row in aggregated(work, job, worker.unpacked(job, iter([batch])))
        ]
        if between is not None:
            rows = list(joining(work)(iter(rows)))
        for batch in rows:
            for q, part in work.rows.parted(batch):
                found[q] += rows_in(pa.Table.from_batches([part]), queries[q])
    return list(found.values())


def _layout(setting: Setting, table: pa.Table, cut: Cut) -> Layout:
    """Return the cells that Spark's driver would choose if it were told the length of a slice."""
    if setting.clock == "time":
        times = table.column(setting.stream.schema.time).cast(pa.int64()).to_numpy()
        unit, setting = 1e6, replace(setting, slice_seconds=cut.length)
    else:
        times = np.arange(len(table))
        unit, setting = 1, replace(setting, slice_events=cut.length)
    first, last = int(times.min(initial=0)), int(times.max(initial=0))
    layout = setting._layout(Extent(len(table), first, last, len(table)), setting.key)
    buckets = cut.buckets if layout.key is not None else 1
    return replace(layout, buckets=buckets, origin=layout.origin + round(cut.origin * unit))


def _packed(job: worker.Job, table: pa.Table) -> pa.RecordBatch:
    """Return the pieces of all cells, those of a cell side by side."""
    sent = table.select(job.columns.names).cast(job.columns)
    for clock in job.numbers:
        numbers = np.arange(len(table))
        if clock == "place":
            numbers = _places(table, job.programs[0].partition_by)
        sent = sent.append_column(worker.NUMBERS[clock], pa.array(numbers, pa.int64()))
    if job.types is not None:
        named = np.isin(table.column(job.schema.type).to_numpy(), list(job.types))
        sent = sent.filter(pa.array(named))
    # In two batches, the later events before the earlier ones: nothing goes by where a row lies.
    half = len(sent) // 2
    parts = [sent.slice(half), sent.slice(0, half)]
    pieces = [batch for part in parts for batch in worker.split(job, part.to_batches())]
    if not pieces:
        return pa.RecordBatch.from_pydict({"cell": [], "packed": []}, worker._PACKED)
    together = pa.Table.from_batches(pieces).combine_chunks()
    order = np.argsort(together.column("cell").to_numpy(), kind="stable")
    (batch,) = together.take(pa.array(order)).combine_chunks().to_batches()
    return batch


def _places(table: pa.Table, partition_by: Collection[str]) -> np.ndarray[Any, Any]:
    """Return for each event how many of its partition came before it."""
    came: Counter[Row] = Counter()
    places = []
    for row in table.select(list(partition_by)).to_pylist():
        key = tuple(map(plain, row.values()))
        places.append(came[key])
        came[key] += 1
    return np.array(places, dtype=np.int64)
