"""Which method is the fastest for some operations.

Prefix counters touch every live START at each event, a window product a matrix as wide as the
sequence. So what decides is how many STARTs live at once; without a window prefix counters need a
single row.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cepkit.aggregation.functions import Count, Function
from cepkit.aggregation.operations import Operations
from cepkit.aggregation.running import Method

FEW_IF_SUBTRACTED = 10
FEW = 30
"""Live STARTs up to which prefix counters are faster (benchmarks/aggregation.py): than subtraction,
which is for numbers of matches without absences, and than two stacks."""


def live_starts(operations: Operations) -> float:
    """Return how many STARTs of a key live at once, on average over the STARTs."""
    assert operations.window is not None
    at = operations.codes == operations.start_code
    ts = operations.ts[at]
    keys = np.searchsorted(operations.starts, np.flatnonzero(at), side="right")
    if not len(ts):
        return 0.0
    # One number orders by key and time.
    span = int(operations.ts.max() - operations.ts.min()) + operations.window + 2
    rank = keys * float(span) + (ts - operations.ts.min())
    begun = np.searchsorted(rank, rank - operations.window)
    return float(np.mean(np.arange(len(rank)) - begun + 1))


def choose_method(operations: Operations, functions: Iterable[Function]) -> tuple[Method, str]:
    """Return the method for some operations and functions, and why."""
    if operations.window is None:
        return "prefix-counters", "without a window one row of counters is enough"
    live = live_starts(operations)
    subtracted = all(isinstance(f, Count) for f in functions)
    subtracted = subtracted and not (operations.codes & 1).any()
    if live <= (FEW_IF_SUBTRACTED if subtracted else FEW):
        return "prefix-counters", f"about {live:.3g} STARTs live at once, which are few"
    return "window-product", f"about {live:.3g} STARTs live at once"
