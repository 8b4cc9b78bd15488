"""Conditions as closures over one binding: Python values, None for a missing one.

The columnar evaluation handles many rows at once; for one row at a time it would cost about a
hundred times as much. Kinds are known before anything runs, so no evaluation looks them up.
Cost: O(nodes of the condition) for each evaluation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.columns import computed
from cepkit.pattern.evaluation.functions.contract import (
    Function,
    OnArrays,
    OnInstants,
    OnMembers,
    OnNumbers,
    OnTexts,
    Registered,
)
from cepkit.pattern.evaluation.functions.registered import computed_kind, function_of
from cepkit.pattern.evaluation.kinds import ValueKind, constant_kind
from cepkit.pattern.moments import moment, since_1970, zone_of
from cepkit.pattern.policies import in_microseconds
from cepkit.stream.columns import MISSING_INTEGER, Column

Value: TypeAlias = Callable[[Sequence[Any]], Any]
"""The value of an expression for a binding, None where it is missing."""

Truth: TypeAlias = Callable[[Sequence[Any]], bool]
"""Whether a condition is true for a binding."""

Kinded: TypeAlias = tuple[Value, ValueKind]
"""A value and its kind; "any" where only a user's function knows."""

Read: TypeAlias = Callable[[c.Attribute | c.Aggregate], Kinded]
"""Returns the reader of an attribute, or the computation of a function of a set."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The value of an array attribute.

    Attributes:
        values: The array, NaN where an item is missing.
        unit: The standardised array, for correlations (`correlation.standardised`).
    """

    values: npt.NDArray[np.float64]
    unit: npt.NDArray[np.float64]


