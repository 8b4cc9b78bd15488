"""A step of detection and adaptation: from current statistics to the next plan.

The decision function watches the planner's last answer, deployed or not: otherwise a refused answer
would be requested again at every check. A new plan is deployed only if it costs the engine less
work under the current statistics than the plan in force; the answer of a planner that is not
optimal may cost more. Cost of a step: the decision function, and the planner if that fires.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2), algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepkit.adaptation.decisions import DECISIONS, Decision
from cepkit.costs.contract import CostModel, query_cost
from cepkit.costs.work import WORK
from cepkit.errors import PlanError
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan, comparable
from cepkit.planners.choose import answer_of, choose_plan, cost_plan
from cepkit.planners.contract import Planner
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class InForce:
    """The plan in force, and how it came about.

    Attributes:
        plan: The plan that runs now.
        answer: The planner's last answer, deployed or not.
        fired: Why the planner ran at the last check; None if it did not.
        switched: Whether the last check deployed another plan.
    """

    plan: Plan
    answer: Plan
    fired: str | None = None
    switched: bool = False


@dataclass(frozen=True, slots=True)
class Adaptation:
    """How plans follow a stream, check by check.

    Attributes:
        decision: When to run the planner again.
        planner: The planner: a name, or a planner with settings.
        cost: The cost that the planner minimises.
        executed: The cost of running the plans, which decides whether to deploy them.
        history: How many previous slices, or micro-batches, its statistics count.
    """

    decision: str | Decision = "invariants"
    planner: str | Planner = "greedy"
    cost: CostModel = WORK
    executed: CostModel = WORK
    history: int = 1

    def __post_init__(self) -> None:
        if self.history < 1:
            raise PlanError(f"statistics of {self.history} slices", expected="1 or more")

    def start(self, query: Query, statistics: Statistics) -> InForce:
        """Return the first plan, by the first statistics.

        Raises:
            PlanError: There is no such planner or decision function, or the decision function needs
                deciding conditions that the planner does not have.
        """
        answer = choose_plan(query, statistics, self.planner, self.cost)
        DECISIONS.pick(self.decision).fires(answer, statistics)  # refuses now rather than later
        return InForce(answer, answer)

    def resume(self, query: Query, deployed: Statistics, answered: Statistics) -> InForce:
        """Restore the plan in force from its statistics: planners make the same plan again.

        Args:
            deployed: Those by which the plan in force was planned.
            answered: The statistics of the planner's last answer.
        """
        answer = answer_of(query, answered, self.planner, self.cost)
        if deployed == answered:
            return InForce(answer, answer)
        return InForce(answer_of(query, deployed, self.planner, self.cost), answer)

    def step(self, query: Query, in_force: InForce, statistics: Statistics) -> InForce:
        """Return the next plan, by the current statistics.

        Args:
            in_force: The result of the last step; a plain value, which can be pickled.
        """
        fired = DECISIONS.pick(self.decision).fires(in_force.answer, statistics)
        if fired is None:
            return replace(in_force, fired=None, switched=False)
        # Most answers are not deployed: compute cost and steps only for those that are.
        answer = answer_of(query, statistics, self.planner, self.cost)
        switched = answer.branches != in_force.plan.branches and cheaper(
            query, answer, in_force.plan, statistics, self.executed
        )
        if switched:
            answer = cost_plan(answer, query, statistics, self.cost)
        return InForce(answer if switched else in_force.plan, answer, fired, switched)


def cheaper(
    query: Query, plan: Plan, other: Plan, statistics: Statistics, cost: CostModel = WORK
) -> bool:
    """Return whether a plan costs less than another under some statistics."""
    costs = [cost.on(branch, statistics) for branch in normal_form(query)]
    one, two = comparable((plan, other))
    return query_cost(costs, one) < query_cost(costs, two)
