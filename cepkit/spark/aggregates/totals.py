"""Totals on Spark: tasks yield partial aggregates of each group, merged later.

Source: ASEQ's aggregates as semirings (`aggregation/rows/totals.py`).
"""

from __future__ import annotations

import pickle

import pyarrow as pa

from cepkit.aggregation.rows.tables import Values
from cepkit.aggregation.rows.totals import GroupSums
from cepkit.errors import LimitError
from cepkit.spark.aggregates.request import Request
from cepkit.spark.session.tasks import pickled

ELEMENT = pa.field("element", pa.binary())
"""The column of packed sums."""


class Totals(GroupSums):
    """The partial totals of a task, for each group of a query."""

    def __init__(self, request: Request, promised: pa.Schema) -> None:
        super().__init__(request.functions, request.query.group_by, promised)
        self._request = request

    def add_number(self, number: int) -> None:
        """Add a number of matches, if there are no other aggregates and no groups."""
        self.plus((), (number,) * (1 + len(self._request.functions)))

    def merge(self, batch: pa.RecordBatch) -> None:
        """Merge a batch made by `packed`."""
        *keys, elements = (column.to_pylist() for column in batch.columns)
        groups = zip(*keys, strict=True) if keys else [()] * len(elements)
        for group, element in zip(groups, elements, strict=True):
            self.plus(group, pickle.loads(element))  # noqa: S301 - what a worker has written

    def packed(self) -> list[pa.Array]:
        """Return the columns of the groups, and the sums, each packed."""
        # A user's function may return instances of a class that only the user's code defines.
        packed = [pickled(element) for element in self.elements]
        return [*self.keys(), pa.array(packed, pa.binary())]

    def results(self, promised: pa.Schema) -> list[pa.Array]:
        """Return the result columns."""
        sending = self._request.sending
        rows = self.columns(sending.nothing, sending.schema, self._request.query.having)
        return [as_promised(values, promised.field(name)) for name, values in rows.items()]


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
