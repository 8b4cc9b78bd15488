"""Totals of each group: the aggregates of all its matches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import Tracks
from cepkit.aggregation.rows.matched import add_to
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.lanes import Lanes, tracks_for


def totals(
    lanes: Lanes,
    groups: npt.NDArray[np.int32],
    new: Tracks,
    size: int,
    grouped: bool,
    *,
    whole: bool = False,
) -> Moments:
    """Return a row for each group that has a match.

    Args:
        groups: The group of each trigger.
        new: What each completes.
        size: How many groups there are.
        grouped: Whether there is GROUP BY; without it there is always one row.
        whole: Whether to keep groups without a match.
    """
    sums = tracks_for(lanes, size)
    add_to(sums, groups, new)
    present = (sums.counts > 0) | whole
    at = np.flatnonzero(present).astype(np.int32) if grouped else np.zeros(1, np.int32)
    nothing = np.zeros(len(at), np.int64)
    return Moments(nothing, at, nothing.astype(np.bool_), nothing, sums.take(at), lanes)
