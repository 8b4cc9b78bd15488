"""Plans as texts: one line for tables, several with what is expected of each step."""

from __future__ import annotations

from itertools import zip_longest

from cepkit.plan.logarithms import log_text
from cepkit.plan.nodes import ExpectedStep, Plan
from cepkit.printing import html_of, html_output, html_text, text_of
from cepkit.tables import html_table, number, text_table

_STEPS = ("step", "candidates", "partial matches", "alive in a window")


def one_line(plan: Plan) -> str:
    """Return ``a → c → b``, the branches of an OR separated by ``|``."""
    return " | ".join(map(str, plan.branches))


@text_of.register
def to_text(plan: Plan) -> str:
    """Return the plan with its cost, and a table of expected numbers where they are known."""
    lines = [_head(plan)]
    for branch, steps in zip_longest(plan.branches, plan.expected, fillvalue=()):
        lines.append(f"{branch}")
        if steps:
            table = text_table(_STEPS, map(_row, steps))
            lines += [f"  {line}" for line in table.splitlines()]
    return "\n".join((*lines, *_forecast(plan)))


@html_of.register
def to_html(plan: Plan) -> str:
    """Return the same as HTML, names escaped."""
    parts = [f"<p>{html_text(_head(plan))}</p>"]
    for branch, steps in zip_longest(plan.branches, plan.expected, fillvalue=()):
        if steps:
            parts.append(html_table(_STEPS, map(_row, steps), caption=str(branch)))
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


def _row(step: ExpectedStep) -> tuple[str, ...]:
    numbers = (step.candidates, step.partial_matches, step.alive)
    return (f"+ {step.variable}", *map(number, numbers))
