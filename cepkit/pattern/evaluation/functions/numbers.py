"""Functions of numbers; a time is no number, and neither is a duration, but both have an order."""

from __future__ import annotations

import math

import numpy as np

from cepkit.pattern.evaluation.functions.contract import Function, OnNumbers, Whole


def of_number(name: str, form: OnNumbers) -> Function:
    """Return a function of a number that gives a float."""
    return Function(name, "x", "a number", ((("number",), "float"),), form)


def root(x: float) -> float:
    """Return the square root, NaN for a negative number."""
    return math.sqrt(x) if x >= 0.0 else math.nan


def logarithm(x: float) -> float:
    """Return the natural logarithm, NaN for what is not positive."""
    return math.log(x) if x > 0.0 else math.nan


def least(x: float, y: float) -> float:
    """Return the lesser of two numbers, NaN where one of them is."""
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return x if x < y else y


def greatest(x: float, y: float) -> float:
    """Return the greater of two numbers, NaN where one of them is."""
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return x if x > y else y


ABS = Function(
    "abs",
    "x",
    "a number or a duration",
    ((("number",), "number"), (("duration",), "duration")),
    OnNumbers(np.abs, abs, "abs({})", Whole(np.abs, abs)),
)
SQRT = of_number("sqrt", OnNumbers(np.sqrt, root))
LOG = of_number("log", OnNumbers(lambda x: np.where(x > 0, np.log(x), np.nan), logarithm))


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


# minimum and maximum of NumPy keep NaN: a missing argument makes it missing
LEAST = _of_one_kind("least", OnNumbers(np.minimum, least, whole=Whole(np.minimum, min)))
GREATEST = _of_one_kind("greatest", OnNumbers(np.maximum, greatest, whole=Whole(np.maximum, max)))
