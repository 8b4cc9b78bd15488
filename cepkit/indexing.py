"""NumPy's functions that refuse 64-bit numbers on a machine of 32 bits, as a browser is."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Value = TypeVar("Value", bound=np.generic)
Ints = npt.NDArray[np.integer[Any]]


def repeated(values: npt.NDArray[Value], numbers: Ints) -> npt.NDArray[Value]:
    """Return each value so many times: `np.repeat`."""
    return np.repeat(values, np.asarray(numbers, np.intp))


def taken(values: npt.NDArray[Value], places: Ints) -> npt.NDArray[Value]:
    """Return the values, or rows, at some places: `ndarray.take`, faster than indexing."""
    return values.take(np.asarray(places, np.intp), axis=0)


def reduced(
    function: np.ufunc, values: npt.NDArray[Any], begins: Ints, axis: int = 0
) -> npt.NDArray[Any]:
    """Return a function of the values from each begin up to the next: `ufunc.reduceat`."""
    return np.asarray(function.reduceat(values, np.asarray(begins, np.intp), axis=axis))


def bin_counts(values: Ints, minlength: int = 0) -> npt.NDArray[np.int64]:
    """Return how often each number occurs: `np.bincount`."""
    return np.bincount(np.asarray(values, np.intp), minlength=minlength).astype(
        np.int64, copy=False
    )
