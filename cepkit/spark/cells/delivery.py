"""How the events of a Spark stream reach the workers: cut into cells, on one of two routes.

- rows: a first round of workers cuts the rows into cells (time slices with a halo of one window,
  or buckets of keys) and packs them, Spark's shuffle brings the pieces of a cell together, and a
  second round does the work. It works for every DataFrame;
- files: where the DataFrame is nothing but Parquet files that this Python can open, tasks are
  told which row groups their time slice needs and read them themselves. Nothing is shuffled.

Windows in events and contiguity count what no worker sees, the whole stream: there rows are
numbered first (`numbering.py`), and take the first route.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepkit.columnar.compile.program import Clock, Program
from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import Call, walk
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.registered import UserFunction, registered_function
from cepkit.pattern.nodes import bound_events_of
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.spark.cells import parquet as parquet_route
from cepkit.spark.cells import worker
from cepkit.spark.cells.extent import (
    extent_of_statistics,
    has_type,
    measured_extent,
    positional,
    row_bytes,
    types_of,
    without_time,
    without_type,
)
from cepkit.spark.cells.layout import Extent, Key, Layout, choose_layout
from cepkit.spark.cells.numbering import Source, numbered
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import Stream

Route: TypeAlias = Literal["rows", "files"]
Batches: TypeAlias = Iterator[pa.RecordBatch]
Work: TypeAlias = Callable[[Batches], Batches]


@dataclass(frozen=True, slots=True)
class Chosen:
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


@dataclass(frozen=True, slots=True)
class Setting:
    """What is asked of a stream, and what both routes need to know of it.

    Attributes:
        stream: The stream.
        frame: Its DataFrame.
        query: The pattern.
        statistics: What is known of the stream.
        programs: One for each branch of the query.
        columns: The columns that are sent, in Arrow.
        further: Those of them that are read beside those that the programs read.
        cores: How many tasks run at once.
        clock: By what the stream is cut.
        window: What a cell must see before what is its own, by that clock; None: it is not cut.
        ahead: Whether a cell must see as much after it.
        key: What can be hashed into buckets.
        numbers: The clocks beside time whose numbers workers need.
        slice_seconds: The length of a time slice; None: chosen.
        slice_events: That of a slice by another clock.
        sets: Which sets of Kleene variables make matches.
        limited: Whether only some of the matches are wanted.
        beside: Further patterns whose events are wanted in the same cells.
        every_type: Whether workers need the events of all types, as they arrive.
    """

    stream: Stream
    frame: DataFrame
    query: Query
    statistics: Statistics | None
    programs: tuple[Program, ...]
    columns: pa.Schema
    further: tuple[str, ...]
    cores: int
    clock: Clock
    window: int | None
    ahead: bool
    key: Key | None
    numbers: tuple[Clock, ...]
    slice_seconds: float | None
    slice_events: int | None = None
    sets: Literal["every", "maximal"] = "every"
    limited: bool = False
    beside: tuple[Query, ...] = ()
    every_type: bool = False

    @property
    def types(self) -> frozenset[str] | None:
        """The types of events that are wanted, None for any."""
        if self.every_type:
            return None
        each = [types_of(query) for query in (self.query, *self.beside)]
        named = [types for types in each if types is not None]
        return frozenset().union(*named) if len(named) == len(each) else None

    def choose(self, route: Route | None) -> Chosen:
        """Return how the events reach the workers.

        Args:
            route: How; None: by files where they are there for it.

        Raises:
            UnsupportedError: The tasks cannot read the files.
        """
        chosen = None if route == "rows" or self.numbers else self.files()
        if chosen is not None:
            return chosen
        if route == "files":
            raise UnsupportedError(
                "the DataFrame is not one whose files the tasks can read"
                if not self.numbers
                else "tasks that read files do not know the arrival numbers of the whole stream"
            )
        return self.rows()

    def rows(self) -> Chosen:
        """Return the route of rows, measuring the stream where nothing is known of it."""
        schema, names = self.stream.schema, self.stream.column_names
        key, types = self.key, self.types
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
            numbers = numbered(source, self.numbers, self.clock)
            known = numbers.dropped
        if numbers is not None and (self.clock != "time" or self.window is None):
            extent: Extent | None = numbers.extent
        else:
            extent = extent_of_statistics(self.statistics, self.query, key)
            if extent is None and self.slice_seconds is None:
                extent, known = measured_extent(self.frame, names, schema, types, key)
        layout = self._layout(extent, key)
        job = self.job(layout)
        tasks = layout.tasks(self.cores)
        rows = self._wanted(types) if numbers is None else numbers.rows
        packed = rows.mapInArrow(splitting(job), worker.PACKED)
        return Chosen(
            dealt_out(packed, tasks),
            lambda batches: worker.unpacked(job, batches),
            job,
            tasks,
            f"rows through Spark, {layout}, {tasks:,} task{'' if tasks == 1 else 's'}",
            known,
            Dropped() if numbers is None else numbers.dropped,
        )

    def files(self) -> Chosen | None:
        """Return the route of files; None where it cannot be taken or would not pay."""
        layout, reads, text = parquet_route.choose(
            self.frame,
            self.stream.column_names,
            self.stream.schema,
            self.columns,
            lambda extent: self._layout(
                extent_of_statistics(self.statistics, self.query, None) or extent, None
            ),
        ) or (None, (), "")
        if layout is None:
            return None
        job = self.job(layout)
        tasks = max(1, len(reads))
        return Chosen(
            self.frame.sparkSession.range(0, tasks, 1, tasks),
            lambda batches: parquet_route.cells(job, reads, batches),
            job,
            tasks,
            text,
            None,
            Dropped(),
        )

    def job(self, layout: Layout) -> worker.Job:
        """Return what workers must know."""
        return worker.Job(
            self.stream.schema.without_arrival(),
            self.columns,
            self.programs,
            tuple(event.variable for event in bound_events_of(self.query.structure)),
            self.types,
            layout,
            functions_of(self.query, *self.beside),
            self.sets,
            self.limited,
            self.numbers,
            self.stream.schema.arrival,
            normal_form(self.query) if taken_in_turn(self.query) else (),
            self.further,
        )

    def _layout(self, extent: Extent | None, key: Key | None) -> Layout:
        """Return the cells of the stream; with NOT they see what follows them as well."""
        layout = choose_layout(
            extent,
            self.window,
            key,
            cores=self.cores,
            row_bytes=row_bytes(self.columns) + 8 * len(self.numbers),
            slice_seconds=self.slice_seconds,
            slice_events=self.slice_events,
            clock=self.clock,
        )
        if taken_in_turn(self.query):
            layout = replace(layout, uncut="what is taken depends on what was taken before")
        elif self.every_type:
            layout = replace(layout, uncut="what is live depends on all events before")
        return layout.looking_ahead() if self.ahead else layout

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


def taken_in_turn(query: Query) -> bool:
    """Return whether a match depends on all that were taken before."""
    return query.strategy is Strategy.SKIP_TILL_NEXT_MATCH


def numbers_for(query: Query, programs: tuple[Program, ...]) -> tuple[Clock, ...]:
    """Return the clocks beside time that windows count in, or that decide between matches."""
    found = {clock for program in programs for clock in program.clocks}
    if taken_in_turn(query):
        found.add("arrival")
    clocks: tuple[Clock, ...] = ("arrival", "place")
    return tuple(clock for clock in clocks if clock in found)


def functions_of(*queries: Query) -> dict[str, UserFunction]:
    """Return the user's functions that the conditions of queries call."""
    conditions = [query.where for query in queries if query.where]
    calls = [n for where in conditions for n in walk(where) if isinstance(n, Call)]
    names = {call.function for call in calls} - set(FUNCTIONS)
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
