"""Totals of each group: the aggregates of all its matches.

Compiled loops return lanes of numbers. Those of parts of a stream become elements, which hold the
same values in a form that `Together.plus` can merge across parts, even if their dictionaries of
texts differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import NOTHING, Tracks
from cepkit.aggregation.rows.matched import add_to
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.tables import Values, kept, typed
from cepkit.aggregation.semirings.functions import Count, Element, Function
from cepkit.aggregation.semirings.lanes import SAFE, Lanes, Outcome, decoded, moved, tracks_for
from cepkit.aggregation.sequence.elements import Together
from cepkit.lazy import pa
from cepkit.pattern.aggregates.contract import EXTREMES, Accumulator
from cepkit.pattern.conditions import Comparison
from cepkit.stream.columns import EventColumns
from cepkit.stream.schema import Schema

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
        grouped: Whether there is GROUP BY; without it there is always one row.
        whole: Whether to keep groups without a match.
    """
    sums = tracks_for(lanes, size)
    add_to(sums, groups, new)
    present = (sums.counts > 0) | whole
    at = np.flatnonzero(present).astype(np.int32) if grouped else np.zeros(1, np.int32)
    nothing = np.zeros(len(at), np.int64)
    return Moments(nothing, at, nothing.astype(np.bool_), nothing, sums.take(at), lanes)


class GroupSums:
    """The sums of matches of parts of a stream, for each group.

    Args:
        groups: The columns of GROUP BY.
    """

    def __init__(self, functions: Mapping[str, Function], groups: pa.Schema) -> None:
        self.together = Together(list(functions.values()))
        self._functions, self._groups = functions, groups
        self._sums: dict[tuple[Any, ...], Element] = {}
        if not groups.names:
            self._sums[()] = self.together.zero

    def add(
        self, columns: EventColumns, moments: Moments, group_rows: npt.NDArray[np.int32]
    ) -> None:
        """Add the aggregates of matches among some events, with an event of each group."""
        sums = summed(moments, self.together)
        if names := self._groups.names:
            # A group with triggers only has no row.
            sums = {group: element for group, element in sums.items() if element[0]}
        groups: Iterable[tuple[Any, ...]] = [()] * len(sums)
        if names:
            rows = columns.source_rows(group_rows[np.fromiter(sums, np.int64, len(sums))])
            keys = columns.source.select(names).take(pa.array(rows))
            values = [[_normal(v) for v in keys.column(name).to_pylist()] for name in names]
            groups = zip(*values, strict=True)
        for group, element in zip(groups, sums.values(), strict=True):
            self.plus(group, element)

    def plus(self, group: tuple[Any, ...], element: Element) -> None:
        """Add a sum of a group."""
        known = self._sums.get(group)
        self._sums[group] = element if known is None else self.together.plus(known, element)

    @property
    def elements(self) -> list[Element]:
        """The sums of all groups."""
        return [*self._sums.values()]

    def keys(self) -> list[pa.Array]:
        """Return the columns of the groups."""
        return [
            pa.array([group[i] for group in self._sums], field.type)
            for i, field in enumerate(self._groups)
        ]

    def columns(
        self, nothing: EventColumns, schema: Schema, having: Sequence[Comparison]
    ) -> dict[str, Values]:
        """Return the columns of the output.

        Args:
            nothing: The stream without events.
        """
        rows: dict[str, Values] = dict(zip(self._groups.names, self.keys(), strict=True))
        for place, (name, function) in enumerate(self._functions.items(), 1):
            results = [function.result(element[place]) for element in self._sums.values()]
            rows[name] = typed(results, function, nothing, schema)
        return kept(rows, having)


def _normal(value: Any) -> Any:
    """Return the representative of all values that GROUP BY treats as equal."""
    if isinstance(value, float):
        return None if value != value else value + 0.0
    return value
