"""Columns as Python's own values, and times in zones that Python and pandas can show."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.lazy import pa, pc
from cepkit.stream.columns import Column

_ZONES_FROM = np.datetime64("1678-01-01", "s")
_ZONES_TO = np.datetime64("9999-12-30", "s")
"""Before and after them pandas ends the process where it looks up a zone's clock, or Python's dates
do not reach it."""


def in_known_zone(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column unchanged, or in UTC if its zone has no clock for some of its times."""
    kind = times.type
    if not pa.types.is_timestamp(kind) or kind.tz in (None, "UTC") or kind.unit == "ns":
        return times  # 64 bits of nanoseconds do not reach that far
    ends = pc.min_max(times.cast(pa.timestamp(kind.unit)))
    first, last = (ends[name].value for name in ("min", "max"))
    if first is None:
        return times
    early, late = (
        limit.astype(f"datetime64[{kind.unit}]").astype(np.int64)
        for limit in (_ZONES_FROM, _ZONES_TO)
    )
    return times if early <= first and last < late else times.cast(pa.timestamp(kind.unit, "UTC"))


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
