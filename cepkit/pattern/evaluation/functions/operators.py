"""The operators of arithmetic: `+ - * / %` and minus, on numbers, times and durations.

| | gives |
|---|---|
| time - time | a duration |
| time + duration, duration + time, time - duration | a time |
| duration + duration, duration - duration, duration % duration | a duration |
| duration * number, number * duration, duration / number | a duration |
| duration / duration | a number |
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cepkit.pattern.conditions import ArithmeticOperator
from cepkit.pattern.evaluation.functions.contract import Function, OnNumbers, Signature, Whole
from cepkit.stream.columns import MISSING_INTEGER

_NUMBERS: Signature = (("number", "number"), "number")
_DURATIONS: Signature = (("duration", "duration"), "duration")


def divided(x: float, y: float) -> float:
    """Return the quotient, NaN for a division by zero."""
    return math.nan if y == 0.0 else x / y


def remainder(x: float, y: float) -> float:
    """Return the remainder of a division, with the sign of the dividend."""
    if y == 0.0 or math.isnan(x) or math.isnan(y) or math.isinf(x):
        return math.nan
    return float(np.fmod(x, y))


def _whole_remainder(x: int, y: int) -> int | None:
    return None if y == 0 else (abs(x) % abs(y)) * (1 if x >= 0 else -1)


def _lost_product(x: Any, y: Any, product: Any) -> Any:
    back = product // np.where(x == 0, 1, x)
    return ((x != 0) & (back != y)) | ((x == -1) & (y == MISSING_INTEGER))


def _product(bounds: Sequence[float]) -> float:
    # A float operand has the bound 0; the product is then a float, too.
    return max(*bounds, float(math.prod(bounds)))


REMAINDER = OnNumbers(
    np.fmod,
    remainder,
    whole=Whole(
        lambda x, y: np.fmod(x, np.where(y == 0, 1, y)),
        _whole_remainder,
        lambda _x, y, _rest: y == 0,
    ),
)

OPERATORS: Mapping[ArithmeticOperator, Function] = {
    "+": Function(
        "+",
        "x, y",
        "two numbers, two durations, or a time and a duration",
        (
            _NUMBERS,
            _DURATIONS,
            (("timestamp", "duration"), "timestamp"),
            (("duration", "timestamp"), "timestamp"),
        ),
        OnNumbers(
            np.add,
            operator.add,
            "({} + {})",
            Whole(np.add, operator.add, lambda x, y, z: ((x ^ z) & (y ^ z)) < 0, sum),
        ),
    ),
    "-": Function(
        "-",
        "x, y",
        "two numbers, two durations, two times, or a time and a duration",
        (
            _NUMBERS,
            _DURATIONS,
            (("timestamp", "timestamp"), "duration"),
            (("timestamp", "duration"), "timestamp"),
        ),
        OnNumbers(
            np.subtract,
            operator.sub,
            "({} - {})",
            Whole(np.subtract, operator.sub, lambda x, y, z: ((x ^ y) & (x ^ z)) < 0, sum),
        ),
    ),
    "*": Function(
        "*",
        "x, y",
        "two numbers, or a duration and a number",
        (_NUMBERS, (("duration", "number"), "duration"), (("number", "duration"), "duration")),
        OnNumbers(
            np.multiply,
            operator.mul,
            "({} * {})",
            Whole(np.multiply, operator.mul, _lost_product, _product),
        ),
    ),
    "/": Function(
        "/",
        "x, y",
        "two numbers, two durations, or a duration and a number",
        (
            (("number", "number"), "float"),
            (("duration", "number"), "duration"),
            (("duration", "duration"), "float"),
        ),
        OnNumbers(lambda x, y: np.where(y == 0, np.nan, x / y), divided),
    ),
    "%": Function("%", "x, y", "two numbers or two durations", (_NUMBERS, _DURATIONS), REMAINDER),
}

MINUS = Function(
    "-",
    "x",
    "a number or a duration",
    ((("number",), "number"), (("duration",), "duration")),
    OnNumbers(lambda x: 0.0 - x, operator.neg, "(0.0 - {})", Whole(np.negative, operator.neg)),
)
