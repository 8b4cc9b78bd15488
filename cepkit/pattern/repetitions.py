"""Conditions and bounds on a group that repeats, written for each repetition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product

from cepkit.pattern import conditions as c
from cepkit.pattern.policies import StepBound
from cepkit.pattern.rewrite import replaced


@dataclass(frozen=True, slots=True)
class Group:
    """The variables of a group that repeats.

    Attributes:
        variables: The variables in the pattern.
        repetitions: Their names in each repetition, in the same order.
    """

    variables: tuple[str, ...]
    repetitions: tuple[tuple[str, ...], ...]

    def within(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return for each variable its names in the repetitions, those among `names`."""
        columns = zip(self.variables, zip(*self.repetitions, strict=True), strict=True)
        present = {v: tuple(name for name in each if name in names) for v, each in columns}
        return {variable: each for variable, each in present.items() if each}

    def renamed(self, names: Mapping[str, str]) -> Group:
        """Return the group with the new names that `names` has."""
        variables, *repetitions = (
            tuple(names.get(name, name) for name in each)
            for each in (self.variables, *self.repetitions)
        )
        return Group(variables, tuple(repetitions))


def in_first(groups: Sequence[Group]) -> dict[str, str]:
    """Return for each variable of groups its name in the first repetition."""
    pairs = (zip(group.variables, group.repetitions[0], strict=True) for group in groups)
    return dict(chain.from_iterable(pairs))


class Repetitions:
    """The groups of one choice, with the names of their variables."""

    def __init__(self, groups: Sequence[Group], names: Collection[str]) -> None:
        self._names: dict[str, tuple[str, ...]] = {}
        self._group: dict[str, Group] = {}
        for group in groups:
            self._names |= group.within(names)
            self._group |= dict.fromkeys(group.variables, group)

    def named(self, variable: str) -> tuple[str, ...]:
        """Return the names of a variable, one for each repetition; itself outside of groups."""
        return self._names.get(variable, (variable,))

    def conditions(self, condition: c.Expression) -> Iterator[tuple[c.Expression, frozenset[str]]]:
        """Yield a condition for each repetition, and the names whose whole sets it reads."""
        about = [
            node
            for node in c.walk(condition)
            if isinstance(node, c.Attribute | c.Aggregate) and node.variable in self._names
        ]
        since: dict[tuple[str, ...], int] = {}
        whole: set[str] = set()
        for node in about:
            function = node.function if isinstance(node, c.Aggregate) else ""
            first = c.distance_of(function)
            if not function or first or c.plain_function(function) != function:
                variables = self._group[node.variable or ""].variables
                since[variables] = max(first, since.get(variables, 0))
            elif c.place_of(function) is None:
                whole |= {*self._names[node.variable or ""]}
        if not about:
            yield condition, frozenset()
            return
        ranges = [range(first, len(self._names[each[0]])) for each, first in since.items()]
        for places in product(*ranges):
            at = {v: i for each, i in zip(since, places, strict=True) for v in each}
            yield replaced(condition, partial(self._node, at)), frozenset(whole)

    def _node(self, at: Mapping[str, int], node: c.Attribute | c.Aggregate) -> c.Expression:
        """Return a node of a condition for the repetitions at some places."""
        variable = node.variable or ""
        if variable not in self._names:
            return node
        names = self._names[variable]
        if isinstance(node, c.Attribute):
            return c.Attribute(names[at[variable]], node.name, node.span)
        attribute = node.attribute or ""
        match node.function:
            case function if function.startswith("prev"):
                earlier = names[at[variable] - c.distance_of(function)]
                return c.Attribute(earlier, attribute, node.span)
            case function if (place := c.place_of(function)) is not None:
                index = place - 1 if place > 0 else len(names) + place
                if not 0 <= index < len(names):
                    return c.Literal(None, node.span)
                return c.Attribute(names[index], attribute, node.span)
            case function if function.startswith(c.RUNNING):
                names = names[: at[variable] + 1]
            case function if function.startswith(c.EARLIER):
                names = names[: at[variable]]
        if node.attribute is None:
            return c.Literal(len(names), node.span)
        if (place := c.place_of(c.plain_function(node.function))) is not None:
            return c.Attribute(names[min(place, 0)], attribute, node.span)
        values = tuple(c.Attribute(name, attribute, node.span) for name in names)
        return c.Call(c.plain_function(node.function), values, node.span)

    def bounds(self, bound: StepBound) -> Iterator[StepBound]:
        """Yield a bound for each repetition."""
        firsts, lasts = self.named(bound.first), self.named(bound.last)
        group = self._group.get(bound.first)
        pairs: Iterator[tuple[str, str]]
        if bound.first == bound.last:
            pairs = iter([(firsts[0], lasts[-1])])
        elif group is not None and bound.last in group.variables:
            pairs = zip(firsts, lasts, strict=True)
        else:
            pairs = product(firsts, lasts)
        yield from (replace(bound, first=first, last=last) for first, last in pairs)
