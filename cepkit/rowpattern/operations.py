"""The operators and functions, over Arrow columns and over single values.

A table defines both versions. A result from a missing value is missing, and so is a division by
zero; AND and OR follow SQL's three-valued logic. The column version checks kinds first: the value
version runs only if they fit. Rare operations on single values are left to Arrow. Functions of a
text are those of conditions; of numbers they are not: SQL tells NaN from NULL, has decimals, and a
number beyond 64 bits is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepkit.pattern.evaluation.functions import texts
from cepkit.pattern.evaluation.functions.contract import Function, OnTexts

INTEGER_DIVISION = "a whole number divided by a whole number"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator or a function.

    Attributes:
        columns: The version for Arrow columns and scalars.
        values: The version for Python values, None if one is missing; None uses `columns`.
        least: The least number of arguments.
        most: The greatest number; None for any.
        strict: Whether a missing argument makes the result missing; `values` then never gets one.
    """

    columns: Callable[..., Any]
    values: Callable[..., Any] | None = None
    least: int = 2
    most: int | None = 2
    strict: bool = True

    def on_values(self, *arguments: Any) -> Any:
        """Return the result for single values."""
        if self.strict and None in arguments:
            return None
        if self.values is None:
            return self.columns(*map(pa.scalar, arguments)).as_py()
        return self.values(*arguments)


