"""Set functions over lists of members: `avg(b.price)` for each of many sets at once (NumPy).

Missing values are left out, as in SQL; count(b) counts all members. The value of a single member,
`b[2].price`, is missing in a smaller set. Cost: one pass over the members for each function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.indexing import reduced, repeated
from cepkit.pattern import conditions
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.aggregates.columns import addends, origin_of
from cepkit.pattern.aggregates.contract import EXTREMES, Accumulator
from cepkit.pattern.conditions import Aggregate, place_of
from cepkit.pattern.evaluation.kinds import (
    WHOLE,
    as_floats,
    column_kind,
    rounded,
    set_function_kind,
)
from cepkit.stream.columns import MISSING_INTEGER, Column

Starts = npt.NDArray[np.int64]


def member_at(starts: Starts, place: int) -> tuple[Starts, npt.NDArray[np.bool_]]:
    """Return the index of one member of each set, and whether the set has that member.

    Args:
        starts: The index of the first member of each set, and the end; no set is empty.
        place: The number of the member, from 1 on, or from -1 back.

    Returns:
        Indices, that of the first member where a set lacks the member; and a truth value for each.
    """
    begins, ends = starts[:-1], starts[1:]
    index = begins + place - 1 if place > 0 else ends + place
    exists = (begins <= index) & (index < ends)
    return np.where(exists, index, begins), exists


def set_function(node: Aggregate, members: Column | None, starts: Starts) -> Column:
    """Return the value of a set function for each set.

    Args:
        members: The attribute of all members, set after set; None for count(b).
        starts: The index of the first member of each set, and the end; no set is empty.

    Raises:
        PatternError: The function does not take the kind of the attribute.
    """
    begins = starts[:-1]
    if members is None:
        return Column("integer", np.diff(starts))
    if (place := place_of(node.function)) is not None:
        index, exists = member_at(starts, place)
        return members.take(index).where(exists)
    kind = column_kind(set_function_kind(node, members.kind))
    present = ~members.missing()
    counts = _added(present.astype(np.int64), begins)
    match node.function:
        case "count":
            return Column("integer", counts)
        case conditions.DISTINCT:
            return Column("integer", _added(new_in_sets(members, starts).astype(np.int64), begins))
        case "sum" | "avg":
            sums = _added(np.where(present, as_floats(members), 0.0), begins)
            if members.kind in WHOLE:
                exact = _added(np.where(present, members.values, 0), begins)
                # The sum of 64 bits left out this many times 2^64; that of floats is near enough.
                left_out = np.rint((sums - exact) / 2.0**64)
                if node.function == "sum":
                    absent = (counts == 0) | (left_out != 0) | (exact == MISSING_INTEGER)
                    whole = np.where(absent, MISSING_INTEGER, exact)
                    return Column(members.kind, whole, has_missing=bool(absent.any()))
                sums = exact.astype(np.float64)
                for row in np.flatnonzero(left_out):
                    sums[row] = float(int(exact[row]) + (int(left_out[row]) << 64))
            with np.errstate(invalid="ignore", divide="ignore"):
                values = sums / counts if node.function == "avg" else sums
            values = np.where(counts == 0, np.nan, values)
            return rounded(values) if kind == "duration" else Column(kind, values, has_missing=True)
        case "min" | "max":
            return _extreme(node.function == "min", members, present, begins)
        case _:  # by its accumulators
            definition = AGGREGATES[node.function]
            state = [_accumulated(each, members, present, begins) for each in definition.state]
            enough = counts >= definition.least
            values = np.full(len(counts), np.nan)
            with np.errstate(all="ignore"):
                values[enough] = definition.finish(counts[enough], *(one[enough] for one in state))
            return Column("float", values, has_missing=True)


def new_in_sets(members: Column, starts: Starts) -> npt.NDArray[np.bool_]:
    """Return which members have a value that no earlier one of their set has; O(n log n).

    Args:
        members: The attribute of all members, set after set.
        starts: The index of the first member of each set, and the end.
    """
    present = np.flatnonzero(~members.missing())
    owners = repeated(np.arange(len(starts) - 1), np.diff(starts))[present]
    values = members.values[present]
    order = np.lexsort((values, owners))  # which keeps equal ones in order
    owners, values = owners[order], values[order]
    differs = np.ones(len(order), dtype=np.bool_)
    differs[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
    new = np.zeros(int(starts[-1]), dtype=np.bool_)
    new[present[order[differs]]] = True
    return new


def _accumulated(
    accumulator: Accumulator, members: Column, present: npt.NDArray[np.bool_], begins: Starts
) -> npt.NDArray[Any]:
    if accumulator in EXTREMES:
        return as_floats(_extreme(accumulator == "least", members, present, begins))
    terms = addends(accumulator, members, origin_of(members))
    if terms is None:
        floats = Column("float", as_floats(members), has_missing=True)
        return _accumulated(accumulator, floats, present, begins)
    return _added(terms, begins)


def _added(values: npt.NDArray[Any], begins: Starts) -> npt.NDArray[Any]:
    return reduced(np.add, values, begins) if len(begins) else values[:0]


def _extreme(
    least: bool, members: Column, present: npt.NDArray[np.bool_], begins: Starts
) -> Column:
    values = members.values
    if not len(begins):
        return members
    kind: Any = np.finfo(values.dtype) if values.dtype.kind == "f" else np.iinfo(values.dtype)
    neutral = kind.max if least else kind.min
    filled = np.where(present, values, values.dtype.type(neutral))
    extremes = reduced(np.minimum if least else np.maximum, filled, begins)
    absent = _added(present.astype(np.int64), begins) == 0
    match members.kind:
        case "float" | "null":
            extremes = np.where(absent, np.nan, extremes)
        case "text":
            extremes = np.where(absent, -1, extremes).astype(values.dtype)
        case _:
            extremes = np.where(absent, MISSING_INTEGER, extremes)
    return Column(members.kind, extremes, members.dictionary, bool(absent.any()))
