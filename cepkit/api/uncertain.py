"""Detection under uncertain clocks: `detect(..., clock_error="20 ms")`."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.api.arguments import at_hand
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.reports import report
from cepkit.columnar.results.uncertain import _UncertainMatches
from cepkit.diagnosis import clocks
from cepkit.diagnosis.result import WhyNot
from cepkit.errors import StreamError, UnsupportedError
from cepkit.pattern.query import Query
from cepkit.pattern.uncertain import uncertain_query, widened
from cepkit.plan.checks import as_plan
from cepkit.planners import choose as choosing
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import EventColumns
from cepkit.stream.lateness import exact_microseconds
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream

_MOST = timedelta(days=3650) // timedelta(microseconds=1)


def detect_uncertain(
    stream: Stream,
    query: Query,
    plan: Any,
    clock_error: str | timedelta,
    *,
    limit: int | None = None,
) -> Matches:
    """Return the possible matches of a query; see `detect`."""
    schema = stream.schema
    shown, query = query, uncertain_query(query, schema.time)
    if schema.by_arrival:
        raise UnsupportedError(
            "clock_error= with events of equal time in the order of arrival",
            hint="leave ties='arrival' out of events(...)",
        )
    own = column_of(clock_error, stream)
    stream = at_hand(stream, (query,), own, option="clock_error=")
    columns = stream.columns({*attributes_read(query), *query.computed_from, *own})
    errors = errors_of(clock_error, columns, schema)
    wide = widened(query, int(np.max(errors, initial=0)))
    planned = choosing.plan_in_memory(wide, columns) if plan is None else as_plan(plan, wide)
    report(columns, shown)
    return _UncertainMatches(stream, (shown, query), planned, errors, columns, limit=limit)


def column_of(clock_error: str | timedelta, stream: Stream) -> tuple[str, ...]:
    """Return the column with the errors, if there is one."""
    return tuple(name for name in stream.column_names if name == clock_error)


def errors_of(
    clock_error: str | timedelta, columns: EventColumns, schema: Schema
) -> int | npt.NDArray[np.int64]:
    """Return the error of all clocks, or of each event, in microseconds, rounded up.

    Raises:
        StreamError: An error is missing, negative, too large, or not a duration.
    """
    name = str(clock_error)
    if name not in columns.attributes:
        return exact_microseconds("clock_error", clock_error)
    column = columns.attributes[name]
    unit = schema.microseconds if column.kind in ("integer", "float") else 1
    if unit is None or column.kind not in ("integer", "float", "duration"):
        raise StreamError(
            f"clock_error='{name}', a column of the kind {column.kind}",
            expected="durations, or numbers in the unit of times that are numbers",
        )
    if column.missing().any():
        raise StreamError(
            f"clock_error='{name}', which has no value for some events",
            expected="a value for each event, 0 for an exact clock",
        )
    values: npt.NDArray[Any] = column.values
    values = values * unit if unit != 1 else values
    if len(values) and not (values.min() >= 0 and values.max() <= _MOST):
        at = values.min() if values.min() < 0 else values.max()
        raise StreamError(
            f"clock_error='{name}' of {_text(float(at))} microseconds",
            expected="0 to 3650 days",
        )
    rounded: npt.NDArray[np.int64] = np.ceil(values).astype(np.int64)
    return rounded


def _text(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else str(value)


def with_clocks(
    answer: WhyNot, stream: Stream, query: Query, clock_error: str | timedelta
) -> WhyNot:
    """Return an answer of `why_not` with notes on the clocks."""
    schema = stream.schema
    columns = stream.columns({*attributes_read(query), *column_of(clock_error, stream)})
    errors = errors_of(clock_error, columns, schema)
    return clocks.with_clocks(
        answer,
        uncertain_query(query, schema.time),
        schema.time,
        lambda event: errors if isinstance(errors, int) else int(errors[event]),
    )
