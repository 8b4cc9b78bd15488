"""The figure of plans that follow a stream: rates, the plan in force, the work of slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from cepkit.columnar.results.plans import PlansInForce
from cepkit.columnar.slices.plans import SliceRun
from cepkit.figures.kit.key import letter_of
from cepkit.figures.kit.panels import Panels, add_bars, add_points, hover_text
from cepkit.figures.kit.style import GREY, SMALL, TEXT, colour_of, dash_of, heading, ink, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.tables import count_text, number, whole

_RATES, _BAND, _WORK, _GAP = 200, 34, 120, 44
_ABOVE, _BELOW, _LEGEND = 76, 44, 22
_NAME, _MOST_VARIABLES = 24, 8


def draw_plans_in_force(plans: PlansInForce, *, beside: PlansInForce | None = None) -> go.Figure:
    """Return rates over time, the plan in force as a band below, and the work of each slice.

    A mark stands at each switch; it names the condition that no longer held.

    Args:
        plans: From `.plans` of a run.
        beside: The plans of another run of the same stream, as with a single plan; its work is
            grey.
    """
    title = "plans that follow the stream"
    slices = [run for run in plans.slices if run.rates]
    if not slices:
        return message(title, "one plan ran over the whole stream")
    texts = list(dict.fromkeys(stretch.plan for stretch in plans.stretches))
    named = [shown(cut(variable, _NAME)) for variable in list(slices[0].rates)[:_MOST_VARIABLES]]
    made = Panels.of(
        f"{title}<br><sub>{_summary(plans)}</sub>", [_RATES, _BAND, _WORK], _GAP, above=_ABOVE,
        below=_BELOW + _LEGEND * len(texts[:6]), legend=named,
    )  # fmt: skip
    chart = made.chart
    chart.update_layout(hovermode="closest", bargap=0)
    small = {"tickfont": {"size": SMALL}, "anchor": "x"}
    made.set_axis("y", 0, type="log", nticks=4, **small)
    made.set_axis("y2", 1, range=[0, 1], visible=False, anchor="x")
    made.set_axis("y3", 2, rangemode="tozero", nticks=3, **small)
    chart.update_layout(xaxis={"type": "date", "anchor": "y3", "nticks": 5})
    _add_rates(chart, slices)
    _add_band(chart, plans, texts)
    _add_work(chart, plans, texts, beside)
    heads = ("events per second, by type of the variable", "plan in force", "candidates a slice")
    for place, text in enumerate(heads):
        made.add_heading(place, text, SMALL)
    return chart


def _summary(plans: PlansInForce) -> str:
    different = len({stretch.plan for stretch in plans.stretches})
    switches = count_text(plans.switches, "switch", "switches")
    return f"{count_text(different, 'plan')}, {switches}, {count_text(len(plans.slices), 'slice')}"


def _moment(microseconds: int) -> str:
    return str(np.datetime64(microseconds, "us"))


def _add_rates(chart: go.Figure, slices: list[SliceRun]) -> None:
    moments = [_moment(run.first) for run in slices] + [_moment(slices[-1].last)]
    for place, variable in enumerate(list(slices[0].rates)[:_MOST_VARIABLES]):
        rates = [run.rates[variable] for run in slices]
        add_points(
            chart,
            "lines",
            moments,
            [*rates, rates[-1]],
            name=shown(cut(variable, _NAME)),
            line={"shape": "hv", "color": colour_of(place), "width": 1.8, "dash": dash_of(place)},
            hovertext=[hover_text(variable, f"{number(rate)}/s") for rate in (*rates, rates[-1])],
            hoverinfo="text+x",
        )


def _add_band(chart: go.Figure, plans: PlansInForce, texts: list[str]) -> None:
    """Add a coloured stretch for each plan, its letter where it begins, and a list of the plans."""
    for stretch in plans.stretches:
        place = texts.index(stretch.plan)
        chart.add_shape(
            type="rect", x0=_moment(stretch.first), x1=_moment(stretch.last), y0=0, y1=1,
            yref="y2", fillcolor=colour_of(place), line={"width": 0}, layer="below",
        )  # fmt: skip
    add_points(
        chart,
        "markers+text",
        [_moment(stretch.first) for stretch in plans.stretches],
        [0.5] * len(plans.stretches),
        yaxis="y2",
        marker={"symbol": "triangle-right", "size": 9, "color": TEXT},
        text=[f" {letter_of(texts.index(stretch.plan))}" for stretch in plans.stretches],
        textposition="middle right",
        textfont={"color": [ink(colour_of(texts.index(s.plan))) for s in plans.stretches]},
        hovertext=[
            hover_text(
                s.plan,
                shown(cut(s.why, 160)),
                f"{whole(s.events)} events, {number(s.candidates)} candidates",
            )
            for s in plans.stretches
        ],
        hoverinfo="text+x",
    )
    for place, text in enumerate(texts[:6]):
        line = f"<b>{letter_of(place)}</b> {shown(cut(text, 80))}"
        settings: dict[str, Any] = {"yshift": -_BELOW - _LEGEND * place, "font": {"size": SMALL}}
        chart.add_annotation(heading(line, 0, **settings) | {"yanchor": "top", "xanchor": "left"})


def _add_work(
    chart: go.Figure, plans: PlansInForce, texts: list[str], beside: PlansInForce | None
) -> None:
    if beside is not None:
        add_points(
            chart,
            "lines",
            [_moment(run.first) for run in beside.slices],
            [run.candidates for run in beside.slices],
            yaxis="y3",
            line={"shape": "hv", "color": GREY, "dash": "dot", "width": 1.6},
            name="work beside",
            hovertext=[f"beside: {whole(run.candidates)} candidates" for run in beside.slices],
            hoverinfo="text+x",
        )
    numbers = [texts.index(" | ".join(map(str, run.branches))) for run in plans.slices]
    add_bars(
        chart,
        [_moment((run.first + run.last) // 2) for run in plans.slices],
        [run.candidates for run in plans.slices],
        width=[max(1.0, (run.last - run.first) / 1000) for run in plans.slices],
        yaxis="y3",
        marker={"color": [colour_of(place) for place in numbers]},
        hovertext=[
            f"plan {letter_of(place)}: {whole(run.candidates)} candidates,"
            f" {whole(run.partial_matches)} partial matches of {whole(run.events)} events"
            for place, run in zip(numbers, plans.slices, strict=True)
        ],
        hoverinfo="text+x",
    )
