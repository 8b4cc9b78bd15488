"""The content of a plan explorer: a state, its plans, and the changes of the last move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cepkit.errors import PlanError
from cepkit.plan.nodes import BranchPlan, Plan, TreePlan
from cepkit.planners.choose import cost_plan
from cepkit.planners.compare import ComparedPlan, Measured, PlanComparison
from cepkit_widgets.plan_explorer.state import Crossing, ExplorerState

Side: TypeAlias = Literal["A", "B"]
SIDES: tuple[Side, ...] = ("A", "B")


@dataclass(frozen=True, slots=True)
class Outlook:
    """A state with all its plans, and two of them in detail.

    Attributes:
        state: The numbers.
        comparison: The current plans of all planners; while the user moves a slider, slow planners
            keep their last plans.
        before: For each planner its plan before the last move.
        chosen: The planner that the user chose; None for the one with the cheapest plan.
        pinned: The plans that stay although the numbers change, with the planner of each.
        crossings: For each parameter where another plan becomes the best; empty while they are
            computed.
        resting: Whether everything is up to date.
        measured: The counts of both sides' plans on a sample, by plan.
    """

    state: ExplorerState
    comparison: PlanComparison
    before: Mapping[str, tuple[BranchPlan, ...]] = field(default_factory=dict)
    chosen: str | None = None
    pinned: Mapping[Side, Plan] = field(default_factory=dict)
    crossings: Mapping[str, tuple[Crossing, ...]] = field(default_factory=dict)
    resting: bool = False
    measured: Mapping[tuple[BranchPlan, ...], Measured | str] = field(default_factory=dict)

    def moved_to(self, state: ExplorerState, comparison: PlanComparison) -> Outlook:
        """Return the outlook after a move; planners that did not run keep their plan."""
        asked = {row.plan.planner: row for row in comparison.rows}
        refused = {name for name, _ in comparison.refused}
        rows = tuple(
            asked.get(row.plan.planner) or _costed(row, state)
            for row in self.comparison.rows
            if row.plan.planner not in refused
        )
        known = {row.plan.planner for row in rows}
        rows += tuple(row for name, row in asked.items() if name not in known)
        merged = related(replace(comparison, rows=rows))
        before = {row.plan.planner: row.plan.branches for row in self.comparison.rows}
        pinned = {side: recosted(plan, state) for side, plan in self.pinned.items()}
        return replace(
            self,
            state=state,
            comparison=merged,
            before=before,
            pinned=pinned,
            crossings={},
            resting=False,
            measured={},
        )

    def rested(
        self, comparison: PlanComparison, crossings: Mapping[str, tuple[Crossing, ...]]
    ) -> Outlook:
        """Return the outlook with everything up to date; the changes of the move stay."""
        return replace(self, comparison=comparison, crossings=crossings, resting=True)

    def choose(self, planner: str) -> Outlook:
        """Return the outlook with a planner chosen.

        Raises:
            PlanError: It is not in the comparison.
        """
        self.comparison.plan(planner)
        return replace(self, chosen=planner)

    def pin(self, side: Side, planner: str | None = None) -> Outlook:
        """Return the outlook with a plan pinned to a side.

        Args:
            planner: Pin its current plan; None for the plan shown there.
        """
        if side not in SIDES:
            raise PlanError(f"there is no side {side!r}", expected="'A' or 'B'")
        plan = self.shown[side] if planner is None else self.comparison.plan(planner)
        return replace(self, pinned={**self.pinned, side: plan})

    def unpin(self, side: Side) -> Outlook:
        """Return the outlook with a side unpinned."""
        return replace(self, pinned={s: p for s, p in self.pinned.items() if s != side})

    @property
    def planner(self) -> str:
        """The current planner: the chosen one, or that of the cheapest plan."""
        names = {row.plan.planner for row in self.comparison.rows}
        return self.chosen if self.chosen in names else self.comparison.best.planner

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return self.comparison.plan(self.planner)

    @property
    def shown(self) -> dict[Side, Plan]:
        """The plans on both sides: the pinned ones, else the cheapest order and the cheapest tree.

        A chosen plan takes the side of its form.
        """
        sides: dict[Side, Plan] = {}
        for side in SIDES:
            wants_tree = side == "B"
            rows = [row for row in self.comparison.rows if is_tree(row.plan) == wants_tree]
            best = self.comparison.best
            if side in self.pinned:
                sides[side] = self.pinned[side]
            elif self.chosen is not None and is_tree(self.plan) == wants_tree:
                sides[side] = self.plan
            elif is_tree(best) == wants_tree:
                sides[side] = best
            elif rows:
                sides[side] = min(rows, key=self.comparison.log_cost).plan
        return sides

    def changed(self, planner: str) -> tuple[BranchPlan, ...] | None:
        """Return a planner's plan before the last move; None if it is the same."""
        earlier = self.before.get(planner)
        now = self.comparison.plan(planner).branches
        return earlier if earlier is not None and earlier != now else None

    def expected(self, plan: Plan) -> Plan:
        """Return a plan with the numbers expected of the stream itself, whatever sliders say."""
        state = self.state
        return cost_plan(plan, state.query_now, state.of_the_stream, state.model)

    def log_relative(self, plan: Plan) -> float:
        """Return the logarithm of a plan's current cost relative to the least."""
        trees = self.comparison.has_trees or is_tree(plan)
        best = self.state.log_cost(self.comparison.best.branches, as_trees=trees)
        return self.state.log_cost(plan.branches, as_trees=trees) - best


def is_tree(plan: Plan) -> bool:
    """Return whether a plan has a tree in it."""
    return any(isinstance(branch, TreePlan) for branch in plan.branches)


def recosted(plan: Plan, state: ExplorerState) -> Plan:
    """Return the same plan with its current cost and expected numbers."""
    return cost_plan(plan, state.query_now, state.statistics, state.model)


def related(comparison: PlanComparison) -> PlanComparison:
    """Return a comparison with relative costs recomputed from its rows."""
    from cepkit.plan.logarithms import from_log

    costs = [comparison.log_cost(row) for row in comparison.rows]
    least = min(costs)
    rows = tuple(
        replace(row, relative=1.0 if cost == least else from_log(cost - least))
        for row, cost in zip(comparison.rows, costs, strict=True)
    )
    return replace(comparison, rows=rows)


def _costed(row: ComparedPlan, state: ExplorerState) -> ComparedPlan:
    plan = recosted(row.plan, state)
    tree = state.log_cost(plan.branches, as_trees=True)
    return replace(row, plan=plan, log_tree_cost=tree)
