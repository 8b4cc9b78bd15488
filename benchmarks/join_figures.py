"""The figures of JOIN's study on one HTML page, each with the number of the figure it redraws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.join_tables import gains, means_by_alpha
from cepkit.figures.kit.style import COLOURS, GRID, SIZE, TEXT, figure, symbol_of

_SHAPES = ("circle", "square", "diamond", "x", "star")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_PANEL = 330
_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>JOIN's study</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
    max-width: 76rem; margin: 0 auto; padding: 1rem; }
  h1 { font-size: 1.6rem; } section { margin: 2rem 0; overflow-x: auto; }
</style></head><body><h1>JOIN's study, small</h1>
"""


def draw(frames: Mapping[str, pd.DataFrame], path: Path) -> Path:
    """Write a page with the figures of the parts that were run."""
    drawn = {name: frame for name, frame in frames.items() if name in _FIGURES}
    made = [figure for name, frame in drawn.items() for figure in _FIGURES[name](frame)]
    # The page contains the library once, so it needs no network.
    parts = [
        one.to_html(full_html=False, include_plotlyjs=number == 0)
        for number, one in enumerate(made)
    ]
    sections = "\n".join(f"<section>{part}</section>" for part in parts)
    path.write_text(f"{_HEAD}{sections}</body></html>\n", encoding="utf-8")
    return path


def _panels(title: str, names: Sequence[str], height: int = _PANEL, **axes: Any) -> go.Figure:
    """Return an empty figure with panels side by side."""
    made = make_subplots(rows=1, cols=len(names), subplot_titles=names, **axes)
    made.update_layout(figure(title, height + 150).layout)
    made.update_layout(
        margin={"t": 90, "b": 110, "l": 70},
        legend={"y": -0.22, "yanchor": "top", "x": 0, "xanchor": "left"},
    )
    made.update_annotations(font={"size": SIZE, "color": TEXT})
    made.update_xaxes(gridcolor=GRID, zeroline=False, automargin=True)
    made.update_yaxes(gridcolor=GRID, zeroline=False, automargin=True)
    return made


def _add(made: go.Figure, column: int, name: str, **trace: Any) -> None:
    """Add dots or a line to a panel; the legend has a name once, for all panels."""
    made.add_scatter(
        name=name, legendgroup=name, showlegend=column == 1, row=1, col=column, **trace
    )


def _mark(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "symbol": symbol_of(number), "size": 9}


