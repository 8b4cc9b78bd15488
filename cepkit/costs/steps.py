"""Expected matches of a stream, and the candidates and survivors of each step of a plan.

*explain* puts these numbers beside the counted ones. For uniform arrivals the candidates of a step
that binds v after S are the combinations of S and v in one window, in order and in one partition,
that satisfy the conditions of S. The conditions that become checkable with v are not applied,
except those that the engine looks up in an index. O(steps * number of selectivities).
Source: expectation.py; we measured that work is candidates plus partial matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepkit.costs.expectation import Expectation
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import from_log, log_sum
from cepkit.plan.nodes import (
    PER_PARTIAL_MATCH,
    BranchPlan,
    ExpectedStep,
    OrderPlan,
    TreePlan,
    Unit,
    first_member,
    sets_begun,
    work_of,
)
from cepkit.statistics.model import Statistics


def expected_steps(
    branch: Branch,
    statistics: Statistics,
    plan: BranchPlan | Sequence[str],
) -> tuple[ExpectedStep, ...]:
    """Return the expected numbers of each step of a plan, in the order of work.

    Kleene variables come last, wherever the plan has them: the engine chooses their sets once all
    single events are bound. Of a set that the plan has before a single event it binds the first
    member in the place of the set, as a single event (`sets_begun`). The steps of a subtree come
    before the one that joins it.

    A candidate is a partial match with an event of the next variable that passes the variable's own
    conditions and lies in scope: inside the window, in order, in the partition, and with equal
    attributes if an equality links the two, because the engine looks those up. The residual
    predicates of the step are not yet applied. If a pair has an equality and other conditions, and
    the statistics lack the share of equal keys, the selectivity of all conditions together stands
    for it, which is somewhat too small.

    Args:
        plan: A plan of the branch, or an order of its positive variables.
    """
    if not isinstance(plan, OrderPlan | TreePlan):
        plan = OrderPlan(tuple(plan))
    repeated = {variable for variable, _, _ in branch.repeated}
    sets = (Unit((v,), (), v) for v in plan.variables if v in repeated)
    firsts = {v: first_member(v) for v in sets_begun(branch, plan)}
    expectation = Expectation.of(branch, statistics)
    events = expectation
    for variable in repeated:
        events = events.counting_events(variable, statistics)
    steps = _Steps(expectation, events, frozenset(repeated), {firsts[v]: v for v in firsts})
    return tuple(steps.of((*work_of(plan, repeated, firsts), *sets)))


LISTED = 30.0
"""The cost of listing the members of a set for a row, in candidates; measured, as is that it is
twice as much for rows that have begun the set: these do not stand side by side."""


def work_with_sets(branch: Branch, statistics: Statistics, order: OrderPlan) -> float:
    """Return the work of an order with a single event, its sets completed at the end.

    `Work` prices a set by its planning rate, wherever it stands. Here it is priced as the engine
    binds it: by its first members in its place, or not at all where it comes last, and then by the
    lists of its members.
    """
    sets = {variable for variable, _, _ in branch.repeated}
    begun, rows, work = sets_begun(branch, order), 1.0, 0.0
    for step in expected_steps(branch, statistics, order):
        work += step.candidates
        if step.variable in sets:
            work += LISTED * rows * (2 if step.variable in begun else 1)
        else:
            rows = step.partial_matches
            work += PER_PARTIAL_MATCH * rows
    return work


@dataclass(frozen=True, slots=True)
class _Steps:
    """Computes the expected numbers of units.

    Not a recursive closure: planning would make thousands, each with a reference cycle.
    """

    expectation: Expectation
    events: Expectation
    repeated: frozenset[str]
    begun: Mapping[str, str]

    def of(self, units: Sequence[Unit]) -> Iterator[ExpectedStep]:
        """Yield the steps of units; the steps of a subtree come before its own."""
        events = self.events
        bound: frozenset[str] = frozenset()
        for unit in units:
            yield from self.of(unit.inner)
            new = frozenset(self.begun.get(v, v) for v in unit.variables)
            both = bound | new
            # The engine examines the events that a set is chosen from one by one.
            expectation = self.expectation if unit.name in self.repeated else events
            sides = (events.filters(events.mask(side)) for side in (bound, new))
            if new <= bound:
                # A set that is begun: each of its first members has a list of all that fit.
                candidates = self._members_of_each(both, new)
            else:
                in_scope = events.log_total(both, events.in_scope) + events.log_end(
                    bound, unit.name
                )
                candidates = math.fsum((in_scope, *sides))
            yield ExpectedStep(
                unit.name,
                from_log(candidates),
                from_log(expectation.log_total(both)),
                from_log(expectation.log_alive(both)),
            )
            bound = both

    def _members_of_each(self, both: frozenset[str], new: frozenset[str]) -> float:
        """Return ln(the number of members listed for all rows with a first member)."""
        rows = self.events.log_total(both)
        if rows == -math.inf:
            return rows
        fits = self.events.in_scope
        others = self.events.log_total(both, fits) - self.events.log_total(both - new, fits)
        return log_sum((rows, rows + others))
