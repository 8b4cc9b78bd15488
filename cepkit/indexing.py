"""NumPy's functions for integers of every type, and codes of values.

Some of NumPy's refuse 64-bit numbers on a machine of 32 bits, as a browser is; others convert a
whole array of another type first.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.compiling import compiled

Value = TypeVar("Value", bound=np.generic)
Ints = npt.NDArray[np.integer[Any]]
Codes = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

BLOCK = 1 << 15
"""The values of a block, which stays in the cache while several things are done with it."""
_FEW = 1 << 13
"""To call a compiled loop takes longer than to copy so many indices."""
_FIRST_SIZE, _GROWTH = 1 << 12, 4
_MULTIPLIER, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def repeated(values: npt.NDArray[Value], numbers: Ints) -> npt.NDArray[Value]:
    """Return each value so many times: `np.repeat`."""
    return np.repeat(values, np.asarray(numbers, np.intp))


def taken(values: npt.NDArray[Value], places: Ints) -> npt.NDArray[Value]:
    """Return the values, or rows, at some places: `ndarray.take`, faster than indexing."""
    return values.take(np.asarray(places, np.intp), axis=0)


def take(values: npt.NDArray[Any], at: Ints) -> npt.NDArray[Any]:
    """Return `values[at]`, as `taken` does; NumPy would first make 64-bit copies of the indices.

    Args:
        values: Any dtype[m].
        at: int32[n]; with other integers NumPy does it.
    """
    if at.size < _FEW or at.dtype != np.int32:
        return taken(values, at)
    out = np.empty(at.size, values.dtype)
    _take(values, at, out)
    return out


@compiled
def _take(values: npt.NDArray[Any], at: Ints, out: npt.NDArray[Any]) -> None:
    for i in range(uintp(at.size)):
        out[i] = values[uintp(at[i])]


def where(held: npt.NDArray[np.bool_], *columns: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Return the values of columns where a mask holds.

    Indexing by the mask takes five times as long where it changes often.
    """
    at = held.nonzero()[0]
    return tuple(column.take(at) for column in columns)


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


def value_codes(values: npt.NDArray[Any]) -> tuple[Codes, int]:
    """Return a code for each value, equal for equal values, -1 for NaN; and the number of codes.

    Codes are in the order in which values first occur.

    Args:
        values: Integers, floats or truth values.
    """
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        if missing.any():
            codes = np.full(len(values), -1, dtype=np.int32)
            codes[~missing], number = value_codes(values[~missing])
            return codes, number
        words = (values.astype(np.float64) + 0.0).view(np.uint64)  # no -0.0
    else:
        words = values.astype(np.uint64)
    codes = np.empty(len(words), dtype=np.int32)
    size, kinds, done, number = _FIRST_SIZE, words[:0], 0, 0
    while True:
        old_kinds, kinds = kinds[:number], np.empty(size // 2, dtype=np.uint64)
        table = np.full(size, -1, dtype=np.int32)
        _, number = _number(old_kinds, np.empty(number, dtype=np.int32), kinds, 0, table)
        more, number = _number(words[done:], codes[done:], kinds, number, table)
        done += more
        if done == len(words):
            return codes, number
        size *= _GROWTH


@compiled
def _number(
    values: Words, codes: Codes, kinds: Words, number: int, table: Codes
) -> tuple[int, int]:
    """Write the codes of values until the table is full.

    Args:
        codes: The target for their codes.
        kinds: The distinct values by their codes; half as long as the table.
        number: The number of distinct values so far.
        table: The hash table: the code of a value at its place or the next free one, else -1.

    Returns:
        The number of values with a code, and the number of distinct values.
    """
    last = np.uint64(len(table) - 1)
    for row in range(len(values)):
        value = values[row]
        place = ((value ^ value >> _SHIFT) * _MULTIPLIER >> _SHIFT) & last
        while table[place] >= 0 and kinds[table[place]] != value:
            place = (place + np.uint64(1)) & last
        code = table[place]
        if code < 0:
            if number == len(kinds):
                return row, number
            code = table[place] = number
            kinds[number] = value
            number += 1
        codes[row] = code
    return len(values), number
