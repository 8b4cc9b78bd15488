"""The sharing of several queries as text and HTML, for matches and for aggregates.

The head summarises what is shared and what that saves; one table lists the shared parts with their
users, another the plan of each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepkit.pattern.policies import window_text
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.plan.printer import one_line
from cepkit.printing import cut, html_of, html_output, html_text, text_of
from cepkit.sharing.late import Late, check_text
from cepkit.sharing.shared_plan import SharedNode, SharedPlan
from cepkit.tables import count_text, first_rows, html_table, number

_WIDEST = 60


@dataclass(frozen=True, slots=True)
class PrintedSharing:
    """The sharing of several queries, ready for printing.

    Attributes:
        what: The number of queries, and how much of their plans is shared.
        costs: Their cost with and without sharing; empty if unknown.
        columns: The columns of `shared`, the last `figures` of them numbers.
        shared: The shared parts, a row each.
        plan_columns: The columns of `plans`.
        figures: How many columns of `shared` are numbers.
    """

    what: str
    costs: str
    columns: tuple[str, ...]
    shared: Sequence[tuple[str, ...]]
    plan_columns: tuple[str, ...]
    plans: Sequence[tuple[str, ...]]
    figures: int = 1

    @property
    def head(self) -> tuple[str, ...]:
        """The lines before the tables."""
        return (self.what, self.costs) if self.costs else (self.what,)

    def text(self) -> str:
        """Return it as text, long tables cut."""
        lines = [*self.head]
        if self.shared:
            left = len(self.columns) - self.figures
            lines += ["", first_rows(self.columns, self.shared, "shared nodes", left=left)]
        plans = first_rows(self.plan_columns, self.plans, "plans", left=len(self.plan_columns))
        return "\n".join((*lines, "", plans))

    def html(self) -> str:
        """Return the same as HTML, names escaped."""
        parts = [f"<p>{html_text(line)}</p>" for line in self.head]
        if self.shared:
            left = len(self.columns) - self.figures
            parts.append(html_table(self.columns, self.shared, "shared nodes", left=left))
        plans = html_table(self.plan_columns, self.plans, "plans", left=len(self.plan_columns))
        return html_output(*parts, plans)


def costs_text(unit: str, cost: float, alone: float) -> str:
    """Return a line with the cost with and without sharing."""
    less = round(100 * (1 - cost / alone)) if alone else 0
    compared = f"{less:,} % less" if less >= 0 else f"{-less:,} % more"
    return f"cost ({unit}): {number(cost)}, {number(alone)} without sharing, {compared}"


@text_of.register
def to_text(shared: SharedPlan) -> str:
    """Return the costs, the nodes with the most users, and a line for each pattern."""
    return _printed(shared).text()


@html_of.register
def to_html(shared: SharedPlan) -> str:
    """Return the same as HTML."""
    return _printed(shared).html()


def _printed(shared: SharedPlan) -> PrintedSharing:
    nodes = sorted(shared.shared, key=lambda node: (-len(node.users), -node.cost))
    of = f"{len(nodes)} of {count_text(len(shared.nodes), 'node')} shared"
    return PrintedSharing(
        f"shared plan of {count_text(len(shared.names), 'pattern')}: {of}; search: {shared.search}",
        costs_text(shared.cost_model.name, shared.cost, shared.alone),
        ("shared by", "window", "sub-pattern", "alive", "cost"),
        [*map(_row, nodes)],
        ("pattern", "plan"),
        [
            (name, "; ".join((one_line(plan), *_checks(plan.branches, late))))
            for name, plan, late in zip(shared.names, shared.plans, shared.late, strict=True)
        ],
        figures=2,
    )


def _checks(plans: Iterable[BranchPlan], late: Iterable[Late | None]) -> Iterable[str]:
    """Yield the conditions that branches check on shared rows of weaker nodes."""
    for plan, each in zip(plans, late, strict=True):
        if each is not None and isinstance(plan, OrderPlan):
            last = plan.order[len(each.variables) - 1]
            yield f"{' and '.join(map(check_text, each.checked))} checked after {last}"


def _row(node: SharedNode) -> tuple[str, ...]:
    window = "" if node.window is None else window_text(node.window)
    pattern = cut(node.pattern, _WIDEST)
    return f"{len(node.users)}", window, pattern, number(node.alive), number(node.cost)
