"""Elements: the states of aggregates without lanes, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cepkit.aggregation.semirings.functions import Count, Element, Function
from cepkit.stream.columns import EventColumns
from cepkit.stream.values import plain_values

Emit: TypeAlias = Literal["trigger", "changes", "new", "total"]
"""See `cepkit.aggregate`."""

Method: TypeAlias = Literal["prefix-counters", "window-product"]
"""The methods for A-Seq's queries."""


class Together:
    """Several functions combined into one, the number of matches first."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self.functions: tuple[Function, ...] = (Count(), *functions)
        self.reads = tuple(pair for f in self.functions for pair in f.reads)
        self.zero: Element = tuple(f.zero for f in self.functions)
        self.one: Element = tuple(f.one for f in self.functions)

    def plus(self, x: Element, y: Element) -> Element:
        """Return the element of two disjoint sets of matches."""
        return tuple(f.plus(a, b) for f, a, b in zip(self.functions, x, y, strict=True))

    def times(self, x: Element, y: Element) -> Element:
        """Return the element of all pairs."""
        return tuple(f.times(a, b) for f, a, b in zip(self.functions, x, y, strict=True))

    def event(self, variable: str, values: Mapping[str, Any]) -> Element:
        """Return the element of one event, given its attributes."""
        lifted = []
        for f in self.functions:
            names = [attribute for v, attribute in f.reads if v == variable]
            if not names:
                lifted.append(f.one)
            else:
                value = True if names[0] is None else values[names[0]]
                lifted.append(f.lift(variable, value))
        return tuple(lifted)


@dataclass(frozen=True, slots=True)
class Records:
    """The aggregates at triggers and expiries, in the order of keys.

    Attributes:
        new: The element of the matches that each trigger completes.
        live: The element of the live matches at each trigger, after all events of its time.
        expired: For each moment at which live matches of a key expire, the START's operation and
            the element of the remaining matches.
    """

    new: list[Element]
    live: list[Element]
    expired: list[tuple[int, Element]]


def reader(
    together: Together, variables: Sequence[str], columns: EventColumns
) -> Callable[[int, int], Element]:
    """Return a function for the element of an event at a position.

    Args:
        variables: The variable of each position, from the first on.
    """
    names = {attribute for _, attribute in together.reads if attribute is not None}
    values = {name: plain_values(columns.attributes[name]) for name in names}

    def element(position: int, row: int) -> Element:
        at = {name: column[row] for name, column in values.items()}
        return together.event(variables[position - 1], at)

    return element
