"""When a float can stand for an integer: inner loops compute in floats alone.

A float holds every integer below 2^53. Where a condition could see a greater one it is left to
`evaluation`, which computes in 64-bit integers; so no result depends on the inner loop taken. So
is what loops have no words for: durations that are rounded, and texts that are read as times.
"""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from cepkit.pattern.conditions import (
    Arithmetic,
    Attribute,
    Comparison,
    Expression,
    InList,
    Literal,
    Negative,
    children,
)
from cepkit.pattern.durations import in_microseconds
from cepkit.pattern.evaluation import Read
from cepkit.pattern.kind_checks import kind_of
from cepkit.pattern.kinds import WHOLE, ValueKind
from cepkit.pattern.operations import as_floats
from cepkit.stream.columns import Column

Floats = npt.NDArray[np.float64]

EXACT = 2.0**53
"""Below it floats hold every integer; it is itself what 2^53 + 1 becomes."""


def as_exact_floats(column: Column) -> Floats | None:
    """Return the numbers of `column` as floats, codes of texts too; None where some would change.

    Missing is NaN.
    """
    if column.kind == "array":
        return None
    if column.kind == "text":
        codes = column.values.astype(np.float64)
        if column.has_missing:
            codes[codes < 0] = np.nan
        return codes
    floats = as_floats(column)
    return floats if _magnitude_of(column, floats) < EXACT else None


def stays_exact(expression: Expression, read: Read) -> bool:
    """Whether loops of floats can evaluate `expression` as `evaluation` does.

    Args:
        expression: A condition or a value.
        read: Gives the columns with all values that the evaluation may see.
    """
    return _magnitude(expression, read) < EXACT


def _magnitude_of(column: Column, floats: Floats) -> float:
    if column.kind not in WHOLE or not len(floats):
        return 0.0
    # The sign bit of missing integers would look like a great number; as floats they are NaN.
    return float(np.nan_to_num(np.abs(floats), nan=0.0).max())


def _magnitude(expression: Expression, read: Read) -> float:
    """Return a bound for the integers that `expression` and its parts can be; 0 for floats.

    Infinite where loops cannot evaluate it whatever the numbers are.
    """
    match expression:
        case Literal(int(constant)):
            return float(abs(constant))
        case Literal(timedelta() as constant):
            return float(abs(in_microseconds(constant)))
        case Attribute(variable, name):
            column = read(variable, name)
            return (
                0.0
                if column.kind in ("text", "array")
                else _magnitude_of(column, as_floats(column))
            )
        case Negative(operand):
            return _magnitude(operand, read)
        case Arithmetic(operator, left, right):
            parts = _magnitude(left, read), _magnitude(right, read)
            worst = max(parts)
            match operator:
                case "*" | "/" if _is_rounded(expression, read):
                    return math.inf
                case "+" | "-":
                    return parts[0] + parts[1]
                case "*":
                    # A float side counts as 0: the product is then a float as well.
                    return max(worst, parts[0] * parts[1])
                case _:
                    return worst
        case Comparison(_, left, right) if _read_as_times(left, right, read):
            return math.inf
        case InList(operand, choices) if any(_read_as_times(operand, c, read) for c in choices):
            return math.inf
        case _:
            return max((_magnitude(child, read) for child in children(expression)), default=0.0)


def _is_rounded(node: Arithmetic, read: Read) -> bool:
    """Whether a product or a quotient is a duration of a number that is not whole."""
    whole = node.operator == "*" and _kind(node.left, read) in WHOLE
    return _kind(node, read) == "duration" and not (whole and _kind(node.right, read) in WHOLE)


def _read_as_times(left: Expression, right: Expression, read: Read) -> bool:
    return {_kind(left, read), _kind(right, read)} == {"text", "timestamp"}


def _kind(node: Expression, read: Read) -> ValueKind:
    return kind_of(node, lambda variable, name: read(variable, name).kind)
