"""A step of detection and adaptation: from statistics of now to the plan of what comes next.

The decision function watches the planner's last answer, whether that was deployed or not:
otherwise an answer that was refused would be asked for at every check. A new plan is deployed only
if it costs less than the plan in force, by the work of the engine under the statistics of now; an
answer of a planner that is not optimal may cost more.
Cost of a step: that of the decision function, and of the planner where it fires.
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
    """The plan in force, and what is known of how it came to be.

    Attributes:
        plan: What to run.
        answer: The planner's last answer, deployed or not.
        fired: Why the planner was asked at the last check; None where it was not.
        switched: Whether the last check brought another plan into force.
    """

    plan: Plan
    answer: Plan
    fired: str | None = None
    switched: bool = False


@dataclass(frozen=True, slots=True)
class Adaptation:
    """How plans follow a stream, check by check.

    Attributes:
        decision: When to ask the planner again.
        planner: Whom to ask: a name, or a planner with settings.
        cost: What makes one plan better than another, for the planner.
        executed: The cost of what runs the plans, by which they are deployed.
        history: How many slices, or micro-batches, before the next one its statistics count.
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
        """Return the plan for what comes next, by the first statistics.

        Raises:
            PlanError: There is no such planner or decision function, or the planner cannot say
                what the decision function needs to know.
        """
        answer = choose_plan(query, statistics, self.planner, self.cost)
        DECISIONS.pick(self.decision).fires(answer, statistics)  # refuses now rather than later
        return InForce(answer, answer)

    def resume(self, query: Query, deployed: Statistics, answered: Statistics) -> InForce:
        """Return what was in force, given the statistics it came of: planners give it again.

        Args:
            query: What the plans are for.
            deployed: Those by which the plan in force was planned.
            answered: Those of the planner's last answer.
        """
        answer = answer_of(query, answered, self.planner, self.cost)
        if deployed == answered:
            return InForce(answer, answer)
        return InForce(answer_of(query, deployed, self.planner, self.cost), answer)

    def step(self, query: Query, in_force: InForce, statistics: Statistics) -> InForce:
        """Return the plan for what comes next, by the statistics of now.

        Args:
            query: What the plans are for.
            in_force: What the last step returned; a plain value, which can be pickled.
            statistics: Those of now, of all variables of the query.
        """
        fired = DECISIONS.pick(self.decision).fires(in_force.answer, statistics)
        if fired is None:
            return replace(in_force, fired=None, switched=False)
        # Most answers are not deployed: only of those that are, cost and steps are of use.
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
