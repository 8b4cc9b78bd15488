"""Shared plans as texts and HTML: what is shared, by how many, and the plan of each pattern."""

from __future__ import annotations

from cepkit.pattern.durations import window_text
from cepkit.plan.printer import one_line
from cepkit.printing import cut, html_of, html_output, html_text, text_of
from cepkit.sharing.shared_plan import SharedNode, SharedPlan
from cepkit.tables import count_text, first_rows, html_table, number

_NODES = ("shared by", "window", "sub-pattern", "alive", "cost")
_PLANS = ("pattern", "plan")
_WIDEST = 60


@text_of.register
def to_text(shared: SharedPlan) -> str:
    """Return the costs, the nodes with the most users, and a line for each pattern."""
    lines = [*head(shared)]
    nodes = _by_users(shared)
    if nodes:
        lines += ["", first_rows(_NODES, map(_row, nodes), "shared nodes", left=3)]
    plans = [(name, one_line(p)) for name, p in zip(shared.names, shared.plans, strict=True)]
    return "\n".join((*lines, "", first_rows(_PLANS, plans, "patterns", left=2)))


@html_of.register
def to_html(shared: SharedPlan) -> str:
    """Return the same as HTML, names escaped."""
    parts = [f"<p>{html_text(line)}</p>" for line in head(shared)]
    nodes = _by_users(shared)
    if nodes:
        parts.append(html_table(_NODES, map(_row, nodes), "shared nodes", left=3))
    plans = [(name, one_line(p)) for name, p in zip(shared.names, shared.plans, strict=True)]
    return html_output(*parts, html_table(_PLANS, plans, "plans", left=2))


def head(shared: SharedPlan) -> tuple[str, ...]:
    """Return what is shared, and what that saves."""
    what = count_text(len(shared.names), "pattern")
    nodes = f"{len(shared.shared)} of {count_text(len(shared.nodes), 'node')} shared"
    less = 1 - shared.cost / shared.alone if shared.alone else 0.0
    costs = f"{number(shared.cost)}, {number(shared.alone)} with each by itself"
    return (
        f"shared plan of {what}: {nodes}; search: {shared.search}",
        f"cost ({shared.cost_model.name}): {costs}, {100 * less:.0f} % less",
    )


def _by_users(shared: SharedPlan) -> list[SharedNode]:
    return sorted(shared.shared, key=lambda node: (-len(node.users), -node.cost))


def _row(node: SharedNode) -> tuple[str, ...]:
    window = "" if node.window is None else window_text(node.window)
    pattern = cut(node.pattern, _WIDEST)
    return f"{len(node.users)}", window, pattern, number(node.alive), number(node.cost)
