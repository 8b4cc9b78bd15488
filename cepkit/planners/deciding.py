"""Deciding conditions: the cost comparisons that put each block into a plan.

A condition has two blocks; the chosen one cost less, or cost the same and came first. It can be
evaluated under any statistics with current costs: a subtree is costed anew with the node above it.
So with exact statistics a broken condition means that the planner would choose differently (no
false positives); for greedy orders with all conditions kept the converse holds too. A check costs
O(blocks) cost evaluations.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2). The source
freezes the costs of subtrees, which is wrong: a node of two leaves has no deciding condition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, TypeGuard, assert_never

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.errors import LimitError, PlanError
from cepkit.pattern.nodes import labels_of
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import from_log, log, log_sum
from cepkit.plan.nodes import (
    BranchPlan,
    OrderPlan,
    Pair,
    Tree,
    TreePlan,
    as_tree,
    leaves,
    tree_text,
)
from cepkit.plan.validity import Validity, ValidityRow
from cepkit.planners.contract import Planner
from cepkit.statistics.model import Statistics
from cepkit.tables import number


@dataclass(frozen=True, slots=True)
class Next:
    """A step of an order: a variable that is bound after others."""

    bound: tuple[str, ...]
    variable: str

    def __str__(self) -> str:
        return f"{self.variable} next"


Block: TypeAlias = Next | OrderPlan | TreePlan
"""A step of an order; or an order or a tree of some of the variables."""


@dataclass(frozen=True, slots=True)
class DecidingCondition:
    """A comparison that put a block into a plan.

    Attributes:
        step: The number of the block, from 1, in plan order; in trees bottom-up.
        chosen: The block in the plan.
        rejected: A block that could take its place.
        first: Whether the planner keeps `chosen` if both cost the same.
        tolerance: How much the logarithms of costs may differ that count as equal.
    """

    step: int
    chosen: Block
    rejected: Block
    first: bool = True
    tolerance: float = 0.0

    def gap(self, cost: BranchCost) -> float:
        """Return ln(cost of rejected / cost of chosen)."""
        chosen, rejected = block_cost(self.chosen, cost), block_cost(self.rejected, cost)
        return 0.0 if chosen == rejected else rejected - chosen

    def holds(self, gap: float, distance: float = 0.0) -> bool:
        """Return whether the condition holds; it may be broken by up to a distance.

        Args:
            gap: The result of `gap`.
            distance: How far the costs of `chosen` may exceed those of `rejected`, relatively.
        """
        most = gap + self.tolerance + math.log1p(distance)
        return most > 0 or (most == 0 and (self.first or distance > 0))


def block_cost(block: Block, cost: BranchCost) -> float:
    """Return the logarithm of a block's cost; trees count without their leaves."""
    match block:
        case Next(bound, variable):
            return cost.step(cost.mask(bound), cost.mask((variable,)))
        case OrderPlan():
            return log_sum(cost.step(*step) for step in cost.steps(block))
        case TreePlan(root):
            return _tree_cost(root, cost)
        case _:
            assert_never(block)


def _tree_cost(tree: Tree, cost: BranchCost) -> float:
    match tree:
        case str():
            return -math.inf
        case Pair(left, right):
            joined = cost.join(cost.mask(leaves(left)), cost.mask(leaves(right)))
            return log_sum((_tree_cost(left, cost), _tree_cost(right, cost), joined))
        case _:
            assert_never(tree)


_KEPT, _EXACT = 3, 1e-9


def tightest(
    step: int, chosen: Block, others: Sequence[Block], cost: BranchCost
) -> list[DecidingCondition]:
    """Return the comparisons of one block of an exact planner that are nearest to breaking.

    A best plan must win each of them, whatever else is compared.
    """
    conditions = [DecidingCondition(step, chosen, other, tolerance=_EXACT) for other in others]
    return sorted(conditions, key=lambda condition: condition.gap(cost))[:_KEPT]


