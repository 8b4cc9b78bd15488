"""The structure of a pattern: which events, in which order, which of them absent or repeated.

A closed family of frozen nodes; functions over it are `match` statements. Where a node came
from a text it knows its place there, for error messages; the place is no part of its identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from cepkit.errors import Span


@dataclass(frozen=True, slots=True)
class Event:
    """One event: a variable and the types it may have (None: any type).

    Attributes:
        variable: What the rest of the pattern calls it.
        types: The types it may have.
        earlier_than: Of an absence that FIRST implies, which no pattern says itself: the variable
            that is the first.
    """

    variable: str
    types: frozenset[str] | None
    earlier_than: str | None = field(default=None, kw_only=True)
    span: Span | None = field(default=None, compare=False, repr=False)

    def may_have(self, kind: str) -> bool:
        """Return whether it may have this type."""
        return self.types is None or kind in self.types

    def overlaps(self, other: Event) -> bool:
        """Return whether one event could be of the types of both."""
        return self.types is None or other.types is None or bool(self.types & other.types)


@dataclass(frozen=True, slots=True)
class Seq:
    """All items, each strictly later than the one before it."""

    items: tuple[Structure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    """All items, in any order."""

    items: tuple[Structure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or:
    """One of the items."""

    items: tuple[Structure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """No such event in this place. Only a single event may stand inside."""

    item: Structure
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Kleene:
    """A non-empty set of such events, of `minimum` to `maximum` members (None: no upper bound)."""

    item: Structure
    minimum: int = 1
    maximum: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class First:
    """The first such event after what is before it. Only a single event may stand inside."""

    item: Structure
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Opt:
    """The item, or nothing."""

    item: Structure
    span: Span | None = field(default=None, compare=False, repr=False)


Structure: TypeAlias = Event | Seq | And | Or | Not | Kleene | First | Opt


def walk(structure: Structure) -> Iterator[Structure]:
    """Yield `structure` and all nodes below it, in the order of the text."""
    yield structure
    match structure:
        case Event():
            return
        case Seq(items) | And(items) | Or(items):
            for item in items:
                yield from walk(item)
        case Not(item) | Kleene(item) | First(item) | Opt(item):
            yield from walk(item)
        case _:
            assert_never(structure)


def events_of(structure: Structure) -> tuple[Event, ...]:
    """Return the event nodes of `structure` in pattern order, negated and repeated ones too."""
    return tuple(node for node in walk(structure) if isinstance(node, Event))


def bound_events_of(structure: Structure) -> tuple[Event, ...]:
    """Return the event nodes of `structure` that a match can bind: all but those under NOT.

    Of those in branches of an OR that share a variable the first stands for all.
    """
    absent = {id(node.item) for node in walk(structure) if isinstance(node, Not)}
    bound: dict[str, Event] = {}
    for event in events_of(structure):
        if id(event) not in absent:
            bound.setdefault(event.variable, event)
    return tuple(bound.values())


def repeated_in(structure: Structure) -> frozenset[str]:
    """Return the Kleene variables of `structure`."""
    kleene = (node.item for node in walk(structure) if isinstance(node, Kleene))
    return frozenset(item.variable for item in kleene if isinstance(item, Event))
