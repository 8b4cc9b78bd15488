"""Expected matches of a stream, and the candidates and survivors of each step of a plan.

*explain* puts these numbers beside the counted ones. For uniform arrivals the candidates of a step
that binds v after S are the combinations of S and v in one window, in order and in one partition,
that satisfy the conditions of S. The conditions that become checkable with v are not applied,
except those that the engine looks up in an index. O(steps * number of selectivities).
Source: expectation.py; we measured that work is candidates plus partial matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepkit.costs.expectation import Expectation
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import BranchPlan, ExpectedStep, OrderPlan, TreePlan, Unit, work_of
from cepkit.statistics.model import Statistics


def expected_steps(
    branch: Branch,
    statistics: Statistics,
    plan: BranchPlan | Sequence[str],
) -> tuple[ExpectedStep, ...]:
    """Return the expected numbers of each step of a plan, in the order of work.

    Kleene variables come last, wherever the plan has them: the engine chooses their sets once all
    single events are bound. The steps of a subtree come before the one that joins it.

    A candidate is a partial match with an event of the next variable that passes the variable's own
    conditions and lies in scope: inside the window, in order, in the partition, and with equal
    attributes if an equality links the two, because the engine looks those up. The residual
    predicates of the step are not yet applied. If a pair has an equality and other conditions, and
    the statistics lack the share of equal keys, the selectivity of all conditions together stands
    for it, which is somewhat too small.

    Args:
        branch: The branch.
        statistics: The rates and selectivities.
        plan: A plan of the branch, or an order of its positive variables.
    """
    if not isinstance(plan, OrderPlan | TreePlan):
        plan = OrderPlan(tuple(plan))
    repeated = {variable for variable, _, _ in branch.repeated}
    sets = (Unit((v,), (), v) for v in plan.variables if v in repeated)
    steps = _Steps(Expectation.of(branch, statistics), statistics, frozenset(repeated))
    return tuple(steps.of((*work_of(plan, repeated), *sets)))


@dataclass(frozen=True, slots=True)
class _Steps:
    """Computes the expected numbers of units.

    Not a recursive closure: planning would make thousands, each with a reference cycle.
    """

    expectation: Expectation
    statistics: Statistics
    repeated: frozenset[str]

    def of(self, units: Sequence[Unit]) -> Iterator[ExpectedStep]:
        """Yield the steps of units; the steps of a subtree come before its own."""
        expectation = self.expectation
        bound: frozenset[str] = frozenset()
        for unit in units:
            yield from self.of(unit.inner)
            new = frozenset(unit.variables)
            both = bound | new
            # The engine examines the events that a set is chosen from one by one.
            counting = expectation
            if unit.name in self.repeated:
                for other in self.repeated & both:
                    counting = counting.counting_events(other, self.statistics)
            sides = (expectation.filters(expectation.mask(side)) for side in (bound, new))
            in_scope = counting.log_total(both, counting.in_scope)
            in_scope += counting.log_end(bound, unit.name)
            yield ExpectedStep(
                unit.name,
                from_log(math.fsum((in_scope, *sides))),
                from_log(expectation.log_total(both)),
                from_log(expectation.log_alive(both)),
            )
            bound = both
