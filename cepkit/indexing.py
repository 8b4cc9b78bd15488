"""NumPy's functions for integers of every type.

Some of NumPy's refuse 64-bit numbers on a machine of 32 bits, as a browser is; others convert a
whole array of another type first.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Value = TypeVar("Value", bound=np.generic)
Ints = npt.NDArray[np.integer[Any]]

BLOCK = 1 << 15
"""The values of a block, which stays in the cache while several things are done with it."""


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
    """Return how often each number occurs: `np.bincount`, block by block where it would convert."""
    if values.dtype == np.intp or not 0 < minlength < BLOCK:
        counts = np.bincount(np.asarray(values, np.intp), minlength=minlength)
        return counts.astype(np.int64, copy=False)
    counts = np.zeros(minlength, np.int64)
    for begin in range(0, len(values), BLOCK):
        block = np.asarray(values[begin : begin + BLOCK], np.intp)
        more = np.bincount(block, minlength=len(counts))
        more[: len(counts)] += counts
        counts = more.astype(np.int64, copy=False)
    return counts


def is_ascending(values: Ints) -> bool:
    """Return whether no value is less than the one before it."""
    blocks = (values[begin : begin + BLOCK + 1] for begin in range(0, len(values), BLOCK))
    return all(bool((block[1:] >= block[:-1]).all()) for block in blocks)
