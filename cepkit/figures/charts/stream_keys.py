"""The figure of a stream's most frequent keys."""

from __future__ import annotations

import plotly.graph_objects as go

from cepkit.figures.kit.panels import Panels, add_bars, add_points, axis_name, hover_text, rows_of
from cepkit.figures.kit.style import BLUE, SKY, VERMILLION, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.model import Statistics

_ROW, _GAP = 22, 84
_ABOVE, _BELOW = 92, 44
_LABEL_LENGTH = 15


def draw_keys(statistics: Statistics) -> go.Figure:
    """Return the most frequent keys as bars; the figure is returned, not shown.

    One panel for each list of attributes that PARTITION BY or an equality compares; the dashed line
    is the mean of all keys.
    """
    panels = [keys for keys in statistics.keys if keys.most_frequent]
    title = "the most frequent keys"
    if not panels:
        return message(title, "the pattern compares no keys, or no event has one")
    made = Panels.of(
        f"{title}<br><sub>dashed: the mean of all keys</sub>",
        [_ROW * len(keys.most_frequent) for keys in panels], _GAP, above=_ABOVE, below=_BELOW,
    )  # fmt: skip
    for place, keys in enumerate(panels):
        add_panel(made, place, keys)
    made.chart.update_layout(margin={"r": 40})
    return made.chart


def add_panel(made: Panels, place: int, keys: KeyCounts) -> None:
    """Add the most frequent values of a key as bars, on axes of their own."""
    x, y = axis_name("x", place), axis_name("y", place)
    names, numbers = zip(*keys.most_frequent, strict=True)
    places = list(range(len(names)))
    add_bars(
        made.chart,
        list(numbers),
        places,
        orientation="h",
        width=0.66,
        marker={"color": SKY, "line": {"color": BLUE, "width": 1.2}},
        hovertext=[hover_text(name, f"{n:,} events") for name, n in keys.most_frequent],
        xaxis=x,
        yaxis=y,
    )
    mean = keys.events / keys.distinct
    add_points(
        made.chart,
        "text",
        # To the right of the mean's line if they would lie on it.
        [max(n, mean) for n in numbers],
        places,
        text=[f" {n:,}" for n in numbers],
        textposition="middle right",
        cliponaxis=False,
        xaxis=x,
        yaxis=y,
    )
    line = {"dash": "dash", "color": VERMILLION, "width": 2}
    ends = [-0.5, len(places) - 0.5]
    add_points(made.chart, "lines", [mean, mean], ends, line=line, xaxis=x, yaxis=y)
    most = max(numbers)
    # Room for the number behind the longest bar; whole numbers at the ticks.
    step = 1 if most < 4 else None
    made.set_axis(x, None, anchor=y, range=[0, 1.3 * most], nticks=4, dtick=step)
    rows = rows_of([shown(cut(name, _LABEL_LENGTH)) for name in names], 0.5, 0.5)
    made.set_axis(y, place, anchor=x, **rows)
    summary = f"{keys.distinct:,} keys, top {keys.skew:.3g} x mean"
    made.add_name(place, ", ".join(keys.attributes), summary)
