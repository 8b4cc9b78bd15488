"""The figure of the expected against the measured cost of plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import plotly.graph_objects as go

from cepkit.errors import CepkitError
from cepkit.figures.kit.key import (
    AXIS,
    HEIGHT,
    LEFT,
    NARROWEST,
    KeyRow,
    Mark,
    add_key,
    mark_of,
    plot,
)
from cepkit.figures.kit.labels import add_labels
from cepkit.figures.kit.panels import add_points, hover_text
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import TEXT, message
from cepkit.figures.kit.texts import cut, shown
from cepkit.plan.logarithms import log_text
from cepkit.plan.nodes import PER_PARTIAL_MATCH, TreePlan, as_tree
from cepkit.plan.printer import one_line
from cepkit.planners.compare import ComparedPlan, Measured, PlanComparison
from cepkit.tables import number, whole

By: TypeAlias = Literal["work", "candidates", "partial-matches", "seconds"]

_FEWEST = 3


def _work(run: Measured) -> float:
    return run.candidates + PER_PARTIAL_MATCH * run.partial_matches


_MEASURES: Mapping[str, tuple[str, Callable[[Measured], float]]] = MappingProxyType(
    {
        "work": (f"candidates + {PER_PARTIAL_MATCH:g} x partial matches", _work),
        "candidates": ("candidates", lambda done: done.candidates),
        "partial-matches": ("partial matches", lambda done: done.partial_matches),
        "seconds": ("seconds", lambda done: done.seconds),
    }
)


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """A plan to run, with all planners that found it.

    Attributes:
        planners: The names of the planners that found it.
        plan: The plan on one line.
        log_cost: The logarithm to base ten of the cost that plans are compared by.
        cost: The same cost as a text.
        value: The measured number; None if it was not run.
        not_run: Why it was not run.
        matches: How many it found; None if it was not run.
    """

    planners: tuple[str, ...]
    plan: str
    log_cost: float
    cost: str
    value: float | None
    not_run: str
    matches: int | None


def measured_plans(comparison: PlanComparison, by: By = "work") -> tuple[MeasuredPlan, ...]:
    """Return the different plans of a comparison, the cheapest first.

    An order and its left-leaning tree are one plan: the engine does the same for both. Of several
    runs of one plan the fastest counts.

    Args:
        by: The measure: "work" (candidates + 3 x partial matches), "candidates", "partial-matches"
            or "seconds".

    Raises:
        CepkitError: The plans were not run, or there is no such measure.
    """
    if by not in _MEASURES:
        raise CepkitError.unknown(f"there is no measure '{by}'", by, _MEASURES, option="by= ")
    if not any(row.measured is not None or row.not_run for row in comparison.rows):
        raise CepkitError(
            "the plans of this comparison were not run",
            hint="compare_plans(pattern, statistics, run=True, stream=stream)",
        )
    alike: dict[tuple[TreePlan, ...], list[ComparedPlan]] = {}
    for row in comparison.rows:
        alike.setdefault(tuple(map(as_tree, row.plan.branches)), []).append(row)
    plans = [_together(comparison, rows, by) for rows in alike.values()]
    return tuple(sorted(plans, key=lambda plan: plan.log_cost))


def _together(comparison: PlanComparison, rows: Sequence[ComparedPlan], by: By) -> MeasuredPlan:
    log = comparison.log_cost(rows[0])
    runs = [row.measured for row in rows if row.measured is not None]
    return MeasuredPlan(
        tuple(row.plan.planner for row in rows),
        one_line(rows[0].plan),
        log / math.log(10),
        log_text(log),
        min(map(_MEASURES[by][1], runs)) if runs else None,
        "" if runs else rows[0].not_run,
        runs[0].matches if runs else None,
    )


def rank_correlation(plans: Sequence[MeasuredPlan]) -> float | None:
    """Return Spearman's rank correlation of cost and measurement over the plans that were run.

    None for fewer than three plans, or if all costs or all measurements are equal.
    """
    run = [(plan.log_cost, plan.value) for plan in plans if plan.value is not None]
    if len(run) < _FEWEST:
        return None
    costs, values = (_ranks(np.array(part)) for part in zip(*run, strict=True))
    if np.ptp(costs) == 0 or np.ptp(values) == 0:
        return None
    return float(np.corrcoef(costs, values)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each value; equal values get their mean rank."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[which])


def draw_measured(comparison: PlanComparison, by: By = "work") -> go.Figure:
    """Return cost against measurement, a point for each plan; returned, not shown.

    Both axes are logarithmic. The title has the rank correlation: 1 if cost and measurement rank
    the plans alike. Plans that were not run are named below.

    Args:
        comparison: From `compare_plans(..., run=True)`.
        by: The measure, as for `measured_plans`.

    Raises:
        CepkitError: The plans were not run, or there is no such measure.
    """
    plans = measured_plans(comparison, by)
    what = _MEASURES[by][0]
    correlation = rank_correlation(plans)
    title = "cost against measurement"
    if correlation is not None:
        number_run = sum(plan.value is not None for plan in plans)
        title += f": rank correlation {correlation:.2f} over {number_run} plans"
    run = [(plan, mark_of(i)) for i, plan in enumerate(plans) if plan.value is not None]
    if not run:
        chart = message(title, "no plan was run")
        chart.update_layout(margin={"l": LEFT, "b": AXIS})
    else:
        chart = _points(title, run, (f"cost: {shown(comparison.cost_model)}", what))
    rows = [_key(plan, mark_of(i)) for i, plan in enumerate(plans)]
    add_key(chart, [*rows, *(KeyRow(note) for note in comparison.notes)])
    return chart


def _points(
    title: str, run: Sequence[tuple[MeasuredPlan, Mark]], names: tuple[str, str]
) -> go.Figure:
    across = Scale.of_powers((plan.log_cost for plan, _ in run), room=0.08)
    upwards = Scale.of_powers((log10(plan.value or 0.0) for plan, _ in run), room=0.04)
    x = [across.place(plan.log_cost) for plan, _ in run]
    y = [upwards.place(log10(plan.value or 0.0)) for plan, _ in run]
    chart = plot(title, across, upwards, names)
    add_points(
        chart,
        "markers",
        x,
        y,
        marker={
            "symbol": [mark.symbol for _, mark in run],
            "color": [mark.colour for _, mark in run],
            "size": 11,
            "line": {"color": TEXT, "width": 1},
        },
        hovertext=[_hover(plan) for plan, _ in run],
    )
    points = [(a, b, mark.letter) for a, b, (_, mark) in zip(x, y, run, strict=True)]
    add_labels(chart, points, (across, upwards), (NARROWEST, HEIGHT))
    return chart


def _key(plan: MeasuredPlan, mark: Mark) -> KeyRow:
    head = f"{mark.letter}  {', '.join(plan.planners)}"
    text = f"{plan.plan}   ({plan.not_run})" if plan.not_run else plan.plan
    return KeyRow(head, text, "" if plan.not_run else mark.sign, mark.colour)


def _hover(plan: MeasuredPlan) -> str:
    return hover_text(
        ", ".join(plan.planners),
        shown(cut(plan.plan, 400)),
        f"cost {shown(plan.cost)}",
        f"measured {number(plan.value or 0.0)}",
        f"{whole(plan.matches or 0)} matches",
    )
