"""Detection over a Spark DataFrame, as a Spark DataFrame.

Types not in the query and unused columns stay in the JVM. The rest reaches Python workers as rows,
or is read there from files (`passes/delivery.py`).

Workers need cepkit and pyarrow installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from pyspark.sql import types as t

from cepkit.columnar.compile.query import CompiledQuery, compile_query
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import MatchColumns
from cepkit.columnar.slices.cutting import cutting_clock, looks_ahead
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.columnar.workload import Group, group_of_one
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.spark.cells.keys import key_of
from cepkit.spark.cells.layout import IN_TURN, Cut
from cepkit.spark.cells.schemas import match_columns
from cepkit.spark.cells.sending import numbers_for, sending_for
from cepkit.spark.matches.result import MatchesPass, SparkMatches
from cepkit.spark.matches.sinks import COUNT, CountsSink, MatchesSink
from cepkit.spark.matches.table import matches_table
from cepkit.spark.passes.delivery import Route
from cepkit.spark.passes.here import Here
from cepkit.spark.passes.one_pass import start_pass
from cepkit.spark.passes.one_table import QUERY
from cepkit.spark.passes.part import searched_here
from cepkit.spark.passes.rows import batch_frame
from cepkit.spark.passes.scan import Scan
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_absent


def detect(
    stream: Stream,
    query: Query,
    plan: Plan,
    *,
    part: Stream | None = None,
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    plans: SlicePlans | None = None,
    reported: bool = False,
    **options: Any,
) -> SparkMatches:
    """Return the matches of a query in a Spark stream, as a Spark DataFrame.

    Nothing is detected before an action. The cut of the stream follows from the plan's statistics
    or from Parquet footers. Without these and without `slice_seconds`, one job counts the time and
    type columns now, which takes a fraction of the detection; windows in events always need such a
    job. A pattern without a window and without a key can only run as one task.

    Args:
        stream: Events in a Spark DataFrame, which is read again for each action.
        part: Those that the query needs, fetched: this process searches them. None: workers do.
        limit: The most matches wanted, None for all.
        reported: Whether the user was already warned about the stream.
        options: `slice_seconds`, `slice_events` and `route`, as for `start`.

    Raises:
        PatternError: A condition compares values that cannot be compared.
        StreamError: A column is missing or cannot be read, or the arrival column has missing
            values.
        UnsupportedError: The query has a part that the engine cannot detect; the DataFrame is
            a stream.
    """
    found: MatchesPass | Here
    if part is None:
        group, known = group_of_one(compile_query(query, plan, sets)), plan.statistics
        found = start(
            stream, {0: query}, {0: plan}, group, known,
            limited=limit is not None, follow=plans, reported=reported, **options,
        )  # fmt: skip
        if known is not None and not reported:
            warn_of_absent(known.never_occurring, (), query)
        way = found.pass_.delivery.route
    else:
        matches = Matches(part, query, plan, limit=limit, sets=sets, plans=plans)
        written = MatchColumns.of(query, stream.schema.without_arrival())
        columns = match_columns(
            stream.source.schema, stream.column_names, written, matches.schema
        )  # fmt: skip
        workers = partial(
            detect, stream, query, plan, limit=limit, sets=sets, plans=plans, reported=True
        )
        found = Here(matches, columns, stream.source.sparkSession, workers)
        way = searched_here(len(matches.columns), part)
    return SparkMatches(
        found, stream=stream, route=way, query=query, plan=plan, limit=limit, sets=sets
    )  # fmt: skip


def start(
    stream: Stream,
    queries: Mapping[int, Query],
    plans: Mapping[int, Plan],
    group: Group,
    statistics: Statistics | None,
    *,
    slice_seconds: float | None = None,
    slice_events: int | None = None,
    limited: bool = False,
    route: Route | None = None,
    follow: SlicePlans | None = None,
    reported: bool = False,
) -> MatchesPass:
    """Return a pass for queries that run together; if the stream's size is unknown, a job counts.

    Args:
        slice_events: The length of a slice where there is no window in time, but one in events,
            or contiguity.
        limited: Whether only some of the matches are wanted.

    Raises:
        PatternError: A condition compares values that cannot be compared.
    """
    columns, every = batch_frame(stream).schema, tuple(queries.values())
    scan = scan_for(stream, every, group.query, statistics, slice_seconds, slice_events)
    scan = replace(scan, seconds=sum(plan.seconds or 0.0 for plan in plans.values()))
    sending = scan.sending
    for query in every:
        check_kinds(query, sending.nothing.kinds)
    dropped = None if statistics is None else statistics.dropped
    pass_ = start_pass(scan, route, dropped=dropped, reported=reported)
    table, in_spark = matches_table(stream, columns, sending, queries)
    written = {q: MatchColumns.of(query, sending.schema) for q, query in queries.items()}
    rows = pass_.rows(MatchesSink(group, table, written, limited, follow), in_spark)
    sizes = pass_.rows(CountsSink(group, follow), _SIZES)
    return MatchesPass(group, pass_, table, rows, sizes)


_SIZES = t.StructType([t.StructField(QUERY, t.IntegerType()), t.StructField(COUNT, t.BinaryType())])


def scan_for(
    stream: Stream,
    queries: tuple[Query, ...],
    compiled: CompiledQuery,
    statistics: Statistics | None = None,
    slice_seconds: float | None = None,
    slice_events: int | None = None,
) -> Scan:
    """Return the scan of a stream for queries that run together, with its cut."""
    numbers = numbers_for(compiled.programs, ordered=compiled.chooses or stream.schema.by_arrival)
    read = {*compiled.attributes}.union(*(query.computed_from for query in queries))
    sending = sending_for(_returning(stream, queries), queries, read, numbers=numbers)
    cut = _cut(compiled, slice_seconds, slice_events)
    return Scan(stream, queries, sending, cut, statistics, queries[0].partition_by)


def _returning(stream: Stream, queries: tuple[Query, ...]) -> Stream:
    """Return a stream with only the output columns of RETURN."""
    if not all(query.returned for query in queries):
        return stream
    sources = (result.source for query in queries for result in query.returned)
    names = tuple(dict.fromkeys(source.name for source in sources if source is not None))
    return replace(stream, schema=replace(stream.schema, columns=names))


def _cut(compiled: CompiledQuery, slice_seconds: float | None, slice_events: int | None) -> Cut:
    programs = compiled.programs
    key = key_of(compiled)
    if compiled.chooses:
        return Cut(key=key, uncut=IN_TURN)
    clock, window = cutting_clock(programs)
    length = slice_seconds if clock == "time" else slice_events
    return Cut(window, clock, looks_ahead(programs, clock), key, length=length)
