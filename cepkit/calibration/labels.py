"""Labels: the incidents that matches should be near, in time and by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from cepkit.errors import StreamError, nearest
from cepkit.stream.paths import path_of
from cepkit.stream.reading.readers import column_names, read_table
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import Schema

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Incidents:
    """Incidents by time.

    Attributes:
        times: Their times in microseconds, ascending inside each key.
        keys: The begin and the end of the incidents of each key, by the key.
        before: How long before an incident a match may end, in microseconds.
        after: How long after it.
    """

    times: Integers
    keys: dict[Any, tuple[int, int]]
    before: int
    after: int

    def near(self, ends: Integers, keys: Sequence[Any] | None) -> tuple[Integers, Integers]:
        """Return the first incident near each match, and the one after the last."""
        if keys is None:
            begin = np.searchsorted(self.times, ends - self.after, side="left")
            return begin, np.searchsorted(self.times, ends + self.before, side="right")
        first, last = np.zeros(len(ends), np.int64), np.zeros(len(ends), np.int64)
        order = pd.Series(list(keys)).groupby(list(keys), dropna=True).indices if len(ends) else {}
        for key, places in order.items():
            low, high = self.keys.get(_plain(key), (0, 0))
            times = self.times[low:high]
            first[places] = low + np.searchsorted(times, ends[places] - self.after, "left")
            last[places] = low + np.searchsorted(times, ends[places] + self.before, "right")
        return first, last


def _plain(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


def incidents_of(
    labels: Any, by: str | None, before: int, after: int, schema: Schema, what: str = "labels"
) -> Incidents:
    """Return the incidents of a table or a list of times.

    Args:
        labels: Times; or a table with a column `time`, and one for the key; or its file.
        by: The name of the key in the table and the stream; None for no key.
        before: How long before an incident a match may end, in microseconds.
        after: How long after it.
        schema: That of the stream: it says what numbers and times without a zone mean.
        what: What errors call them.

    Raises:
        StreamError: The table lacks a column, or a value is not a time.
    """
    if isinstance(labels, str | Path):
        path = path_of(labels, StreamError)
        labels = read_table(path, column_names(path)).to_pandas()
    if isinstance(labels, pd.DataFrame):
        for name in ("time", *([by] if by is not None else [])):
            if name not in labels.columns:
                columns = list(map(str, labels.columns))
                raise StreamError(
                    f"the {what} have no column '{name}'",
                    expected=f"one of {', '.join(columns)}",
                    hint=nearest(name, columns),
                )
        frame = labels
    elif by is not None:
        raise StreamError(
            f"{what} with keys as a {type(labels).__name__}",
            expected=f"a DataFrame with the columns time and {by}",
        )
    elif isinstance(labels, list | tuple | pd.Series | pd.Index | np.ndarray):
        frame = pd.DataFrame({"time": list(labels)})
    else:
        raise StreamError(
            f"{what} of the type {type(labels).__name__}",
            expected="times in a list, or a DataFrame or a file with a column time",
        )
    if frame.empty:
        return Incidents(np.zeros(0, np.int64), {}, before, after)
    try:
        column = pa.chunked_array([pa.Array.from_pandas(frame["time"])])
    except (pa.ArrowException, TypeError, ValueError):
        raise StreamError(
            f"the times of the {what} are of several kinds, or are not times"
        ) from None
    has_no_zone = pa.types.is_timestamp(column.type) and column.type.tz is None
    if has_no_zone and schema.timezone is None and schema.column_zone not in (None, "UTC"):
        zone = schema.column_zone
        raise StreamError(
            f"the times of the {what} have no zone, those of the stream are in {zone}",
            expected="times in a zone",
            hint=f"{what}['time'].dt.tz_localize('{zone}') says in which",
        )
    times = microseconds(column, "time", unit=schema.unit, timezone=schema.timezone)
    if by is None:
        return Incidents(np.sort(times), {}, before, after)
    keys: dict[Any, tuple[int, int]] = {}
    parts: list[Integers] = []
    for key, places in frame.reset_index(drop=True).groupby(by, dropna=True).indices.items():
        begin = sum(map(len, parts))
        parts.append(np.sort(times[places]))
        keys[_plain(key)] = (begin, begin + len(places))
    return Incidents(np.concatenate(parts) if parts else times[:0], keys, before, after)
