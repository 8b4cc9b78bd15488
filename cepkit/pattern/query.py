"""A query: the structure, conditions, window, strategy and partition of a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cepkit.errors import Span
from cepkit.networks import graph_of
from cepkit.pattern.conditions import (
    Aggregate,
    Attribute,
    Comparison,
    Expression,
    attributes_of,
    place_of,
)
from cepkit.pattern.nodes import Structure
from cepkit.pattern.policies import AfterMatch, StepBound, Strategy, Window
from cepkit.pattern.repetitions import Group
from cepkit.printing import WithPrinter

if TYPE_CHECKING:
    import networkx as nx

RESULT_ENDS = ("match_start", "match_end")
"""The columns of all matches: their first and last time."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of RETURN: `max(b.price) AS top`."""

    name: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def source(self) -> Attribute | None:
        """The attribute that the column copies from the stream; None for a computed column.

        For a set the column has the list of all values, or one of them.
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
        window: The greatest distance of the events of a match, None for any distance.
        strategy: The rule for the matches that count.
        partition_by: Attributes whose values all events of a match share (null equals null).
        aggregates: The aggregates of AGG; empty for a query that asks for its matches.
        group_by: The attributes that group the aggregates.
        having: Comparisons of aggregates of AGG with numbers, which all rows satisfy.
        after_match: The place where the next match may start; None: anywhere.
        returned: The columns of the matches; empty for all columns of their events.
        bounds: The greatest distances of pairs of events, in addition to the window.
        groups: The groups that repeat, unrolled in `structure`.
        unrolled_from: The structure as written, with its groups; None without groups.
        text: The text of the query, None from the builder.
    """

    structure: Structure
    where: Expression | None = None
    window: Window | None = None
    strategy: Strategy = Strategy.SKIP_TILL_ANY_MATCH
    partition_by: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    group_by: tuple[str, ...] = ()
    having: tuple[Comparison, ...] = ()
    after_match: AfterMatch | None = None
    returned: tuple[ResultColumn, ...] = ()
    bounds: tuple[StepBound, ...] = ()
    groups: tuple[Group, ...] = ()
    unrolled_from: Structure | None = None
    text: str | None = field(default=None, compare=False, repr=False)

    @property
    def written(self) -> Structure:
        """The structure as written; conditions and results use its variables."""
        return self.structure if self.unrolled_from is None else self.unrolled_from

    @property
    def computed_from(self) -> frozenset[str]:
        """The attributes that computed columns of RETURN read."""
        values = [result.value for result in self.returned if result.source is None]
        return frozenset(name for value in values for _, name in attributes_of(value))

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return the structure and the conditions as a directed graph of networkx.

        Nodes are numbers, 0 the root, with `kind` (SEQ, NOT, event, condition ...) and `label`; an
        event also has `variable` and `types`. Edges lead from a node to its items, and from events
        to the conditions about them.
        """
        return graph_of(self)
