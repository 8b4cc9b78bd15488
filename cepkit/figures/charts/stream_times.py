"""The figure of a stream over time: the rate of each variable's types, in panels."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from cepkit.figures.kit.panels import add_heading, axis_name, stacked
from cepkit.figures.kit.style import BLUE, GRID, ORANGE, SMALL, at_the_top, figure, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.statistics.model import Statistics
from cepkit.statistics.over_time import OverTime
from cepkit.tables import number

_PANEL, _GAP = 64, 54
_ABOVE, _BELOW = 92, 48


def draw_over_time(statistics: Statistics) -> go.Figure:
    """Return the rates of the variables over time; the figure is returned, not shown.

    Each variable has a panel of its own with an axis from zero, so that rare and frequent ones can
    be compared in shape; the dashed line is the mean.
    """
    title = "events per second over time"
    counted = statistics.over_time
    if counted is None or not counted.counts:
        return message(title, "nothing was counted over time")
    plot, domains = stacked([_PANEL] * len(counted.counts), _GAP)
    bucket = f"buckets of {number(counted.bucket_seconds)} s"
    chart = figure(f"{title}<br><sub>{bucket}; dashed: the mean</sub>", plot + _ABOVE + _BELOW)
    chart.update_layout(
        margin={"t": _ABOVE, "b": _BELOW}, title=at_the_top(2), showlegend=False, hovermode="x"
    )
    for place, (variable, domain) in enumerate(zip(counted.counts, domains, strict=True)):
        drift, bursts = 100 * counted.drift(variable), counted.burst(variable)
        mean = counted.mean_rate(variable)
        text = f"mean {mean:.3g}, drift {drift:+.0f} %, bursts {bursts:.3g}"
        add_panel(chart, axis_name("y", place), counted, variable, domain, text)
    below = axis_name("y", len(domains) - 1)
    chart.update_layout(xaxis={"type": "date", "anchor": below, "showgrid": True, "nticks": 5})
    return chart


def add_panel(
    chart: go.Figure,
    axis: str,
    counted: OverTime,
    variable: str,
    domain: tuple[float, float],
    text: str,
) -> None:
    """Add the rates of a variable or a type, below its name and a text."""
    length = counted.bucket_seconds * 1e6
    begins = [round(counted.begin + i * length) for i in range(counted.buckets + 1)]
    moments = [str(np.datetime64(t, "us")) for t in begins]
    rates, mean = counted.rates(variable), counted.mean_rate(variable)
    steps = [*rates, rates[-1]]  # the last step is as long as the others
    name = shown(cut(variable, 80))
    chart.add_scatter(
        x=moments,
        y=steps,
        mode="lines",
        line={"shape": "hv", "color": BLUE, "width": 1.6},
        fill="tozeroy",
        fillcolor="rgba(86,180,233,0.25)",
        yaxis=axis,
        hovertext=[f"<b>{name}</b><br>{number(rate)} events/s" for rate in steps],
        hoverinfo="text+x",
    )
    chart.add_scatter(
        x=[moments[0], moments[-1]], y=[mean, mean], mode="lines", yaxis=axis, hoverinfo="skip",
        line={"dash": "dash", "color": ORANGE, "width": 1.4},
    )  # fmt: skip
    most = max(rates)
    # A panel of this height has room for zero and the greatest only.
    settings: dict[str, Any] = {
        "domain": list(domain), "range": [0, 1.08 * most or 1], "anchor": "x",
        "tickvals": [0, most] if most else [0], "ticktext": ["0", number(most)] if most else ["0"],
        "tickfont": {"size": SMALL}, "gridcolor": GRID, "zeroline": False, "automargin": True,
    }  # fmt: skip
    chart.update_layout({f"yaxis{axis[1:]}": settings})
    add_heading(chart, variable, text, domain[1])
