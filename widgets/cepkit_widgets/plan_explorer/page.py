"""The HTML of a plan explorer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cepkit.costs import COSTS
from cepkit.figures.diagrams.pictures import pictures
from cepkit.figures.diagrams.plan_canvas import side_by_side
from cepkit.figures.kit.svg import to_svg
from cepkit.plan.logarithms import log_text
from cepkit.plan.nodes import BranchPlan, Plan
from cepkit.plan.printer import one_line
from cepkit.planners.compare import ComparedPlan, Measured
from cepkit.printing import html_text
from cepkit.tables import number, whole
from cepkit_widgets.kit.parts import (
    ERROR_PLACE,
    STEPS,
    Cell,
    Tick,
    bar_of,
    button,
    choice,
    code_block,
    slider,
    table,
)
from cepkit_widgets.plan_explorer.outlook import SIDES, Outlook, is_tree
from cepkit_widgets.plan_explorer.parameters import ALPHA, WINDOW, Parameter
from cepkit_widgets.plan_explorer.state import BLEND, crossing_text, relative_text

_PADDING = 20
_EQUAL = 5e-4
"""Costs whose logarithms differ by less read the same."""


def explorer_html(outlook: Outlook, width: int, *, sample: int, running: bool) -> str:
    """Return the explorer as HTML.

    Args:
        width: The room, in pixels.
        sample: How many events *run both* takes; 0 without a stream.
        running: Whether it is running.
    """
    return (
        f"{_head(outlook)}"
        f'<div class="panes two"><div class="pane">{_sliders(outlook)}</div>'
        f'<div class="pane">{_planners(outlook)}</div></div>'
        f"{_pictures(outlook, width - _PADDING)}{_run(outlook, sample, running=running)}"
        f"{code_block('The cell that makes this plan', outlook.state.as_code(outlook.planner))}"
    )


def _head(outlook: Outlook) -> str:
    state = outlook.state
    moved = len(state.moved)
    said = f"{moved} moved" if moved else "as measured"
    resting = "" if outlook.resting else " · looking for cross-overs …"
    return (
        '<h3>Plan explorer</h3><pre class="soft">'
        + "\n".join(map(html_text, str(state.query_now).splitlines()))
        + '</pre><div class="bar">'
        + choice("cost", "cost model", [*COSTS, BLEND], state.cost)
        + button("reset", "Reset to what was measured", disabled=not moved)
        + f'<span class="soft">{said}{resting}</span></div>{ERROR_PLACE}'
    )


def _sliders(outlook: Outlook) -> str:
    rows = "".join(_slider(parameter, outlook) for parameter in outlook.state.parameters)
    return (
        "<h4>What the stream is like</h4>"
        f'<div class="sliders">{rows}</div>'
        '<p class="soft">▲ as measured; a line: beyond it another plan is best</p>'
    )


def _slider(parameter: Parameter, outlook: Outlook) -> str:
    state = outlook.state
    value = state.value(parameter.name)
    measured = "measured" if parameter.kind in ("rate", "selectivity") else "given"
    ticks = [
        Tick(
            STEPS * parameter.position(parameter.measured),
            f"{measured}: {parameter.text(parameter.measured)}",
            "measured",
        )
    ]
    ticks += [
        Tick(STEPS * parameter.position(crossing.value), crossing_text(crossing, parameter))
        for crossing in outlook.crossings.get(parameter.name, ())
    ]
    return slider(
        parameter.name,
        parameter.label,
        STEPS * parameter.position(value),
        parameter.text(value),
        ticks,
        moved=parameter.name in state.moved,
    )


def _planners(outlook: Outlook) -> str:
    comparison = outlook.comparison
    groups = outlook.comparison.by_plan
    costs = [comparison.log_cost(group[0]) for group in groups]
    least = min(costs)
    finite = [cost - least for cost in costs if math.isfinite(cost - least)]
    most = max(finite, default=0.0)
    rows = [
        _row(group, outlook, cost - least, most) for group, cost in zip(groups, costs, strict=True)
    ]
    names = [{row.plan.planner for row in group} for group in groups]
    by_tree = ", of orders as of trees that lean left" if comparison.has_trees else ""
    notes = [f"{name}: {reason}" for name, reason in comparison.refused]
    planners = [row.plan.planner for row in comparison.rows]
    changed = [name for name in planners if outlook.changed(name)]
    said = f"changed by the last move: {', '.join(changed)}" if changed else ""
    return (
        "<h4>Planners</h4>"
        + table(
            f"cost: {comparison.cost_model}{by_tree}; bars are logarithmic; ★ the cheapest",
            ["plan", "planners", "cost", "times best", "", "pin as"],
            rows,
            numbers=(2, 3),
            chosen=[i for i, group in enumerate(names) if outlook.planner in group],
            keys="step",
        )
        + "".join(f'<p class="soft">{html_text(note)}</p>' for note in notes)
        + f'<p class="only-read" aria-live="polite">{html_text(said)}</p>'
    )


def _row(
    group: Sequence[ComparedPlan], outlook: Outlook, log_ratio: float, most: float
) -> tuple[str | Cell, ...]:
    row, names = group[0], [each.plan.planner for each in group]
    is_best = log_ratio <= _EQUAL
    best = ' <span class="good" title="no planner has a cheaper one">★</span>' if is_best else ""
    earlier = {plan for plan in map(outlook.changed, names) if plan is not None}
    was = ""
    if earlier:
        before = _text(*earlier) if len(earlier) == 1 else "several plans"
        was = f'<br><span class="changed">changed</span> <span class="soft">was {before}</span>'
    chosen = " ".join(
        button("choose", name, name, pressed=name == outlook.planner, kind="link") for name in names
    )
    share = 0.0 if not most or not math.isfinite(log_ratio) else log_ratio / most
    pins = " ".join(
        button(
            f"pin{side}", side, names[0],
            label=f"pin the plan of {names[0]} as {side}",
            pressed=side in outlook.pinned
            and outlook.pinned[side].branches == row.plan.branches,
            kind="small",
        )
        for side in SIDES
    )  # fmt: skip
    return (
        Cell(html_text(one_line(row.plan)) + best + was, "wide"),
        Cell(chosen, "wide"),
        log_text(outlook.comparison.log_cost(row)),
        relative_text(log_ratio),
        Cell(bar_of(share)),
        Cell(pins),
    )


def _text(branches: tuple[BranchPlan, ...]) -> str:
    return html_text(" | ".join(map(str, branches)))


def _pictures(outlook: Outlook, room: float) -> str:
    headed = []
    for side, plan in outlook.shown.items():
        pinned = "pinned, " if side in outlook.pinned else ""
        log_ratio = outlook.log_relative(plan)
        times = (
            "the cheapest" if log_ratio <= _EQUAL else f"{relative_text(log_ratio)} times the best"
        )
        form = "tree" if is_tree(plan) else "order"
        head = f"{side}: {form} by {plan.planner}, {pinned}{times}"
        headed.append((head, pictures(plan, outlook.state.query_now)))
    unpin = "".join(
        button("unpin", f"Unpin {side}", side) if side in outlook.pinned
        else button(f"pin{side}", f"Pin {side}", plan.planner)
        for side, plan in outlook.shown.items()
    )  # fmt: skip
    svg = to_svg(side_by_side(headed, max(320.0, room)))
    return (
        f'<div class="bar apart"><h4>Plans side by side</h4>{unpin}</div>'
        f'<div class="scroll" role="region" tabindex="0" aria-label="pictures of the plans">'
        f"{svg}</div>"
    )


def _run(outlook: Outlook, sample: int, *, running: bool) -> str:
    if not sample:
        return (
            '<p class="soft">To run both plans on a sample: '
            '<span class="mono">PlanExplorer(pattern, statistics, stream=stream)</span></p>'
        )
    label = "Running …" if running else f"Run both on the first {sample:,} events"
    bar = f'<div class="bar">{button("run", label, disabled=running)}</div>'
    if not outlook.measured:
        return bar
    rows = [
        _measured(f"{side}: {one_line(plan)}", outlook.expected(plan), outlook.measured)
        for side, plan in outlook.shown.items()
        if plan.branches in outlook.measured
    ]
    head = (
        "plan", "candidates", "expected", "partial matches", "expected", "matches", "run, ms",
    )  # fmt: skip
    caption = f"measured on the first {sample:,} events; expected of the stream as it is"
    if outlook.state.moved.keys() - {WINDOW, ALPHA}:
        caption += ", not as the sliders have it"
    return bar + table(caption, head, rows, numbers=range(1, len(head)))


def _measured(
    name: str, plan: Plan, measured: Mapping[tuple[BranchPlan, ...], Measured | str]
) -> tuple[str | Cell, ...]:
    what = measured[plan.branches]
    if isinstance(what, str):
        return (Cell(html_text(name), "wide"), Cell(html_text(what), "wide"), *[""] * 5)
    known = plan.statistics
    share = what.events / known.events if known is not None and known.events else math.nan
    steps = [step for branch in plan.expected for step in branch]
    candidates = share * math.fsum(step.candidates for step in steps)
    partial = share * math.fsum(step.partial_matches for step in steps)
    return (
        Cell(html_text(name), "wide"),
        whole(what.candidates),
        f"≈ {number(float(f'{candidates:.3g}'))}",
        whole(what.partial_matches),
        f"≈ {number(float(f'{partial:.3g}'))}",
        whole(what.matches),
        f"{1000 * what.seconds:.3g}",
    )
