"""What must be known of a query before a Spark stream is cut for its aggregates.

A live match has all its events within a window, so that a time slice with a halo of one window
knows what is live at any moment of its own. Two things look back further: an expiry is told a
microsecond after the window, and what must be absent before a match is looked for up to a window
before it. Where groups share no match, buckets of their keys need no halo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t
from pyspark.sql.pandas.types import from_arrow_schema

from cepkit.aggregation.rows.tables import check_names
from cepkit.aggregation.semirings.functions import Function, LanguageFunction
from cepkit.aggregation.sequence.elements import Emit
from cepkit.columnar.compile.program import Clock, Program
from cepkit.columnar.compile.query import compile_query
from cepkit.columnar.slices.cutting import cutting_clock, looks_ahead
from cepkit.errors import UnsupportedError
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.routes.aggregates import Way
from cepkit.routes.asked import attributes_of
from cepkit.routes.detected import without_aggregates
from cepkit.spark.aggregates.query import Asked
from cepkit.spark.cells.delivery import Route, numbers_for, taken_in_turn
from cepkit.spark.cells.layout import Key, common_key
from cepkit.spark.cells.schemas import arrow_columns, nullable
from cepkit.stream.stream import Stream

_EACH = "each cell takes prefix counters or a window product"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query whose aggregates are wanted, and how a stream may be cut for it.

    Attributes:
        asked: What workers must know.
        way: How it is aggregated.
        bare: The query that detects its matches.
        programs: Those that detect them, one for each branch.
        promised: The columns of the output, in Arrow.
        output: The same, in Spark.
        clock: By what the stream is cut.
        window: What a cell must see before what is its own; None: the stream is not cut.
        ahead: Whether a cell must see as much after it.
        key: What can be hashed into buckets.
        numbers: The clocks beside time whose numbers workers need.
    """

    asked: Asked
    way: Way
    bare: Query
    programs: tuple[Program, ...]
    promised: pa.Schema
    output: t.StructType
    clock: Clock
    window: int | None
    ahead: bool
    key: Key | None
    numbers: tuple[Clock, ...]

    @property
    def method(self) -> str:
        """How it is aggregated, in a word."""
        return "detect" if self.way.sequence is None else self.way.method or "a-seq"

    @property
    def every_type(self) -> bool:
        """Whether it must be known when events of any type arrive: they end what is live."""
        moments = self.asked.emit in ("trigger", "changes")
        return moments and isinstance(self.bare.window, CountWindow)

    @property
    def reason(self) -> str:
        """Why in this way."""
        by_cell = self.way.sequence is not None and self.way.method is None
        return _EACH if by_cell else self.way.reason


def prepare(
    stream: Stream,
    frame: DataFrame,
    query: Query,
    functions: Mapping[str, Function],
    way: Way,
    emit: Emit,
    plan: Plan | None = None,
) -> Prepared:
    """Return what must be known of a query, refusing what cannot be asked.

    Args:
        stream: The stream.
        frame: Its DataFrame.
        query: What is asked.
        functions: The columns of aggregates, by name.
        way: How it is aggregated.
        emit: Which rows.
        plan: How the matches are detected where they have to be; None: in pattern order.

    Raises:
        PatternError: An aggregate cannot take the column that it is of.
        UnsupportedError: A function does not say what type its values have.
    """
    check_names(query.group_by, tuple(functions))
    bare = without_aggregates(query)
    compiled = compile_query(bare, plan or as_plan(None, bare)).programs
    read = attributes_of(functions) | set(bare.partition_by)
    if way.sequence is not None:
        read |= way.sequence.attributes
    read |= {name for program in compiled for name in program.columns}
    attributes = tuple(sorted(read))
    names = stream.column_names
    stream.schema.check(names, attributes)
    schema = replace(stream.schema, arrival=None, columns=attributes)
    columns = arrow_columns(frame, names, schema.needed(names, ()))
    asked = Asked(
        query, dict(functions), way.sequence, way.method, emit, schema, columns, attributes
    )
    check_kinds(query, asked.nothing.kinds)
    promised, output = _output(asked, frame)
    return Prepared(asked, way, bare, compiled, promised, output, *_cut(asked, bare, compiled))


def route_for(emit: Emit, window: int | None, key: Key | None, route: Route | None) -> Route | None:
    """Return how the events reach the workers, None where both routes would do.

    Files have no slices after the last event, where expiries are told, and no buckets.
    """
    if emit == "changes" or (window is None and key is not None):
        return route or "rows"
    return route


def _cut(
    asked: Asked, bare: Query, compiled: tuple[Program, ...]
) -> tuple[Clock, int | None, bool, Key | None, tuple[Clock, ...]]:
    """Return by what the stream is cut, what cells see around their own, keys, and numbers."""
    detects = asked.sequence is None
    clock, window = ("time", None) if taken_in_turn(bare) else cutting_clock(compiled)
    if asked.emit != "total" and clock != "time":
        clock, window = "time", None  # rows are about moments
    absent = detects and any(branch.negated for branch in normal_form(bare))
    # What ends after a cell's own moments is not what its rows are about.
    ahead = detects and looks_ahead(compiled, clock) if asked.emit == "total" else absent
    key = common_key(compiled)
    if asked.emit in ("trigger", "changes"):
        if window is not None:
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
        if isinstance(function, LanguageFunction):
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