_COMPARE: dict[c.ComparisonOperator, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def truth(condition: c.Expression, read: Read) -> Truth:
    """Return a function of a binding: whether `condition` is true.

    Args:
        condition: A condition from `rewrite.without_not`.
        read: Returns the readers of attributes and of functions of sets.
    """
    match condition:
        case c.AllOf(items):
            parts = tuple(truth(item, read) for item in items)
            return lambda b: all(part(b) for part in parts)
        case c.AnyOf(items):
            parts = tuple(truth(item, read) for item in items)
            return lambda b: any(part(b) for part in parts)
        case c.Comparison(sign, left, right):
            return _comparison(sign, value(left, read), value(right, read), condition)
        case c.InList(operand, choices, negated):
            operand_value = value(operand, read)
            equal: c.ComparisonOperator = "!=" if negated else "="
            choice_values = [value(one, read) for one in choices]
            tests = tuple(_comparison(equal, operand_value, v, condition) for v in choice_values)
            if negated:
                return lambda b: all(test(b) for test in tests)
            return lambda b: any(test(b) for test in tests)
        case c.IsNull(operand, negated):
            inner = value(operand, read)[0]
            return lambda b: (inner(b) is None) is not negated
        case c.Literal(constant):
            return lambda _: constant is True
        case c.ValueNode() | c.Between() | c.Complement():
            raise AssertionError("not a condition in the form that rewrite.without_not gives")
        case _:
            assert_never(condition)


def value(expression: c.Expression, read: Read) -> Kinded:
    """Return a function of a binding that gives the value of `expression`, and its kind."""
    match expression:
        case c.Literal(constant):
            return _constant(constant, expression.zone)
        case c.Attribute() | c.Aggregate():
            return read(expression)
        case c.Negative() | c.Arithmetic() | c.Call():
            return _computed(expression, [value(part, read) for part in c.children(expression)])
        case c.ConditionNode():
            raise AssertionError("checks.py lets no condition stand where a value belongs")
        case _:
            assert_never(expression)


def _comparison(
    sign: c.ComparisonOperator, left: Kinded, right: Kinded, place: c.Expression
) -> Callable[[Sequence[Any]], bool]:
    compare = _COMPARE[sign]
    kinds = (left[1], right[1])
    if "null" in kinds:
        return lambda _: False
    x, y = left[0], right[0]
    if set(kinds) == {"timestamp", "text"}:
        x, y = (_moments(f, zone_of(place)) if kind == "text" else f for f, kind in (left, right))
    elif kinds[0] != kinds[1]:
        # An integer beside a float becomes a float, although Python compares them exactly.
        x, y = (_as_float(f) if kind == "integer" else f for f, kind in (left, right))

    def compared(b: Sequence[Any]) -> bool:
        one, two = x(b), y(b)
        return one is not None and two is not None and compare(one, two)

    return compared


def _computed(node: c.Negative | c.Arithmetic | c.Call, operands: Sequence[Kinded]) -> Kinded:
    kinds = [kind for _, kind in operands]
    function, result = function_of(node), computed_kind(node, kinds)
    compute = _computation(node, function, kinds, result)
    # These two forms decide for themselves about missing values.
    if isinstance(function.form, OnMembers | Registered):
        return (lambda b: compute(*(one(b) for one, _ in operands))), result
    match operands:
        case [(inner, _)]:
            return (lambda b: None if (x := inner(b)) is None else compute(x)), result
        case [(left, _), (right, _)]:

            def of_two(b: Sequence[Any]) -> Any:
                x, y = left(b), right(b)
                return None if x is None or y is None else compute(x, y)

            return of_two, result
        case _:

            def of_many(b: Sequence[Any]) -> Any:
                values = [one(b) for one, _ in operands]
                return None if any(v is None for v in values) else compute(*values)

            return of_many, result


def _computation(
    node: c.Negative | c.Arithmetic | c.Call,
    function: Function,
    kinds: Sequence[ValueKind],
    result: ValueKind,
) -> Callable[..., Any]:
    """Return the function that computes a node from operands that are not missing."""
    form, two = function.form, len(kinds) == 2
    match form:
        case OnNumbers() | OnInstants() if (whole := function.whole(kinds)) is not None:
            exact = whole.scalar
            if two:  # the most frequent case, without a list of arguments
                return lambda x, y: in_64_bits(exact(x, y))
            return lambda *v: in_64_bits(function.of(exact, v))
        case OnNumbers(column, plain):
            finish = rounded if result == "duration" else nan_as_none

            def of_two(x: Any, y: Any) -> Any:
                try:
                    return finish(plain(float(x), float(y)))
                except OverflowError:
                    return overflowing(x, y)

            def of_any(*values: Any) -> Any:
                try:
                    return finish(function.of(plain, [float(one) for one in values]))
                except OverflowError:
                    return overflowing(*values)

            def overflowing(*values: Any) -> Any:
                """Return an infinity, as NumPy and compiled loops do."""
                with np.errstate(all="ignore"):
                    return finish(float(function.of(column, [*map(np.float64, values)])))

            return of_two if two else of_any
        case OnTexts(scalar):
            return lambda *v: function.of(scalar, v)
        case OnArrays(_, scalar):
            return lambda x, y: nan_as_none(scalar(x.unit, y.unit))
        case OnMembers(_, of_present):
            ends: dict[ValueKind, Callable[[Any], Any]] = {
                "integer": in_64_bits,
                "timestamp": in_64_bits,
                "duration": rounded,
                "float": nan_as_none,
            }

            def of_members(*values: Any) -> Any:
                answer = of_present([one for one in values if one is not None])
                return ends[result](answer) if answer is not None and result in ends else answer

            return of_members
        case OnInstants():
            return lambda *_: None  # only NULL is no time
        case Registered():
            return lambda *v: _of_registered(node, [*map(_column, v, kinds)])
        case _:
            assert_never(form)


def _of_registered(node: c.Negative | c.Arithmetic | c.Call, columns: Sequence[Column]) -> Any:
    """Call a user's function, which takes columns, with one row."""
    answer = computed(node, columns)
    result = answer.values[0]
    return bool(result) if answer.kind == "boolean" else nan_as_none(float(result))


def in_64_bits(number: int | None) -> int | None:
    """Return an integer, or None where 64 bits cannot hold it."""
    return number if number is not None and -(2**63) < number < 2**63 else None


def nan_as_none(number: float) -> float | None:
    """Return a float, or None for NaN."""
    return None if math.isnan(number) else number


def rounded(microseconds: float) -> int | None:
    """Return a duration of whole microseconds, half to even; None where 64 bits cannot hold it."""
    return in_64_bits(round(microseconds)) if abs(microseconds) < 2**63 else None


def _column(item: Any, kind: ValueKind) -> Column:
    """Return a column of one row with a value, or with the marker of a missing one."""
    match kind:
        case "text":
            if item is None:
                return Column("text", np.array([-1], dtype=np.int32), has_missing=True)
            texts = np.array([item], dtype=object)
            return Column("text", np.zeros(1, dtype=np.int32), texts)
        case "array":
            row = np.array([np.nan]) if item is None else item.values
            return Column("array", row[None, :], has_missing=item is None)
        case "integer" | "timestamp" | "duration":
            integers = np.array([MISSING_INTEGER if item is None else item], dtype=np.int64)
            return Column(kind, integers, has_missing=item is None)
        case _:
            number = math.nan if item is None else float(item)
            return Column("float", np.array([number]), has_missing=True)


def _constant(constant: c.Constant, zone: str | None) -> Kinded:
    kind = constant_kind(constant)
    value: Any = constant
    match constant:
        case int() if kind == "float":
            value = float(constant)
        case float():
            value = nan_as_none(constant)
        case timedelta():
            value = in_microseconds(constant)
        case datetime():
            value = since_1970(constant, zone)
    return (lambda _: value), kind


def _as_float(inner: Value) -> Value:
    def as_float(b: Sequence[Any]) -> Any:
        value = inner(b)
        return None if value is None else float(value)

    return as_float


def _moments(inner: Value, zone: str | None) -> Value:
    """Return a function that reads a text as a time in microseconds."""

    def of_text(b: Sequence[Any]) -> Any:
        value = inner(b)
        return None if value is None else moment(value, zone)

    return of_text
