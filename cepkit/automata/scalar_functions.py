"""What operators and functions do to two plain values, none of them missing; None is missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cepkit.automata.events import History


def held(number: int) -> int | None:
    """Return an integer, or None where 64 bits cannot hold it."""
    return number if -(2**63) < number < 2**63 else None


def known(number: float) -> float | None:
    """Return a float, or None for NaN."""
    return None if math.isnan(number) else number


def rounded(microseconds: float | None) -> int | None:
    """Return a duration of whole microseconds, half to even; None where 64 bits cannot hold it."""
    if microseconds is None or not abs(microseconds) < 2**63:
        return None
    return held(round(microseconds))


def whole_remainder(x: int, y: int) -> int | None:
    """Return the remainder with the sign of the dividend."""
    return None if y == 0 else (abs(x) % abs(y)) * (1 if x >= 0 else -1)


def float_remainder(x: float, y: float) -> float | None:
    """Return the remainder with the sign of the dividend."""
    if y == 0 or math.isinf(x):
        return None
    return known(math.fmod(float(x), float(y)))


# What the signs do to two integers, and to all other numbers.
WHOLE_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: held(x + y),
    "-": lambda x, y: held(x - y),
    "*": lambda x, y: held(x * y),
    "%": whole_remainder,
}
FLOAT_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: known(float(x) + float(y)),
    "-": lambda x, y: known(float(x) - float(y)),
    "*": lambda x, y: known(float(x) * float(y)),
    "/": lambda x, y: None if y == 0 else known(float(x) / float(y)),
    "%": float_remainder,
}


def root(x: float) -> float | None:
    """Return the square root."""
    return None if x < 0 else math.sqrt(x)


def logarithm(x: float) -> float | None:
    """Return the natural logarithm."""
    return None if x <= 0 else math.log(x)


def correlation(left: History, right: History) -> float | None:
    """Return Pearson's correlation of two arrays (LAZY, section 7)."""
    x, y = left.unit, right.unit
    if x[0] != y[0]:
        return None
    size = min(len(x), len(y))
    total = float(np.dot(x[1:size], y[1:size]))
    return None if math.isnan(total) else min(1.0, max(-1.0, total))
