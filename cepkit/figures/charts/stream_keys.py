"""The figure of a stream's most frequent keys."""

from __future__ import annotations

import plotly.graph_objects as go

from cepkit.figures.kit.panels import add_heading, axis_name, rows_of, stacked
from cepkit.figures.kit.style import BLUE, SKY, VERMILLION, at_the_top, axis_of, figure, message
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
    plot, domains = stacked([_ROW * len(keys.most_frequent) for keys in panels], _GAP)
    chart = figure(f"{title}<br><sub>dashed: the mean of all keys</sub>", plot + _ABOVE + _BELOW)
    chart.update_layout(
        margin={"t": _ABOVE, "b": _BELOW, "r": 40}, title=at_the_top(2), showlegend=False
    )
    for place, (keys, domain) in enumerate(zip(panels, domains, strict=True)):
        add_panel(chart, place, keys, domain)
    return chart


def add_panel(chart: go.Figure, place: int, keys: KeyCounts, domain: tuple[float, float]) -> None:
    """Add the most frequent values of a key as bars, on axes of their own."""
    x, y = axis_name("x", place), axis_name("y", place)
    names, numbers = zip(*keys.most_frequent, strict=True)
    places = list(range(len(names)))
    chart.add_bar(
        orientation="h",
        x=list(numbers),
        y=places,
        width=0.66,
        marker={"color": SKY, "line": {"color": BLUE, "width": 1.2}},
        hovertext=[
            f"<b>{shown(cut(name, 200))}</b><br>{n:,} events" for name, n in keys.most_frequent
        ],
        hoverinfo="text",
        xaxis=x,
        yaxis=y,
    )
    mean = keys.events / keys.distinct
    chart.add_scatter(
        # To the right of the mean's line if they would lie on it.
        x=[max(n, mean) for n in numbers], y=places, mode="text",
        text=[f" {n:,}" for n in numbers], textposition="middle right", hoverinfo="skip",
        cliponaxis=False, xaxis=x, yaxis=y,
    )  # fmt: skip
    chart.add_scatter(
        x=[mean, mean], y=[-0.5, len(places) - 0.5], mode="lines", hoverinfo="skip",
        line={"dash": "dash", "color": VERMILLION, "width": 2}, xaxis=x, yaxis=y,
    )  # fmt: skip
    most = max(numbers)
    # Room for the number behind the longest bar; whole numbers at the ticks.
    ticks = {"dtick": 1 if most < 4 else None, "tickformat": "~s" if most >= 1000 else None}
    plain = {**axis_of(chart), "automargin": True}
    across = {**plain, "anchor": y, "range": [0, 1.3 * most], "nticks": 4, **ticks}
    rows = rows_of([shown(cut(name, _LABEL_LENGTH)) for name in names], 0.5, 0.5)
    upwards = {**plain, "anchor": x, "domain": list(domain), **rows}
    chart.update_layout({f"xaxis{x[1:]}": across, f"yaxis{y[1:]}": upwards})
    summary = f"{keys.distinct:,} keys, top {keys.skew:.3g} x mean"
    add_heading(chart, ", ".join(keys.attributes), summary, domain[1])
