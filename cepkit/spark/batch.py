"""Detection over a Spark DataFrame, as a Spark DataFrame.

Types that the query does not name and columns that nobody reads are left behind in the JVM. The
others reach Python workers as rows, or are read there from files (`cells/delivery.py`).

Workers need cepkit installed, as they need pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import DataFrame

from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.slices.cutting import cutting_clock, looks_ahead
from cepkit.errors import UnsupportedError
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.nodes import repeated_in
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.spark.cells import worker
from cepkit.spark.cells.counters import Reports, TaskReport, new_reports
from cepkit.spark.cells.delivery import (
    Batches,
    Chosen,
    Route,
    Setting,
    Work,
    numbers_for,
    taken_in_turn,
)
from cepkit.spark.cells.layout import common_key
from cepkit.spark.cells.schemas import arrow_columns, match_columns
from cepkit.spark.results.frame import Telling
from cepkit.spark.results.matches import SparkMatches
from cepkit.stream.columns import Dropped
from cepkit.stream.ingest import event_columns
from cepkit.stream.sessions import check_session
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_absent, warn_of_dropped

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator


def detect(
    stream: Stream,
    query: Query,
    plan: Plan,
    *,
    slice_seconds: float | None = None,
    slice_events: int | None = None,
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    route: Route | None = None,
) -> SparkMatches:
    """Return the matches of a query in a Spark stream, as a Spark DataFrame.

    Nothing is detected before an action asks for it. How the stream is cut follows from the
    plan's statistics, or from the footers of Parquet files; where there are neither and no
    `slice_seconds`, one job counts the time and type columns now, which takes a fraction of the
    detection; where windows count events there is always such a job. A pattern without a window
    and without a key can only run as one task.

    Args:
        stream: Events in a Spark DataFrame; it is read anew for each action.
        query: The pattern.
        plan: An order for each of its branches.
        slice_seconds: The length of a time slice; None: chosen.
        slice_events: The length of a slice where there is no window in time, but one in events,
            or contiguity.
        limit: The most matches wanted, None for all.
        sets: Which sets of Kleene variables make matches.
        route: How the events reach the workers; None: chosen.

    Raises:
        PatternError: A condition compares what cannot be compared.
        StreamError: A missing column, or one that cannot be read; an arrival column without a
            value for some event.
        UnsupportedError: The query has a part that the engine cannot detect; the DataFrame is
            a stream, or one of Spark Connect.
    """
    frame = batch_frame(stream)
    compiled = compile_query(query, plan).programs
    attributes = sorted({name for program in compiled for name in program.columns})
    names, schema = stream.column_names, stream.schema.without_arrival()
    stream.schema.check(names, attributes)
    columns = arrow_columns(frame, names, schema.needed(names, attributes))
    nothing = event_columns(columns.empty_table(), schema, attributes)
    check_kinds(query, nothing.kinds)
    context = frame.sparkSession.sparkContext
    clock, window = ("time", None) if taken_in_turn(query) else cutting_clock(compiled)
    chosen = Setting(
        stream,
        frame,
        query,
        plan.statistics,
        compiled,
        columns,
        (),
        context.defaultParallelism,
        clock,
        window,
        looks_ahead(compiled, clock),
        common_key(compiled),
        numbers_for(query, compiled),
        slice_seconds,
        slice_events,
        sets,
        limit is not None,
    ).choose(route)
    reports = new_reports(context)
    repeated = repeated_in(query.structure)
    rows = match_columns(frame.schema, names, chosen.job.variables, schema, repeated)
    found, counting = (
        chosen.source.mapInArrow(_detecting(chosen, reports, emit), rows) for emit in (True, False)
    )
    known = plan.statistics.dropped if plan.statistics is not None else chosen.dropped
    if known is not None:
        warn_of_dropped(known, query)
    if plan.statistics is not None:
        warn_of_absent(plan.statistics.never_occurring, (), query)
    return SparkMatches(
        found,
        counting,
        query=query,
        plan=plan,
        job=chosen.job,
        telling=Telling(reports, chosen.tasks, (query,), told=bool(known)),
        route=chosen.text,
        limit=limit,
        left_out=chosen.left_out,
    )


def _detecting(chosen: Chosen, reports: Accumulator[Reports], emit: bool) -> Work:
    """Return what a task does with what it is given."""
    cells, job = chosen.cells, chosen.job

    def run(batches: Batches) -> Batches:
        from pyspark import TaskContext

        job.register()
        counters = worker.counters_of(job)
        dropped = Dropped()
        for item in cells(batches):
            if isinstance(item, Dropped):
                dropped += item
                continue
            cell, table = item
            owned = job.layout.owned(cell)
            yield from worker.matches_of(job, table, owned, counters, emit=emit)
        task = TaskContext.get()
        assert task is not None
        reports.add({task.partitionId(): TaskReport(counters, dropped)})

    return run


def batch_frame(stream: Stream) -> DataFrame:
    """Return the DataFrame of a stream.

    Raises:
        UnsupportedError: It is a streaming one, or one of Spark Connect.
        SessionError: Its session has been stopped.
    """
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    frame = stream.source
    if not isinstance(frame, Classic):
        raise UnsupportedError(
            "this release cannot detect over Spark Connect",
            hint="use a classic session, or write the events to Parquet and pass the path",
        )
    check_session(frame)
    if frame.isStreaming:
        raise UnsupportedError("this release cannot detect over a streaming DataFrame yet")
    return frame
