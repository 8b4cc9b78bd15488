"""Aggregates over a Spark DataFrame, as a Spark DataFrame: each cell as a local stream would be.

A live match has all its events within a window, so that a time slice with a halo of one window
knows what is live at any moment of its own; it gives the rows of those moments. Two things look
back further: an expiry is told a microsecond after the window, and what must be absent before a
match is looked for up to a window before it. Where groups share no match, buckets of their keys
need no halo. For `emit="total"` each cell adds up the matches that are its own, and the sums of a
group, few and small, are joined in a second round.

Source: ASEQ; the cells are those of detection (`delivery.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t
from pyspark.sql.pandas.types import from_arrow_schema

from cepkit.aggregation.elements import Emit
from cepkit.aggregation.functions import Count, Function, Least, Sum
from cepkit.aggregation.tables import check_names
from cepkit.columnar.detection import cutting_clock
from cepkit.columnar.matches import programs
from cepkit.columnar.program import Clock, Program
from cepkit.errors import UnsupportedError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.routes.aggregates import attributes_of, way_of
from cepkit.routes.detected import check_emit, without_aggregates
from cepkit.spark.aggregate_worker import ELEMENT, Asked, joining, working
from cepkit.spark.aggregated import SparkAggregates
from cepkit.spark.batch import batch_frame, check_kinds
from cepkit.spark.counters import new_reports
from cepkit.spark.delivery import (
    Route,
    Setting,
    looks_ahead,
    numbers_for,
    taken_in_turn,
)
from cepkit.spark.layout import Key, common_key
from cepkit.spark.schemas import arrow_columns, nullable
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_dropped


def aggregate(
    stream: Stream,
    query: Query,
    functions: Mapping[str, Function],
    method: str,
    emit: Emit,
    *,
    plan: Plan | None = None,
    slice_seconds: float | None = None,
    route: Route | None = None,
) -> SparkAggregates:
    """Return the aggregates of a query in a Spark stream, as a Spark DataFrame.

    Nothing is aggregated before an action asks for it; where neither the plan's statistics nor
    the footers of Parquet files say how much there is, one job counts the stream now.

    Args:
        stream: Events in a Spark DataFrame; it is read anew for each action.
        query: What is asked.
        functions: The columns of aggregates, by name.
        method: As for `cepkit.aggregate`; the choice between A-Seq's is made in each cell.
        emit: Which rows.
        plan: How the matches are detected where they have to be; None: in pattern order.
        slice_seconds: The length of a time slice; None: chosen.
        route: How the events reach the workers; None: chosen.

    Raises:
        PatternError: An aggregate cannot take the column that it is of.
        UnsupportedError: The method, or the kind of rows, is not for such a query; a function
            does not say what type its values have.
    """
    check_names(query.group_by, tuple(functions))
    way = way_of(query, method)
    if way.sequence is None:
        check_emit(query, emit)
    frame = batch_frame(stream)
    bare = without_aggregates(query)
    compiled = programs(bare, plan or as_plan(None, bare))
    read = attributes_of(functions) | set(bare.partition_by)
    if way.sequence is not None:
        read |= way.sequence.attributes
    read |= {name for program in compiled for name in program.columns}
    attributes = tuple(sorted(read))
    names = stream.column_names
    stream.schema.check(names, attributes)
    schema = replace(stream.schema, arrival=None, columns=attributes)
    columns = arrow_columns(frame, names, schema.needed(names, ()))
    if way.sequence is None:
        check_kinds(columns, schema, attributes, compiled)
    asked = Asked(
        query, dict(functions), way.sequence, way.method, emit, schema, columns, attributes
    )
    promised, output = _output(asked, frame)
    context = frame.sparkSession.sparkContext
    setting = Setting(
        Stream(frame, replace(stream.schema, columns=attributes), names),
        frame,
        bare,
        None if plan is None else plan.statistics,
        compiled,
        columns,
        attributes,
        context.defaultParallelism,
        *_cut(asked, bare, compiled),
        slice_seconds,
    )
    if emit == "changes" or (setting.window is None and setting.key is not None):
        # Files have no slices after the last event, where expiries are told, and no buckets.
        route = route or "rows"
    chosen = setting.choose(route)
    reports = new_reports(context)
    if emit == "total":
        groups = output.fields[: len(query.group_by)]
        element = t.StructField(ELEMENT, t.BinaryType())
        sums = chosen.source.mapInArrow(
            working(asked, chosen, promised, reports), t.StructType([*groups, element])
        )
        # Without groups each task has a sum, if only of nothing.
        keys = [F.col(f"`{field.name.replace('`', '``')}`") for field in groups]
        parts = sums.repartition(chosen.tasks, *keys) if keys else sums.repartition(1)
        found = parts.mapInArrow(joining(asked, promised), output)
    else:
        found = chosen.source.mapInArrow(working(asked, chosen, promised, reports), output)
    if chosen.dropped is not None:
        warn_of_dropped(chosen.dropped)
    by_cell = way.sequence is not None and way.method is None
    return SparkAggregates(
        found,
        query=query,
        emit=emit,
        method="detect" if way.sequence is None else way.method or "a-seq",
        reason=_EACH if by_cell else way.reason,
        route=chosen.text,
        reports=reports,
        tasks=chosen.tasks,
        warned=chosen.dropped is not None,
    )


_EACH = "each cell takes prefix counters or a window product"


def _cut(
    asked: Asked, bare: Query, compiled: tuple[Program, ...]
) -> tuple[Clock, int | None, bool, Key | None, tuple[Clock, ...]]:
    """Return by what the stream is cut, what cells see around their own, keys, and numbers."""
    detects = asked.sequence is None
    clock, window = ("time", None) if taken_in_turn(bare) else cutting_clock(compiled)
    if asked.emit != "total" and clock != "time":
        clock, window = "time", None  # rows are about moments
    ahead = detects and looks_ahead(compiled, clock)
    key = common_key(compiled)
    if asked.emit in ("trigger", "changes"):
        if window is not None:
            absent = detects and any(branch.negated for branch in normal_form(bare))
            window = max(window, 0) * (1 + absent) + (asked.emit == "changes")
        group_by = asked.query.group_by
        key = Key(group_by, missing_agree=True) if group_by else None
    elif key is not None:
        key = replace(key, missing_agree=True)  # a trigger without a key has its row
    numbers = numbers_for(bare, compiled)
    if detects and asked.emit != "total" and "arrival" not in numbers and _ties_matter(bare):
        numbers = ("arrival", *numbers)
    return clock, window, ahead, key, numbers


def _ties_matter(query: Query) -> bool:
    """Return whether of events of one time that end a match only arrival says which is the last."""
    for branch in normal_form(query):
        last = [v for v in branch.variables if not branch.after(v) & set(branch.variables)]
        if len(last) > 1 or any(variable in last for variable, _, _ in branch.repeated):
            return True
    return False


def _output(asked: Asked, frame: DataFrame) -> tuple[pa.Schema, t.StructType]:
    """Return the columns of the output, which Spark must be promised, in Arrow and in Spark."""
    nothing = asked.nothing
    moments, group_rows = asked.moments(nothing, lambda: iter(()), interpreted=True)
    table = asked.table(nothing, moments.take(np.zeros(0, np.int64)), group_rows)
    kinds = {name: values.type for name, values in table.items() if isinstance(values, pa.Array)}
    for name, function in asked.functions.items():
        if isinstance(function, Count | Sum | Least):
            continue
        kinds[name] = getattr(function, "arrow_type", None)
        if not isinstance(kinds[name], pa.DataType):
            raise UnsupportedError(
                f"the aggregate '{name}' does not say what type its values have on Spark",
                expected="an attribute arrow_type, as pyarrow.float64()",
            )
    promised = pa.schema(list(kinds.items()))
    by_name = {field.name: field for field in nullable(frame.schema).fields}
    # Groups keep the types of the source.
    fields = [
        by_name[field.name] if field.name in asked.query.group_by else field
        for field in from_arrow_schema(promised).fields
    ]
    return promised, t.StructType(fields)
