"""What a query says of the variables of a group, said of each repetition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product

from cepkit.pattern.conditions import (
    EARLIER,
    RUNNING,
    Aggregate,
    Attribute,
    Call,
    Expression,
    Literal,
    distance_of,
    place_of,
    plain_function,
    walk,
)
from cepkit.pattern.policies import StepBound
from cepkit.pattern.rewrite import replaced
from cepkit.values import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """The variables of a group that repeats.

    Attributes:
        variables: As they are written.
        repetitions: What they are called in each repetition, in the same order.
    """

    variables: tuple[str, ...]
    repetitions: tuple[tuple[str, ...], ...]

    def within(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return for each variable what it is called in the repetitions that are among `names`."""
        columns = zip(self.variables, zip(*self.repetitions, strict=True), strict=True)
        there = {v: tuple(name for name in each if name in names) for v, each in columns}
        return {variable: each for variable, each in there.items() if each}

    def renamed(self, names: Mapping[str, str]) -> Group:
        """Return the group under other names, where `names` has some."""
        variables, *repetitions = (
            tuple(names.get(name, name) for name in each)
            for each in (self.variables, *self.repetitions)
        )
        return Group(variables, tuple(repetitions))


def in_first(groups: Sequence[Group]) -> dict[str, str]:
    """Return for each variable of groups what it is called in the first repetition."""
    pairs = (zip(group.variables, group.repetitions[0], strict=True) for group in groups)
    return dict(chain.from_iterable(pairs))


class Repetitions:
    """The groups of one choice: what their variables are called there.

    Args:
        groups: All groups of a query.
        names: The variables of the choice.
    """

    def __init__(self, groups: Sequence[Group], names: Collection[str]) -> None:
        self._of: dict[str, tuple[str, ...]] = {}
        self._group: dict[str, Group] = {}
        for group in groups:
            self._of |= group.within(names)
            self._group |= dict.fromkeys(group.variables, group)

    def named(self, variable: str) -> tuple[str, ...]:
        """Return what a variable is called in each repetition; itself if it is of no group."""
        return self._of.get(variable, (variable,))

    def conditions(self, condition: Expression) -> Iterator[tuple[Expression, frozenset[str]]]:
        """Yield what a condition says of the repetitions, and the names it takes as whole sets."""
        about = [
            node
            for node in walk(condition)
            if isinstance(node, Attribute | Aggregate) and node.variable in self._of
        ]
        since: dict[tuple[str, ...], int] = {}
        whole: set[str] = set()
        for node in about:
            function = node.function if isinstance(node, Aggregate) else ""
            first = distance_of(function)
            if not function or first or plain_function(function) != function:
                variables = self._group[node.variable or ""].variables
                since[variables] = max(first, since.get(variables, 0))
            else:
                whole |= {*self._of[node.variable or ""]}
        if not about:
            yield condition, frozenset()
            return
        ranges = [range(first, len(self._of[each[0]])) for each, first in since.items()]
        for places in product(*ranges):
            at = {v: i for each, i in zip(since, places, strict=True) for v in each}
            yield replaced(condition, partial(self._said, at)), frozenset(whole)

    def _said(self, at: Mapping[str, int], node: Attribute | Aggregate) -> Expression:
        """Return what a part of a condition says of the repetitions at some places."""
        variable = node.variable or ""
        if variable not in self._of:
            return node
        names = self._of[variable]
        if isinstance(node, Attribute):
            return Attribute(names[at[variable]], node.name, node.span)
        attribute = node.attribute or ""
        match node.function:
            case function if function.startswith("prev"):
                earlier = names[at[variable] - distance_of(function)]
                return Attribute(earlier, attribute, node.span)
            case function if (place := place_of(function)) is not None:
                index = place - 1 if place > 0 else len(names) + place
                if not 0 <= index < len(names):
                    return Literal(None, node.span)
                return Attribute(names[index], attribute, node.span)
            case function if function.startswith(RUNNING):
                names = names[: at[variable] + 1]
            case function if function.startswith(EARLIER):
                names = names[: at[variable]]
        if node.attribute is None:
            return Literal(len(names), node.span)
        values = tuple(Attribute(name, attribute, node.span) for name in names)
        return Call(plain_function(node.function), values, node.span)

    def bounds(self, bound: StepBound) -> Iterator[StepBound]:
        """Yield what a bound says of the repetitions."""
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
