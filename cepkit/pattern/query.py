"""A query: the structure, conditions, window, strategy and partition of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepkit.pattern.conditions import Aggregate, Expression
from cepkit.pattern.nodes import Structure
from cepkit.pattern.policies import Strategy, Window
from cepkit.printing import WithPrinter


@dataclass(frozen=True, repr=False)
class Query(WithPrinter):
    """A whole pattern, as `parse` and the builder give it: equal where its parts are equal.

    Attributes:
        structure: The events and their order.
        where: The condition on their attributes, None for no condition.
        window: How far apart the events of a match may lie, None for any distance.
        strategy: Which of the possible matches count.
        partition_by: Attributes on which all events of a match agree (null agrees with null).
        aggregates: What AGG asks for; empty for a query that asks for the matches.
        group_by: Attributes by which the aggregates are grouped.
    """

    structure: Structure
    where: Expression | None = None
    window: Window | None = None
    strategy: Strategy = Strategy.SKIP_TILL_ANY_MATCH
    partition_by: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    group_by: tuple[str, ...] = ()
    text: str | None = field(default=None, compare=False, repr=False)
