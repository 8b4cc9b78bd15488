"""Arrival numbers as attributes: NEXT as an ordinary condition.

`NEXT B b` after an event a becomes `b.NUMBER_BEFORE = a.NUMBER`, an equality of two reserved
attributes. An evaluator adds these to the events, counted in the partition if there is one; all
other parts treat the equality like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cepkit.pattern import conditions as c
from cepkit.pattern.nodes import Event, Next, Structure, walk
from cepkit.pattern.policies import CountWindow, Strategy
from cepkit.pattern.query import Query
from cepkit.stream.columns import Column, EventColumns


def next_condition(event: Event, before: Sequence[str], repeated: Collection[str]) -> c.Expression:
    """Return the condition that an event came right after one of some others.

    Args:
        event: The event; for a set its first member.
        before: The variables of the others; for a set its last member.
    """
    own: c.Expression = c.Attribute(event.variable, c.NUMBER_BEFORE, event.span)
    if event.variable in repeated:
        own = c.Aggregate("first", event.variable, c.NUMBER_BEFORE, event.span)
    parts = []
    for variable in before:
        other: c.Expression = c.Attribute(variable, c.NUMBER, event.span)
        if variable in repeated:
            other = c.Aggregate("last", variable, c.NUMBER, event.span)
        parts.append(c.Comparison("=", own, other, event.span))
    return parts[0] if len(parts) == 1 else c.AnyOf(tuple(parts), event.span)


def side_by_side(event: Event) -> c.Expression:
    """Return the condition that the members of a set came one right after the other."""
    last, first = (c.Aggregate(f, event.variable, c.NUMBER, event.span) for f in ("max", "min"))
    size = c.Aggregate("count", event.variable, None, event.span)
    span = c.Arithmetic("-", last, first, event.span)
    return c.Comparison("=", span, c.Arithmetic("-", size, c.Literal(1), event.span), event.span)


def set_of_neighbours(conditions: Iterable[c.Expression]) -> frozenset[str]:
    """Return the variables of sets whose members came one right after the other."""
    names = set()
    for condition in conditions:
        match condition:
            case c.Comparison("=", c.Arithmetic("-", c.Aggregate("max", str(variable), c.NUMBER))):
                names.add(variable)
    return frozenset(names)


def has_next(structure: Structure) -> bool:
    """Return whether a structure has a NEXT."""
    return any(isinstance(node, Next) for node in walk(structure))


def counts_arrivals(query: Query) -> bool:
    """Return whether the events between others count, and so the order in which events arrive."""
    contiguous = query.strategy in (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)
    return contiguous or isinstance(query.window, CountWindow) or has_next(query.structure)


def with_numbers_as_attributes(
    columns: EventColumns, numbers: npt.NDArray[np.int64]
) -> EventColumns:
    """Return events with their arrival numbers as attributes."""
    return replace(columns, attributes={**columns.attributes, **number_columns(numbers)})


def number_columns(numbers: npt.NDArray[np.int64]) -> Mapping[str, Column]:
    """Return arrival numbers as columns of attributes."""
    return {c.NUMBER: Column("integer", numbers), c.NUMBER_BEFORE: Column("integer", numbers - 1)}