def check_deciding(planner: str, cost: BranchCost, most: int) -> None:
    """Refuse plans with more variables than `most`, which would take long.

    Raises:
        LimitError: The plan has more variables.
    """
    if len(cost.variables) > most:
        raise LimitError(
            f"the deciding conditions of '{planner}' for {len(cost.variables)} variables",
            expected=f"{most} variables or fewer",
            hint="plan with 'greedy' or 'zstream-ord', which compare less",
        )


class DecidingPlanner(Planner, Protocol):
    """A planner that can give the deciding conditions of its plans.

    One whose comparisons are not of the cost it is asked for has a field `compares`: the cost model
    of its conditions.
    """

    def deciding(self, plan: BranchPlan, cost: BranchCost, /) -> tuple[DecidingCondition, ...]:
        """Return the deciding conditions of a plan that this planner made by these costs."""
        ...


def knows_why(planner: object) -> TypeGuard[DecidingPlanner]:
    """Return whether a planner has deciding conditions."""
    return callable(getattr(planner, "deciding", None))


@dataclass(frozen=True)
class Decisions:
    """The deciding conditions of the plan of a query.

    Attributes:
        branches: The normal form of the query.
        planner: The planner that made them.
    """

    branches: tuple[Branch, ...]
    plans: tuple[BranchPlan, ...]
    planner: Planner
    cost: CostModel
    statistics: Statistics

    @cached_property
    def conditions(self) -> tuple[tuple[DecidingCondition, ...], ...]:
        """The deciding conditions of each branch, in the order of its plan.

        Raises:
            PlanError: The planner has no deciding conditions.
        """
        planner = self.planner
        if not knows_why(planner):
            raise PlanError(
                f"the planner '{planner.name}' has no deciding conditions: it does not compare one"
                " step or node of the plan with another",
                hint="plan with 'by-frequency', 'greedy', 'zstream', 'zstream-ord', 'dp-order' or"
                " 'dp-tree'",
            )
        costs = self.costs(self.statistics)
        return tuple(map(planner.deciding, self.plans, costs))

    @cached_property
    def gaps(self) -> tuple[tuple[float, ...], ...]:
        """The result of `DecidingCondition.gap` when the plan was made."""
        return tuple(
            tuple(condition.gap(cost) for condition in conditions)
            for conditions, cost in zip(self.conditions, self.costs(self.statistics), strict=True)
        )

    @property
    def compared(self) -> CostModel:
        """The cost model of the conditions."""
        compared: CostModel = getattr(self.planner, "compares", self.cost)
        return compared

    def costs(self, statistics: Statistics) -> list[BranchCost]:
        """Return the compared costs of each branch under some statistics."""
        return [self.compared.on(branch, statistics) for branch in self.branches]

    def validity(self, plan: str, planner: str, statistics: Statistics) -> Validity:
        """Return the deciding conditions under some statistics (see `plan.validity.Decided`)."""
        crossed = self._crossed(statistics)
        rows = [
            self.row(branch, place, statistics, crossed.get((branch, place)))
            for branch, conditions in enumerate(self.conditions)
            for place in range(len(conditions))
        ]
        labels: dict[str, str] = {}
        for branch in self.branches:
            for event in branch.as_written.positive + branch.as_written.negated:
                labels |= {v: label for v, label in labels_of(event).items() if v not in labels}
        ordered = tuple(sorted(rows, key=lambda row: row.slack))
        return Validity(plan, planner, ordered, tuple(labels.values()))

    def row(
        self, branch: int, place: int, statistics: Statistics, crossed: float | None = None
    ) -> ValidityRow:
        """Return one condition under some statistics, in words.

        Args:
            crossed: See `ValidityRow`.
        """
        condition = self.conditions[branch][place]
        cost = self.compared.on(self.branches[branch], statistics)
        gap = condition.gap(cost)
        text, left, right, unit = _in_words(condition, gap, cost, self.branches[branch], statistics)
        holds = condition.holds(gap)
        return ValidityRow(
            branch + 1, condition.step, text, left, right, from_log(gap), holds, unit, crossed
        )

    def _crossed(self, statistics: Statistics) -> dict[tuple[int, int], float]:
        """Return for each condition the share of the stream's time in which it does not hold."""
        times = list(over_time(statistics))
        crossed: dict[tuple[int, int], float] = {}
        for each in times:
            for branch, cost in enumerate(self.costs(each)):
                for place, condition in enumerate(self.conditions[branch]):
                    broken = not condition.holds(condition.gap(cost))
                    known = crossed.get((branch, place), 0.0)
                    crossed[branch, place] = known + broken / len(times)
        return crossed


