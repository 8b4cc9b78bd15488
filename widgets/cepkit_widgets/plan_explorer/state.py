"""The state of a plan explorer: the changed numbers, and the plans that they give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, assert_never

from cepkit.api.arguments import statistics_given
from cepkit.costs import COSTS, Blend, CostModel, query_cost
from cepkit.errors import ArgumentError
from cepkit.pattern.builder import Pattern, as_query
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.pattern.query import Query
from cepkit.plan.nodes import BranchPlan, OrderPlan, as_tree
from cepkit.planners import PLANNERS, DpOrder, DpTree, Planner
from cepkit.planners.compare import PlanComparison, compare_plans
from cepkit.planners.search import TOLERANCE
from cepkit.statistics.model import Statistics
from cepkit.tables import number
from cepkit_widgets.plan_explorer.parameters import ALPHA, WINDOW, Parameter, parameters_of

BLEND = "blend"
"""The cost model with a slider of its own."""

_PATIENT = 1.0
"""The most seconds of an exact search, by its own estimate; longer ones are left out."""
_PLANNERS: Mapping[str, Planner] = {
    **PLANNERS, "dp-order": DpOrder(seconds=_PATIENT), "dp-tree": DpTree(seconds=_PATIENT),
}  # fmt: skip

_NOTHING: Mapping[str, float] = MappingProxyType({})
_POINTS, _HALVINGS = 6, 8
_BUDGET = 0.05
"""The most seconds of planning at a move, so that with the picture it stays under 100 ms."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A value where another plan becomes the best, as one number changes and all others stay.

    Attributes:
        parameter: The number's name.
        value: The value of the number there.
        above: Whether it is above the present value.
    """

    parameter: str
    value: float
    above: bool


@dataclass(frozen=True)
class ExplorerState:
    """A query, its measured statistics, and the user's changes.

    Attributes:
        query: The query, with the window that it was written with.
        moved: The changed numbers, by the names of their parameters.
        cost: The name of the cost model; `BLEND` for the one with an alpha.
    """

    query: Query
    measured: Statistics
    moved: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    cost: str = "partial-matches"

    @classmethod
    def of(cls, pattern: Query | Pattern | str, statistics: Statistics) -> ExplorerState:
        """Return the initial state: everything as measured.

        Raises:
            PatternError: The pattern is invalid. StatisticsError: The statistics are not about it.
        """
        query = as_query(pattern)
        return cls(query, statistics_given(statistics, query))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters; alpha only if the cost model has one."""
        every = parameters_of(self.query, self.measured)
        return tuple(p for p in every if p.name != ALPHA or self.cost == BLEND)

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by its name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        known = [parameter.name for parameter in self.parameters]
        raise ArgumentError.unknown(f"there is no '{name}' to move", name, known)

    def value(self, name: str) -> float:
        """Return the current value of a parameter."""
        return self.moved.get(name, self.parameter(name).measured)

    def at(self, name: str, value: float) -> ExplorerState:
        """Return the state with one number moved.

        Raises:
            ArgumentError: There is no such number, or the value is invalid.
        """
        parameter = self.parameter(name)
        parameter.check(value)
        others = {key: moved for key, moved in self.moved.items() if key != name}
        changed = {} if value == parameter.measured else {name: value}
        return replace(self, moved=MappingProxyType(others | changed))

    def by(self, cost: str) -> ExplorerState:
        """Return the state with another cost model."""
        if cost != BLEND:
            COSTS.pick(cost)
        return replace(self, cost=cost)

    def reset(self) -> ExplorerState:
        """Return the state with everything as measured."""
        return replace(self, moved=_NOTHING)

    @property
    def variables(self) -> int:
        """How many variables the largest branch has."""
        return max(len(branch.variables) for branch in normal_form(self.query))

    @cached_property
    def model(self) -> CostModel:
        """The cost model."""
        return Blend(self.value(ALPHA)) if self.cost == BLEND else COSTS.pick(self.cost)

    @cached_property
    def query_now(self) -> Query:
        """The query with the current window."""
        if WINDOW not in self.moved:
            return self.query
        value = self.moved[WINDOW]
        match self.query.window:
            case TimeWindow() as window:
                now: TimeWindow | CountWindow = replace(window, microseconds=round(value * 1e6))
            case CountWindow() as window:
                now = replace(window, events=max(1, round(value)))
            case None:
                return self.query
        return replace(self.query, window=now, text=None)

    @cached_property
    def statistics(self) -> Statistics:
        """The current statistics."""
        return self.measured.moved(**self._moves)

    @cached_property
    def of_the_stream(self) -> Statistics:
        """The statistics as measured, in the current window: what a run of the sample follows."""
        window = {key: value for key, value in self._moves.items() if key == WINDOW}
        return self.measured.moved(**window)

    @property
    def _moves(self) -> dict[str, Any]:
        """The changes, in the form of `Statistics.moved`."""
        moves: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name not in self.moved:
                continue
            value = self.moved[parameter.name]
            match parameter.kind:
                case "rate":
                    moves.setdefault("rates", {})[parameter.variables[0]] = value
                case "selectivity":
                    moves.setdefault("selectivities", {})[parameter.variables] = value
                case "window":
                    moves["window"] = value
                case "alpha":
                    pass
                case _:
                    assert_never(parameter.kind)
        return moves

    def compare(self, planners: Sequence[str] | None = None) -> PlanComparison:
        """Return the current plans of some planners; None for all."""
        asked = [_PLANNERS[name] for name in planners or _PLANNERS]
        return compare_plans(self.query_now, self.statistics, asked, self.model)

    def log_cost(self, branches: Sequence[BranchPlan], *, as_trees: bool) -> float:
        """Return the logarithm of a plan's current cost.

        Args:
            as_trees: Whether an order is costed as the tree that leans left.
        """
        plans = [as_tree(plan) for plan in branches] if as_trees else list(branches)
        costs = [self.model.on(b, self.statistics) for b in normal_form(self.query_now)]
        return query_cost(costs, plans)

    def crossings(self, comparison: PlanComparison, name: str) -> tuple[Crossing, ...]:
        """Return where the current best plan stops being the best as one number changes.

        At most one value below the present one and one above. The search plans anew at a few values
        and then bisects, to a hundredth of a decade.

        Args:
            comparison: The comparison of this state.
            name: The number that moves.
        """
        parameter = self.parameter(name)
        best, trees = comparison.best.branches, comparison.has_trees
        known = {row.plan.planner for row in comparison.rows}
        exact = ("dp-tree", "dp-order") if trees else ("dp-order",)
        rivals = exact if known.issuperset(exact) else tuple(known)

        def beaten(position: float) -> bool:
            there = self.at(name, parameter.at(position))
            plans = [_planned(there, rival) for rival in rivals]
            costs = [there.log_cost(plan, as_trees=trees) for plan in plans]
            least = min(costs)
            if _above(there.log_cost(best, as_trees=trees), least):
                return True
            # Orders that begin with the same two events tie as trees: the comparison takes the one
            # that is the cheapest as an order.
            orders = [p for p, cost in zip(plans, costs, strict=True) if not _above(cost, least)]
            own = there.log_cost(best, as_trees=False)
            return _are_orders(best) and any(
                _are_orders(plan) and _above(own, there.log_cost(plan, as_trees=False))
                for plan in orders
            )

        here = parameter.position(self.value(name))
        found = []
        for end in (0.0, 1.0):
            near = here
            for i in range(1, _POINTS + 1):
                far = here + (end - here) * i / _POINTS
                if beaten(far):
                    for _ in range(_HALVINGS):
                        middle = (near + far) / 2
                        near, far = (near, middle) if beaten(middle) else (middle, far)
                    found.append(Crossing(name, parameter.at(far), above=end > here))
                    break
                near = far
        return tuple(found)

    def as_code(self, planner: str, statistics: str = "statistics") -> str:
        """Return code that makes the shown plan.

        Args:
            planner: Whose plan.
            statistics: The name of the variable with the measured statistics.
        """
        lines = ["import cepkit as ck", "", _parsing(self.query)]
        moves = "".join(f"\n    {name}={value!r}," for name, value in self._moves.items())
        edit = f".moved({moves}\n)" if moves else ""
        lines.append(f"assumed = {statistics}.of(pattern){edit}")
        if WINDOW in self.moved:
            lines.append(_parsing(self.query_now))
        model = (
            f"ck.costs.Blend(alpha={self.value(ALPHA)!r})"
            if self.cost == BLEND
            else f'"{self.cost}"'
        )
        lines += [
            f"comparison = ck.compare_plans(pattern, assumed, cost={model})",
            f'plan = comparison.plan("{planner}")',
        ]
        return "\n".join(lines) + "\n"


