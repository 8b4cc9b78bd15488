"""Totals of each group: the aggregates of all its matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.aggregation.kernels.records import Tracks
from cepkit.aggregation.rows.matched import add_to
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.partial import summed
from cepkit.aggregation.rows.tables import Values, kept, typed
from cepkit.aggregation.semirings.functions import Element, Function
from cepkit.aggregation.semirings.lanes import Lanes, tracks_for
from cepkit.aggregation.sequence.elements import Together
from cepkit.pattern.conditions import Comparison
from cepkit.stream.columns import EventColumns
from cepkit.stream.schema import Schema


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


class GroupSums:
    """The sums of matches of parts of a stream, for each group.

    Args:
        functions: The functions of the columns, by name.
        group_by: The columns that groups agree on.
        source: The columns of the stream.
    """

    def __init__(
        self, functions: Mapping[str, Function], group_by: Sequence[str], source: pa.Schema
    ) -> None:
        self.together = Together(list(functions.values()))
        self._functions = functions
        self._groups = pa.schema([source.field(name) for name in group_by])
        self._sums: dict[tuple[Any, ...], Element] = {}
        if not group_by:
            self._sums[()] = self.together.zero

    def add(
        self, columns: EventColumns, moments: Moments, group_rows: npt.NDArray[np.int32]
    ) -> None:
        """Add the aggregates of matches among some events, with an event of each group."""
        sums = summed(moments, self.together)
        if names := self._groups.names:
            # A group with triggers only has no row.
            sums = {group: element for group, element in sums.items() if element[0]}
        rows = columns.source_rows(group_rows[np.fromiter(sums, np.int64, len(sums))])
        keys = columns.source.select(names).take(pa.array(rows))
        values = [[_normal(v) for v in keys.column(name).to_pylist()] for name in names]
        groups = zip(*values, strict=True) if names else [()] * len(sums)
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
            schema: How its source is read.
            having: The thresholds of the rows.
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
