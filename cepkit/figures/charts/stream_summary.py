"""The figure of a stream without a pattern: its types over time, their gaps, its keys."""

from __future__ import annotations

import plotly.graph_objects as go

from cepkit.arguments import check_range
from cepkit.figures.charts import stream_keys, stream_times
from cepkit.figures.kit.panels import Panels
from cepkit.figures.kit.style import message
from cepkit.statistics.summary import StreamSummary
from cepkit.tables import count_text, number

_PANEL, _KEY, _GAP, _MARGIN = 44, 22, 72, 40
_ABOVE, _BELOW = 92, 44
_KEYS = 3


def draw_stream(summary: StreamSummary, *, types: int = 8) -> go.Figure:
    """Return the types of a stream over time, and the keys that occur most.

    Args:
        summary: What `profile(stream)` returns.
        types: How many types, the most frequent ones first.
    """
    check_range("types", types, 1)
    counted = summary.over_time
    if counted is None:
        return message("0 events", "there is nothing to see")
    rows = summary.types[:types]
    columns = summary.keys[:_KEYS]
    heights = [_PANEL] * len(rows) + [_KEY * len(each.most_frequent) for each in columns]
    more = len(summary.types) - len(rows)
    left_out = f"; {count_text(more, 'rarer type')} left out" if more else ""
    title = f"{count_text(summary.events, 'event')} of {count_text(len(summary.types), 'type')}"
    bucket = f"events/s in buckets of {number(counted.bucket_seconds)} s; dashed: the mean"
    made = Panels.of(
        f"{title}<br><sub>{bucket}{left_out}</sub>", heights, _GAP, above=_ABOVE, below=_BELOW
    )
    made.chart.update_layout(margin={"r": _MARGIN})
    for place, row in enumerate(rows):
        text = f"{count_text(row.events, 'event')}, no gap"
        if row.median_gap is not None and row.longest_gap is not None:
            gaps = f"{number(row.median_gap)} s (median) to {number(row.longest_gap)} s"
            text = f"{count_text(row.events, 'event')}, gaps {gaps}"
        stream_times.add_panel(made, place, counted, row.type, text)
    for place, each in enumerate(columns, len(rows)):
        stream_keys.add_panel(made, place, each)
    return made.chart
