"""Accumulators computed from columns of values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.pattern.aggregates.contract import Accumulator
from cepkit.stream.columns import Column

_ROOT = 2.0**31
"""Whole numbers up to here have squares that 64 bits hold."""


def origin_of(column: Column) -> float:
    """Return the origin of deviations: the mean of all values, rounded for whole numbers."""
    values = column.values
    integer = column.kind == "integer"
    present = values[~column.missing() if integer else np.isfinite(values)]
    with np.errstate(over="ignore"):
        mean = float(present.mean()) if len(present) else 0.0
    return round(mean) if integer else mean if math.isfinite(mean) else 0.0


def addends(accumulator: Accumulator, column: Column, origin: float = 0) -> npt.NDArray[Any] | None:
    """Return the addend of each value, an integer or a float; 0 where the value is missing.

    Returns:
        None where 64 bits do not hold the addends.
    """
    values: npt.NDArray[Any] = column.values
    missing = column.missing() if column.has_missing or column.kind == "null" else None
    if accumulator == "sum":
        return values if missing is None else np.where(missing, 0, values)
    if missing is not None:
        values = np.where(missing, values.dtype.type(origin), values)
    if column.kind == "integer":
        low, high = (int(f(initial=int(origin))) for f in (values.min, values.max))
        if max(high - origin, origin - low) > _ROOT:
            return None
    with np.errstate(over="ignore"):
        deviations: npt.NDArray[Any] = values - values.dtype.type(origin)
        return np.square(deviations) if accumulator == "squares" else deviations
