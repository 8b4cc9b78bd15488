"""A query: the structure, conditions, window, strategy and partition of a pattern."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from cepkit.errors import Span
from cepkit.networks import graph_of
from cepkit.pattern.conditions import (
    Aggregate,
    Attribute,
    Expression,
    attributes_of,
    place_of,
)
from cepkit.pattern.nodes import Structure
from cepkit.pattern.policies import AfterMatch, StepBound, Strategy, Window
from cepkit.pattern.repetitions import Group
from cepkit.printing import WithPrinter
from cepkit.values import dataclass

if TYPE_CHECKING:
    import networkx as nx

RESULT_ENDS = ("match_start", "match_end")
"""The columns that all matches have: when they start and end."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column that RETURN asks for: `max(b.price) AS top`."""

    name: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def source(self) -> Attribute | None:
        """The attribute that it is as it stands in the stream; None: it is computed.

        Of a set that is the list of all values, or one of them.
        """
        match self.value:
            case Attribute():
                return self.value
            case Aggregate(function, str(variable), str(name)) if place_of(function) is not None:
                return Attribute(variable, name)
            case _:
                return None


@dataclass(frozen=True, repr=False)
class Query(WithPrinter):
    """A whole pattern, as `parse` and the builder return it; queries with equal parts are equal.

    Attributes:
        structure: The events and their order.
        where: The condition on their attributes, None for no condition.
        window: How far apart the events of a match may lie, None for any distance.
        strategy: Which of the possible matches count.
        partition_by: Attributes on which all events of a match agree (null agrees with null).
        aggregates: What AGG asks for; empty for a query that asks for the matches.
        group_by: Attributes by which the aggregates are grouped.
        after_match: Which matches a match leaves out that start before it ends, or with it; None:
            none.
        returned: The columns of the matches; empty for all columns of their events.
        bounds: How far apart some of the events of a match may lie, beside the window.
        groups: The groups that repeat, which `structure` has written out.
        unrolled_from: The structure with these groups as they were written; None: there are none.
    """

    structure: Structure
    where: Expression | None = None
    window: Window | None = None
    strategy: Strategy = Strategy.SKIP_TILL_ANY_MATCH
    partition_by: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    group_by: tuple[str, ...] = ()
    after_match: AfterMatch | None = None
    returned: tuple[ResultColumn, ...] = ()
    bounds: tuple[StepBound, ...] = ()
    groups: tuple[Group, ...] = ()
    unrolled_from: Structure | None = None
    text: str | None = field(default=None, compare=False, repr=False)

    @property
    def written(self) -> Structure:
        """The structure as it was written: what conditions and results name the variables of."""
        return self.structure if self.unrolled_from is None else self.unrolled_from

    @property
    def computed_from(self) -> frozenset[str]:
        """The attributes that columns after RETURN are computed from."""
        computed = [result.value for result in self.returned if result.source is None]
        return frozenset(name for value in computed for _, name in attributes_of(value))

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return the structure and the conditions as a directed graph of networkx.

        Nodes are numbers, 0 the root, with `kind` (SEQ, NOT, event, condition ...) and `label`, and
        of an event `variable` and `types`. Edges lead from a node to its items, and from events to
        the conditions about them.
        """
        return graph_of(self)
