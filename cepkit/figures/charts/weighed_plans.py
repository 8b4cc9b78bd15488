"""The figure of throughput against latency: the plans for each weight alpha."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.figures.kit.key import HEIGHT, NARROWEST, KeyRow, add_key, mark_of, plot, runs_of
from cepkit.figures.kit.labels import add_labels
from cepkit.figures.kit.panels import add_points
from cepkit.figures.kit.scales import Scale
from cepkit.figures.kit.style import GREEN, SMALL, TEXT
from cepkit.figures.kit.texts import cut, shown
from cepkit.plan.logarithms import grouped, log_text
from cepkit.plan.printer import one_line
from cepkit.planners.tradeoff import Tradeoff, Weighed

_MOST_RANGES = 3
_ALPHA = "\N{GREEK SMALL LETTER ALPHA}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The plans of one planner at a point, and the alphas for which it takes them.

    Attributes:
        alphas: As a text: "0 to 0.1, 1".
        plans: The plans on one line each; several that cost the same.
    """

    planner: str
    alphas: str
    plans: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spot:
    """A point of the figure: plans that cost the same in both.

    Attributes:
        log_partial_matches: The logarithm to base ten of the one cost.
        log_latency: The logarithm to base ten of the other, -infinity for 0.
        best: Whether no plan is as good in both and better in one.
        choices: The planners that choose it, and for which alphas.
    """

    log_partial_matches: float
    log_latency: float
    best: bool
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A planner's path as alpha grows.

    Attributes:
        spots: The numbers of the points that it visits, in the order of alpha.
    """

    planner: str
    spots: tuple[int, ...]


def ways(tradeoff: Tradeoff) -> tuple[tuple[Spot, ...], tuple[Way, ...]]:
    """Return the points, by ascending partial matches, and each planner's path through them."""
    together = grouped(tradeoff.rows, _costs)
    together.sort(key=lambda rows: _costs(rows[0]))
    planners = list(dict.fromkeys(row.planner for row in tradeoff.rows))
    spots = tuple(_spot(rows, tradeoff) for rows in together)
    points = []
    for planner in planners:
        visited: list[int] = []
        for row in _of(tradeoff.rows, planner):
            at = next(i for i, rows in enumerate(together) if row in rows)
            if not visited or visited[-1] != at:
                visited.append(at)
        points.append(Way(planner, tuple(visited)))
    return spots, tuple(points)


def _of(rows: Sequence[Weighed], planner: str) -> list[Weighed]:
    return sorted((row for row in rows if row.planner == planner), key=lambda row: row.alpha)


def _costs(row: Weighed) -> tuple[float, float]:
    return row.log_partial_matches, row.log_latency


def _spot(rows: Sequence[Weighed], tradeoff: Tradeoff) -> Spot:
    choices = []
    for planner in dict.fromkeys(row.planner for row in rows):
        mine = _of(rows, planner)
        all_of_them = [row.alpha for row in _of(tradeoff.rows, planner)]
        plans = tuple(dict.fromkeys(one_line(row.plan) for row in mine))
        choices.append(Choice(planner, _ranges([row.alpha for row in mine], all_of_them), plans))
    ten = math.log(10)
    return Spot(
        rows[0].log_partial_matches / ten,
        rows[0].log_latency / ten,
        any(row.best for row in rows),
        tuple(choices),
    )


def _ranges(alphas: Sequence[float], known: Sequence[float]) -> str:
    """Return alphas as a text; consecutive ones as a range."""
    places = sorted({known.index(alpha) for alpha in alphas})
    runs = runs_of(places)
    texts = [
        f"{known[run[0]]:g}" if len(run) == 1 else f"{known[run[0]]:g} to {known[run[-1]]:g}"
        for run in runs
    ]
    more = ", ..." if len(texts) > _MOST_RANGES else ""
    return ", ".join(texts[:_MOST_RANGES]) + more


def draw_tradeoff(tradeoff: Tradeoff) -> go.Figure:
    """Return throughput against latency as alpha grows; the figure is returned, not shown.

    Each planner's line goes from its plan for the smallest alpha to its plan for the greatest.
    Points that no other beats are full green diamonds, all others hollow circles. Further left
    means less work, further down a quicker answer.
    """
    spots, lines = ways(tradeoff)
    across = Scale.of_powers((spot.log_partial_matches for spot in spots), room=0.3)
    upwards = Scale.of_powers((spot.log_latency for spot in spots), room=0.06)
    names = ("partial matches", "latency")
    chart = plot("throughput against latency", across, upwards, names)
    x = [across.place(spot.log_partial_matches) for spot in spots]
    y = [upwards.place(spot.log_latency) for spot in spots]
    for i, way in enumerate(lines):
        mark = mark_of(i)
        line = {"width": 2, "color": mark.colour, "dash": mark.dash}
        add_points(
            chart, "lines", [x[at] for at in way.spots], [y[at] for at in way.spots], line=line
        )
    for best, name in ((True, "not beaten"), (False, "beaten by another")):
        at = [i for i, spot in enumerate(spots) if spot.best is best]
        if not at:
            continue
        add_points(
            chart,
            "markers",
            [x[i] for i in at],
            [y[i] for i in at],
            name=name,
            marker={
                "symbol": "diamond" if best else "circle-open",
                "size": 13 if best else 10,
                "color": GREEN if best else TEXT,
                "line": {"width": 1.5, "color": TEXT},
            },
            hovertext=[_hover(spots[i]) for i in at],
        )
    labels = [f"{mark_of(i).letter}  {_ALPHA} {_alphas(spot)}" for i, spot in enumerate(spots)]
    points = list(zip(x, y, labels, strict=True))
    add_labels(chart, points, (across, upwards), (NARROWEST, HEIGHT), SMALL)
    add_key(chart, _key(spots, lines))
    return chart


def _alphas(spot: Spot) -> str:
    """Return the alphas of a point once if all planners there agree, else those of each planner."""
    texts = dict.fromkeys(choice.alphas for choice in spot.choices)
    return cut(" | ".join(texts), 24)


def _key(spots: Sequence[Spot], lines: Sequence[Way]) -> list[KeyRow]:
    rows = []
    for i, way in enumerate(lines):
        mark = mark_of(i)
        visited = " → ".join(mark_of(at).letter for at in way.spots)
        text = f"as alpha grows: {visited}"
        rows.append(KeyRow(way.planner, text, colour=mark.colour, dash=mark.dash))
    for i, spot in enumerate(spots):
        plans = dict.fromkeys(plan for choice in spot.choices for plan in choice.plans)
        head = f"{mark_of(i).letter}  {', '.join(choice.planner for choice in spot.choices)}"
        rows.append(KeyRow(head, "  or  ".join(plans)))
    return rows


def _hover(spot: Spot) -> str:
    kept, waited = (
        log_text(log * math.log(10)) for log in (spot.log_partial_matches, spot.log_latency)
    )
    lines = [f"{kept} partial matches, latency {waited}"]
    for choice in spot.choices:
        lines.append(f"<b>{shown(cut(choice.planner, 200))}</b>, alpha {choice.alphas}")
        lines += [shown(cut(plan, 400)) for plan in choice.plans]
    return "<br>".join(lines)
