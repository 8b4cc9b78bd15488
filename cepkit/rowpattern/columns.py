"""Expressions computed for all rows at once, by Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from cepkit.errors import PatternError, StreamError
from cepkit.rowpattern import expressions as e
from cepkit.rowpattern.operations import INTEGER_DIVISION, OPERATIONS, TYPES, cast_column
from cepkit.stream.reading.arrow import described

Leaves = Callable[[Any], Any]


def evaluate(expression: e.Expression, leaf: Leaves) -> Any:
    """Return an expression as an Arrow array, or as a scalar if it is constant.

    Args:
        leaf: Returns the array of a leaf: of `Here`, or of a bound leaf.

    Raises:
        PatternError: The kinds do not fit.
        StreamError: A number beyond 64 bits, a text that cannot be cast.
    """
    match expression:
        case e.Constant(value):
            return pa.scalar(value)
        case e.Cast(value, kind):
            inner = evaluate(value, leaf)
            return _tried(expression, lambda: cast_column(inner, TYPES[kind]), (inner,))
        case e.Call(name, arguments):
            values = [evaluate(argument, leaf) for argument in arguments]
            _check_zones(expression, values)
            return _tried(expression, lambda: _applied(name, values), values)
        case e.Here() | e.RowValue() | e.Fold() | e.MatchNumber():
            return leaf(expression)
        case e.Column() | e.AllRows() | e.Label():
            raise AssertionError(expression)
        case _:
            assert_never(expression)


def as_array(value: Any, length: int) -> pa.Array:
    """Return a result of `evaluate` as an array."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, length)
    return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value


def _applied(name: str, values: list[Any]) -> Any:
    operation = OPERATIONS[name]
    empty = [pa.types.is_null(value.type) for value in values]
    if operation.strict and any(empty) and len(values) == 2:
        # A null without a type takes the type of the other operand.
        kind = values[empty.index(False)].type if False in empty else pa.int64()
        values = [
            pc.cast(value, kind) if null else value
            for value, null in zip(values, empty, strict=True)
        ]
    return operation.columns(*values)


def _check_zones(expression: e.Call, values: list[Any]) -> None:
    """Refuse a time with a zone beside one without, which are no moments of one clock."""
    times = [value.type for value in values if pa.types.is_timestamp(value.type)]
    zones = sorted({kind.tz for kind in times if kind.tz is not None})
    if zones and any(kind.tz is None for kind in times):
        raise PatternError(
            f"a time without a zone beside one in {zones[0]}",
            expected="both with a zone, as in TIMESTAMP '2024-05-01 09:30:00+00:00'",
            hint=f"frame['t'].dt.tz_localize('{zones[0]}') gives a column a zone",
            span=expression.span,
        )


def _tried(expression: e.Call | e.Cast, compute: Callable[[], Any], values: Any) -> Any:
    try:
        return compute()
    except pa.ArrowInvalid as error:
        raise StreamError(
            f"{e.place_text(expression.span)}: {str(error).splitlines()[0]}"
        ) from error
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, TypeError, AttributeError) as error:
        if INTEGER_DIVISION in str(error):
            raise PatternError(
                INTEGER_DIVISION,
                expected="CAST or DIV: 7 / 2 is 3 in some databases and 3.5 in others",
                hint="write CAST(x AS DOUBLE) / y, or DIV(x, y)",
                span=expression.span,
            ) from None
        kinds = " and ".join(kind_text(value.type) for value in values)
        raise PatternError(
            f"this cannot be computed of {kinds}",
            hint="compare numbers with numbers, texts with texts in single quotes, times with"
            " TIMESTAMP '...', durations with INTERVAL '5' MINUTE",
            span=expression.span,
        ) from None


def kind_text(kind: pa.DataType) -> str:
    """Return the name of an Arrow type's values."""
    if pa.types.is_integer(kind):
        return "whole numbers"
    return "numbers" if pa.types.is_floating(kind) else described(kind)
