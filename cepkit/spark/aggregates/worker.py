"""What workers make of the cells of a stream: rows of the moments that are a cell's own, or sums.

Several queries over the same cells are aggregated in one go, and what they share is counted once.
The sums of a group, few and small, are joined in a second round, by `joining`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.sequence.elements import Emit
from cepkit.columnar.compile.program import Program
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.candidates import EVERYTHING, Owned
from cepkit.routes.detected import only_counts
from cepkit.routes.several import Cluster, aggregate_cluster
from cepkit.spark.aggregates.one_table import OneTable
from cepkit.spark.aggregates.query import Asked
from cepkit.spark.aggregates.totals import Totals, as_promised
from cepkit.spark.cells import worker
from cepkit.spark.cells.counters import Reports, TaskReport
from cepkit.spark.cells.delivery import Batches, Chosen, Work
from cepkit.stream.columns import Dropped, EventColumns

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator

Found = tuple[int, Moments, npt.NDArray[np.int32]]
"""The number of a query, its rows, and an event of each group."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What workers must know of queries that are aggregated in one pass over a stream.

    Attributes:
        asked: The queries, by number: sequences, or one whose matches are detected.
        clusters: What they share.
        rows: The columns of their rows.
        sums: Those of their sums, where they ask for totals.
    """

    asked: Mapping[int, Asked]
    clusters: tuple[Cluster, ...]
    rows: OneTable
    sums: OneTable | None

    def totals(self, query: int) -> Totals:
        """Return totals of nothing."""
        return Totals(self.asked[query], self.rows.of[query])


def working(asked: Pass, chosen: Chosen, reports: Accumulator[Reports]) -> Work:
    """Return what a task does with what it is given."""
    cells, job = chosen.cells, chosen.job

    def run(batches: Batches) -> Batches:
        from pyspark import TaskContext

        job.register()
        dropped = yield from aggregated(asked, job, cells(batches))
        task = TaskContext.get()
        assert task is not None
        reports.add({task.partitionId(): TaskReport((), dropped)})

    return run


def aggregated(
    asked: Pass, job: worker.Job, cells: Iterable[tuple[int, pa.Table] | Dropped]
) -> Generator[pa.RecordBatch, None, Dropped]:
    """Yield the rows of some cells, or their sums; return how many rows were no events."""
    dropped = Dropped()
    totals = {} if asked.sums is None else {query: asked.totals(query) for query in asked.asked}
    for item in cells:
        if isinstance(item, Dropped):
            dropped += item
            continue
        cell, table = item
        columns = worker.columns_of(job, table)
        if totals:
            _add(asked, totals, job, job.layout.owned(cell), columns)
        else:
            yield from _rows(asked, job, job.layout.owned(cell), columns)
    if asked.sums is not None:
        for query, total in totals.items():
            yield asked.sums.widened(query, total.packed())
    return dropped


def joining(asked: Pass) -> Work:
    """Return what joins the sums of cells, all of a group being in one partition."""

    def run(batches: Batches) -> Batches:
        assert asked.sums is not None
        totals: dict[int, Totals] = {}
        for batch in batches:
            for query, part in asked.sums.parted(batch):
                totals.setdefault(query, asked.totals(query)).merge(part)
        for query, total in totals.items():
            yield asked.rows.widened(query, total.results(asked.rows.of[query]))

    return run


def _rows(asked: Pass, job: worker.Job, owned: Owned, columns: EventColumns) -> Batches:
    """Yield the rows of the moments that are a cell's own."""
    for query, moments, group_rows in _found(asked, job, owned, columns):
        own = moments.take(np.flatnonzero(_within(owned, moments.ts)))
        found = asked.asked[query].table(columns, own, group_rows)
        promised = asked.rows.of[query]
        if len(own):
            yield asked.rows.widened(
                query, [as_promised(found[field.name], field) for field in promised]
            )


def _add(
    asked: Pass,
    totals: Mapping[int, Totals],
    job: worker.Job,
    owned: Owned,
    columns: EventColumns,
) -> None:
    """Add what is a cell's own to totals."""
    for query, each in asked.asked.items():
        sets = each.sequence is None and not each.query.group_by and not job.branches
        if sets and only_counts(each.functions.values()):  # counted without being made
            counters = worker.counters_of(job)
            for _ in worker.blocks_of(job, columns, owned, counters, emit=False):
                pass
            totals[query].add_number(sum(steps[-1].survivors for steps in counters))
            return
    for query, moments, group_rows in _found(asked, job, owned, columns):
        if asked.asked[query].sequence is not None:
            moments = moments.take(np.flatnonzero(_within(owned, moments.ts)))  # noqa: PLW2901
        totals[query].add(columns, moments, group_rows)


def _found(asked: Pass, job: worker.Job, owned: Owned, columns: EventColumns) -> Iterator[Found]:
    """Yield what the events of a cell give for each query: of sequences more than its own."""
    sequences = {q: each.sequence for q, each in asked.asked.items() if each.sequence is not None}
    functions = {q: each.functions for q, each in asked.asked.items()}
    shared: set[int] = set()
    for cluster in asked.clusters:
        emit = asked.asked[cluster.queries[0]].rows_of_cells
        counted = aggregate_cluster(cluster, sequences, functions, columns, emit)
        if counted is not None:
            moments_of, group_rows = counted
            shared.update(moments_of)
            for query, moments in moments_of.items():
                yield query, moments, group_rows
    for query, each in asked.asked.items():
        if query not in shared:
            wanted = _wanted(each.emit, job, owned)
            yield query, *each.moments(columns, _finder(job, columns, wanted))


def _wanted(emit: Emit, job: worker.Job, owned: Owned) -> Owned:
    """Return matches among which are all that the rows of a cell, or its sums, are about."""
    match emit:
        case "trigger" | "changes":
            return EVERYTHING
        case "new" if owned.since is not None and any(p.followed for p in job.programs):
            # A row is about matches that end at its moment; a set may end up to a window after
            # what says whose a match is.
            return replace(owned, since=owned.since - (job.layout.window or 0))
        case _:
            return owned


def _finder(
    job: worker.Job, columns: EventColumns, owned: Owned
) -> Callable[[], Iterator[tuple[Program, Block]]]:
    """Return what finds matches among the events of a cell."""

    def blocks() -> Iterator[tuple[Program, Block]]:
        counters = worker.counters_of(job)
        for number, block in worker.blocks_of(job, columns, owned, counters, emit=True):
            yield job.programs[number], block

    return blocks


def _within(owned: Owned, ts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(ts), dtype=np.bool_)
    if owned.since is not None:
        inside &= ts >= owned.since
    if owned.until is not None:
        inside &= ts < owned.until
    return inside