def over_time(statistics: Statistics) -> Iterator[Statistics]:
    """Yield the same statistics with the rates of each stretch of the stream; nothing if unknown.

    A type without events in a stretch counts as half an event.
    """
    known = statistics.over_time
    if known is None or not set(statistics.rates) <= set(known.counts):
        return
    for bucket in range(known.buckets):
        counts = {v: known.counts[v][bucket] for v in statistics.rates}
        if any(counts.values()):
            yield statistics.with_rates(
                {v: max(count, 0.5) / known.bucket_seconds for v, count in counts.items()}
            )


def _in_words(
    condition: DecidingCondition,
    gap: float,
    cost: BranchCost,
    branch: Branch,
    statistics: Statistics,
) -> tuple[str, float, float, str]:
    """Return a condition as a text, its two numbers, and their unit."""
    chosen, rejected = condition.chosen, condition.rejected
    if isinstance(chosen, Next) and isinstance(rejected, Next):
        one, other = chosen.variable, rejected.variable
        left, right = statistics.rate(one), statistics.rate(other)
        if _linear(cost, branch, (one, other)) and left and right and math.isfinite(gap):
            # Everything else cancels, or is a factor between the two rates.
            times = from_log(gap - log(right) + log(left))
            factor = "" if math.isclose(times, 1.0, rel_tol=1e-9) else f"{number(times)} "
            return f"rate({one}) < {factor}rate({other})", left, times * right, "/s"
    numbers = from_log(block_cost(chosen, cost)), from_log(block_cost(rejected, cost))
    return f"cost({_text(chosen)}) < cost({_text(rejected)})", *numbers, ""


def _linear(cost: BranchCost, branch: Branch, variables: tuple[str, str]) -> bool:
    """Return whether the cost of a step is proportional to the rate of its variable."""
    repeated = {variable for variable, _, _ in branch.repeated}
    least = cost.alive is not None and cost.alive.least
    return not (least or cost.waiting is not None or repeated & set(variables))


def _text(block: Block) -> str:
    match block:
        case TreePlan(root):
            return tree_text(root)
        case Next() | OrderPlan():
            return str(block)
        case _:
            assert_never(block)


def because(
    branch: Branch, before: BranchPlan, now: BranchPlan, statistics: Statistics, cost: CostModel
) -> str:
    """Return in words why one plan replaces another.

    For orders, the reason is the first step in which they differ, if the new one is already cheaper
    there; else the costs of the whole plans.
    """
    ready = cost.on(branch, statistics)
    conditions = [DecidingCondition(0, as_tree(before), as_tree(now))]
    if isinstance(before, OrderPlan) and isinstance(now, OrderPlan):
        place = next(
            i for i, (x, y) in enumerate(zip(before.order, now.order, strict=True)) if x != y
        )
        bound = before.order[:place]
        step = DecidingCondition(0, Next(bound, before.order[place]), Next(bound, now.order[place]))
        conditions = [step, DecidingCondition(0, before, now)]
    gaps = [condition.gap(ready) for condition in conditions]
    condition, gap = next(
        ((c, gap) for c, gap in zip(conditions, gaps, strict=True) if not c.holds(gap)),
        (conditions[-1], gaps[-1]),
    )
    text, left, right, unit = _in_words(condition, gap, ready, branch, statistics)
    row = ValidityRow(0, 0, text, left, right, from_log(gap), condition.holds(gap), unit)
    return f"{text} no longer held: {row.numbers}"
