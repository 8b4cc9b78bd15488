"""The validity of a plan: its deciding conditions, and their slack.

A planner puts a building block - the next variable of an order, a node of a tree - into its plan
because it costs less than others. When such a comparison no longer holds, the planner would choose
another plan.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2); slack, and the
share of time in which drift breaks a condition, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

from cepkit.lazy import pd
from cepkit.printing import WithPrinter, html_of, html_output, html_text, text_of
from cepkit.statistics.model import Statistics
from cepkit.tables import html_table, number, text_table

_HEAD = ("right while", "slack", "now", "step", "crossed")


@dataclass(frozen=True, slots=True)
class ValidityRow:
    """One deciding condition under some statistics.

    Attributes:
        branch: The number of the branch, from 1.
        step: The number of the step or node that the comparison put into the plan, from 1.
        condition: The comparison, as ``rate(c) < 2.3 rate(b)``.
        chosen: The number on its left.
        rejected: The number on its right.
        slack: The factor by which the left number may grow before the condition breaks; below 1 it
            is broken.
        holds: Whether the planner would choose the same again.
        unit: The unit of the two numbers.
        crossed: The share of the stream's time in which the condition does not hold; None if event
            times are unknown.
    """

    branch: int
    step: int
    condition: str
    chosen: float
    rejected: float
    slack: float
    holds: bool
    unit: str = ""
    crossed: float | None = None

    @property
    def numbers(self) -> str:
        """Both sides, as ``10 < 23/s``."""
        sign = "<" if self.chosen < self.rejected else ">" if self.chosen > self.rejected else "="
        return f"{number(self.chosen)} {sign} {number(self.rejected)}{self.unit}"

    @property
    def broken(self) -> str:
        """The condition that no longer holds, in words."""
        return f"{self.condition} no longer holds: {self.numbers}"


@dataclass(frozen=True, slots=True, repr=False)
class Validity(WithPrinter):
    """The deciding conditions of a plan, the nearest to breaking first.

    Attributes:
        plan: The plan, as a text.
        planner: The name of its planner.
        rows: The conditions; none where the planner compares nothing.
        labels: The variables with their types.
    """

    plan: str
    planner: str
    rows: tuple[ValidityRow, ...]
    labels: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all conditions hold."""
        return all(row.holds for row in self.rows)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each condition."""
        names = [field.name for field in fields(ValidityRow)]
        records = [{name: getattr(row, name) for name in names} for row in self.rows]
        return pd.DataFrame(records, columns=names)


class Decided(Protocol):
    """The deciding conditions that a planner records in its plan."""

    def validity(self, plan: str, planner: str, statistics: Statistics) -> Validity:
        """Return the deciding conditions under some statistics.

        Raises:
            PlanError: The planner has no deciding conditions.
        """
        ...


def _cells(validity: Validity) -> list[tuple[str, ...]]:
    several = len({row.branch for row in validity.rows}) > 1
    return [
        (
            f"{row.branch}: {row.condition}" if several else row.condition,
            number(row.slack) if row.holds else f"{number(row.slack)} broken",
            row.numbers,
            str(row.step),
            "" if row.crossed is None else f"{row.crossed:.0%} of the time",
        )
        for row in validity.rows
    ]


def _title(validity: Validity) -> str:
    plan = f"plan {validity.plan} ({validity.planner})"
    if not validity.rows:
        return f"{plan} is right under any statistics: the planner compares nothing"
    return f"{plan} {'is right' if validity.holds else 'would be planned again'}"


@text_of.register
def to_text(validity: Validity) -> str:
    """Return the conditions as a table."""
    table = [text_table(_HEAD, _cells(validity))] if validity.rows else []
    return "\n".join((_title(validity), *table, *_remarks(validity)))


def _remarks(validity: Validity) -> tuple[str, ...]:
    return (", ".join(validity.labels),) if validity.labels else ()


@html_of.register
def to_html(validity: Validity) -> str:
    """Return the same as HTML, names escaped."""
    if not validity.rows:
        return html_output(f"<p>{html_text(_title(validity))}</p>")
    caption = "; ".join((_title(validity), *_remarks(validity)))
    return html_output(html_table(_HEAD, _cells(validity), caption))
