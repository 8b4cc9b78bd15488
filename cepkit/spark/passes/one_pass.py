"""One pass over a Spark stream: prepared for one or several queries, run into sinks.

A sink defines the output of a task: matches, numbers of matches, aggregates. Everything else is
common: the cut of the stream, the data sent, the reports of tasks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cepkit.columnar.slices.cutting import Owned
from cepkit.columnar.slices.plans import Work
from cepkit.spark.cells.dealing import Batches, Tables
from cepkit.spark.cells.layout import Layout
from cepkit.spark.cells.sending import Sending
from cepkit.spark.passes.delivery import Delivery, Route, deliver
from cepkit.spark.passes.reports import Reports, TaskReport
from cepkit.spark.passes.scan import Scan
from cepkit.spark.session.access import access_to
from cepkit.stream.columns import Dropped, EventColumns
from cepkit.stream.warnings import warn_of_dropped


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a task.

    Attributes:
        events: Its events, and those around it that it sees.
        owned: The matches, or the moments, that are its own.
        halo: How far before its own range it sees.
    """

    events: EventColumns
    owned: Owned
    halo: int


class Sink(Protocol):
    """Turns the cells of a task into output."""

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Work]:
        """Yield rows, and return the counters of detection, if any."""


@dataclass(frozen=True, eq=False, slots=True)
class Pass:
    """A pass over a Spark stream, to be run by an action.

    Attributes:
        scan: The columns that are read of the stream.
        delivery: The input of the tasks.
    """

    scan: Scan
    delivery: Delivery
    reports: Reports

    def rows(self, sink: Sink, columns: StructType) -> DataFrame:
        """Return the output of a sink for all cells, as a DataFrame with these columns."""
        # Do not capture `self`: tasks need only these values, and no DataFrame.
        sending, layout, tables = self.scan.sending, self.delivery.layout, self.delivery.tables

        def work(batches: Batches) -> Generator[pa.RecordBatch, None, TaskReport]:
            return (yield from run_sink(sink, sending, layout, tables(batches)))

        return self.reports.sent.rows(self.delivery.source, work, columns)


def start_pass(
    scan: Scan, route: Route | None, *, dropped: Dropped | None = None, reported: bool = False
) -> Pass:
    """Return a pass; if the size of the stream is unknown, a job counts it now.

    Args:
        route: How the events reach the workers; None: chosen.
        reported: Whether the user was already warned of them.
    """
    delivery = deliver(scan, route)
    known = delivery.dropped if dropped is None else dropped
    if known is not None and not reported:
        warn_of_dropped(known, *scan.queries)
    frame = scan.stream.source
    sent = access_to(frame).reports(frame.sparkSession)
    reports = Reports(sent, delivery.tasks, scan.queries, reported=reported or bool(known))
    return Pass(scan, delivery, reports)


def run_sink(
    sink: Sink, sending: Sending, layout: Layout, tables: Tables
) -> Generator[pa.RecordBatch, None, TaskReport]:
    """Yield the output of a sink for the cells of a task; return the task's report."""
    sending.register()
    dropped = Dropped()

    def cells() -> Iterator[Cell]:
        nonlocal dropped
        for item in tables:
            if isinstance(item, Dropped):
                dropped += item
            else:
                cell, table = item
                yield Cell(sending.events(table), layout.owned(cell), layout.halo)

    work = yield from sink(cells())
    return TaskReport(work, dropped)
