"""The figure of the cost of plans as a rate changes, with cross-overs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from cepkit.figures.kit.key import HEIGHT, LEFT, KeyRow, add_key, mark_of, plot
from cepkit.figures.kit.labels import add_ends
from cepkit.figures.kit.panels import add_points, hover_text
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import SMALL, TEXT
from cepkit.figures.kit.texts import cut, shown
from cepkit.plan.logarithms import log_text
from cepkit.plan.nodes import TreePlan
from cepkit.planners.cross_overs import CrossOver, RateCurve, cheapest_at
from cepkit.planners.what_if import WhatIf
from cepkit.tables import number

_TITLE = 104
_LABEL_WIDTH = 46
_BROAD = "rgba(118,118,118,0.35)"


def draw_what_if(what_if: WhatIf) -> go.Figure:
    """Return the cost of each plan as one rate varies; the figure is returned, not shown.

    Both axes are logarithmic. The cheapest plan's line is broad; a ring marks each point where
    another plan becomes the cheapest, with the rate above the plot. The dotted line is the current
    rate.
    """
    curves, crossings = what_if.lines(), what_if.cross_overs()
    title = f"cost by the rate of {shown(cut(what_if.variable, 40))}"
    across = Scale.of_powers(map(log10, (*what_if.rates, what_if.now)))
    upwards = Scale.of_powers(log for curve in curves for log in curve.log_costs)
    trees = any(isinstance(p, TreePlan) for c in what_if.curves for p in c.plan.branches)
    names = (
        f"events/s of {shown(cut(what_if.variable, 40))}",
        "cost, as trees" if trees else "cost",
    )
    title += f", cost: {shown(what_if.cost_model)}"
    chart = plot(title, across, upwards, names, above=_TITLE, right=40, shift=32)
    x = [across.place(log10(rate)) for rate in what_if.rates]
    cheapest = [cheapest_at(curves, i) for i in range(len(x))]
    for i, curve in enumerate(curves):
        _add_curve(chart, i, curve, what_if, x, [upwards.place(log) for log in curve.log_costs])
    _add_cheapest(chart, curves, crossings, cheapest, x, across, upwards)
    ends = [upwards.place(curve.log_costs[-1]) for curve in curves]
    letters = [(end, mark_of(i).letter, "") for i, end in enumerate(ends)]
    add_ends(chart, letters, upwards, HEIGHT)
    _add_rates(chart, what_if.now, crossings, across)
    rows = [_key(curve, i) for i, curve in enumerate(curves)]
    rows.append(KeyRow("the cheapest at each rate", colour=_BROAD, dash="solid", thick=8))
    if crossings:
        rows.append(KeyRow("here another becomes the cheapest; the rate stands above", sign="○"))
    add_key(chart, rows)
    return chart


def _add_curve(
    chart: go.Figure,
    number_: int,
    curve: RateCurve,
    what_if: WhatIf,
    x: list[float],
    y: list[float],
) -> None:
    mark = mark_of(number_)
    add_points(
        chart,
        "lines" if len(x) > 1 else "markers",
        x,
        y,
        line={"width": 1.6, "color": mark.colour, "dash": mark.dash},
        marker={"symbol": mark.symbol, "color": mark.colour, "size": 9},
        hovertext=[
            hover_text(
                f"{mark.letter}  {', '.join(curve.planners)}",
                shown(cut(curve.plans[0], 400)),
                f"cost {log_text(log * math.log(10))} at {number(rate)} events/s",
            )
            for rate, log in zip(what_if.rates, curve.log_costs, strict=True)
        ],
    )


def _add_cheapest(
    chart: go.Figure,
    curves: Sequence[RateCurve],
    crossings: Sequence[CrossOver],
    cheapest: Sequence[int],
    x: Sequence[float],
    across: Scale,
    upwards: Scale,
) -> None:
    """Lay a broad line under the cheapest stretches, and a ring where they meet."""
    next_crossings = iter(crossings)
    line_x, line_y = [], []
    for i, place in enumerate(x):
        if i and cheapest[i] != cheapest[i - 1]:
            crossing = next(next_crossings)
            line_x.append(across.place(log10(crossing.rate)))
            line_y.append(upwards.place(crossing.log_cost))
        line_x.append(place)
        line_y.append(upwards.place(curves[cheapest[i]].log_costs[i]))
    add_points(chart, "lines", line_x, line_y, line={"width": 8, "color": _BROAD})
    add_points(
        chart,
        "markers",
        [across.place(log10(c.rate)) for c in crossings],
        [upwards.place(c.log_cost) for c in crossings],
        marker={"symbol": "circle-open", "size": 12, "color": TEXT, "line": {"width": 2}},
        hovertext=[
            f"at {number(c.rate)} events/s {mark_of(c.above).letter} becomes cheaper than "
            f"{mark_of(c.below).letter}"
            for c in crossings
        ],
    )


def _add_rates(chart: go.Figure, now: float, crossings: Sequence[CrossOver], across: Scale) -> None:
    """Write rates above the plot: the current one and, where there is room, cross-overs."""
    places = [(across.place(log10(now)), f"now {number(now)}", "dot")]
    places += [(across.place(log10(c.rate)), number(c.rate), "solid") for c in crossings]
    shares_by_row: list[list[float]] = [[], []]
    for place, text, dash in places:
        share = across.share(place)
        if dash == "dot":
            chart.add_vline(x=place, line={"color": TEXT, "width": 1.2, "dash": dash})
        rows = (
            i for i, r in enumerate(shares_by_row) if all(abs(share - s) > _LABEL_SHARE for s in r)
        )
        row = next(rows, None)
        if row is None:
            continue
        shares_by_row[row].append(share)
        chart.add_annotation(
            x=place, y=1, yref="paper", yanchor="bottom", yshift=2 + 14 * row,
            xanchor="center" if share > 0.06 else "left", text=text, showarrow=False,
            font={"size": SMALL},
        )  # fmt: skip


_LABEL_SHARE = _LABEL_WIDTH / (500 - LEFT - 40)


def _key(curve: RateCurve, number_: int) -> KeyRow:
    mark = mark_of(number_)
    plans = "  or  ".join(dict.fromkeys(curve.plans))
    return KeyRow(
        f"{mark.letter}  {', '.join(curve.planners)}", plans, colour=mark.colour, dash=mark.dash
    )
