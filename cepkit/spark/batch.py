"""Detection over a Spark DataFrame, as a Spark DataFrame.

Types that the query does not name and columns that nobody reads are left behind in the JVM. The
others reach Python workers on one of two routes:

- rows: a first round of workers cuts the rows into cells (time slices with a halo of one window,
  or buckets of keys) and packs them, Spark's shuffle brings the pieces of a cell together, and a
  second round detects. It works for every DataFrame;
- files: where the DataFrame is nothing but Parquet files that this Python can open, tasks are
  told which row groups their time slice needs and read them themselves. Nothing is shuffled.

Windows in events and contiguity count what no worker sees, the whole stream: there rows are
numbered first (`numbering.py`), and take the first route.

Workers need cepkit installed, as they need pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from cepkit.columnar.backend import loops
from cepkit.columnar.binding import bind
from cepkit.columnar.detection import cutting_clock
from cepkit.columnar.matches import programs
from cepkit.columnar.program import Clock, Program
from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import Call, walk
from cepkit.pattern.functions import BUILTINS, UserFunction, registered_function
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.spark import parquet_route, worker
from cepkit.spark.counters import Reports, TaskReport, new_reports
from cepkit.spark.extent import (
    extent_of_statistics,
    has_type,
    measured_extent,
    positional,
    row_bytes,
    types_of,
    without_time,
    without_type,
)
from cepkit.spark.layout import Extent, Key, Layout, choose_layout, common_key
from cepkit.spark.numbering import Source, numbered
from cepkit.spark.result import SparkMatches
from cepkit.spark.schemas import arrow_columns, match_columns
from cepkit.stream.columns import Dropped
from cepkit.stream.ingest import event_columns
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_absent, warn_of_dropped

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator

Route = Literal["rows", "files"]
Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]


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
    compiled = programs(query, plan)
    attributes = sorted({name for program in compiled for name in program.columns})
    names, schema = stream.column_names, stream.schema.without_arrival()
    stream.schema.check(names, attributes)
    columns = arrow_columns(frame, names, schema.needed(names, attributes))
    _check_kinds(columns, schema, attributes, compiled)
    context = frame.sparkSession.sparkContext
    setting = _Setting(
        stream,
        frame,
        query,
        plan,
        compiled,
        columns,
        context.defaultParallelism,
        slice_seconds,
        slice_events,
        sets,
        limit is not None,
    )
    chosen = None if route == "rows" or setting.numbers else setting.files()
    if chosen is None:
        if route == "files":
            raise UnsupportedError(
                "the DataFrame is not one whose files the tasks can read"
                if not setting.numbers
                else "tasks that read files do not know the arrival numbers of the whole stream"
            )
        chosen = setting.rows()
    reports = new_reports(context)
    repeated = repeated_in(query.structure)
    rows = match_columns(frame.schema, names, setting.variables, schema, repeated)
    found, counting = (
        chosen.source.mapInArrow(_detecting(chosen, reports, emit), rows) for emit in (True, False)
    )
    known = plan.statistics.dropped if plan.statistics is not None else chosen.dropped
    if known is not None:
        warn_of_dropped(known)
    if plan.statistics is not None:
        warn_of_absent(plan.statistics.never_occurring, ())
    return SparkMatches(
        found,
        counting,
        query=query,
        plan=plan,
        job=chosen.job,
        reports=reports,
        tasks=chosen.tasks,
        route=chosen.text,
        limit=limit,
        warned=bool(known),
        left_out=chosen.left_out,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A route: what the tasks are given and how they make cells of it.

    Attributes:
        source: A DataFrame with one partition for each task.
        cells: Makes cells, and counts of dropped rows, of what a task is given.
        job: What is asked.
        tasks: How many tasks there are.
        text: The route in words.
        dropped: The rows that are no events, where they are known already.
        left_out: Those of them that no task is given.
    """

    source: DataFrame
    cells: Callable[[Batches], Iterator[tuple[int, pa.Table] | Dropped]]
    job: worker.Job
    tasks: int
    text: str
    dropped: Dropped | None
    left_out: Dropped


def _detecting(chosen: _Chosen, reports: Accumulator[Reports], emit: bool) -> Work:
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


