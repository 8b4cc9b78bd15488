"""Output rows made from the results for each key.

Groups of several keys are merged by a tree over their keys, in O(log keys) for a moment.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import Tracks
from cepkit.aggregation.rows.joining import join_tracks
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.totals import totals
from cepkit.aggregation.semirings.lanes import Lanes
from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sequence.operations import Operations, in_stream_order
from cepkit.indexing import repeated

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


def _several_keys(operations: Operations) -> bool:
    """Return whether a group has several keys."""
    groups = operations.groups[np.diff(operations.starts) > 0]
    return len(groups) > len(np.unique(groups))


def wants_expiries(operations: Operations, emit: Emit) -> bool:
    """Return whether expiries are needed in addition to the live matches at triggers."""
    joined = emit == "trigger" and _several_keys(operations)
    return operations.window is not None and (emit == "changes" or joined)


def finished(
    operations: Operations,
    lanes: Lanes,
    triggers: Wide,
    new: Wide,
    tracks: Tracks,
    expired: Wide,
    left: Tracks,
    emit: Emit,
    *,
    whole: bool = False,
) -> Moments:
    """Return the rows of the output from the results for each key.

    Args:
        new: The number of matches that each completes.
        tracks: The aggregates of its key then; for "new" and "total", of the matches it completes.
        expired: The START operations of moments of expiry.
        left: The aggregates of their keys then.
        whole: Whether to keep totals of no match.
    """
    groups = groups_at(operations, triggers)
    several = _several_keys(operations)
    if emit == "total":
        size = len(operations.group_rows)
        return totals(lanes, groups, tracks, size, operations.grouped, whole=whole)
    if emit == "new" or (emit == "trigger" and not several):
        always = np.ones(len(triggers), dtype=np.bool_)
        if len(operations.groups) == 1:
            return Moments(operations.ts[triggers], groups, always, new, tracks, lanes)
        order = in_stream_order(operations.rows[triggers])
        at = triggers[order]
        return Moments(
            operations.ts[at], groups[order], always, new[order], tracks.take(order), lanes
        )
    return join_tracks(
        operations, lanes, triggers, new, tracks, expired, left, changes=emit == "changes"
    )


def groups_at(operations: Operations, at: Wide) -> Ints:
    """Return the groups of some operations, which are in order."""
    numbers = np.diff(np.searchsorted(at, operations.starts))
    return repeated(operations.groups, numbers)
