"""One pass over a Spark stream: prepared for one or several queries, run into sinks.

A sink says what a task makes of its cells: matches, numbers of matches, aggregates. All else is
the same for all: how the stream is cut, what is sent, what tasks report.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cepkit.columnar.slices.candidates import Owned
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
    """A cell as a task receives it.

    Attributes:
        events: Its events, and those around it that it sees.
        owned: The matches, or the moments, that are its own.
        halo: How much before its own it sees.
    """

    events: EventColumns
    owned: Owned
    halo: int


class Sink(Protocol):
    """Turns the cells of a task into output."""

    def __call__(self, cells: Iterator[Cell]) -> Generator[pa.RecordBatch, None, Work]:
        """Yield rows, and return what the steps of detection did, if there are any."""


@dataclass(frozen=True, eq=False, slots=True)
class Pass:
    """A pass over a Spark stream that an action will run.

    Attributes:
        scan: What is read of the stream.
        delivery: What tasks are given.
    """

    scan: Scan
    delivery: Delivery
    reports: Reports

    def rows(self, sink: Sink, columns: StructType) -> DataFrame:
        """Return what a sink makes of all cells, as a DataFrame with these columns."""
        # Not this object: tasks are sent what they need, and no DataFrame.
        sending, layout, tables = self.scan.sending, self.delivery.layout, self.delivery.tables

        def work(batches: Batches) -> Generator[pa.RecordBatch, None, TaskReport]:
            return (yield from run_sink(sink, sending, layout, tables(batches)))

        return self.reports.sent.rows(self.delivery.source, work, columns)


def start_pass(
    scan: Scan, route: Route | None, *, dropped: Dropped | None = None, reported: bool = False
) -> Pass:
    """Return a pass; where nothing says how much there is, a job counts the stream now.

    Args:
        scan: What is read of the stream.
        route: How the events reach the workers; None: chosen.
        dropped: The rows that are no events, where they are known.
        reported: Whether the user has been warned of them.
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
    """Yield what a sink makes of the cells of a task; return what the task did."""
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
