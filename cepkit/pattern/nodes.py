"""The structure of a pattern: its events, their order, absences and repetitions.

A closed family of frozen nodes; functions over it are `match` statements. A node from a text has
its place there, for error messages; the place does not count in comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cepkit.errors import Span
from cepkit.pattern import trees
from cepkit.pattern.conditions import Expression
from cepkit.pattern.trees import Node, mapped
from cepkit.printing import cut

_TYPES = 30
"""The greatest length of a variable's types in a table."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of a place beside a set: an end of the set, and the least distance from it.

    Attributes:
        end: The member.
        apart: How many events further in stream order an event is at least; 0: also the member.
    """

    end: Literal["first", "last"]
    apart: int


_BEGINS = {"until": Limit("first", 0), "behind": Limit("last", 1), "between": Limit("first", 1)}
_ENDS = {"until": Limit("last", 0), "before": Limit("first", 1), "between": Limit("last", 1)}


@dataclass(frozen=True, slots=True)
class Beside:
    """A place beside a set where UNTIL, GREEDY or a run forbids an event, in stream order.

    Attributes:
        place: Its name; UNTIL forbids events of the match, too.
        maximum: A set of this size may have such an event there; None: no set may.
        preceded: Whether events before the set begin the place of UNTIL.
    """

    place: Literal["until", "before", "behind", "between"]
    variable: str
    maximum: int | None = None
    preceded: bool = False

    def ends(self, variable: str) -> bool:
        """Return whether it is the place of the UNTIL of a set."""
        return self.place == "until" and self.variable == variable

    @property
    def begin(self) -> Limit | None:
        """Where it begins; None: the order of the pattern and the window decide."""
        return None if self.preceded else _BEGINS.get(self.place)

    @property
    def end(self) -> Limit | None:
        """Where it ends; None: the order of the pattern and the window decide."""
        return _ENDS.get(self.place)

    def stretch(self, first: int, last: int) -> tuple[int | None, int | None]:
        """Return the first and the last number of an event here; None: any.

        Args:
            first: The number of the set's first member in stream order.
            last: The number of its last member.
        """
        low = high = None
        if self.begin is not None:
            low = (first if self.begin.end == "first" else last) + self.begin.apart
        if self.end is not None:
            high = (first if self.end.end == "first" else last) - self.end.apart
        return low, high


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of events of DEFINE: those of some types that satisfy a condition.

    Attributes:
        name: Its name, where a pattern has a type.
        types: The types of its events; None for any type.
        condition: The condition; its attributes have no variable.
    """

    name: str
    types: frozenset[str] | None
    condition: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Event(Node):
    """One event: a variable and its types.

    Attributes:
        variable: Its name in the pattern.
        types: The types that it may have; None for any type.
        earlier_than: For an absence implied by FIRST: the variable of the first event.
        beside: For an absence implied by UNTIL, GREEDY or a run: its place.
        kinds: The kinds that the text has in place of its types; WHERE has their conditions.
    """

    variable: str
    types: frozenset[str] | None
    earlier_than: str | None = field(default=None, kw_only=True)
    beside: Beside | None = field(default=None, kw_only=True)
    kinds: tuple[Kind, ...] = field(default=(), compare=False, kw_only=True, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds or types as a pattern writes them, sorted; empty for any type."""
        return tuple(sorted({kind.name for kind in self.kinds} or self.types or ()))

    def may_have(self, kind: str) -> bool:
        """Return whether the event may have this type."""
        return self.types is None or kind in self.types

    def overlaps(self, other: Event) -> bool:
        """Return whether one event could have a type of both."""
        return self.types is None or other.types is None or bool(self.types & other.types)


@dataclass(frozen=True, slots=True)
class Seq(Node):
    """All items, each strictly later than the one before it."""

    items: tuple[Structure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And(Node):
    """All items, in any order."""

    items: tuple[Structure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or(Node):
    """One of the items."""

    items: tuple[Structure, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not(Node):
    """The absence of an event in this place, or of several events together.

    The item is a single event, NEXT before one, or SEQ and AND of single events.
    """

    item: Structure
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Kleene(Node):
    """A set of `minimum` to `maximum` events (None: no upper bound), at least one.

    Around SEQ or AND it is a group that repeats; each repetition is wholly after the one before.
    With FIRST inside, the set has all events that fit between its first and last member; with NEXT
    inside, its members came side by side.

    Attributes:
        until: The event before which the set ends.
        greedy: Whether the set goes on as long as it can.
    """

    item: Structure
    minimum: int = 1
    maximum: int | None = None
    greedy: bool = field(default=False, kw_only=True)
    until: Event | None = field(default=None, kw_only=True)
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class First(Node):
    """The first event that fits after the events before it; for a set, its first member."""

    item: Structure
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Next(Node):
    """The event of the partition right after the one before it; for a set, its first member."""

    item: Structure
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Opt(Node):
    """An optional item: there are matches with and without it.

    Attributes:
        greedy: Whether there is none without it where an event fits in its place; so it is around a
            greedy set.
    """

    item: Structure
    greedy: bool = field(default=False, kw_only=True)
    span: Span | None = field(default=None, compare=False, repr=False)


Structure: TypeAlias = Event | Seq | And | Or | Not | Kleene | First | Next | Opt


def optional_set(node: Kleene) -> Kleene | Opt:
    """Return a set of no or more events as a set that is optional; any other as it is."""
    if node.minimum != 0 or node.maximum == 0:
        return node
    return Opt(replace(node, minimum=1), node.span)


def preceded(word: type[First | Next], item: Structure, span: Span | None = None) -> Structure:
    """Return FIRST or NEXT before an item; before an optional set it is inside of OPT."""
    if isinstance(item, Opt) and isinstance(item.item, Kleene):
        return replace(item, item=word(item.item, span))
    return word(item, span)


def is_greedy(node: Opt) -> bool:
    """Return whether there is no match without an optional item where an event fits."""
    item = node.item.item if isinstance(node.item, First | Next) else node.item
    return node.greedy or (isinstance(item, Kleene) and item.greedy)


def absence_of(node: Opt) -> Not | None:
    """Return the absence in place of a greedy optional item; None: no absence says it."""
    word = Next if isinstance(node.item, Next) else None
    item = node.item.item if isinstance(node.item, First | Next) else node.item
    if isinstance(item, Kleene) and (item.minimum, item.until) == (1, None):
        item = item.item.item if isinstance(item.item, First | Next) else item.item
        if not isinstance(item, Event):  # a group
            return None
    if all(isinstance(part, Event | Seq | And) for part in walk(item)):
        return Not(item if word is None else word(item), node.span)
    return None


def walk(structure: Structure) -> Iterator[Structure]:
    """Yield `structure` and all nodes below it, in the order of the text."""
    return trees.walk(structure)


def events_of(structure: Structure) -> tuple[Event, ...]:
    """Return the event nodes of `structure` in pattern order, with negated and repeated ones."""
    return tuple(node for node in walk(structure) if isinstance(node, Event))


def labels_of(structure: Structure) -> dict[str, str]:
    """Return a label with types for each variable, as "a: MSFT"."""
    labels: dict[str, str] = {}
    for event in events_of(structure):
        types = " or ".join(event.names)
        label = f"{event.variable}: {cut(types, _TYPES)}" if types else event.variable
        labels.setdefault(event.variable, label)
    return labels


def bound_events_of(structure: Structure) -> tuple[Event, ...]:
    """Return the event nodes of `structure` that a match can bind, one for each variable."""
    absent = absent_in(structure)
    bound: dict[str, Event] = {}
    for event in events_of(structure):
        if event.variable not in absent:
            bound.setdefault(event.variable, event)
    return tuple(bound.values())


def absent_in(structure: Structure) -> frozenset[str]:
    """Return the variables under NOT and after UNTIL."""
    absent = (node for node in walk(structure) if isinstance(node, Not))
    names = {event.variable for node in absent for event in events_of(node)}
    return frozenset(names | {event.variable for event in ends_of_loops_in(structure)})


def together_in(structure: Structure) -> tuple[frozenset[str], ...]:
    """Return the variables under each NOT of several events."""
    absent = (node for node in walk(structure) if isinstance(node, Not))
    groups = (frozenset(event.variable for event in events_of(node)) for node in absent)
    return tuple(dict.fromkeys(names for names in groups if len(names) > 1))


def ends_of_loops_in(structure: Structure) -> tuple[Event, ...]:
    """Return the event nodes after UNTIL."""
    kleene = (node for node in walk(structure) if isinstance(node, Kleene))
    return tuple(node.until for node in kleene if node.until is not None)


def group_of(node: Structure) -> Seq | And | None:
    """Return the SEQ or AND that a KL repeats as a whole; None for any other node."""
    return node.item if isinstance(node, Kleene) and isinstance(node.item, Seq | And) else None


def groups_in(structure: Structure) -> tuple[Kleene, ...]:
    """Return the groups that repeat in `structure`."""
    kleene = (node for node in walk(structure) if isinstance(node, Kleene))
    return tuple(node for node in kleene if group_of(node) is not None)


def with_names(structure: Structure, names: Mapping[str, str]) -> Structure:
    """Return a structure with other names for its variables."""
    return with_events(structure, lambda event: replace(event, variable=names[event.variable]))


def with_events(structure: Structure, new: Callable[[Event], Event]) -> Structure:
    """Return a structure with each event node replaced by its `new`."""
    if isinstance(structure, Event):
        return new(structure)
    return mapped(structure, lambda item: with_events(item, new))


def runs_in(structure: Structure) -> tuple[Kleene, ...]:
    """Return the sets of `structure` that take every event that fits between their ends."""
    kleene = (node for node in walk(structure) if isinstance(node, Kleene))
    return tuple(node for node in kleene if run_of(node) is First)


def run_of(node: Kleene) -> type[First | Next] | None:
    """Return the kind of run of a set, None for any other set; a greedy set is a FIRST run."""
    if isinstance(node.item, First | Next):
        return type(node.item)
    return First if node.greedy else None


def repeated_in(structure: Structure) -> frozenset[str]:
    """Return the Kleene variables of `structure`, with those of groups that repeat."""
    kleene = (node for node in walk(structure) if isinstance(node, Kleene))
    events = (event for node in kleene for event in bound_events_of(node.item))
    return frozenset(event.variable for event in events)
