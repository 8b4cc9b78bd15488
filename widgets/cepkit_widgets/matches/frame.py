"""Matches as a flat table: a row for each, a column for each attribute of each variable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from cepkit.diagnosis.findings import Binding
from cepkit_widgets.matches.known import Known


def frame_of(known: Known, numbers: Sequence[int]) -> pd.DataFrame:
    """Return matches as a table; an attribute of a repeated variable is a list."""
    return frame_of_bindings(known, numbers, [known.binding(number) for number in numbers])


def frame_of_bindings(
    known: Known, numbers: Sequence[int], bindings: Sequence[Binding]
) -> pd.DataFrame:
    """Return matches of the same events and variables as a table.

    Args:
        known: The matches, with their events.
        numbers: The numbers of the matches.
        bindings: For each match the events of each variable.
    """
    data: dict[str, object] = {"match": pd.Series(numbers, dtype="int64")}
    columns, source = known.columns, known.columns.source
    for variable in known.variables:
        bound = [binding.get(variable, ()) for binding in bindings]
        flat = np.array([event for events in bound for event in events], dtype=np.int64)
        taken = source.take(pa.array(columns.source_rows(flat)))
        ends = np.cumsum([len(events) for events in bound])
        for name in source.column_names:
            values = taken.column(name).to_pandas()
            if variable in known.repeated:
                parts = zip(bound, ends, strict=True)
                lists = [list(values.iloc[end - len(events) : end]) for events, end in parts]
                values = pd.Series(lists, dtype=object)
            elif len(values) != len(numbers):
                # Rows of another branch of an OR stay empty here.
                values.index = pd.Index(np.flatnonzero([bool(events) for events in bound]))
                values = values.reindex(range(len(numbers)))
            data[f"{variable}.{name}"] = values
    return pd.DataFrame(data)
