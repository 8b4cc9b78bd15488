"""Plans as texts: one line for tables, or several with the expected numbers of each step."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import assert_never

from cepkit.pattern.nodes import labels_of
from cepkit.plan.logarithms import log_text
from cepkit.plan.nodes import ExpectedStep, Pair, Plan, Tree, TreePlan
from cepkit.printing import html_lines, html_of, html_output, html_text, text_of
from cepkit.tables import html_table, number, text_table

_STEPS = ("step", "candidates", "partial matches", "alive in a window")


def one_line(plan: Plan) -> str:
    """Return ``a → c → b``, the branches of an OR separated by ``|``."""
    return " | ".join(map(str, plan.branches))


@text_of.register
def to_text(plan: Plan) -> str:
    """Return the plan with its cost, and a table of expected numbers if they are known."""
    lines, labels = [_head(plan)], _labels(plan)
    for branch, steps in zip_longest(plan.branches, plan.expected, fillvalue=()):
        lines.append(f"{branch}")
        lines += [f"  {line}" for line in _drawn(branch, labels)]
        if steps:
            table = text_table(_STEPS, (_row(step, labels) for step in steps))
            lines += [f"  {line}" for line in table.splitlines()]
    return "\n".join((*lines, *_forecast(plan)))


@html_of.register
def to_html(plan: Plan) -> str:
    """Return the same as HTML, names escaped."""
    parts, labels = [f"<p>{html_text(_head(plan))}</p>"], _labels(plan)
    for branch, steps in zip_longest(plan.branches, plan.expected, fillvalue=()):
        parts += [html_lines("\n".join(lines)) for lines in [_drawn(branch, labels)] if lines]
        if steps:
            rows = (_row(step, labels) for step in steps)
            parts.append(html_table(_STEPS, rows, caption=str(branch)))
        else:
            parts.append(f"<p>{html_text(str(branch))}</p>")
    parts += [f"<p>{html_text(line)}</p>" for line in _forecast(plan)]
    return html_output(*parts)


def _forecast(plan: Plan) -> list[str]:
    forecast = plan.forecast
    return [] if forecast is None else forecast.lines()


def _head(plan: Plan) -> str:
    cost = "" if plan.log_cost is None else f", cost {log_text(plan.log_cost)}"
    return f"planner: {plan.planner}{cost}"


def _labels(plan: Plan) -> dict[str, str]:
    """Return the variables with their types, if the plan knows its pattern."""
    query = None if plan.statistics is None else plan.statistics.query
    return {} if query is None else labels_of(query.structure)


def _drawn(branch: object, labels: Mapping[str, str]) -> list[str]:
    """Return a tree as lines, leaves indented below their joins; no lines for an order."""
    return _lines(branch.root, labels) if isinstance(branch, TreePlan) else []


def _lines(tree: Tree, labels: Mapping[str, str]) -> list[str]:
    match tree:
        case str():
            return [labels.get(tree, tree)]
        case Pair(left, right):
            first, *more = _lines(left, labels)
            last, *rest = _lines(right, labels)
            above = [f"├─ {first}", *(f"│  {line}" for line in more)]
            return ["⋈", *above, f"└─ {last}", *(f"   {line}" for line in rest)]
        case _:
            assert_never(tree)


def _row(step: ExpectedStep, labels: Mapping[str, str]) -> tuple[str, ...]:
    numbers = (step.candidates, step.partial_matches, step.alive)
    return (f"+ {labels.get(step.variable, step.variable)}", *map(number, numbers))
