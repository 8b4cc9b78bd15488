"""The figure of learned patterns: precision, recall and false alarms of each on later events."""

from __future__ import annotations

import plotly.graph_objects as go

from cepkit.figures.kit.panels import Panels, add_bars, hover_text, rows_of
from cepkit.figures.kit.style import BLUE, ORANGE, SMALL, TEXT, message, note
from cepkit.figures.kit.texts import cut, shown, wrapped
from cepkit.learning.result import Learned, Proposal
from cepkit.tables import number

_ROW, _ABOVE, _BELOW, _RIGHT = 78, 84, 52, 84
_PATTERN = 480
"""The width of a pattern's text in pixels: that of a narrow page."""
_BAR = 0.16


def draw_learned(learned: Learned) -> go.Figure:
    """Return the proposals from above, best first; the figure is returned, not shown.

    Each has a bar for its precision and one for its recall on the later events, and at the right
    its false alarms a day. The dotted line is the base rate: the precision of alarms at random
    times.
    """
    first, *rest = learned.remarks()
    if not learned.proposals:
        return message(first, "<br>".join(rest))
    rows = learned.proposals
    title = f"proposed patterns<br><sub>{first}</sub>"
    legend = ["precision", "recall"]
    panels = Panels.of(title, [_ROW * len(rows)], above=_ABOVE, below=_BELOW, legend=legend)
    chart = panels.chart
    chart.update_layout(barmode="overlay", margin={"r": _RIGHT})
    for name, colour, shift in (("precision", BLUE, 0.1), ("recall", ORANGE, 0.1 + _BAR)):
        shares = [getattr(row, name) for row in rows]
        add_bars(
            chart,
            shares,
            [place + shift for place in range(len(rows))],
            name=name,
            orientation="h",
            width=_BAR,
            marker_color=colour,
            hovertext=[_hover(row, place) for place, row in enumerate(rows, 1)],
        )
    texts = [note(0, place - 0.02, _text(row), xref="paper", yanchor="bottom", align="left",
                  xshift=8, font={"size": SMALL})
             for place, row in enumerate(rows)]  # fmt: skip
    alarms = [note(1, place + 0.1 + _BAR / 2, number(row.false_alarms_per_day), xref="paper",
                   xshift=8)
              for place, row in enumerate(rows)]  # fmt: skip
    head = note(1, 1, "false a day", xref="paper", yref="paper", yanchor="bottom", xshift=8,
                font={"size": SMALL})  # fmt: skip
    share = learned.chance.share
    base = note(share, 1, f"base rate {number(share)}", yref="paper", yanchor="bottom",
                font={"size": SMALL}, xanchor="left" if share < 0.5 else "right")  # fmt: skip
    chart.update_layout(annotations=[*texts, *alarms, head, base])
    chart.update_xaxes(range=[0, 1.005], title_text="share")
    chart.update_yaxes(rows_of([str(place) for place in range(1, len(rows) + 1)], 0.5, 0.6))
    chart.add_vline(x=share, line={"color": TEXT, "width": 1, "dash": "dot"})
    return chart


def _text(row: Proposal) -> str:
    """Return the pattern on at most two lines."""
    pattern = " ".join(row.text.removeprefix("PATTERN ").split("\n"))
    return "<br>".join(map(shown, wrapped(pattern, SMALL, _PATTERN, 2)))


def _hover(row: Proposal, place: int) -> str:
    lines = [shown(cut(line, 200)) for line in f"{row}".split("\n")]
    return hover_text(f"{place}", *lines)
