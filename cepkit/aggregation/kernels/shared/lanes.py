"""Lanes along the nodes of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.kernels.records import NOBODY, Floats, Wide
from cepkit.aggregation.kernels.shared.records import FLOAT, LEAST, SUM, State, Wiring
from cepkit.compiling import called, lent


@lent
def extend(
    w: Wiring, s: State, node: np.uintp, source: np.uintp, event: int, lo: np.uintp, hi: np.uintp
) -> None:
    """Extend the lanes of a node from the node before, whose counts begin at `source`."""
    nodes, legs, values, reals, x, f, size = (
        w.nodes, w.legs, w.values, w.reals, s.x, s.f, uintp(s.room)
    )  # fmt: skip
    for c in range(nodes[node].legs, nodes[node + uintp(1)].legs):
        kind, to, before = legs[c].kind, uintp(legs[c].row) * size, legs[c].before
        known = uintp(max(0, before)) * size
        if kind == SUM and before >= 0:
            _add(x, to, known, lo, hi)
        elif kind == SUM:
            _add_times(x, to, x, source, lo, hi, values[legs[c].values, event])
        elif kind == FLOAT and before >= 0:
            _add(f, to, known, lo, hi)
        elif kind == FLOAT:
            _add_times(f, to, x, source, lo, hi, reals[legs[c].values, event])
        elif before >= 0:
            for at in range(lo, hi):
                x[to + at] = min(x[to + at], x[known + at])
        else:
            least = values[legs[c].values, event]
            for at in range(lo, hi):
                if x[source + at] != 0:
                    x[to + at] = min(x[to + at], least)


@lent
def start(w: Wiring, s: State, node: np.uintp, place: np.uintp, event: int) -> None:
    """Write the lanes of a START: its node is the first, so all lanes hold its own values."""
    nodes, legs, values, reals, x, f, size = (
        w.nodes, w.legs, w.values, w.reals, s.x, s.f, uintp(s.room)
    )  # fmt: skip
    for c in range(nodes[node].legs, nodes[node + uintp(1)].legs):
        at = uintp(legs[c].row) * size + place
        if legs[c].kind == SUM:
            x[at] += values[legs[c].values, event]
        elif legs[c].kind == FLOAT:
            f[at] += reals[legs[c].values, event]
        else:
            x[at] = min(x[at], values[legs[c].values, event])


@called
def clear(kind: int, row: np.uintp, lo: np.uintp, hi: np.uintp, x: Wide, f: Floats) -> None:
    """Reset lanes to their values for no match."""
    if kind == FLOAT:
        for at in range(row + lo, row + hi):
            f[at] = 0.0
    else:
        nothing = NOBODY if kind == LEAST else 0
        for at in range(row + lo, row + hi):
            x[at] = nothing


@lent
def _add(
    rows: npt.NDArray[Any], to: np.uintp, source: np.uintp, lo: np.uintp, hi: np.uintp
) -> None:
    for at in range(lo, hi):
        rows[to + at] += rows[source + at]


@lent
def _add_times(
    rows: npt.NDArray[Any], to: np.uintp, x: Wide, source: np.uintp, lo: np.uintp, hi: np.uintp,
    value: Any,
) -> None:  # fmt: skip
    for at in range(lo, hi):
        # Infinity times 0 prefixes must be 0.
        rows[to + at] += value * x[source + at] if x[source + at] != 0 else rows.dtype.type(0)
