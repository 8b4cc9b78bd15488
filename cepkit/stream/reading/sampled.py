"""Stretches from all over files as one short stream, to measure what plans need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepkit.stream.columns import EventColumns
from cepkit.stream.reading.file_parts import FileParts
from cepkit.stream.reading.ingest import event_columns

_STRETCHES = 4
_ROWS = 1 << 17
_WINDOWS = 4
"""The windows in a stretch; each has `_ROWS` rows at least."""
_MOST = 1 << 20


def sampled_events(parts: FileParts, attributes: Sequence[str], window: int) -> EventColumns:
    """Return stretches of a stream, as if a window lay between each and the next.

    Args:
        window: The microseconds between them.
    """
    first, last = parts.ends
    in_window = parts.rows * window // max(last - first, 1)
    least = min(max(_ROWS, _WINDOWS * in_window), _MOST)
    schema = parts.schema
    needed = {*attributes, *schema.roles}
    names = [name for name in parts.stored.names if name in needed]
    stretches = parts.some(names, least, _STRETCHES)
    columns = event_columns(pa.concat_tables([parts.empty(names), *stretches]), schema, attributes)
    ends = np.cumsum([len(stretch) for stretch in stretches])
    stretch = np.searchsorted(ends, columns.source_rows(np.arange(len(columns))), "right")
    steps = np.diff(columns.ts, prepend=columns.ts[:1])
    apart = stretch[1:] > stretch[:-1]
    steps[1:][apart] = np.minimum(steps[1:][apart], window + 1)
    return replace(columns, ts=columns.ts[:1] + np.cumsum(steps))
