"""The figure of a stream over time: the rate of each variable's types, in panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cepkit.figures.kit.panels import add_heading, stacked
from cepkit.figures.kit.style import BLUE, GRID, ORANGE, SMALL, at_the_top, figure, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.statistics.model import Statistics
from cepkit.statistics.tables import number

_PANEL, _GAP = 64, 54
_ABOVE, _BELOW = 92, 48


@dataclass(frozen=True, slots=True)
class Series:
    """The rate of one variable's types over time.

    Attributes:
        variable: Its name.
        begins: Where each bucket begins, in microseconds since 1970, and the last one ends.
        rates: The events per second in each bucket.
        mean: Their mean.
        drift: How much they changed from the first quarter to the last: see `OverTime.drift`.
        burst: How unevenly they came: see `OverTime.burst`.
    """

    variable: str
    begins: tuple[int, ...]
    rates: tuple[float, ...]
    mean: float
    drift: float
    burst: float


def series(statistics: Statistics) -> tuple[Series, ...]:
    """Return what is drawn of statistics; nothing where nothing was counted over time."""
    over_time = statistics.over_time
    if over_time is None:
        return ()
    length = over_time.bucket_seconds * 1e6
    begins = tuple(round(over_time.begin + i * length) for i in range(over_time.buckets + 1))
    return tuple(
        Series(
            v,
            begins,
            over_time.rates(v),
            over_time.mean_rate(v),
            over_time.drift(v),
            over_time.burst(v),
        )
        for v in over_time.counts
    )


def draw_over_time(statistics: Statistics) -> go.Figure:
    """Return the rates of the variables over time; the figure is returned, not shown.

    Each variable has a panel of its own with an axis from zero, so that rare and frequent ones can
    be compared in shape; the dashed line is the mean.
    """
    rows = series(statistics)
    title = "events per second over time"
    if not rows:
        return message(title, "nothing was counted over time")
    assert statistics.over_time is not None
    plot, domains = stacked([_PANEL] * len(rows), _GAP)
    bucket = f"buckets of {number(statistics.over_time.bucket_seconds)} s"
    chart = figure(f"{title}<br><sub>{bucket}; dashed: the mean</sub>", plot + _ABOVE + _BELOW)
    chart.update_layout(
        margin={"t": _ABOVE, "b": _BELOW}, title=at_the_top(2), showlegend=False, hovermode="x"
    )
    for place, (row, domain) in enumerate(zip(rows, domains, strict=True)):
        _add_panel(chart, place, row, domain)
    below = "y" if len(rows) == 1 else f"y{len(rows)}"
    chart.update_layout(xaxis={"type": "date", "anchor": below, "showgrid": True, "nticks": 5})
    return chart


def _add_panel(chart: go.Figure, place: int, row: Series, domain: tuple[float, float]) -> None:
    axis = "y" if place == 0 else f"y{place + 1}"
    moments = [str(np.datetime64(t, "us")) for t in row.begins]
    chart.add_scatter(
        x=moments,
        y=[*row.rates, row.rates[-1]],  # the last step is as long as the others
        mode="lines",
        line={"shape": "hv", "color": BLUE, "width": 1.6},
        fill="tozeroy",
        fillcolor="rgba(86,180,233,0.25)",
        yaxis=axis,
        hovertext=[
            f"<b>{shown(cut(row.variable, 80))}</b><br>{number(rate)} events/s"
            for rate in (*row.rates, row.rates[-1])
        ],
        hoverinfo="text+x",
    )
    chart.add_scatter(
        x=[moments[0], moments[-1]],
        y=[row.mean, row.mean],
        mode="lines",
        line={"dash": "dash", "color": ORANGE, "width": 1.4},
        yaxis=axis,
        hoverinfo="skip",
    )
    most = max(row.rates)
    # Zero and the greatest are all that a panel of this height has room for.
    settings: dict[str, Any] = {
        "domain": list(domain),
        "range": [0, 1.08 * most or 1],
        "tickvals": [0, most] if most else [0],
        "ticktext": ["0", number(most)] if most else ["0"],
        "tickfont": {"size": SMALL},
        "gridcolor": GRID,
        "zeroline": False,
        "automargin": True,
        "anchor": "x",
    }
    chart.update_layout({"yaxis" if place == 0 else f"yaxis{place + 1}": settings})
    add_heading(chart, row.variable, _summary(row), domain[1])


def _summary(row: Series) -> str:
    return f"mean {row.mean:.3g}, drift {100 * row.drift:+.0f} %, bursts {row.burst:.3g}"
