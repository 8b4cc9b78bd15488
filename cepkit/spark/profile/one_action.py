"""Several DataFrames in one action: Spark runs their stages side by side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def in_one_action(frames: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
    """Return the rows of each of some DataFrames, which are few, by one action for all.

    Tasks of the first have the numbers that they would have alone.
    """
    if len(frames) < 2:
        return {name: frame.toArrow() for name, frame in frames.items()}
    # Each is one column, and null in the rows of the others. A struct alone, were it null, would
    # have nulls in fields that are never null, which Arrow refuses: in a list it is just not there.
    packed = [frame.select(F.array(F.struct("*")).alias(name)) for name, frame in frames.items()]
    united = reduce(lambda one, more: one.unionByName(more, allowMissingColumns=True), packed)
    table = united.toArrow()
    return {name: _unpacked(table.column(name)) for name in frames}


def _unpacked(column: pa.ChunkedArray) -> pa.Table:
    return pa.Table.from_struct_array(pc.list_flatten(column))
