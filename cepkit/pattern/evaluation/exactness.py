"""Whether floats hold the integers of a condition exactly, as compiled loops need.

A float holds every integer below 2^53. A condition that could see a greater one goes to
`evaluation`, which computes in 64-bit integers, so no result depends on the choice of the loop.
Durations that are rounded and texts that are read as times also go there: loops have neither.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import assert_never

import numpy as np
import numpy.typing as npt

from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.columns import Read, value
from cepkit.pattern.evaluation.functions.contract import (
    OnArrays,
    OnInstants,
    OnMembers,
    OnNumbers,
    OnTexts,
    Registered,
)
from cepkit.pattern.evaluation.functions.registered import function_of
from cepkit.pattern.evaluation.kind_checks import kind_of
from cepkit.pattern.evaluation.kinds import EXACT, ValueKind, magnitude_of
from cepkit.pattern.moments import since_1970
from cepkit.pattern.policies import in_microseconds

Floats = npt.NDArray[np.float64]


def stays_exact(expression: c.Expression, read: Read) -> bool:
    """Whether loops of floats can evaluate `expression` as `evaluation` does.

    Args:
        read: Returns the columns with all values that the evaluation may see.
    """
    return _magnitude(expression, read) < EXACT


def _magnitude(expression: c.Expression, read: Read) -> float:
    """Return a bound for the integers in `expression` and its parts; 0 for floats.

    Infinite where loops can never evaluate it.
    """
    match expression:
        case c.Literal(int(constant)):
            return float(abs(constant))
        case c.Literal(timedelta() as constant):
            return float(abs(in_microseconds(constant)))
        case c.Literal(datetime() as constant):
            return float(abs(since_1970(constant, expression.zone)))
        case c.Literal():
            return 0.0
        case c.Attribute(variable, name):
            return magnitude_of(read(variable, name))
        case c.Negative() | c.Arithmetic() | c.Call():
            return _magnitude_of_computed(expression, read)
        case c.Comparison(_, left, right) if _read_as_times(left, right, read):
            return math.inf
        case c.InList(operand, choices) if any(
            _read_as_times(operand, each, read) for each in choices
        ):
            return math.inf
        case c.Aggregate() | c.ConditionNode():
            return max((_magnitude(child, read) for child in c.children(expression)), default=0.0)
        case _:
            assert_never(expression)


def _magnitude_of_computed(node: c.Negative | c.Arithmetic | c.Call, read: Read) -> float:
    bounds = [_magnitude(child, read) for child in c.children(node)]
    function = function_of(node)
    form = function.form
    match form:
        case OnNumbers(whole=whole):
            kinds = [_kind(child, read) for child in c.children(node)]
            if function.whole(kinds) is None and function.kind(kinds) == "duration":
                return math.inf  # loops do not round
            return max(bounds) if whole is None else whole.bound(bounds)
        case OnInstants() | OnTexts():
            # Such a function of one event is computed before any loop.
            alone = len(c.variables_of(node)) < 2
            return max(*bounds, magnitude_of(value(node, read))) if alone else math.inf
        case OnArrays() | OnMembers() | Registered():
            return max(bounds, default=0.0)
        case _:
            assert_never(form)


def _read_as_times(left: c.Expression, right: c.Expression, read: Read) -> bool:
    return {_kind(left, read), _kind(right, read)} == {"text", "timestamp"}


def _kind(node: c.Expression, read: Read) -> ValueKind:
    return kind_of(node, lambda variable, name: read(variable, name).kind)
