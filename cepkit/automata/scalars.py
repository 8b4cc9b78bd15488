"""Conditions compiled to closures over one binding of events.

`pattern/evaluation/closures.py` defines their meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeAlias, assert_never

from cepkit.automata.events import Binding, Event
from cepkit.pattern import conditions
from cepkit.pattern import conditions as c
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.evaluation import closures
from cepkit.pattern.evaluation.closures import Kinded, Value, in_64_bits, nan_as_none, rounded
from cepkit.pattern.evaluation.kinds import WHOLE, ValueKind, set_function_kind
from cepkit.pattern.rewrite import without_not
from cepkit.stream.columns import Kind

Truth: TypeAlias = Callable[[Binding], bool]
"""Whether a condition is true for a binding."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of variables in a binding, and of attributes in an event.

    Attributes:
        slots: The place of each variable in a binding.
        width: The number of places of a binding.
        attributes: The place of each attribute in an event's values.
        kinds: The kind of each attribute.
    """

    slots: Mapping[str, int]
    width: int
    sets: frozenset[str]
    attributes: Mapping[str, int]
    kinds: Mapping[str, Kind]


def truth(condition: c.Expression, layout: Layout) -> Truth:
    """Return a function of a binding: whether `condition` is true.

    A condition on an attribute of a set must hold for every member; a set function reads them all.
    """
    variable = c.set_of_members(condition)
    if variable is not None:
        last, slot = truth_of_last(condition, layout), layout.slots[variable]
        least = 1 + c.reach_back(condition)

        def for_prefixes(binding: Binding) -> bool:
            place: Any = binding[slot]
            before, behind = binding[:slot], binding[slot + 1 :]
            sizes = range(least, len(place) + 1)
            return all(last((*before, place[:size], *behind)) for size in sizes)

        return for_prefixes
    plain = without_not(condition)
    each = tuple(
        dict.fromkeys(
            node.variable
            for node in c.walk(plain)
            if isinstance(node, c.Attribute) and node.variable in layout.sets
        )
    )
    # Members of sets come after the places of a binding.
    members = {variable: layout.width + i for i, variable in enumerate(each)}
    test = closures.truth(plain, lambda node: _read(node, layout, members))
    if not each:
        return test
    slots = tuple(layout.slots[variable] for variable in each)

    def for_each(binding: Binding) -> bool:
        sets: Any = [binding[slot] for slot in slots]
        return all(test((*binding, *members)) for members in product(*sets))

    return for_each


def truth_of_last(condition: c.Expression, layout: Layout) -> Truth:
    """Return a function of a binding: whether a condition on members holds of the last one.

    The set must have as many earlier members as the condition reads.
    """
    variable = c.set_of_members(condition)

    def read(node: c.Attribute | c.Aggregate) -> Kinded:
        return _of_last(node, layout) if node.variable == variable else _read(node, layout, {})

    return closures.truth(without_not(condition), read)


def value(expression: c.Expression, layout: Layout) -> Value:
    """Return a function of a binding: the value of `expression`, which reads no single members."""
    return closures.value(expression, lambda node: _read(node, layout, {}))[0]


def _read(node: c.Attribute | c.Aggregate, layout: Layout, members: Mapping[str, int]) -> Kinded:
    match node:
        case c.Attribute(variable, name):
            slot = members.get(variable, layout.slots[variable])
            place = layout.attributes[name]
            return (lambda b: b[slot].values[place]), layout.kinds[name]
        case c.Aggregate(function) if is_prev(function):
            return _of_last(node, layout)
        case c.Aggregate():
            return _set_function(node, layout)
        case _:
            assert_never(node)


def is_prev(function: str) -> bool:
    """Return whether a function reads one earlier member."""
    return c.plain_function(function) == function and c.distance_of(function) > 0


def _of_last(node: c.Attribute | c.Aggregate, layout: Layout) -> Kinded:
    """Return the reader of a node of a condition on members, for the last member."""
    slot = layout.slots[node.variable or ""]
    if isinstance(node, c.Aggregate) and not is_prev(node.function):
        return _set_function(node, layout)
    name = node.name if isinstance(node, c.Attribute) else node.attribute
    assert name is not None
    at = -1 if isinstance(node, c.Attribute) else -1 - c.distance_of(node.function)
    place = layout.attributes[name]
    return (lambda b: b[slot][at].values[place]), layout.kinds[name]


def _set_function(node: c.Aggregate, layout: Layout) -> Kinded:
    assert node.variable is not None
    slot = layout.slots[node.variable]
    end = -c.distance_of(node.function) or None
    node = replace(node, function=c.plain_function(node.function))
    if node.attribute is None:
        return (lambda b: len(b[slot][:end])), "integer"
    place, kind = layout.attributes[node.attribute], layout.kinds[node.attribute]
    if (number := c.place_of(node.function)) is not None:
        at, least = number - (number > 0), abs(number)

        def of_member(b: Sequence[Any]) -> Any:
            members: tuple[Event, ...] = b[slot][:end]
            return members[at].values[place] if len(members) >= least else None

        return of_member, kind
    reduced, result = _reduction(node, kind), set_function_kind(node, kind)

    def over_members(b: Sequence[Any]) -> Any:
        members: tuple[Event, ...] = b[slot][:end]
        present = [v for e in members if (v := e.values[place]) is not None]
        return reduced(present)

    return over_members, result


def _reduction(node: c.Aggregate, kind: ValueKind) -> Callable[[list[Any]], Any]:
    match node.function:
        case "count":
            return len
        case conditions.DISTINCT:
            return lambda values: len({*values})
        case "sum" if kind in WHOLE:
            return lambda values: in_64_bits(sum(values)) if values else None
        case "sum":
            return lambda values: nan_as_none(sum(values)) if values else None
        case "avg":
            finish = rounded if kind == "duration" else nan_as_none
            return lambda values: finish(float(sum(values)) / len(values)) if values else None
        case "min":
            return lambda values: min(values, default=None)
        case "max":
            return lambda values: max(values, default=None)
        case function:  # `_set_function` handles single members
            aggregate = AGGREGATES[function].of
            return lambda values: (
                None if (result := aggregate(values)) is None else nan_as_none(result)
            )
