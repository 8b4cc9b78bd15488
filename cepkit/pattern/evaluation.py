"""Expressions evaluated over columns of events, all rows at once (NumPy).

The profile measures with it, the engine filters with it, and compiled kernels are judged by it.
Cost: one pass over the rows for each node of the expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern import functions
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
)
from cepkit.stream.columns import MISSING_INTEGER, Column

Read: TypeAlias = Callable[[str, str], Column]
"""Gives the column of (variable, attribute), one row for each candidate."""

Truth: TypeAlias = npt.NDArray[np.bool_]

_INTEGERS = ("integer", "timestamp")
_NUMBERS = ("float", *_INTEGERS, "null")
_COMPARE: dict[ComparisonOperator, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}


def truth(condition: Expression, read: Read, size: int) -> Truth:
    """Return for each row whether `condition` is true.

    Args:
        condition: As `rewrite.without_not` gives it.
        read: Gives the columns, each of `size` rows.
        size: The number of rows.

    Raises:
        PatternError: A comparison or a function is given what it cannot take, as a text where a
            number belongs.
    """
    return np.broadcast_to(_truth(condition, read), (size,))


def _truth(condition: Expression, read: Read) -> Truth:
    match condition:
        case AllOf(items):
            held = _truth(items[0], read)
            for item in items[1:]:
                held = held & _truth(item, read)
            return held
        case AnyOf(items):
            held = _truth(items[0], read)
            for item in items[1:]:
                held = held | _truth(item, read)
            return held
        case Comparison(operator, left, right):
            return _compare(operator, value(left, read), value(right, read), condition)
        case InList(operand, choices, negated):
            given = value(operand, read)
            equal: ComparisonOperator = "!=" if negated else "="
            held = _compare(equal, given, value(choices[0], read), condition)
            for choice in choices[1:]:
                one = _compare(equal, given, value(choice, read), condition)
                held = (held & one) if negated else (held | one)
            return held
        case IsNull(operand, negated):
            missing = value(operand, read).missing()
            return ~missing if negated else missing
        case Literal(constant):
            return np.array([constant is True])
        case _:
            raise AssertionError("not a condition in the form that rewrite.without_not gives")


def value(expression: Expression, read: Read) -> Column:
    """Return the value of `expression` for each row; constants as a column of one row.

    Raises:
        PatternError: A part is given what it cannot take.
        UnsupportedError: A set function: sets of events are the engine's business.
    """
    match expression:
        case Literal(constant):
            return _constant(constant)
        case Attribute(variable, name):
            return read(variable, name)
        case Negative(operand):
            return _arithmetic("-", _constant(0), value(operand, read), expression)
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, value(left, read), value(right, read), expression)
        case Call(function, arguments):
            given = [value(argument, read) for argument in arguments]
            return _call(function, given, expression)
        case Aggregate(function):
            raise UnsupportedError(f"{function}() of a set of events cannot be evaluated here")
        case _:
            raise PatternError("a condition stands where a value belongs", span=expression.span)


def _constant(constant: int | float | str | bool | None) -> Column:
    match constant:
        case None:
            return Column("null", np.array([np.nan]), has_missing=True)
        case bool():
            return Column("boolean", np.array([constant], dtype=np.int8))
        case int():
            if abs(constant) >= 2**63:
                return Column("float", np.array([float(constant)]))
            return Column("integer", np.array([constant], dtype=np.int64))
        case float():
            return Column("float", np.array([constant]))
        case str():
            texts = np.array([constant], dtype=object)
            return Column("text", np.zeros(1, dtype=np.int32), texts)
        case _:
            assert_never(constant)


def as_floats(column: Column, place: Expression | None = None) -> npt.NDArray[np.float64]:
    """Return the numbers (or truth values) of `column` as floats with NaN for missing.

    Raises:
        PatternError: The column holds texts or arrays; the error points at `place`.
    """
    match column.kind:
        case "float" | "null":
            return column.values  # type: ignore[return-value]
        case "integer" | "timestamp" | "boolean":
            floats = column.values.astype(np.float64)
            if column.has_missing:
                floats[column.missing()] = np.nan
            return floats
        case _:
            raise PatternError(
                f"{'a text' if column.kind == 'text' else 'an array'} where a number belongs",
                span=place.span if place is not None else None,
            )


def _arithmetic(operator: str, left: Column, right: Column, place: Expression) -> Column:
    for side in (left, right):
        if side.kind not in _NUMBERS:
            raise PatternError(
                f"'{operator}' is applied to a {side.kind}", expected="numbers", span=place.span
            )
    if operator != "/" and left.kind in _INTEGERS and right.kind in _INTEGERS:
        return _integer_arithmetic(operator, left, right)
    x, y = as_floats(left), as_floats(right)
    with np.errstate(all="ignore"):
        match operator:
            case "+":
                result = x + y
            case "-":
                result = x - y
            case "*":
                result = x * y
            case "/":
                result = np.where(y == 0, np.nan, x / y)
            case _:
                result = np.fmod(x, y)  # of zero: NaN, that is missing
    return Column("float", result, has_missing=True)


def _integer_arithmetic(operator: str, left: Column, right: Column) -> Column:
    x: npt.NDArray[np.int64] = left.values  # type: ignore[assignment]
    y: npt.NDArray[np.int64] = right.values  # type: ignore[assignment]
    missing = (left.has_missing and left.missing()) | (right.has_missing and right.missing())
    with np.errstate(all="ignore"):
        match operator:
            case "+":
                result = x + y
                missing = missing | (((x ^ result) & (y ^ result)) < 0)
            case "-":
                result = x - y
                missing = missing | (((x ^ y) & (x ^ result)) < 0)
            case "*":
                result = x * y
                back = result // np.where(x == 0, 1, x)
                missing = missing | ((x != 0) & (back != y)) | ((x == -1) & (y == MISSING_INTEGER))
            case _:
                missing = missing | (y == 0)
                result = np.fmod(x, np.where(y == 0, 1, y))
    some = bool(np.any(missing))
    if some:
        result = np.where(missing, MISSING_INTEGER, result)
    return Column("integer", result, has_missing=some)


def _call(function: str, given: list[Column], place: Expression) -> Column:
    if function not in functions.BUILTINS:
        return _call_registered(function, given, place)
    if function == "corr":
        return _correlation(given[0], given[1], place)
    if function in ("abs", "least", "greatest") and all(c.kind in _INTEGERS for c in given):
        missing: Truth = np.zeros(1, dtype=np.bool_)
        for column in given:
            if column.has_missing:
                missing = missing | column.missing()
        result = given[0].values.astype(np.int64)
        if function == "abs":
            result = np.abs(result)
        for column in given[1:]:
            pick = np.minimum if function == "least" else np.maximum
            result = pick(result, column.values)
        some = bool(np.any(missing))
        if some:
            result = np.where(missing, MISSING_INTEGER, result)
        return Column("integer", result, has_missing=some)
    for column in given:
        if column.kind not in _NUMBERS:
            found = f"{function} of a {column.kind}"
            raise PatternError(found, expected="numbers", span=place.span)
    numbers = [as_floats(column, place) for column in given]
    with np.errstate(all="ignore"):
        match function:
            case "abs":
                answer = np.abs(numbers[0])
            case "sqrt":
                answer = np.sqrt(numbers[0])
            case "log":
                answer = np.where(numbers[0] > 0, np.log(numbers[0]), np.nan)
            case _:
                answer = numbers[0]
                for other in numbers[1:]:
                    # minimum and maximum of NumPy keep NaN: a missing argument makes it missing
                    answer = (np.minimum if function == "least" else np.maximum)(answer, other)
    return Column("float", answer, has_missing=True)


def standardised(column: Column, place: Expression | None = None) -> npt.NDArray[np.float64]:
    """Return arrays such that the correlation of two is the sum of products of their values.

    Each row is the length of the array, then its values less their mean, divided by their norm,
    zero where there is no value. Rows whose correlation is missing (no values, all alike) are NaN.

    Raises:
        PatternError: The column does not hold arrays of numbers.
    """
    if column.kind != "array":
        raise PatternError(
            f"corr of a {column.kind}",
            expected="an attribute whose values are arrays of numbers",
            span=place.span if place is not None else None,
        )
    matrix: npt.NDArray[np.float64] = column.values  # type: ignore[assignment]
    present = ~np.isnan(matrix)
    lengths = present.sum(axis=1)
    with np.errstate(all="ignore"):
        means = np.where(present, matrix, 0.0).sum(axis=1) / lengths
        centred = np.where(present, matrix - means[:, None], 0.0)
        norms = np.sqrt((centred * centred).sum(axis=1))
        # A constant array need not give exactly zero once its mean is rounded.
        constant = np.where(present, matrix, np.inf).min(axis=1, initial=np.inf) == np.where(
            present, matrix, -np.inf
        ).max(axis=1, initial=-np.inf)
        unit = centred / norms[:, None]
    unit[constant | (lengths == 0) | ~np.isfinite(norms)] = np.nan
    return np.column_stack((lengths.astype(np.float64), unit))


def _correlation(left: Column, right: Column, place: Expression) -> Column:
    x, y = standardised(left, place), standardised(right, place)
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(m, ((0, 0), (0, width - m.shape[1]))) for m in (x, y))
    result = np.einsum("ij,ij->i", *np.broadcast_arrays(x[:, 1:], y[:, 1:]))
    result = np.where(x[:, 0] == y[:, 0], np.clip(result, -1.0, 1.0), np.nan)
    return Column("float", result, has_missing=True)


def _call_registered(function: str, given: list[Column], place: Expression) -> Column:
    size = max((len(column.values) for column in given), default=1)
    arguments: list[npt.NDArray[Any]] = []
    for column in given:
        if column.kind == "text":
            texts = np.append(column.dictionary, [None])  # code -1 is the last: None
            plain: npt.NDArray[Any] = texts[column.values]
        elif column.kind == "array":
            plain = column.values
        else:
            plain = as_floats(column)
        arguments.append(plain if len(plain) == size else np.repeat(plain, size, axis=0))
    answer = np.asarray(functions.registered_function(function)(*arguments))
    if answer.shape != (size,) or answer.dtype.kind not in "bifu":
        raise PatternError(
            f"{function} returned {answer.dtype} of shape {answer.shape}",
            expected=f"numbers or truth values of shape ({size},)",
            span=place.span,
        )
    if answer.dtype.kind == "b":
        return Column("boolean", answer.astype(np.int8))
    return Column("float", answer.astype(np.float64), has_missing=True)


def _compare(operator: ComparisonOperator, left: Column, right: Column, place: Expression) -> Truth:
    compare = _COMPARE[operator]
    if "null" in (left.kind, right.kind):
        return np.zeros(1, dtype=np.bool_)
    if left.kind == "timestamp" and right.kind == "text":
        right = _as_timestamps(right, place)
    elif left.kind == "text" and right.kind == "timestamp":
        left = _as_timestamps(left, place)
    if left.kind == right.kind == "text":
        left, right = common_codes(left, right)
    elif not (left.kind in _NUMBERS and right.kind in _NUMBERS) and not (
        left.kind == right.kind == "boolean"
    ):
        raise PatternError(
            f"a {left.kind} is compared with a {right.kind}",
            expected="two numbers, two texts, two truth values or two times",
            span=place.span,
        )
    if "float" in (left.kind, right.kind):
        x, y = as_floats(left), as_floats(right)
        # NaN differs from everything in NumPy; missing differs from nothing here.
        return (x < y) | (x > y) if operator == "!=" else np.asarray(compare(x, y))
    held: Truth = compare(left.values, right.values)
    for side in (left, right):
        if side.has_missing:
            held = held & ~side.missing()
    return held


def common_codes(left: Column, right: Column) -> tuple[Column, Column]:
    """Return two columns of texts with codes into one dictionary, so that codes compare."""
    if left.dictionary is right.dictionary:
        return left, right
    texts = np.array(sorted({*left.dictionary, *right.dictionary}), dtype=object)
    recoded = []
    for column in (left, right):
        codes = np.searchsorted(texts, column.dictionary).astype(np.int32)
        codes = np.append(codes, np.int32(-1))  # code -1, missing, is the last: stays -1
        recoded.append(Column("text", codes[column.values], texts, column.has_missing))
    return recoded[0], recoded[1]


def _as_timestamps(texts: Column, place: Expression) -> Column:
    try:
        moments = texts.dictionary.astype("datetime64[us]").astype(np.int64)
    except ValueError as error:
        raise PatternError(
            "a time is compared with a text that is none",
            expected="a time such as '2024-05-01 09:30:00'",
            span=place.span,
        ) from error
    codes = np.append(moments, MISSING_INTEGER)
    return Column("timestamp", codes[texts.values], has_missing=texts.has_missing)
