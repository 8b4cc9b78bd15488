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
from cepkit.pattern.conditions import (
    Arithmetic,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    InList,
    Negative,
)
from cepkit.pattern.correlation import correlation
from cepkit.pattern.kinds import (
    WHOLE,
    arithmetic_kind,
    call_kind,
    check_comparable,
    column_kind,
    negative_kind,
    word,
)
from cepkit.pattern.moments import moments
from cepkit.stream.columns import MISSING_INTEGER, Column, Kind

Truth = npt.NDArray[np.bool_]

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
        case "integer" | "timestamp" | "duration" | "boolean":
            floats = column.values.astype(np.float64)
            if column.has_missing:
                floats[column.missing()] = np.nan
            return floats
        case _:
            raise PatternError(
                f"{word(column.kind)} stands where a number belongs",
                span=place.span if place is not None else None,
            )


def negative(node: Negative, operand: Column) -> Column:
    """Return minus applied to each row.

    Raises:
        PatternError: It cannot be; the error points at the place.
    """
    kind = column_kind(negative_kind(node, operand.kind))
    if kind in WHOLE:
        zero = Column(kind, np.zeros(1, dtype=np.int64))
        return _whole_arithmetic("-", zero, operand, kind)
    return Column(kind, 0.0 - as_floats(operand), has_missing=True)


def arithmetic(node: Arithmetic, left: Column, right: Column) -> Column:
    """Return `left operator right` for each row.

    Raises:
        PatternError: The sides do not go together; the error points at the place.
    """
    kind, operator = column_kind(arithmetic_kind(node, left.kind, right.kind)), node.operator
    if kind == "null":
        return _nothing(left, right)
    if operator != "/" and left.kind in WHOLE and right.kind in WHOLE:
        return _whole_arithmetic(operator, left, right, kind)
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
    if kind == "duration":
        return rounded(result)
    return Column("float", result, has_missing=True)


def _nothing(*given: Column) -> Column:
    """Return what is computed of a column that has no value at all."""
    size = max(len(column.values) for column in given)
    return Column("null", np.full(size, np.nan), has_missing=True)


def rounded(microseconds: npt.NDArray[np.float64]) -> Column:
    """Return durations of whole microseconds, missing where 64 bits cannot hold them."""
    with np.errstate(invalid="ignore"):
        gone = ~(np.abs(microseconds) < 2.0**63)
    whole = np.rint(np.where(gone, 0.0, microseconds)).astype(np.int64)
    return Column("duration", np.where(gone, MISSING_INTEGER, whole), has_missing=bool(gone.any()))


def _whole_arithmetic(operator: str, left: Column, right: Column, kind: Kind) -> Column:
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
    return Column(kind, result, has_missing=some)


def call(node: Call, given: list[Column]) -> Column:
    """Return a built-in or registered function of columns for each row.

    Raises:
        PatternError: An argument or the answer is not what it should be.
    """
    function = node.function
    if function not in functions.BUILTINS:
        return _call_registered(node, given)
    kind = column_kind(call_kind(node, [column.kind for column in given]))
    if kind == "null":
        return _nothing(*given)
    if function == "corr":
        return correlation(given[0], given[1], node)
    if kind in WHOLE:
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
        return Column(kind, result, has_missing=some)
    numbers = [as_floats(column, node) for column in given]
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


def _call_registered(node: Call, given: list[Column]) -> Column:
    size = max((len(column.values) for column in given), default=1)
    arguments: list[npt.NDArray[Any]] = []
    for column in given:
        if column.kind == "text":
            texts = np.append(column.dictionary, [None])  # code -1 is the last: None
            plain: npt.NDArray[Any] = texts[column.values]
        elif column.kind == "array":
            plain = column.values
        elif column.kind == "timestamp":
            plain = column.values.view("datetime64[us]")  # the mark of missing values is NaT's
        elif column.kind == "duration":
            plain = column.values.view("timedelta64[us]")
        else:
            plain = as_floats(column)
        arguments.append(plain if len(plain) == size else np.repeat(plain, size, axis=0))
    answer = np.asarray(functions.registered_function(node.function)(*arguments))
    if answer.shape != (size,) or answer.dtype.kind not in "bifu":
        raise PatternError(
            f"{node.function} returned {answer.dtype} of shape {answer.shape}",
            expected=f"numbers or truth values of shape ({size},)",
            span=node.span,
        )
    if answer.dtype.kind == "b":
        return Column("boolean", answer.astype(np.int8))
    return Column("float", answer.astype(np.float64), has_missing=True)


def compare(
    operator: ComparisonOperator, left: Column, right: Column, place: Comparison | InList
) -> Truth:
    """Return for each row whether `left operator right` is true.

    Raises:
        PatternError: The sides hold what cannot be compared.
    """
    check_comparable(place, left.kind, right.kind)
    if "null" in (left.kind, right.kind):
        return np.zeros(1, dtype=np.bool_)
    if left.kind == "timestamp" and right.kind == "text":
        right = as_times(right, place)
    elif left.kind == "text" and right.kind == "timestamp":
        left = as_times(left, place)
    if left.kind == right.kind == "text":
        left, right = common_codes(left, right)
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


def as_times(texts: Column, place: Expression | None = None) -> Column:
    """Return the times that texts say.

    Raises:
        PatternError: A text says none; the error points at `place`.
    """
    codes = np.append(moments(texts.dictionary.tolist(), place), MISSING_INTEGER)
    values = codes[texts.values]
    return Column("timestamp", values, has_missing=bool((values == MISSING_INTEGER).any()))
