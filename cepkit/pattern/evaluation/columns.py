"""Expressions evaluated over columns of events, all rows at once (NumPy).

The profile measures with it, the engine filters with it, and tests compare kernels with it.
Missing values stay missing in every kind of column; conditions.py lists all missing results.
Cost: one pass over the rows for each node of the expression.

Functions of texts are computed once for each distinct value, or each distinct combination of
values: events have few distinct texts, and Python computes with one text at a time. Cost: O(n) for
one column of n texts beside constants, O(n log n) for several, and a call for each combination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.functions.contract import (
    Function,
    OnArrays,
    OnInstants,
    OnMembers,
    OnNumbers,
    OnTexts,
    Registered,
    Whole,
)
from cepkit.pattern.evaluation.functions.registered import function_of, refusal
from cepkit.pattern.evaluation.kinds import (
    as_floats,
    check_comparable,
    column_kind,
    constant_kind,
    rounded,
)
from cepkit.pattern.moments import moments, since_1970
from cepkit.pattern.policies import in_microseconds
from cepkit.stream.columns import MISSING_INTEGER, NO_TEXTS, Column, Kind

Codes = npt.NDArray[np.integer]
Read: TypeAlias = Callable[[str, str], Column]
"""Returns the column of (variable, attribute), one row for each candidate."""


def truth(condition: c.Expression, read: Read, size: int) -> Truth:
    """Return for each row whether `condition` is true.

    Args:
        condition: A condition from `rewrite.without_not`.
        read: Returns the columns, each of `size` rows.

    Raises:
        PatternError: A comparison or a function does not take its operands, as a text where a
            number belongs.
    """
    return np.broadcast_to(_truth(condition, read), (size,))


def _truth(condition: c.Expression, read: Read) -> Truth:
    match condition:
        case c.AllOf(items):
            result = _truth(items[0], read)
            for item in items[1:]:
                result = result & _truth(item, read)
            return result
        case c.AnyOf(items):
            result = _truth(items[0], read)
            for item in items[1:]:
                result = result | _truth(item, read)
            return result
        case c.Comparison(operator, left, right):
            return compare(operator, value(left, read), value(right, read), condition)
        case c.InList(operand, choices, negated):
            operand_value = value(operand, read)
            equal: c.ComparisonOperator = "!=" if negated else "="
            result = compare(equal, operand_value, value(choices[0], read), condition)
            for choice in choices[1:]:
                one = compare(equal, operand_value, value(choice, read), condition)
                result = (result & one) if negated else (result | one)
            return result
        case c.IsNull(operand, negated):
            missing = value(operand, read).missing()
            return ~missing if negated else missing
        case c.Literal(constant):
            return np.array([constant is True])
        case c.ValueNode() | c.Between() | c.Complement():
            raise AssertionError("not a condition in the form that rewrite.without_not gives")
        case _:
            assert_never(condition)


def value(expression: c.Expression, read: Read) -> Column:
    """Return the value of `expression` for each row; constants as a column of one row.

    Raises:
        PatternError: A part does not take its operands.
        UnsupportedError: The expression has a set function, which needs the engine.
    """
    match expression:
        case c.Literal(constant):
            return _constant(constant, expression.zone)
        case c.Attribute(variable, name):
            return read(variable, name)
        case c.Negative() | c.Arithmetic() | c.Call():
            return computed(expression, [value(part, read) for part in c.children(expression)])
        case c.Aggregate(function):
            raise UnsupportedError(f"{function}() of a set of events cannot be evaluated here")
        case c.ConditionNode():
            raise PatternError("a condition instead of a value", span=expression.span)
        case _:
            assert_never(expression)


def _constant(constant: c.Constant, zone: str | None) -> Column:
    kind = constant_kind(constant)
    match constant:
        case None:
            return Column(kind, np.array([np.nan]), has_missing=True)
        case bool():
            return Column(kind, np.array([constant], dtype=np.int8))
        case int() | float():
            dtype = np.int64 if kind == "integer" else np.float64
            return Column(kind, np.array([constant], dtype=dtype))
        case str():
            texts = np.array([constant], dtype=object)
            return Column(kind, np.zeros(1, dtype=np.int32), texts)
        case datetime():
            return Column(kind, np.array([since_1970(constant, zone)], dtype=np.int64))
        case timedelta():
            return Column(kind, np.array([in_microseconds(constant)], dtype=np.int64))
        case _:
            assert_never(constant)


def of_distinct(
    compute: Callable[[Sequence[Any]], Any],
    kind: Kind,
    arguments: Sequence[Column],
    many: Callable[[Sequence[tuple[Any, ...]]], Sequence[Any]] | None = None,
) -> Column:
    """Return the value of `compute` for each row.

    Args:
        compute: Takes Python's own values, none of them missing; None stands for a missing result.
        kind: The kind of the result.
        arguments: Columns of one length, or of one row.
        many: Computes all at once, in place of `compute`.
    """
    rows: Codes = np.zeros(1, dtype=np.int64)
    combinations: list[tuple[Any, ...]] = [()]
    for column in arguments:
        codes, values = _coded(column)
        if len(combinations) == 1:
            rows = np.broadcast_to(codes, np.broadcast_shapes(rows.shape, codes.shape))
            combinations = [(*combinations[0], value) for value in values]
        else:
            pair_codes = rows.astype(np.int64) * len(values) + codes
            present, rows = np.unique(pair_codes, return_inverse=True)
            pairs = (divmod(pair, len(values)) for pair in present.tolist())
            combinations = [(*combinations[one], values[other]) for one, other in pairs]
    if many is None:
        results = [None if None in each else compute(each) for each in combinations]
    else:
        answers = iter(many([each for each in combinations if None not in each]))
        results = [None if None in each else next(answers) for each in combinations]
    return _column(kind, results, rows)


def _coded(column: Column) -> tuple[Codes, list[Any]]:
    """Return a code for each row, and the distinct values by code, None for missing."""
    texts = column.dictionary
    if column.kind == "text" and len(texts) <= len(column.values):
        codes: Codes = column.values  # type: ignore[assignment]
        return np.where(codes < 0, len(texts), codes), [*texts, None]
    present, codes = np.unique(column.values, return_inverse=True)
    missing = Column(column.kind, present).missing()
    values: list[Any] = present.tolist()
    match column.kind:
        case "text":
            values = [None if code < 0 else texts[code] for code in values]
        case "boolean":
            values = [value == 1 for value in values]
        case "float" | "integer" | "timestamp" | "duration" | "null":
            pass
        case "array":
            raise AssertionError("arrays are not taken one by one")
        case _:
            assert_never(column.kind)
    return codes, [None if absent else value for value, absent in zip(values, missing, strict=True)]


def _column(kind: Kind, results: Sequence[Any], rows: Codes) -> Column:
    """Return the column of the results; `rows` has the number of a result for each row."""
    has_missing = None in results
    match kind:
        case "text":
            texts = sorted({text for text in results if text is not None})
            codes = {text: code for code, text in enumerate(texts)}
            plain = np.array([codes.get(text, -1) for text in results], dtype=np.int32)
            return Column(kind, plain[rows], np.array(texts, dtype=object), has_missing)
        case "boolean":
            truths = np.array([-1 if one is None else one for one in results], dtype=np.int8)
            return Column(kind, truths[rows], NO_TEXTS, has_missing)
        case "integer" | "timestamp" | "duration":
            filled = [MISSING_INTEGER if one is None else one for one in results]
            return Column(kind, np.array(filled, dtype=np.int64)[rows], NO_TEXTS, has_missing)
        case "float" | "null":
            numbers = np.array([np.nan if one is None else one for one in results], dtype=float)
            return Column(kind, numbers[rows], NO_TEXTS, has_missing)
        case "array":
            raise AssertionError("no function of texts gives arrays")
        case _:
            assert_never(kind)


Truth = npt.NDArray[np.bool_]

_COMPARE: dict[c.ComparisonOperator, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}


def computed(node: c.Negative | c.Arithmetic | c.Call, operands: Sequence[Column]) -> Column:
    """Return the value of a function or an operator for each row.

    Raises:
        PatternError: The function does not take an argument, or a user's function returns
            anything but numbers or truth values.
    """
    function = function_of(node)
    form = function.form
    if isinstance(form, Registered):
        return _call_registered(node, form, operands)
    if isinstance(form, OnMembers):
        return form.column(operands)
    kinds = [column.kind for column in operands]
    result_kind = function.kind(kinds)
    if result_kind is None:
        raise refusal(node, kinds)
    kind = column_kind(result_kind)
    if kind == "null":
        return _nothing(*operands)
    match form:
        case OnNumbers(column):
            whole = function.whole(kinds)
            if whole is not None:
                return _whole(function, whole, kind, operands)
            numbers = [as_floats(one) for one in operands]
            with np.errstate(all="ignore"):
                result = function.of(column, numbers)
            return rounded(result) if kind == "duration" else Column(kind, result, has_missing=True)
        case OnInstants(whole):
            return _whole(function, whole, kind, operands)
        case OnTexts(scalar, many):
            return of_distinct(lambda values: function.of(scalar, values), kind, operands, many)
        case OnArrays(column):
            answer: Column = column(*operands, node)
            return answer
        case _:
            assert_never(form)


def _nothing(*operands: Column) -> Column:
    """Return a column of missing values."""
    size = max(len(column.values) for column in operands)
    return Column("null", np.full(size, np.nan), has_missing=True)


def _whole(function: Function, whole: Whole, kind: Kind, operands: Sequence[Column]) -> Column:
    values = [column.values for column in operands]
    missing: Any = False
    for column in operands:
        if column.has_missing:
            missing = missing | column.missing()
    with np.errstate(all="ignore"):
        result = function.of(whole.column, values)
        if whole.lost is not None:
            missing = missing | whole.lost(*values, result) | (result == MISSING_INTEGER)
    has_missing = bool(np.any(missing))
    if has_missing:
        result = np.where(missing, MISSING_INTEGER, result)
    return Column(kind, result, has_missing=has_missing)


def _call_registered(
    node: c.Negative | c.Arithmetic | c.Call, form: Registered, operands: Sequence[Column]
) -> Column:
    size = max((len(column.values) for column in operands), default=1)
    arguments: list[npt.NDArray[Any]] = []
    for column in operands:
        if column.kind == "text":
            texts = np.append(column.dictionary, [None])  # code -1 is the last: None
            plain: npt.NDArray[Any] = texts[column.values]
        elif column.kind == "array":
            plain = column.values
        elif column.kind == "timestamp":
            plain = column.values.view("datetime64[us]")  # NaT has the bits of a missing integer
        elif column.kind == "duration":
            plain = column.values.view("timedelta64[us]")
        else:
            plain = as_floats(column)
        arguments.append(plain if len(plain) == size else np.repeat(plain, size, axis=0))
    answer = np.asarray(form.function(*arguments))
    if answer.shape != (size,) or answer.dtype.kind not in "bifu":
        raise PatternError(
            f"{function_of(node).name} returned {answer.dtype} of shape {answer.shape}",
            expected=f"numbers or truth values of shape ({size},)",
            span=node.span,
        )
    if answer.dtype.kind == "b":
        return Column("boolean", answer.astype(np.int8))
    return Column("float", answer.astype(np.float64), has_missing=True)


def compare(
    operator: c.ComparisonOperator, left: Column, right: Column, place: c.Comparison | c.InList
) -> Truth:
    """Return for each row whether `left operator right` is true.

    Raises:
        PatternError: The kinds of the sides cannot be compared.
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
        # In NumPy NaN differs from everything; here a missing value differs from nothing.
        return (x < y) | (x > y) if operator == "!=" else np.asarray(_COMPARE[operator](x, y))
    result: Truth = _COMPARE[operator](left.values, right.values)
    for side in (left, right):
        if side.has_missing:
            result = result & ~side.missing()
    return result


def common_codes(left: Column, right: Column) -> tuple[Column, Column]:
    """Return two columns of texts with codes into one sorted dictionary."""
    if left.dictionary is right.dictionary:
        return left, right
    texts = np.array(sorted({*left.dictionary, *right.dictionary}), dtype=object)
    recoded = []
    for column in (left, right):
        codes = np.searchsorted(texts, column.dictionary).astype(np.int32)
        codes = np.append(codes, np.int32(-1))  # code -1, missing, stays -1
        recoded.append(Column("text", codes[column.values], texts, column.has_missing))
    return recoded[0], recoded[1]


def as_times(texts: Column, place: c.Expression | None = None) -> Column:
    """Return texts as times.

    Raises:
        PatternError: A text is no time; the error points at `place`.
    """
    codes = np.append(moments(texts.dictionary.tolist(), place), MISSING_INTEGER)
    values = codes[texts.values]
    return Column("timestamp", values, has_missing=bool((values == MISSING_INTEGER).any()))
