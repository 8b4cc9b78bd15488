"""Columns as Python's own values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.stream.columns import Column


def plain_values(column: Column) -> list[Any]:
    """Return the values of a column as Python values, None for missing ones."""
    plain: list[Any]
    if column.kind == "text":
        texts: npt.NDArray[np.object_] = np.append(column.dictionary, [None])
        return list(texts[column.values])
    if column.kind == "boolean":
        plain = [bool(value) for value in column.values.tolist()]
    else:
        plain = column.values.tolist()
    if column.has_missing or column.kind == "null":
        for row in np.flatnonzero(column.missing()).tolist():
            plain[row] = None
    return plain
