"""Runs several DataFrames in one action, so that Spark runs their stages in parallel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def in_one_action(frames: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
    """Return the (few) rows of each of several DataFrames by one action.

    Tasks of the first one keep the numbers that they would have alone.
    """
    if len(frames) < 2:
        return {name: frame.toArrow() for name, frame in frames.items()}
    # Each is one column, null in the rows of the others. Inside a list: a bare null struct would
    # have nulls in its non-null fields, which Arrow refuses.
    packed = [frame.select(F.array(F.struct("*")).alias(name)) for name, frame in frames.items()]
    united = reduce(lambda one, more: one.unionByName(more, allowMissingColumns=True), packed)
    table = united.toArrow()
    return {name: _unpacked(table.column(name)) for name in frames}


def _unpacked(column: pa.ChunkedArray) -> pa.Table:
    return pa.Table.from_struct_array(pc.list_flatten(column))
