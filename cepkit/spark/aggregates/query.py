"""A query prepared for aggregation on Spark, before the stream is cut.

A live match has all its events within a window, so a time slice with a halo of one window knows all
live matches at its own moments. Two things look back further: an expiry is reported a microsecond
after the window, and events that must be absent before a match lie up to a window before it. If
groups share no match, buckets of their keys need no halo.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t
from pyspark.sql.pandas.types import from_arrow_schema

from cepkit.aggregation.rows.tables import check_names
from cepkit.aggregation.semirings.functions import Function, LanguageFunction
from cepkit.aggregation.sequence.elements import Emit
from cepkit.columnar.compile.query import CompiledQuery, compile_query
from cepkit.columnar.slices.cutting import cutting_clock, looks_ahead
from cepkit.errors import UnsupportedError
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.policies import Clock, CountWindow
from cepkit.pattern.query import Query
from cepkit.plan.checks import plan_without_rates
from cepkit.plan.nodes import Plan
from cepkit.routes.detected import without_aggregates
from cepkit.routes.functions import attributes_of
from cepkit.routes.ways import Way
from cepkit.spark.aggregates.request import Request
from cepkit.spark.cells.keys import Key, key_of
from cepkit.spark.cells.layout import IN_TURN, Cut
from cepkit.spark.cells.schemas import nullable
from cepkit.spark.cells.sending import Sending, numbers_for, sending_for
from cepkit.spark.passes.delivery import Route
from cepkit.stream.stream import Stream

_EACH = "each cell takes prefix counters or a window product"


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """An aggregation query, and how a stream may be cut for it.

    Attributes:
        request: The part that workers need.
        promised: The columns of the output, in Arrow.
        output: The same, in Spark.
    """

    request: Request
    cut: Cut
    promised: pa.Schema
    output: t.StructType

    @property
    def method(self) -> str:
        """The name of the method."""
        way = self.request.way
        return "detect" if way.sequence is None else way.method or "a-seq"

    @property
    def reason(self) -> str:
        """The reason for the method."""
        way = self.request.way
        return _EACH if way.sequence is not None and way.method is None else way.reason


def prepare(
    stream: Stream,
    query: Query,
    functions: Mapping[str, Function],
    way: Way,
    emit: Emit,
    plan: Plan | None = None,
) -> AggregateQuery:
    """Prepare a query; refuse aggregates that cannot be computed.

    Args:
        plan: How the matches are detected where they have to be; None: in pattern order.

    Raises:
        PatternError: An aggregate cannot take the column that it is of.
        UnsupportedError: A function does not declare the type of its values.
    """
    check_names(query.group_by, tuple(functions))
    bare = without_aggregates(query)
    compiled = compile_query(bare, plan or plan_without_rates(bare))
    attributes = {*attributes_of(functions), *bare.partition_by, *compiled.attributes}
    if way.sequence is not None:
        attributes |= way.sequence.attributes
    if stream.lateness is not None and stream.schema.by_arrival:
        assert stream.schema.arrival is not None
        attributes.add(stream.schema.arrival)  # a bucket brings its events into this order
    numbers = numbers_for(compiled.programs, ordered=compiled.chooses or stream.schema.by_arrival)
    # Events of a plain sequence are never at the same time.
    has_ties = (way.sequence is None or way.sequence.repeated) and _ties_matter(compiled)
    if has_ties and emit != "total" and "arrival" not in numbers:
        numbers = ("arrival", *numbers)
    sending = sending_for_aggregates(
        stream, (query,), attributes, numbers, every_type=_every_type(query, emit)
    )
    request = Request(query, dict(functions), way, emit, sending, compiled)
    check_kinds(query, sending.nothing.kinds)
    return AggregateQuery(request, _cut(request), *_output(request, stream.source))


def sending_for_aggregates(
    stream: Stream,
    queries: Sequence[Query],
    attributes: Collection[str],
    numbers: tuple[Clock, ...],
    *,
    every_type: bool,
) -> Sending:
    """Return the columns to send to workers for aggregates: only those they read."""
    schema = replace(stream.schema, columns=tuple(sorted(attributes)))
    read = Stream(stream.source, schema, stream.column_names)
    return sending_for(read, queries, attributes, numbers=numbers, every_type=every_type)


def _every_type(query: Query, emit: Emit) -> bool:
    return emit in ("trigger", "changes") and isinstance(query.window, CountWindow)


def route_for(emit: Emit, cut: Cut, route: Route | None) -> Route | None:
    """Return the route of the events to workers; None if both routes are possible.

    The route of files has no slices after the last event, for expiries, and no buckets.
    """
    if emit == "changes" or (cut.window is None and cut.key is not None):
        return route or "rows"
    return route


def _cut(request: Request) -> Cut:
    """Return how a stream may be cut for an aggregation."""
    compiled, emit, group_by = request.compiled, request.emit, request.query.group_by
    detects, key = request.way.sequence is None, key_of(compiled)
    clock, window = ("time", None) if compiled.chooses else cutting_clock(compiled.programs)
    if emit != "total" and clock != "time":
        clock, window = "time", None  # rows are about moments
    absent = detects and any(branch.negated for branch in compiled.branches)
    # A cell's rows do not depend on matches that end after its own moments.
    ahead = detects and looks_ahead(compiled.programs, clock) if emit == "total" else absent
    if emit in ("trigger", "changes"):
        if window is not None:
            window = max(window, 0) * (1 + absent) + (emit == "changes")
        key = Key(group_by, missing_agree=True) if group_by else None
    elif key is not None:
        key = replace(key, missing_agree=True)  # a trigger without a key has a row too
    cut = Cut(window, clock, ahead, key)
    if compiled.chooses:
        return replace(cut, uncut=IN_TURN)
    if _every_type(request.query, emit):
        return replace(cut, uncut="what is live depends on all events before")
    return cut


def _ties_matter(compiled: CompiledQuery) -> bool:
    """Return whether only arrival tells which of several events at the same time ends a match."""
    for branch in compiled.branches:
        last = branch.latest(branch.variables)
        if len(last) > 1 or any(variable in last for variable, _, _ in branch.repeated):
            return True
    return False


def _output(request: Request, frame: DataFrame) -> tuple[pa.Schema, t.StructType]:
    """Return the declared columns of the output, in Arrow and in Spark."""
    nothing = request.sending.nothing
    moments, group_rows = request.moments(nothing, lambda: iter(()))
    table = request.table(nothing, moments.take(np.zeros(0, np.int64)), group_rows)
    kinds = {name: values.type for name, values in table.items() if isinstance(values, pa.Array)}
    for name, function in request.functions.items():
        if isinstance(function, LanguageFunction):
            continue
        kinds[name] = getattr(function, "arrow_type", None)
        if not isinstance(kinds[name], pa.DataType):
            raise UnsupportedError(
                f"the aggregate '{name}' has no type for its values on Spark",
                expected="an attribute arrow_type, as pyarrow.float64()",
            )
    promised = pa.schema(list(kinds.items()))
    by_name = {field.name: field for field in nullable(frame.schema).fields}
    # Groups keep the types of the source.
    fields = [
        by_name[field.name] if field.name in request.query.group_by else field
        for field in from_arrow_schema(promised).fields
    ]
    return promised, t.StructType(fields)
