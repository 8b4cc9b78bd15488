"""Aggregates of parts of a stream, to be joined: what each part's matches are, as elements.

Compiled loops say what they found as lanes of numbers. An element says the same in a form that
two parts can be joined in by `Together.plus`, whatever their dictionaries of texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cepkit.aggregation.rows.matched import add_to
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.functions import Count, CountValues, Element, Least
from cepkit.aggregation.semirings.lanes import (
    NOBODY,
    NOTHING,
    SAFE,
    Outcome,
    Tracks,
    decoded,
    tracks_for,
)
from cepkit.aggregation.sequence.elements import Together


def elements_of(moments: Moments) -> list[Element]:
    """Return the aggregates of each row as an element of `Together`."""
    if not isinstance(moments.values, Tracks):
        return list(moments.values)
    assert moments.lanes is not None
    columns = [_of_lane(outcome, moments.values) for outcome in moments.lanes.outcomes]
    return list(zip(moments.values.count.tolist(), *columns, strict=True))


def summed(moments: Moments, together: Together) -> dict[int, Element]:
    """Return for each group the element of all its rows together.

    Args:
        moments: Rows about matches of which none is in two.
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
    found: dict[int, Element] = {}
    for group, element in zip(moments.groups.tolist(), elements_of(moments), strict=True):
        known = found.get(group)
        found[group] = element if known is None else together.plus(known, element)
    return found


def _fit(values: Tracks) -> bool:
    """Return whether no sum of whole numbers can be beyond 64 bits."""
    lanes = (values.count, *values.ints)
    return all(float(np.abs(lane.astype(np.float64)).sum()) < SAFE for lane in lanes)


def _of_lane(outcome: Outcome, tracks: Tracks) -> list[Element]:
    counts: list[Element] = tracks.count.tolist()
    if isinstance(outcome.function, Count):
        return counts
    present = counts if outcome.present is None else tracks.ints[outcome.present].tolist()
    kind, lane = outcome.lane
    if isinstance(outcome.function, Least):
        coded = tracks.leasts[lane]
        values: list[Any] = decoded(outcome, np.where(coded >= NOTHING, 0, coded)).tolist()
        if outcome.column is not None and outcome.column.kind == "boolean":
            values = [bool(value) for value in values]
        states = coded.tolist()
        return [
            None if state == NOBODY else () if state == NOTHING else (value,)
            for state, value in zip(states, values, strict=True)
        ]
    if isinstance(outcome.function, CountValues):
        return list(zip(counts, present, present, strict=True))
    sums = (tracks.floats if kind == "float" else tracks.ints)[lane].tolist()
    return list(zip(counts, present, sums, strict=True))