@dataclass(frozen=True, slots=True)
class _Setting:
    """What `detect` was asked, and what both routes need to know of it."""

    stream: Stream
    frame: DataFrame
    query: Query
    plan: Plan
    programs: tuple[Program, ...]
    columns: pa.Schema
    cores: int
    slice_seconds: float | None
    slice_events: int | None
    sets: Literal["every", "maximal"]
    limited: bool

    @property
    def taken_in_turn(self) -> bool:
        """Whether a match depends on all that were taken before."""
        return self.query.strategy is Strategy.SKIP_TILL_NEXT_MATCH

    @property
    def cut(self) -> tuple[Clock, int | None]:
        """The clock by which the stream is cut, and its window; None: it cannot be cut."""
        return ("time", None) if self.taken_in_turn else cutting_clock(self.programs)

    @property
    def numbers(self) -> tuple[Clock, ...]:
        """The clocks beside time that windows count in."""
        found = {clock for program in self.programs for clock in program.clocks}
        if self.taken_in_turn:
            found.add("arrival")  # which decides between matches
        clocks: tuple[Clock, ...] = ("arrival", "place")
        return tuple(clock for clock in clocks if clock in found)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(event.variable for event in bound_events_of(self.query.structure))

    def rows(self) -> _Chosen:
        """Return the route of rows, measuring the stream where nothing is known of it."""
        schema, names = self.stream.schema, self.stream.column_names
        key, types = common_key(self.programs), types_of(self.query)
        clock, window = self.cut
        known = numbers = None
        if self.numbers:
            source = Source(
                self.frame,
                names,
                schema,
                tuple(self.columns.names),
                types,
                key,
                self.query.partition_by,
            )
            numbers = numbered(source, self.numbers, clock)
            known = numbers.dropped
        if numbers is not None and (clock != "time" or window is None):
            extent: Extent | None = numbers.extent
        else:
            extent = extent_of_statistics(self.plan.statistics, self.query, key)
            if extent is None and self.slice_seconds is None:
                extent, known = measured_extent(self.frame, names, schema, types, key)
        layout = self._layout(extent, key)
        job = self.job(layout)
        tasks = layout.tasks(self.cores)
        rows = self._wanted(types) if numbers is None else numbers.rows
        packed = rows.mapInArrow(splitting(job), worker.PACKED)
        return _Chosen(
            dealt_out(packed, tasks),
            lambda batches: worker.unpacked(job, batches),
            job,
            tasks,
            f"rows through Spark, {layout}, {tasks:,} task{'' if tasks == 1 else 's'}",
            known,
            Dropped() if numbers is None else numbers.dropped,
        )

    def files(self) -> _Chosen | None:
        """Return the route of files; None where it cannot be taken or would not pay."""
        layout, reads, text = parquet_route.choose(
            self.frame,
            self.stream.column_names,
            self.stream.schema,
            self.columns,
            lambda extent: self._layout(
                extent_of_statistics(self.plan.statistics, self.query, None) or extent, None
            ),
        ) or (None, (), "")
        if layout is None:
            return None
        job = self.job(layout)
        tasks = max(1, len(reads))
        return _Chosen(
            self.frame.sparkSession.range(0, tasks, 1, tasks),
            lambda batches: parquet_route.cells(job, reads, batches),
            job,
            tasks,
            text,
            None,
            Dropped(),
        )

    def _layout(self, extent: Extent | None, key: Key | None) -> Layout:
        """Return the cells of the stream; with NOT they see what follows them as well."""
        clock, window = self.cut
        layout = choose_layout(
            extent,
            window,
            key,
            cores=self.cores,
            row_bytes=row_bytes(self.columns) + 8 * len(self.numbers),
            slice_seconds=self.slice_seconds,
            slice_events=self.slice_events,
            clock=clock,
        )
        # Only where the clock is time it is known which events come last.
        ahead = any(p.looks_ahead or (p.sets and clock != "time") for p in self.programs)
        if self.taken_in_turn:
            layout = replace(layout, uncut="what is taken depends on what was taken before")
        return layout.looking_ahead() if ahead else layout

    def job(self, layout: Layout) -> worker.Job:
        return worker.Job(
            self.stream.schema.without_arrival(),
            self.columns,
            self.programs,
            self.variables,
            types_of(self.query),
            layout,
            functions_of(self.query),
            self.sets,
            self.limited,
            self.numbers,
            self.stream.schema.arrival,
            normal_form(self.query) if self.taken_in_turn else (),
        )

    def _wanted(self, types: frozenset[str] | None) -> DataFrame:
        """Return the rows that may be events of the query or none at all, columns pruned."""
        schema, names = self.stream.schema, self.stream.column_names
        rows = positional(self.frame)
        kinds = [field.dataType for field in self.frame.schema.fields]
        time, type_ = names.index(schema.time), names.index(schema.type)
        fitting = has_type(rows[f"c{type_}"], kinds[type_], types)
        if fitting is not None:
            # Rows without a time or a type come along to be counted.
            rows = rows.where(
                fitting
                | without_type(rows[f"c{type_}"], kinds[type_])
                | without_time(rows[f"c{time}"], kinds[time])
            )
        return rows.select(*(f"c{names.index(name)}" for name in self.columns.names))


def batch_frame(stream: Stream) -> DataFrame:
    """Return the DataFrame of a stream.

    Raises:
        UnsupportedError: It is a streaming one, or one of Spark Connect.
    """
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    frame = stream.source
    if not isinstance(frame, Classic):
        raise UnsupportedError(
            "this release cannot detect over Spark Connect",
            hint="use a classic session, or write the events to Parquet and pass the path",
        )
    if frame.isStreaming:
        raise UnsupportedError("this release cannot detect over a streaming DataFrame yet")
    return frame


def _check_kinds(
    columns: pa.Schema, schema: Schema, attributes: list[str], compiled: tuple[Program, ...]
) -> None:
    """Let the engine refuse, before any job, what it would refuse in the workers."""
    nothing = event_columns(columns.empty_table(), schema, attributes)
    for program in compiled:
        bind(program, nothing, loops("plain").kernels)


def functions_of(query: Query) -> dict[str, UserFunction]:
    """Return the user's functions that the conditions of a query call."""
    calls = [n for n in walk(query.where) if isinstance(n, Call)] if query.where else []
    names = {call.function for call in calls} - set(BUILTINS)
    return {name: registered_function(name) for name in names}


def splitting(job: worker.Job) -> Work:
    """Return what deals out the rows that a task is given to cells."""

    def run(batches: Batches) -> Batches:
        return worker.split(job, batches)

    return run


def dealt_out(packed: DataFrame, tasks: int) -> DataFrame:
    """Return the packed pieces with each cell in one partition, its pieces side by side."""
    number = F.pmod(F.col("cell"), F.lit(tasks)).cast("int")
    dealt: Any
    if hasattr(packed, "repartitionById"):  # since Spark 4.1; a hash may put many in one
        dealt = packed.repartitionById(tasks, number)
    else:
        dealt = packed.repartition(tasks, "cell")
    result: DataFrame = dealt.sortWithinPartitions("cell")
    return result
