"""The figure of explain analyze: the expected and the actual numbers of each step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go

from cepkit.columnar.results.explanation import Explanation
from cepkit.figures.kit.panels import add_points, hover_text, rows_of
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import BLUE, ORANGE, TEXT, beside, figure, message, note
from cepkit.figures.kit.texts import cut, shown
from cepkit.tables import number, whole

_ROW = 30
_NAME_LENGTH = 24


@dataclass(frozen=True, slots=True)
class StepNumber:
    """A number of a step.

    Attributes:
        step: The step, with its branch if there are several.
        what: "candidates" or "survivors".
        actual: The counted number.
        expected: The expected number; None without statistics.
    """

    step: str
    what: str
    actual: int
    expected: float | None

    @property
    def ratio(self) -> float | None:
        """Actual / expected; None if that is meaningless."""
        if not self.expected:
            return None
        try:
            return self.actual / self.expected
        except OverflowError:  # more sets than a float can count
            return None


def step_numbers(explanation: Explanation) -> tuple[StepNumber, ...]:
    """Return candidates and survivors of each step, in the order of the plan."""
    several = len(explanation.plan.branches) > 1
    rows = []
    for step in explanation.steps:
        if step.shared_with and not step.candidates:
            continue  # the other branch shows its work
        name = f"{step.branch}: {step.variable}" if several else step.variable
        for what, actual, expected in (
            ("candidates", step.candidates, step.expected_candidates),
            ("survivors", step.survivors, step.expected_survivors),
        ):
            finite = None if expected is None or math.isinf(expected) else expected
            rows.append(StepNumber(name, what, actual, finite))
    return tuple(rows)


def draw_explanation(explanation: Explanation) -> go.Figure:
    """Return expected and actual numbers of each step; the figure is returned, not shown.

    A full circle is the actual number, a hollow diamond the expected one; the line between them is
    the error, with its factor at the end. Plans made by hand have no expected numbers. The axis is
    logarithmic if numbers differ much.
    """
    rows = step_numbers(explanation)
    compared = any(row.expected is not None for row in rows)
    what = "expected and actual" if compared else "the work of each step"
    title = f"{what}, plan: {shown(explanation.plan.planner)}"
    if not rows:
        return message(title, "no steps")
    scale = Scale.of(log10(v) for row in rows for v in (row.actual, row.expected) if v is not None)
    # The two numbers of a step are close together, steps are further apart.
    places = [step * 2.5 + which for step in range(len(rows) // 2) for which in (0, 1)]
    chart = figure(title, round(116 + _ROW * (places[-1] + 1)))
    actual = [scale.place(log10(row.actual)) for row in rows]
    expected = [None if r.expected is None else scale.place(log10(r.expected)) for r in rows]
    both = [pair for pair in zip(places, actual, expected, strict=True) if pair[2] is not None]
    add_points(
        chart,
        "lines",
        [x for _, one, other in both for x in (one, other, None)],
        [y for place, _, _ in both for y in (place, place, None)],
        line={"color": TEXT, "width": 1.5},
    )
    for name, values, marker in (
        ("expected", expected, {"symbol": "diamond-open", "size": 12, "color": ORANGE}),
        ("actual", actual, {"symbol": "circle", "size": 10, "color": BLUE}),
    ):
        if all(value is None for value in values):
            continue
        add_points(
            chart,
            "markers",
            values,
            places,
            name=name,
            cliponaxis=False,
            marker={**marker, "line": {"width": 2, "color": marker["color"]}},
            hovertext=[_hover(row) for row in rows],
        )
    ends = [a if e is None else max(a, e) for a, e in zip(actual, expected, strict=True)]
    notes = [
        note(end, place, f"   {_label(row)}")
        for end, place, row in zip(ends, places, rows, strict=True)
    ]
    beside(chart, notes)
    factor = "; factor: actual / expected" if compared else ""
    chart.update_xaxes(**scale.axis(), title_text=f"over the whole stream{factor}")
    names = [f"{shown(cut(row.step, _NAME_LENGTH))}  {row.what}" for row in rows]
    chart.update_yaxes(rows_of(names, 0.7, 0.7, places))
    return chart


def _label(row: StepNumber) -> str:
    text = whole(row.actual)
    return text if row.ratio is None else f"{text}  ({row.ratio:,.3g} x)"


def _hover(row: StepNumber) -> str:
    expected = "" if row.expected is None else f"expected: {number(row.expected)}"
    ratio = "" if row.ratio is None else f"actual / expected: {number(row.ratio)}"
    return hover_text(row.step, f"{row.what}: {whole(row.actual)}", expected, ratio)
