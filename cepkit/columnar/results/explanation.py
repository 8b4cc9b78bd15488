"""Explain analyze: the expected and the actual work of each step of a plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.columnar.compile.program import StepCounters
from cepkit.lazy import pd
from cepkit.pattern.nodes import labels_of
from cepkit.plan.nodes import Plan, Unit, work_of
from cepkit.printing import Printed, html_output
from cepkit.tables import html_table, text_table, whole


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """One step: its work and, if the plan has statistics, the expected work.

    Attributes:
        branch: The number of the branch, from 1.
        variable: The variable that the step binds.
        candidates: Pairs of a partial match and an event that were examined.
        survivors: Partial matches that passed.
        removed: Partial matches that an event under NOT ruled out; not among the survivors.
        peak_rows: The most partial matches held at once.
        seconds: Time spent in the step, summed over workers.
        expected_candidates: From the statistics of the plan; None without.
        expected_survivors: The same.
        shared_with: The branch (from 1) whose step did the work of this one as well; 0: none. Its
            own numbers cover the slices without sharing.
        by_value: Whether its candidates were looked up by a value, which leaves fewer than a plan
            expects.
    """

    branch: int
    variable: str
    candidates: int
    survivors: int
    removed: int
    peak_rows: int
    seconds: float
    expected_candidates: float | None
    expected_survivors: float | None
    shared_with: int = 0
    by_value: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Printed):
    """The steps of a run; prints as a table, has an HTML repr and a pandas twin.

    Attributes:
        plan: The plan that was run.
        in_order: What was done in the order of the stream, and why; "" if nothing.
    """

    plan: Plan
    steps: tuple[ExplainedStep, ...]
    in_order: str = ""

    @classmethod
    def of(
        cls, plan: Plan, counters: Sequence[Sequence[StepCounters]], in_order: str = ""
    ) -> Explanation:
        """Return the explanation of a run."""
        steps = []
        for number, branch in enumerate(counters):
            expected = plan.expected[number] if plan.expected else ()
            by_variable = {step.variable: step for step in expected}
            for counted in branch:
                hoped = by_variable.get(counted.variable)
                steps.append(
                    ExplainedStep(
                        number + 1,
                        counted.variable,
                        counted.candidates,
                        counted.survivors,
                        counted.removed,
                        counted.peak_rows,
                        counted.seconds,
                        None if hoped is None else hoped.candidates,
                        None if hoped is None else hoped.partial_matches,
                        counted.shared_with,
                        counted.by_value,
                    )
                )
        return cls(plan, tuple(steps), in_order)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each step."""
        names = ExplainedStep.__slots__
        return pd.DataFrame([{name: getattr(s, name) for name in names} for s in self.steps])

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        several = len(self.plan.branches) > 1
        negated = any(step.removed for step in self.steps)
        planned = any(step.expected_survivors is not None for step in self.steps)
        hoped = ["expected"] if planned else []
        head = ["step", "candidates", *hoped, "survivors", *hoped]
        head += [*(["removed by NOT"] if negated else []), "peak rows", "seconds"]
        statistics = self.plan.statistics
        query = None if statistics is None else statistics.query
        labels = {} if query is None else labels_of(query.structure)
        rows = []
        for step in self.steps:
            name = self._indent(step) + labels.get(step.variable, step.variable)
            name = f"{step.branch}: {name}" if several else name
            if step.shared_with and not step.candidates:
                rows.append([name, f"as in {step.shared_with}", *[""] * (len(head) - 2)])
                continue
            rows.append(
                [
                    name,
                    f"{step.candidates:,}",
                    *([_approximate(step.expected_candidates)] if planned else []),
                    whole(step.survivors),
                    *([_approximate(step.expected_survivors)] if planned else []),
                    *([f"{step.removed:,}"] if negated else []),
                    f"{step.peak_rows:,}",
                    f"{step.seconds:.3f}",
                ]
            )
        return head, rows

    def _indent(self, step: ExplainedStep) -> str:
        """Return the indentation of a step: steps of a subtree precede the step that joins it."""
        return "  " * _depths(work_of(self.plan.branches[step.branch - 1])).get(step.variable, 0)

    def __str__(self) -> str:
        return "\n".join([*self._heads(), text_table(*self._rows())])

    def _repr_html_(self) -> str:
        head, rows = self._rows()
        # HTML would drop plain spaces.
        rows = [[row[0].replace("  ", "\N{NO-BREAK SPACE}" * 2), *row[1:]] for row in rows]
        return html_output(html_table(head, rows, "; ".join(self._heads())))

    def _heads(self) -> list[str]:
        """Return the plan, and the basis of its statistics if they were measured."""
        order = "; ".join(map(str, self.plan.branches))
        lines = [f"plan {order} ({self.plan.planner})"]
        statistics = self.plan.statistics
        if statistics is not None and statistics.query is not None:
            lines.append(f"by the statistics of {statistics.basis}")
        if self.in_order:
            lines.append(self.in_order)
        by_value = [step.variable for step in self.steps if step.by_value]
        if by_value:
            names = ", ".join(dict.fromkeys(by_value))
            lines.append(f"candidates for {names}: looked up by value, fewer than expected")
        return lines


def _depths(units: Sequence[Unit], depth: int = 0) -> dict[str, int]:
    depths = {unit.name: depth for unit in units}
    for unit in units:
        depths |= _depths(unit.inner, depth + 1)
    return depths


def _approximate(number: float | None) -> str:
    if number is None:
        return "-"
    if number == math.inf:
        return "> 1e308"
    if number >= 1e15:
        return f"~{number:.3g}"
    return f"~{number:,.0f}" if number >= 10 else f"~{number:.2g}"