def _numbers(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the operator for numbers of two types: with a float, a decimal becomes a float."""

    def on_numbers(a: Any, b: Any) -> Any:
        if isinstance(a, Decimal) and isinstance(b, float):
            return operator(float(a), b)
        if isinstance(b, Decimal) and isinstance(a, float):
            return operator(a, float(b))
        return operator(a, b)

    return on_numbers


def _divided(a: Any, b: Any) -> Any:
    if pa.types.is_integer(a.type) and pa.types.is_integer(b.type):
        raise pa.ArrowNotImplementedError(INTEGER_DIVISION)
    return pc.divide(_floats(a), _nonzero(_floats(b)))


def _nonzero(divisor: Any) -> Any:
    zero = pc.equal(divisor, pa.scalar(0, divisor.type))
    return pc.if_else(zero, pa.scalar(None, divisor.type), divisor)


def _floats(value: Any) -> Any:
    kind = value.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise pa.ArrowNotImplementedError(f"a number is needed, not {kind}")
    return pc.cast(value, pa.float64())


def _whole(value: Any) -> Any:
    if not pa.types.is_integer(value.type):
        raise pa.ArrowNotImplementedError(f"a whole number is needed, not {value.type}")
    return pc.cast(value, pa.int64())


def _quotient(a: Any, b: Any) -> Any:
    return pc.divide_checked(_whole(a), _nonzero(_whole(b)))


def _remainder(a: Any, b: Any) -> Any:
    a, b = _whole(a), _whole(b)
    return pc.subtract(a, pc.multiply(_quotient(a, b), b))


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)


def _texts(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of texts, which refuses other values."""

    def on_texts(*columns: Any) -> Any:
        for column in columns:
            kind = column.type
            if not any(is_kind(kind) for is_kind in _TEXTS):
                raise pa.ArrowNotImplementedError(f"a text is needed, not {kind}")
        return function(*(pc.cast(column, pa.string()) for column in columns))

    return on_texts


def _of_text(function: Function, kind: pa.DataType) -> Operation:
    """Return a function of a text that conditions have, computed once for each distinct text."""
    assert isinstance(function.form, OnTexts)
    scalar = function.form.scalar

    def on_column(column: Any) -> Any:
        if isinstance(column, pa.Scalar):
            return pa.scalar(scalar(column.as_py()) if column.is_valid else None, kind)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        distinct = column.dictionary_encode()
        return pa.array(map(scalar, distinct.dictionary.to_pylist()), kind).take(distinct.indices)

    return Operation(_texts(on_column), scalar, 1, 1)


def _concatenated(*columns: Any) -> Any:
    return pc.binary_join_element_wise(*columns, pa.scalar("", pa.string()))


def _joined(separator: Any, *columns: Any) -> Any:
    return pc.binary_join_element_wise(*columns, separator, null_handling="skip")


def _like(column: Any, pattern: Any) -> Any:
    # Arrow treats a backslash as an escape; SQL only with ESCAPE.
    return pc.match_like(column, pattern.as_py().replace("\\", "\\\\"))


def _rounded(value: Any, digits: Any = None) -> Any:
    places = 0 if digits is None else digits.as_py()
    return pc.round(value, ndigits=places, round_mode="half_towards_infinity")


def _sign_kept(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function of floats with a null for a result that is not finite."""

    def column(value: Any) -> Any:
        result = function(_floats(value))
        return pc.if_else(pc.is_finite(result), result, pa.scalar(None, pa.float64()))

    return column


def _case_columns(*parts: Any) -> Any:
    *pairs, otherwise = parts
    choices = [(pairs[i], pairs[i + 1]) for i in range(len(pairs) - 2, -1, -2)]
    return reduce(
        lambda rest, pair: pc.if_else(pc.fill_null(_truth(pair[0]), False), pair[1], rest),
        choices,
        otherwise,
    )


def _case(*parts: Any) -> Any:
    *pairs, otherwise = parts
    for i in range(0, len(pairs), 2):
        if pairs[i] is True:
            return pairs[i + 1]
    return otherwise


def _truth(value: Any) -> Any:
    if pa.types.is_null(value.type):
        return pc.cast(value, pa.bool_())
    if not pa.types.is_boolean(value.type):
        raise pa.ArrowNotImplementedError(f"a truth value is needed, not {value.type}")
    return value


def _truths(function: Callable[..., Any]) -> Callable[..., Any]:
    def on_truths(*values: Any) -> Any:
        return function(*map(_truth, values))

    return on_truths


def _and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def _nullif(a: Any, b: Any) -> Any:
    return pc.if_else(pc.fill_null(pc.equal(a, b), False), pa.scalar(None, a.type), a)


def _least(*values: Any) -> Any:
    return pc.min_element_wise(*values, skip_nulls=False)


def _greatest(*values: Any) -> Any:
    return pc.max_element_wise(*values, skip_nulls=False)


def _time(value: Any) -> Any:
    if not pa.types.is_timestamp(value.type):
        raise pa.ArrowNotImplementedError(f"a time is needed, not {value.type}")
    return value


def _part(function: Callable[[Any], Any]) -> Operation:
    """Return the part of a time that an Arrow function computes."""
    return Operation(lambda value: pc.cast(function(_time(value)), pa.int64()), None, 1, 1)


def _whole_units(unit: Any, start: Any, end: Any) -> Any:
    """Return how many whole units lie between two times: TIMESTAMPDIFF."""
    between = pc.cast(pc.subtract(_time(end), _time(start)), pa.duration("us"))
    return pc.divide(pc.cast(between, pa.int64()), UNITS[unit.as_py()])


def _borders(unit: Any, start: Any, end: Any) -> Any:
    """Return how many borders of units lie between two times: DATEDIFF."""
    ends = [pc.floor_temporal(_time(time), unit=unit.as_py()) for time in (start, end)]
    if unit.as_py() == "day":  # of the clock: one may have 23 hours
        ends = [time if time.type.tz is None else pc.local_timestamp(time) for time in ends]
    return _whole_units(unit, *ends)


UNITS = {
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
"""The microseconds of the units of differences."""


OPERATIONS: dict[str, Operation] = {
    "=": Operation(pc.equal, eq),
    "<>": Operation(pc.not_equal, ne),
    "<": Operation(pc.less, lt),
    "<=": Operation(pc.less_equal, le),
    ">": Operation(pc.greater, gt),
    ">=": Operation(pc.greater_equal, ge),
    "+": Operation(pc.add_checked, _numbers(add)),
    "-": Operation(pc.subtract_checked, _numbers(sub)),
    "*": Operation(pc.multiply_checked, _numbers(mul)),
    "/": Operation(_divided, lambda a, b: float(a) / float(b) if b else None),
    "div": Operation(_quotient),
    "mod": Operation(_remainder),
    "negate": Operation(pc.negate_checked, lambda a: -a, 1, 1),
    "concat": Operation(_texts(_concatenated), None, 1, None),
    "concat_ws": Operation(_texts(_joined), None, 2, None, strict=False),
    "like": Operation(_texts(_like)),
    "and": Operation(_truths(pc.and_kleene), _and, strict=False),
    "or": Operation(_truths(pc.or_kleene), _or, strict=False),
    "not": Operation(_truths(pc.invert), lambda a: not a, 1, 1),
    "is null": Operation(pc.is_null, lambda a: a is None, 1, 1, strict=False),
    "is true": Operation(
        _truths(lambda a: pc.fill_null(a, False)), lambda a: a is True, 1, 1, strict=False
    ),
    "is false": Operation(
        _truths(lambda a: pc.invert(pc.fill_null(a, True))), lambda a: a is False, 1, 1, False
    ),
    "case": Operation(_case_columns, _case, 3, None, strict=False),
    "coalesce": Operation(
        pc.coalesce, lambda *a: next((x for x in a if x is not None), None), 1, None, strict=False
    ),
    "nullif": Operation(_nullif, lambda a, b: None if a == b else a, strict=False),
    "abs": Operation(pc.abs_checked, abs, 1, 1),
    "round": Operation(_rounded, None, 1, 2),
    "floor": Operation(_sign_kept(pc.floor), None, 1, 1),
    "ceil": Operation(_sign_kept(pc.ceil), None, 1, 1),
    "sqrt": Operation(_sign_kept(pc.sqrt), None, 1, 1),
    "ln": Operation(_sign_kept(pc.ln), None, 1, 1),
    "exp": Operation(_sign_kept(pc.exp), None, 1, 1),
    "least": Operation(_least, None, 1, None),
    "greatest": Operation(_greatest, None, 1, None),
    "upper": _of_text(texts.UPPER, pa.string()),
    "lower": _of_text(texts.LOWER, pa.string()),
    "trim": _of_text(texts.TRIM, pa.string()),
    "length": _of_text(texts.LENGTH, pa.int64()),
    "year": _part(pc.year),
    "month": _part(pc.month),
    "day": _part(pc.day),
    "hour": _part(pc.hour),
    "minute": _part(pc.minute),
    "timestampdiff": Operation(_whole_units, None, 3, 3),
    "datediff": Operation(_borders, None, 3, 3),
}
"""The operations by name; names in other dialects are in `SYNONYMS`."""

SYNONYMS = {
    "ceiling": "ceil",
    "char_length": "length",
    "character_length": "length",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "date_diff": "timestampdiff",
}

TYPES: dict[str, pa.DataType] = {
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float64(),
    "FLOAT64": pa.float64(),
    "REAL": pa.float64(),
    "INT": pa.int64(),
    "INTEGER": pa.int64(),
    "BIGINT": pa.int64(),
    "INT64": pa.int64(),
    "VARCHAR": pa.string(),
    "STRING": pa.string(),
    "TEXT": pa.string(),
    "BOOLEAN": pa.bool_(),
    "BOOL": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
    "DATE": pa.date32(),
}
"""The target types of CAST."""


def cast_column(value: Any, kind: pa.DataType) -> Any:
    """Return columns or a scalar as another type; floats become whole numbers toward zero."""
    if pa.types.is_floating(value.type) and pa.types.is_integer(kind):
        value = pc.trunc(value)
    if pa.types.is_date(kind):  # in expressions a date is the time at which it begins
        time = value if pa.types.is_timestamp(value.type) else pc.cast(value, pa.timestamp("us"))
        return pc.floor_temporal(time, unit="day")
    return pc.cast(value, kind)


def comparable(column: pa.Array) -> pa.Array:
    """Return a column in the form of expressions: plain texts, times in microseconds."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return comparable(column.dictionary_decode())
    if pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_date(kind):
        return column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz), safe=False)  # parts are of its clock
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"), safe=False)
    if pa.types.is_integer(kind) and kind != pa.int64():
        return column.cast(pa.int64())
    if pa.types.is_float32(kind):
        return column.cast(pa.float64())
    return column
