"""Matches as a DataFrame: each event a dictionary of its columns, each set a list of events.

Arrow's own conversion makes bare numbers of the times inside of an event, and inexact ones of
large integers beside missing values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return matches as a DataFrame in which each event is a dictionary of its columns."""
    return pd.DataFrame({name: _series(table.column(name)) for name in table.column_names})


def _series(column: pa.ChunkedArray) -> pd.Series[Any]:
    if pa.types.is_struct(column.type):
        return pd.Series(_events(column))
    if pa.types.is_list(column.type):
        return pd.Series(_sets(column))
    whole: pd.Series[Any] = column.to_pandas()
    return whole


def _events(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """Return the events of a column as dictionaries, None where there is none."""
    there = column.is_valid().to_numpy()
    names = [field.name for field in column.type]
    parts = (
        part.to_pandas(integer_object_nulls=True).astype(object)
        for part in column.drop_null().flatten()
    )
    events = np.full(len(column), None, dtype=object)
    for row, values in zip(np.flatnonzero(there), zip(*parts, strict=True), strict=True):
        events[row] = dict(zip(names, values, strict=True))
    return events


def _sets(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """Return the sets of a column as lists of events, None where there is none."""
    there = column.is_valid().to_numpy()
    each = column.drop_null()
    members = _events(pa.chunked_array([c.flatten() for c in each.chunks], each.type.value_type))
    ends = np.cumsum(pc.list_value_length(each).to_numpy(), dtype=np.int64)
    sets = np.full(len(column), None, dtype=object)
    for row, begin, end in zip(np.flatnonzero(there), [0, *ends], ends, strict=False):
        sets[row] = list(members[begin:end])
    return sets
