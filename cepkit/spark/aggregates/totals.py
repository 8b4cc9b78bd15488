"""Totals on Spark: tasks yield partial aggregates of each group, merged later.

Source: ASEQ's aggregates as semirings (`aggregation/rows/partial.py`).
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.partial import summed
from cepkit.aggregation.rows.tables import Values, kept, typed
from cepkit.aggregation.semirings.functions import Element
from cepkit.aggregation.sequence.elements import Together
from cepkit.errors import LimitError
from cepkit.spark.aggregates.request import Request
from cepkit.spark.session.tasks import pickled
from cepkit.stream.columns import EventColumns

Rows = npt.NDArray[np.int32]

ELEMENT = pa.field("element", pa.binary())
"""The column of packed sums."""


class Totals:
    """The partial totals of a task, for each group of a query."""

    def __init__(self, request: Request, promised: pa.Schema) -> None:
        self._request = request
        self._together = Together(list(request.functions.values()))
        self._groups = pa.schema([promised.field(name) for name in request.query.group_by])
        self._sums: dict[tuple[Any, ...], Element] = {}
        if not request.query.group_by:
            self._sums[()] = self._together.zero

    def add_number(self, number: int) -> None:
        """Add a number of matches, if there are no other aggregates and no groups."""
        self._plus((), (number,) * (1 + len(self._request.functions)))

    def add(self, columns: EventColumns, moments: Moments, group_rows: Rows) -> None:
        """Add the aggregates of matches among some events, with an event of each group."""
        sums = summed(moments, self._together)
        if names := self._groups.names:
            # A group with triggers only has no row.
            sums = {group: element for group, element in sums.items() if element[0]}
        rows = columns.source_rows(group_rows[np.fromiter(sums, np.int64, len(sums))])
        keys = columns.source.select(names).take(pa.array(rows))
        values = [[_normal(v) for v in keys.column(name).to_pylist()] for name in names]
        groups = zip(*values, strict=True) if names else [()] * len(sums)
        for group, element in zip(groups, sums.values(), strict=True):
            self._plus(group, element)

    def merge(self, batch: pa.RecordBatch) -> None:
        """Merge a batch made by `packed`."""
        *keys, elements = (column.to_pylist() for column in batch.columns)
        groups = zip(*keys, strict=True) if keys else [()] * len(elements)
        for group, element in zip(groups, elements, strict=True):
            self._plus(group, pickle.loads(element))  # noqa: S301 - what a worker has written

    def packed(self) -> list[pa.Array]:
        """Return the columns of the groups, and the sums, each packed."""
        # A user's function may return instances of a class that only the user's code defines.
        packed = [pickled(element) for element in self._sums.values()]
        return [*self._keys(), pa.array(packed, pa.binary())]

    def results(self, promised: pa.Schema) -> list[pa.Array]:
        """Return the result columns."""
        sending = self._request.sending
        keys = zip((field.name for field in self._groups), self._keys(), strict=True)
        rows: dict[str, Values] = dict(keys)
        for place, (name, function) in enumerate(self._request.functions.items(), 1):
            results = [function.result(element[place]) for element in self._sums.values()]
            rows[name] = typed(results, function, sending.nothing, sending.schema)
        rows = kept(rows, self._request.query.having)
        return [as_promised(values, promised.field(name)) for name, values in rows.items()]

    def _plus(self, group: tuple[Any, ...], element: Element) -> None:
        known = self._sums.get(group)
        self._sums[group] = element if known is None else self._together.plus(known, element)

    def _keys(self) -> list[pa.Array]:
        return [
            pa.array([group[i] for group in self._sums], field.type)
            for i, field in enumerate(self._groups)
        ]


def _normal(value: Any) -> Any:
    """Return the representative of all values that GROUP BY treats as equal."""
    if isinstance(value, float):
        return None if value != value else value + 0.0
    return value


def as_promised(values: Values, field: pa.Field) -> pa.Array:
    """Convert values to the declared Spark type.

    Raises:
        LimitError: An integer is beyond 64 bits.
    """
    if isinstance(values, list):
        longest = max((abs(value) for value in values if value is not None), default=0)
        if longest < 2**63:
            return pa.array(values, field.type)
        raise LimitError(
            f"the column '{field.name}' has an integer of {len(str(longest))} digits",
            expected="on Spark at most 64 bits",
            hint="a local stream holds integers of any size",
        )
    return values if values.type.equals(field.type) else values.cast(field.type)
