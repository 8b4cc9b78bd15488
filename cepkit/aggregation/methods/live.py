"""How many STARTs live at once, so that loops know beforehand how much they must keep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.sequence.operations import Operations
from cepkit.compiling import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


def most_live(operations: Operations) -> int:
    """Return how many STARTs of a key live at once at most; of a sequence without window 1."""
    if operations.window is None:
        return 1
    at = operations.start_code
    return _most(operations.ts, operations.codes, operations.starts, at, operations.window)


@compiled
def _most(ts: Wide, codes: Ints, starts: Wide, start_code: int, window: int) -> int:
    most = 1
    for key in range(starts.size - 1):
        tail = starts[key]
        live = 0
        for i in range(starts[key], starts[key + 1]):
            if codes[i] == start_code:
                live += 1
                while ts[i] - ts[tail] > window:
                    live -= codes[tail] == start_code
                    tail += 1
                most = max(most, live)
    return most