def _planned(state: ExplorerState, planner: str) -> tuple[BranchPlan, ...]:
    picked = _PLANNERS[planner]
    branches = normal_form(state.query_now)
    return tuple(picked.plan(branch, state.statistics, state.model) for branch in branches)


def _above(log_cost: float, least: float) -> bool:
    return log_cost - least > TOLERANCE * max(1.0, abs(least))


def _are_orders(branches: Sequence[BranchPlan]) -> bool:
    return all(isinstance(branch, OrderPlan) for branch in branches)


def _parsing(query: Query) -> str:
    text = str(query).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'pattern = ck.parse("""\n{text}\n""")'


def quick_planners(comparison: PlanComparison, budget: float = _BUDGET) -> tuple[str, ...]:
    """Return the fastest planners that together took no longer than the budget.

    Args:
        comparison: Of all planners, made when their loops were compiled.
        budget: In seconds.
    """
    rows = sorted(comparison.rows, key=lambda row: row.seconds)
    spent = 0.0
    quick: set[str] = set()
    for row in rows:
        spent += row.seconds
        if spent <= budget or not quick:
            quick.add(row.plan.planner)
    return tuple(row.plan.planner for row in comparison.rows if row.plan.planner in quick)


def crossing_text(crossing: Crossing, parameter: Parameter) -> str:
    """Return a crossing in words."""
    side = "above" if crossing.above else "below"
    return f"{side} {parameter.text(crossing.value)} another plan is best"


def relative_text(log_ratio: float) -> str:
    """Return a relative cost as a text."""
    if not math.isfinite(log_ratio):
        return "∞" if log_ratio > 0 else "1"
    return number(math.exp(min(log_ratio, 700.0)))
