"""The figure of a stream over time: the rate of each variable's types, in panels."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from cepkit.figures.kit.panels import Panels, add_points, axis_name, hover_text
from cepkit.figures.kit.style import BLUE, ORANGE, SMALL, message
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
    bucket = f"buckets of {number(counted.bucket_seconds)} s"
    made = Panels.of(
        f"{title}<br><sub>{bucket}; dashed: the mean</sub>", [_PANEL] * len(counted.counts), _GAP,
        above=_ABOVE, below=_BELOW,
    )  # fmt: skip
    for place, variable in enumerate(counted.counts):
        drift, bursts = 100 * counted.drift(variable), counted.burst(variable)
        mean = counted.mean_rate(variable)
        text = f"mean {mean:.3g}, drift {drift:+.0f} %, bursts {bursts:.3g}"
        add_panel(made, place, counted, variable, text)
    made.chart.update_layout(hovermode="x")
    return made.chart


def add_panel(made: Panels, place: int, counted: OverTime, variable: str, text: str) -> None:
    """Add the rates of a variable or a type, below its name and a text, above all times."""
    length = counted.bucket_seconds * 1e6
    begins = [round(counted.begin + i * length) for i in range(counted.buckets + 1)]
    moments = [str(np.datetime64(t, "us")) for t in begins]
    rates, mean = counted.rates(variable), counted.mean_rate(variable)
    steps = [*rates, rates[-1]]  # the last step is as long as the others
    axis = axis_name("y", place)
    add_points(
        made.chart,
        "lines",
        moments,
        steps,
        line={"shape": "hv", "color": BLUE, "width": 1.6},
        fill="tozeroy",
        fillcolor="rgba(86,180,233,0.25)",
        yaxis=axis,
        hovertext=[hover_text(variable, f"{number(rate)} events/s") for rate in steps],
        hoverinfo="text+x",
    )
    line = {"dash": "dash", "color": ORANGE, "width": 1.4}
    add_points(made.chart, "lines", [moments[0], moments[-1]], [mean, mean], yaxis=axis, line=line)
    most = max(rates)
    # A panel of this height has room for zero and the greatest only.
    ticks = [0, most] if most else [0]
    made.set_axis(
        axis, place, anchor="x", range=[0, 1.08 * most or 1], tickfont={"size": SMALL},
        tickvals=ticks, ticktext=list(map(number, ticks)),
    )  # fmt: skip
    made.add_name(place, variable, text)
    below = {"type": "date", "anchor": axis, "showgrid": True, "nticks": 5}
    made.chart.update_layout(xaxis=below)
