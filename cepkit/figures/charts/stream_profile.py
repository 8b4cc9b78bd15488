"""The figures of a stream's statistics: rates, selectivities, times and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from cepkit.figures.kit import style
from cepkit.figures.kit.panels import Panels, add_bars, add_points, hover_text, rows_of
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.texts import cut, shown
from cepkit.statistics.model import Statistics
from cepkit.tables import number

_ROW = 30
_GAP = 84
_ABOVE, _BELOW = 108, 52
_NAME_LENGTH = 26


@dataclass(frozen=True, slots=True)
class Share:
    """The selectivity of the conditions between some variables, with its confidence interval."""

    variables: str
    share: float
    low: float
    high: float
    pairs: int | None


def shares(statistics: Statistics) -> tuple[Share, ...]:
    """Return the selectivities with their 95 % confidence intervals."""
    order = list(statistics.rates)
    return tuple(
        Share(", ".join(sorted(names, key=order.index)), s.share, *s.interval(), s.pairs)
        for names, s in statistics.selectivities.items()
    )


def draw_overview(statistics: Statistics) -> go.Figure:
    """Return rates and selectivities as a figure; it is returned, not shown.

    Rates are bars, hollow before and full after the variable's own conditions; selectivities are
    diamonds with their 95 % confidence intervals. Axes are logarithmic where numbers differ much.
    """
    arriving, fitting = statistics.rates, shares(statistics)
    counted = f"{statistics.events:,} events in {number(statistics.span_seconds)} s"
    if not arriving:
        return style.message(counted, "no variables")
    title = f"{'rates and selectivities' if fitting else 'rates'}<br><sub>{counted}</sub>"
    upper, lower = (1.4 * len(arriving) + 0.4) * _ROW, (len(fitting) + 0.4) * _ROW
    made = Panels.of(
        title, [upper, lower] if fitting else [upper], _GAP, above=_ABOVE, below=_BELOW
    )
    chart = made.chart
    _add_rates(made, statistics)
    if fitting:
        _add_shares(made, fitting)
    return chart


def _add_rates(made: Panels, statistics: Statistics) -> None:
    names = list(statistics.rates)
    before = list(statistics.rates.values())
    after = [statistics.rate(name) for name in names]
    scale = Scale.of(map(log10, (*before, *after)), room=0.12)
    kinds: tuple[tuple[str, list[float], float, dict[str, str], str], ...] = (
        ("arriving", before, -0.19, {"color": "rgba(0,0,0,0)"}, ""),
        ("after the variable's own conditions", after, 0.19, {}, "/"),
    )
    for name, values, shift, marker, pattern in kinds:
        add_bars(
            made.chart,
            name=name,
            y=[place + shift for place in range(len(names))],
            width=0.34,
            marker={"color": style.SKY, **marker, "line": {"color": style.BLUE, "width": 1.4},
                    "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": style.BLUE}},
            text=list(map(number, values)),
            textposition="outside",
            textangle=0,
            cliponaxis=False,
            hovertext=[
                hover_text(variable, f"{name}: {number(value)} events/s")
                for variable, value in zip(names, values, strict=True)
            ],
            **scale.bars(map(log10, values)),
        )  # fmt: skip
    made.chart.update_xaxes(**scale.axis(), title_text="events per second")
    made.set_axis("y", 0, **_names(names))


def _add_shares(made: Panels, rows: tuple[Share, ...]) -> None:
    scale = Scale.of((log10(v) for row in rows for v in (row.share, row.high)), room=0.12)
    at = [scale.place(log10(row.share)) for row in rows]
    high = [scale.place(log10(row.high)) for row in rows]
    low = [max(scale.begin, scale.place(log10(row.low))) for row in rows]
    add_points(
        made.chart,
        "markers",
        at,
        list(range(len(rows))),
        name="selectivity, 95 % interval",
        marker={"symbol": "diamond", "size": 10, "color": style.ORANGE,
                "line": {"color": style.TEXT, "width": 1}},
        error_x={
            "type": "data", "symmetric": False, "color": style.TEXT, "thickness": 1.5,
            "array": [end - here for here, end in zip(at, high, strict=True)],
            "arrayminus": [here - end for here, end in zip(at, low, strict=True)],
        },
        hovertext=[_hover(row) for row in rows],
        xaxis="x2",
        yaxis="y2",
    )  # fmt: skip
    here = {"xref": "x2", "yref": "y2", "font": {"size": style.SIZE}}
    notes = [
        style.note(end, place, f"  {number(row.share)}", **here)
        for place, (row, end) in enumerate(zip(rows, high, strict=True))
    ]
    title = {
        "text": "share that satisfies the conditions",
        "standoff": 8,
        "font": {"size": style.SIZE},
    }
    made.chart.update_layout(annotations=notes)
    made.set_axis("x2", None, anchor="y2", title=title, **scale.axis())
    made.set_axis("y2", 1, anchor="x2", **_names([row.variables for row in rows]))


def _names(names: list[str]) -> dict[str, Any]:
    return rows_of([shown(cut(name, _NAME_LENGTH)) for name in names])


def _hover(row: Share) -> str:
    interval = f"95 % interval {number(row.low)} to {number(row.high)}"
    return hover_text(
        row.variables,
        f"selectivity {number(row.share)}",
        interval if row.low < row.high else "",
        "exact or assumed" if row.pairs is None else f"{row.pairs:,} combinations sampled",
    )
