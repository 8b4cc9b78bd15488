"""Partial aggregates of parts of a stream, to be merged later.

Compiled loops return lanes of numbers. Elements hold the same values in a form that `Together.plus`
can merge across parts, even if their dictionaries of texts differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import NOTHING, Tracks
from cepkit.aggregation.rows.matched import add_to
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.functions import Count, Element
from cepkit.aggregation.semirings.lanes import SAFE, Outcome, decoded, moved, tracks_for
from cepkit.aggregation.sequence.elements import Together
from cepkit.pattern.aggregates.contract import EXTREMES, Accumulator

Wide = npt.NDArray[np.int64]


def elements_of(moments: Moments) -> list[Element]:
    """Return the aggregates of each row as an element of `Together`."""
    if not isinstance(moments.values, Tracks):
        return list(moments.values)
    assert moments.lanes is not None
    columns = [_of_lanes(outcome, moments.values) for outcome in moments.lanes.outcomes]
    return list(zip(moments.values.counts.tolist(), *columns, strict=True))


def summed(moments: Moments, together: Together) -> dict[int, Element]:
    """Return for each group the element of all its rows together.

    Args:
        moments: Rows about disjoint sets of matches.
        together: The functions.
    """
    values = moments.values
    groups, at = np.unique(moments.groups, return_inverse=True)
    if isinstance(values, Tracks) and _fit(values):
        assert moments.lanes is not None
        sums = tracks_for(moments.lanes, len(groups))
        add_to(sums, at, values)
        nothing = np.zeros(len(groups), np.int64)
        elements = elements_of(Moments(nothing, groups, nothing == 1, nothing, sums, moments.lanes))
        return dict(zip(groups.tolist(), elements, strict=True))
    by_group: dict[int, Element] = {}
    for group, element in zip(moments.groups.tolist(), elements_of(moments), strict=True):
        known = by_group.get(group)
        by_group[group] = element if known is None else together.plus(known, element)
    return by_group


def _fit(values: Tracks) -> bool:
    """Return whether 64 bits hold every sum of these integers."""
    lanes = (values.counts, *values.ints)
    return all(float(np.abs(lane.astype(np.float64)).sum()) < SAFE for lane in lanes)


def _of_lanes(outcome: Outcome, tracks: Tracks) -> list[Element]:
    counts: list[Element] = tracks.counts.tolist()
    if isinstance(outcome.function, Count):
        return counts
    state = outcome.function.definition.state
    number, held = outcome.held(tracks)
    columns = [
        _values(outcome, each, values) if each in EXTREMES else values.tolist()
        for each, values in zip(state, held, strict=True)
    ]
    return [
        (count, n, *moved(state, n, row, outcome.origin))
        for count, n, *row in zip(counts, number.tolist(), *columns, strict=True)
    ]


def _values(outcome: Outcome, accumulator: Accumulator, coded: Wide) -> list[Any]:
    """Return the values of a least lane, None for missing ones."""
    none = coded >= NOTHING
    values = decoded(outcome.column, accumulator, np.where(none, 0, coded))
    if outcome.column is not None and outcome.column.kind == "boolean":
        values = values.astype(np.bool_)
    objects = values.astype(object)
    objects[none] = None
    listed: list[Any] = objects.tolist()
    return listed
