"""Chooses the fastest method for some operations.

At each event, prefix counters touch every live START, a window product a matrix as wide as the
sequence. If expiring events can be divided out of the product, it is always faster; otherwise the
number of live STARTs decides. Without a window prefix counters need a single row.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cepkit.aggregation.semirings.functions import Count, Function, OfValues
from cepkit.aggregation.sequence.elements import Method
from cepkit.aggregation.sequence.operations import Interleaved
from cepkit.stream.columns import EventColumns

FEW = 20
"""Live STARTs up to which prefix counters are faster than two stacks, by the benchmarks."""


CARRIED = "a product carries values along sets"


def live_starts(operations: Interleaved) -> float:
    """Return the number of STARTs of a key that are live at once, averaged over the STARTs."""
    assert operations.window is not None
    at = operations.codes == operations.start_code
    ts = operations.ts[at]
    if not len(ts):
        return 0.0
    keys = np.zeros(len(ts), dtype=np.int32)
    if len(operations.keys):
        keys = operations.keys[at]
        order = np.argsort(keys, kind="stable")
        keys, ts = keys[order], ts[order]
    # One number orders by key and time.
    span = int(operations.ts.max() - operations.ts.min()) + operations.window + 2
    rank = keys * float(span) + (ts - operations.ts.min())
    begun = np.searchsorted(rank, rank - operations.window)
    return float(np.mean(np.arange(len(rank)) - begun + 1))


def choose_method(
    operations: Interleaved, functions: Iterable[Function], columns: EventColumns
) -> tuple[Method, str]:
    """Return the method for some operations and functions, and why."""
    if operations.window is None:
        return "prefix-counters", "without a window one row of counters is enough"
    sets = bool(operations.loops.any())
    if (
        not sets
        and not operations.absences
        and all(_whole(function, columns) for function in functions)
    ):
        return "window-product", "whole numbers are subtracted as events expire"
    if sets and not all(isinstance(function, Count) for function in functions):
        return "window-product", CARRIED
    live = live_starts(operations)
    if live <= FEW:
        return "prefix-counters", f"about {live:.3g} STARTs live at once, which are few"
    return "window-product", f"about {live:.3g} STARTs live at once"


def _whole(function: Function, columns: EventColumns) -> bool:
    """Return whether a function adds only integers."""
    if not isinstance(function, OfValues):
        return isinstance(function, Count)
    definition, attribute = function.definition, function.attribute
    whole = attribute is None or columns.attributes[attribute].kind == "integer"
    return not definition.state or (definition.adds and whole)
