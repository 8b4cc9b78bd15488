"""Plans as frozen values: what a planner gives and what every engine follows."""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.plan.logarithms import from_log
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """The positive variables of a branch in the order in which they are bound."""

    order: tuple[str, ...]

    def __str__(self) -> str:
        return " → ".join(self.order)


@dataclass(frozen=True, slots=True)
class ExpectedStep:
    """What is expected of one step of a plan.

    Attributes:
        variable: The variable that the step binds.
        candidates: Pairs of a partial match and an event that the step looks at, over the whole
            stream.
        partial_matches: How many of them are kept, over the whole stream.
        alive: The partial matches of the step in one window: what cost models add up.
    """

    variable: str
    candidates: float
    partial_matches: float
    alive: float


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is evaluated.

    Attributes:
        branches: A plan for each branch of the query's normal form, in its order.
        planner: Who made it.
        log_cost: The natural logarithm of its cost, -infinity for 0; None where none was computed.
        statistics: Those it was made with, if any.
        expected: For each branch what is expected of its steps on the stream of `statistics`;
            empty without statistics.
    """

    branches: tuple[OrderPlan, ...]
    planner: str
    log_cost: float | None = None
    statistics: Statistics | None = None
    expected: tuple[tuple[ExpectedStep, ...], ...] = ()

    @property
    def cost(self) -> float | None:
        """The cost, summed over the branches; infinity where a float cannot hold it."""
        return None if self.log_cost is None else from_log(self.log_cost)

    def __str__(self) -> str:
        from cepkit.plan.printer import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from cepkit.plan.printer import to_html

        return to_html(self)
