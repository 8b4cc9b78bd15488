"""The figure of a stream's keys: the most frequent ones, and how far they stand out."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.figures.kit.panels import add_heading, stacked
from cepkit.figures.kit.style import BLUE, GRID, SKY, VERMILLION, at_the_top, figure, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.model import Statistics

_ROW, _GAP = 22, 84
_ABOVE, _BELOW = 92, 44
_LABEL_LENGTH = 15


@dataclass(frozen=True, slots=True)
class KeyBars:
    """The most frequent keys of some attributes.

    Attributes:
        name: The attributes.
        keys: The keys, the most frequent first.
        numbers: The events of each.
        mean: The events of a key on average.
        summary: How many keys there are, and how uneven.
    """

    name: str
    keys: tuple[str, ...]
    numbers: tuple[int, ...]
    mean: float
    summary: str


def key_bars(statistics: Statistics) -> tuple[KeyBars, ...]:
    """Return what is drawn of statistics; keys that no event has are left out."""
    return tuple(_bars(keys) for keys in statistics.keys if keys.most_frequent)


def _bars(keys: KeyCounts) -> KeyBars:
    names, numbers = zip(*keys.most_frequent, strict=True)
    summary = f"{keys.distinct:,} keys, top {keys.skew:.3g} x mean"
    return KeyBars(", ".join(keys.attributes), names, numbers, keys.events / keys.distinct, summary)


def draw_keys(statistics: Statistics) -> go.Figure:
    """Return the most frequent keys as bars; the figure is returned, not shown.

    One panel for each list of attributes that PARTITION BY or an equality compares; the dashed
    line is what a key has on average.
    """
    panels = key_bars(statistics)
    title = "the most frequent keys"
    if not panels:
        return message(title, "the pattern compares no keys, or no event has one")
    plot, domains = stacked([_ROW * len(panel.keys) for panel in panels], _GAP)
    chart = figure(f"{title}<br><sub>dashed: the mean of all keys</sub>", plot + _ABOVE + _BELOW)
    chart.update_layout(
        margin={"t": _ABOVE, "b": _BELOW, "r": 40}, title=at_the_top(2), showlegend=False
    )
    for place, (panel, domain) in enumerate(zip(panels, domains, strict=True)):
        _add_panel(chart, place, panel, domain)
    return chart


def _add_panel(chart: go.Figure, place: int, panel: KeyBars, domain: tuple[float, float]) -> None:
    suffix = "" if place == 0 else str(place + 1)
    places = list(range(len(panel.keys)))
    chart.add_bar(
        orientation="h",
        x=list(panel.numbers),
        y=places,
        width=0.66,
        marker={"color": SKY, "line": {"color": BLUE, "width": 1.2}},
        text=[f"{n:,}" for n in panel.numbers],
        textposition="outside",
        textangle=0,
        cliponaxis=False,
        hovertext=[
            f"<b>{shown(cut(key, 200))}</b><br>{n:,} events"
            for key, n in zip(panel.keys, panel.numbers, strict=True)
        ],
        hoverinfo="text",
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
    )
    chart.add_scatter(
        x=[panel.mean, panel.mean],
        y=[-0.5, len(places) - 0.5],
        mode="lines",
        line={"dash": "dash", "color": VERMILLION, "width": 2},
        hoverinfo="skip",
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
    )
    most = max(panel.numbers)
    plain = {"gridcolor": GRID, "linecolor": GRID, "zeroline": False, "automargin": True}
    chart.update_layout(
        {
            f"xaxis{suffix}": {
                **plain,
                "anchor": f"y{suffix}",
                # Room for the number behind the longest bar; whole numbers at the ticks.
                "range": [0, 1.3 * most],
                "nticks": 4,
                "dtick": 1 if most < 4 else None,
                "tickformat": "~s" if most >= 1000 else None,
            },
            f"yaxis{suffix}": {
                **plain,
                "anchor": f"x{suffix}",
                "domain": list(domain),
                "tickvals": places,
                "ticktext": [shown(cut(key, _LABEL_LENGTH)) for key in panel.keys],
                "range": [len(places) - 0.5, -0.5],
                "showgrid": False,
            },
        }
    )
    add_heading(chart, panel.name, panel.summary, domain[1])