def _line(number: int) -> dict[str, Any]:
    # When the colours repeat, the dashes do not.
    dash = _DASHES[(number + number // len(COLOURS)) % len(_DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "dash": dash}


def _gain(frame: pd.DataFrame, value: str, title: str, by: str) -> go.Figure:
    """Return dots: how many times less of `value` each planner has than by-frequency, by set."""
    panels = list(frame[by].unique())
    made = _panels(title, [f"{by} {panel}" for panel in panels], shared_yaxes=True)
    table = gains(frame, value, "by-frequency", [by, "set"])
    planners = list(frame["planner"].unique())
    for column, panel in enumerate(panels, start=1):
        here = table[table[by] == panel]
        for number, (_, row) in enumerate(here.iterrows()):
            _add(
                made,
                column,
                row["set"],
                x=[row[planner] for planner in planners],
                y=planners,
                mode="markers",
                marker=_mark(number) | {"symbol": _SHAPES[number]},
            )
    made.update_xaxes(type="log", title="by-frequency / this planner", dtick="D2")
    made.update_yaxes(autorange="reversed")
    return made


def _costs(frame: pd.DataFrame, value: str, title: str, by: str, names: Any = str) -> go.Figure:
    """Return dots: each plan that was run, its cost against the measured number."""
    run = frame[frame["first"] & (frame["not run"] == "")]
    panels = list(run[by].unique())
    made = _panels(title, [names(panel) for panel in panels])
    for column, panel in enumerate(panels, start=1):
        for number, (kind, points) in enumerate(run[run[by] == panel].groupby("set", sort=False)):
            _add(
                made,
                column,
                str(kind),
                x=10 ** points["log partial matches"].clip(upper=300),
                y=points[value],
                mode="markers",
                marker=_mark(number) | {"symbol": _SHAPES[number], "size": 6, "opacity": 0.75},
            )
    made.update_xaxes(type="log", title="cost, partial matches", dtick="D2")
    made.update_yaxes(type="log", title=value, dtick="D2")
    return made


def _of_runs(frame: pd.DataFrame) -> Iterator[go.Figure]:
    yield _gain(frame, "ms", "Gain in time over by-frequency (JOIN, figure 4)", "stream")
    yield _gain(frame, "MB", "Gain in memory over by-frequency (figure 5)", "stream")
    yield _gain(frame, "ms", "Gain in time by size (figures 6 to 14)", "size")
    finite = frame[frame["set"] != "kleene"]
    yield _costs(finite, "ms", "Cost and time, without sets (figure 16)", "stream")


def _of_mechanisms(frame: pd.DataFrame) -> Iterator[go.Figure]:
    memory = frame.assign(memory=frame["peak instances"] + frame["peak stored"])
    kinds = {False: "lazy chain automaton", True: "evaluation tree"}
    title = "Event by event: cost and {} (figure 16)"
    for value in ("ms", "memory"):
        yield _costs(memory, value, title.format(value), "tree", kinds.__getitem__)


def _of_alpha(frame: pd.DataFrame) -> Iterator[go.Figure]:
    made = _panels("Alpha from 0 to 100: work against latency (figure 18)", ["sequences, bars"])
    mean = means_by_alpha(frame)
    for number, (planner, points) in enumerate(mean.groupby(level="planner", sort=False)):
        made.add_scatter(
            x=points["evaluated at last"],
            y=points["evaluations"],
            mode="lines+markers",
            hovertext=[f"alpha {alpha:g}" for alpha in points.index.get_level_values("alpha")],
            marker=_mark(number),
            line=_line(number),
            name=str(planner),
        )
    made.update_xaxes(title="evaluations when the last event of a match comes")
    made.update_yaxes(title="evaluations", type="log")
    return iter([made])


def _of_strategies(frame: pd.DataFrame) -> Iterator[go.Figure]:
    streams = list(frame["stream"].unique())
    made = _panels("Median time of sequences by strategy (figure 19)", streams, shared_yaxes=True)
    for column, stream in enumerate(streams, start=1):
        here = frame[frame["stream"] == stream]
        for number, (strategy, points) in enumerate(here.groupby("strategy", sort=False)):
            median = points.groupby("planner", sort=False)["ms"].median()
            _add(
                made,
                column,
                str(strategy),
                x=median.to_numpy(),
                y=list(median.index),
                mode="markers",
                marker=_mark(number) | {"symbol": _SHAPES[number]},
            )
    made.update_xaxes(type="log", title="ms", dtick="D2")
    made.update_yaxes(autorange="reversed")
    return iter([made])


def _of_large(frame: pd.DataFrame) -> Iterator[go.Figure]:
    windows = list(frame["window"].unique())
    panels = ["seconds of planning", *(f"gain over by-frequency, {w:g} s" for w in windows)]
    made = _panels(
        "Large patterns: planning time, and cost without the last step (figure 17)", panels
    )
    patterns = frame.groupby(["window", "size"])["pattern"].transform("nunique")
    # A mean over a part of the patterns would not compare with that over all.
    planned = frame.groupby(["window", "size", "planner"])["pattern"].transform("size")
    whole = frame[planned == patterns]
    for number, (planner, points) in enumerate(frame.groupby("planner", sort=False)):
        here = whole[whole["planner"] == planner]
        lines = [points.groupby("size")["s"].mean()]
        lines += [
            here[here["window"] == window].groupby("size")["without the last step"].mean()
            for window in windows
        ]
        for column, line in enumerate(lines, start=1):
            _add(
                made,
                column,
                str(planner),
                x=line.index,
                y=line.clip(lower=1e-5),
                mode="lines",
                line=_line(number),
            )
    made.update_xaxes(title="variables")
    made.update_yaxes(type="log", exponentformat="power")
    return iter([made])


_FIGURES: Mapping[str, Callable[[pd.DataFrame], Iterator[go.Figure]]] = {
    "runs": _of_runs,
    "mechanisms": _of_mechanisms,
    "alpha": _of_alpha,
    "strategies": _of_strategies,
    "large": _of_large,
}
