"""Expressions evaluated over columns of events, all rows at once (NumPy).

The profile measures with it, the engine filters with it, and tests compare kernels with it.
Cost: one pass over the rows for each node of the expression.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

import numpy as np

from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern.durations import in_microseconds
from cepkit.pattern.evaluation.kinds import constant_kind
from cepkit.pattern.evaluation.operations import Truth, compare, computed
from cepkit.pattern.moments import since_1970
from cepkit.stream.columns import Column

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
