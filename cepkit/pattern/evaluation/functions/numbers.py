"""Functions of numbers. Times and durations are no numbers, but LEAST and GREATEST take them."""

from __future__ import annotations

import math
import operator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepkit.pattern.evaluation.functions.contract import Function, OnNumbers, Whole
from cepkit.pattern.evaluation.functions.operators import OPERATORS

Floats = npt.NDArray[np.float64]


def of_number(name: str, form: OnNumbers) -> Function:
    """Return a function of a number that gives a float."""
    return Function(name, "x", "a number", ((("number",), "float"),), form)


def root(x: float) -> float:
    """Return the square root, NaN for a negative number."""
    return math.sqrt(x) if x >= 0.0 else math.nan


def logarithm(x: float) -> float:
    """Return the natural logarithm, NaN for zero and negative numbers."""
    return math.log(x) if x > 0.0 else math.nan


def least(x: float, y: float) -> float:
    """Return the lesser of two numbers, NaN if one is NaN."""
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return x if x < y else y


def greatest(x: float, y: float) -> float:
    """Return the greater of two numbers, NaN if one is NaN."""
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return x if x > y else y


def exp(x: float) -> float:
    """Return e to the power of a number."""
    return math.exp(x)


def logarithm_of_ten(x: float) -> float:
    """Return the logarithm to base ten, NaN for zero and negative numbers."""
    return math.log10(x) if x > 0.0 else math.nan


def power(x: float, y: float) -> float:
    """Return x to the power of y, NaN where that is no number."""
    if math.isnan(x) or math.isnan(y) or (x == 0.0 and y < 0.0):
        return math.nan
    if x < 0.0 and y != np.floor(y):
        return math.nan
    return math.pow(x, y)


def _powers(x: Floats, y: Floats) -> Floats:
    missing = (
        np.isnan(x) | np.isnan(y) | ((x == 0.0) & (y < 0.0)) | ((x < 0.0) & (y != np.floor(y)))
    )
    return np.where(missing, np.nan, np.power(x, y))


def sign(x: float) -> float:
    """Return 1, 0 or -1."""
    return x if math.isnan(x) or x == 0.0 else math.copysign(1.0, x)


def floor(x: float) -> float:
    """Return the greatest whole number that is not above a number."""
    return float(np.floor(x))


def ceiling(x: float) -> float:
    """Return the least whole number that is not below a number."""
    return float(np.ceil(x))


def to_whole(x: float) -> float:
    """Return the nearest whole number, of two the even one."""
    return float(np.rint(x))


ABS = Function(
    "abs",
    "x",
    "a number or a duration",
    ((("number",), "number"), (("duration",), "duration")),
    OnNumbers(np.abs, abs, "abs({})", Whole(np.abs, abs)),
)
SQRT = of_number("sqrt", OnNumbers(np.sqrt, root))
LOG = of_number("log", OnNumbers(lambda x: np.where(x > 0, np.log(x), np.nan), logarithm))
LOG10 = of_number(
    "log10", OnNumbers(lambda x: np.where(x > 0, np.log10(x), np.nan), logarithm_of_ten)
)
EXP = of_number("exp", OnNumbers(np.exp, exp))
POWER = Function(
    "power", "x, y", "two numbers", ((("number", "number"), "float"),), OnNumbers(_powers, power)
)
MOD = replace(OPERATORS["%"], name="mod")


def _to_number(name: str, form: OnNumbers) -> Function:
    """Return a function of a number that gives an integer for an integer."""
    return Function(name, "x", "a number", ((("number",), "number"),), form)


_SAME = Whole(np.positive, operator.pos)
SIGN = _to_number(
    "sign", OnNumbers(np.sign, sign, whole=Whole(np.sign, lambda x: (x > 0) - (x < 0)))
)
FLOOR = _to_number("floor", OnNumbers(np.floor, floor, whole=_SAME))
CEIL = _to_number("ceil", OnNumbers(np.ceil, ceiling, whole=_SAME))
ROUND = _to_number("round", OnNumbers(np.rint, to_whole, whole=_SAME))


def _of_one_kind(name: str, form: OnNumbers) -> Function:
    return Function(
        name,
        "x, y, ...",
        "values of one kind: numbers, times or durations",
        (
            (("number", "number"), "number"),
            (("timestamp", "timestamp"), "timestamp"),
            (("duration", "duration"), "duration"),
        ),
        form,
        folded=True,
    )


# NumPy's minimum and maximum keep NaN, so a missing argument gives a missing result.
LEAST = _of_one_kind("least", OnNumbers(np.minimum, least, whole=Whole(np.minimum, min)))
GREATEST = _of_one_kind("greatest", OnNumbers(np.maximum, greatest, whole=Whole(np.maximum, max)))
