"""What is expected of a stream: matches, and for each step of an order candidates and survivors.

The numbers that *explain* puts beside the counted ones. For uniform arrivals the candidates of a
step that binds v after S are the combinations of S and v in one window, in order and in one
partition, that satisfy the conditions of S; the conditions that become checkable with v are
missing, except those that the engine looks up in an index. O(steps * number of selectivities).
Source: expectation.py; that work is candidates and partial matches together is our measurement.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cepkit.costs.expectation import Expectation
from cepkit.pattern.conditions import Attribute, Comparison
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import from_log
from cepkit.plan.nodes import ExpectedStep
from cepkit.statistics.model import Statistics


def expected_matches(
    branch: Branch,
    statistics: Statistics,
    variables: Collection[str] | None = None,
    duration: float | None = None,
) -> float:
    """Return how many combinations of events a stream is expected to hold.

    Args:
        branch: The branch whose window, order and conditions they satisfy.
        statistics: The rates and selectivities.
        variables: The variables bound; None for all: the matches before NOT is checked.
        duration: The length of the stream in seconds; None for that of the statistics.
    """
    chosen = frozenset(branch.variables if variables is None else variables)
    if not chosen:
        return 1.0
    return from_log(Expectation.of(branch, statistics).log_total(chosen, duration))


def expected_candidates(
    branch: Branch,
    statistics: Statistics,
    order: Sequence[str],
    duration: float | None = None,
) -> tuple[float, ...]:
    """Return for each step of an order how many candidates it is expected to look at.

    A candidate is a partial match with an event of the next variable that passes the variable's
    own conditions and lies in scope: inside the window, in order, in the partition, and with
    equal attributes where an equality links the two, for then the engine looks it up. The other
    conditions of the step are not yet applied. Where an equality stands beside other conditions
    on the same pair, their common selectivity is taken, which is somewhat too small.

    Args:
        branch: The branch.
        statistics: The rates and selectivities.
        order: The positive variables in the order of the plan.
        duration: The length of the stream in seconds; None for that of the statistics.
    """
    return tuple(s.candidates for s in expected_steps(branch, statistics, order, duration))


def expected_steps(
    branch: Branch,
    statistics: Statistics,
    order: Sequence[str],
    duration: float | None = None,
) -> tuple[ExpectedStep, ...]:
    """Return what is expected of each step of an order; arguments as `expected_candidates`.

    Kleene variables come last, wherever the order has them: their sets are chosen when all
    single events are bound.
    """
    repeated = {variable for variable, _, _ in branch.repeated}
    order = sorted(order, key=lambda variable: variable in repeated)
    expectation = Expectation.of(branch, statistics)
    looked_up = _linked_by_equality(branch)
    steps = []
    for i, variable in enumerate(order):
        bound = frozenset(order[:i])
        both = bound | {variable}

        def applied(names: frozenset[str], bound: frozenset[str] = bound) -> bool:
            return names <= bound or names in looked_up

        steps.append(
            ExpectedStep(
                variable,
                from_log(expectation.log_total(both, duration, applied)),
                from_log(expectation.log_total(both, duration)),
                from_log(expectation.log_alive(both)),
            )
        )
    return tuple(steps)


def _linked_by_equality(branch: Branch) -> frozenset[frozenset[str]]:
    """Return the pairs of variables of which two attributes must be equal."""
    return frozenset(
        frozenset((left, right))
        for condition in branch.conditions
        if isinstance(condition, Comparison) and condition.operator == "="
        for left, right in [_variables(condition)]
        if left and right and left != right
    )


def _variables(condition: Comparison) -> tuple[str | None, str | None]:
    left, right = condition.left, condition.right
    return (
        left.variable if isinstance(left, Attribute) else None,
        right.variable if isinstance(right, Attribute) else None,
    )
