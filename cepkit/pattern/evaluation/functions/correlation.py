"""Pearson's correlation of arrays (LAZY, section 7).

Each array is standardised once, then a correlation is a sum of products.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError
from cepkit.pattern.conditions import Expression
from cepkit.pattern.evaluation.functions.contract import Function, OnArrays
from cepkit.stream.columns import Column

_STANDARDISED: WeakKeyDictionary[Column, npt.NDArray[np.float64]] = WeakKeyDictionary()
"""Standardised columns by their origin: a column is standardised once for all that pick from it."""


def standardised(column: Column, place: Expression | None = None) -> npt.NDArray[np.float64]:
    """Return rows such that the correlation of two arrays is the sum of products of their rows.

    A row has the length of the array, then the values less their mean, divided by their norm; zero
    for a missing value. Rows whose correlation is missing (no values, all alike) are NaN.

    Raises:
        PatternError: The column does not hold arrays of numbers.
    """
    if column.kind != "array":
        raise PatternError(
            f"corr of a {column.kind}",
            expected="an attribute whose values are arrays of numbers",
            span=place.span if place is not None else None,
        )
    if column.origin is not None:
        original, rows = column.origin
        if original not in _STANDARDISED:
            _STANDARDISED[original] = standardised(original, place)
        selected: npt.NDArray[np.float64] = _STANDARDISED[original][rows]
        return selected
    matrix: npt.NDArray[np.float64] = column.values  # type: ignore[assignment]
    present = ~np.isnan(matrix)
    lengths = present.sum(axis=1)
    with np.errstate(all="ignore"):
        means = np.where(present, matrix, 0.0).sum(axis=1) / lengths
        centred = np.where(present, matrix - means[:, None], 0.0)
        norms = np.sqrt((centred * centred).sum(axis=1))
        # With a rounded mean the norm of a constant array may differ from zero.
        constant = np.where(present, matrix, np.inf).min(axis=1, initial=np.inf) == np.where(
            present, matrix, -np.inf
        ).max(axis=1, initial=-np.inf)
        unit = centred / norms[:, None]
    unit[constant | (lengths == 0) | ~np.isfinite(norms)] = np.nan
    return np.column_stack((lengths.astype(np.float64), unit))


def correlations(left: Column, right: Column, place: Expression) -> Column:
    """Return the correlation of two columns of arrays, row by row.

    Raises:
        PatternError: A column does not hold arrays.
    """
    x, y = standardised(left, place), standardised(right, place)
    width = max(x.shape[1], y.shape[1])
    if x.shape[1] != y.shape[1]:
        x, y = (np.pad(m, ((0, 0), (0, width - m.shape[1]))) for m in (x, y))
    result = np.einsum("ij,ij->i", *np.broadcast_arrays(x[:, 1:], y[:, 1:]))
    result = np.where(x[:, 0] == y[:, 0], np.clip(result, -1.0, 1.0), np.nan)
    return Column("float", result, has_missing=True)


def correlation(x: Any, y: Any) -> float:
    """Return the correlation of two standardised arrays, as loops compute it."""
    if x[0] != y[0]:
        return math.nan
    total = 0.0
    for i in range(1, min(x.size, y.size)):
        total += x[i] * y[i]
    # min and max would drop a NaN.
    return total if math.isnan(total) else min(1.0, max(-1.0, total))


def _one_correlation(x: Any, y: Any) -> float:
    """Return the correlation of two standardised arrays, without a loop in Python."""
    if x[0] != y[0]:
        return math.nan
    size = min(len(x), len(y))
    total = float(np.dot(x[1:size], y[1:size]))
    return total if math.isnan(total) else min(1.0, max(-1.0, total))


CORR = Function(
    "corr",
    "x, y",
    "two arrays",
    ((("array", "array"), "float"),),
    OnArrays(correlations, _one_correlation, correlation),
)
