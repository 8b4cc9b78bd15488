"""What operators and functions do to whole columns: arithmetic, comparison, calls.

Missing values stay missing (conditions.py says what else is), in every kind of column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError
from cepkit.pattern import functions
from cepkit.pattern.conditions import ComparisonOperator, Expression
from cepkit.pattern.correlation import correlation
from cepkit.stream.columns import MISSING_INTEGER, Column

Truth = npt.NDArray[np.bool_]

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


def arithmetic(operator: str, left: Column, right: Column, place: Expression) -> Column:
    """Return `left operator right` for each row.

    Raises:
        PatternError: A side holds no numbers; the error points at `place`.
    """
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


def call(function: str, given: list[Column], place: Expression) -> Column:
    """Return a built-in or registered function of columns for each row.

    Raises:
        PatternError: An argument or the answer is not what it should be.
    """
    if function not in functions.BUILTINS:
        return _call_registered(function, given, place)
    if function == "corr":
        return correlation(given[0], given[1], place)
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


def compare(operator: ComparisonOperator, left: Column, right: Column, place: Expression) -> Truth:
    """Return for each row whether `left operator right` is true.

    Raises:
        PatternError: The sides hold what cannot be compared.
    """
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
        return (x < y) | (x > y) if operator == "!=" else np.asarray(_COMPARE[operator](x, y))
    held: Truth = _COMPARE[operator](left.values, right.values)
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
