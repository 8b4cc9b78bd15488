"""The operations of mechanisms that traces list.

A closed family of frozen values. Events are numbers in stream order, instances are numbered from
0 as they are created, nodes and edges are those of the mechanism's diagram.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

Reason: TypeAlias = Literal[
    "expired", "absence", "exhausted", "unfinished", "matched", "duplicate", "ended"
]

REASONS: dict[Reason, str] = {
    "expired": "the window closed before it was complete",
    "absence": "a forbidden event came",
    "exhausted": "the event it waits for can no longer come",
    "unfinished": "its set can neither end nor grow",
    "matched": "it became a match",
    "duplicate": "another branch of the OR found the same match",
    "ended": "the stream ended before it was complete",
}
"""Why an instance ends, in words that a reader understands."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A clause that was evaluated.

    Attributes:
        clause: Its number in the clauses of the trace.
        text: The condition with the values in place of the attributes: ``3 < 7``.
        held: Whether it is true.
    """

    clause: int
    text: str
    held: bool


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An edge was evaluated: on an instance and a candidate event, or on two instances.

    Clauses are checked one after the other, none after the first that does not hold; an edge
    without conditions is evaluated too, and holds.
    """

    instance: int
    edge: int
    event: int | None
    checked: tuple[Checked, ...]
    held: bool
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """An instance came to be, with one more event bound than its parent, or joined of two."""

    instance: int
    parents: tuple[int, ...]
    node: int
    variable: str | None
    event: int | None


@dataclass(frozen=True, slots=True)
class Discard:
    """An instance ended; `event` is the event under NOT, if that is the reason."""

    instance: int
    reason: Reason
    event: int | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """It was checked whether the set of an instance may end with the members that it has."""

    instance: int
    checked: tuple[Checked, ...]
    held: bool
    event: int | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """An event is none for a variable: a condition on that variable alone does not hold."""

    event: int
    variable: str
    checked: tuple[Checked, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """An event went into the input buffer, for a variable."""

    event: int
    variable: str


@dataclass(frozen=True, slots=True)
class Forget:
    """An event left the input buffer: it can be in no later match."""

    event: int
    variable: str


@dataclass(frozen=True, slots=True)
class Match:
    """An instance became a match: the one of that number in the matches of the trace."""

    instance: int
    match: int


@dataclass(frozen=True, slots=True)
class Visit:
    """A state was instantiated: the first instance came to it."""

    node: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A state was removed: the last instance left it."""

    node: int


Operation: TypeAlias = (
    Evaluate | Create | Discard | Close | Refuse | Store | Forget | Match | Visit | Leave
)

OperationName: TypeAlias = Literal[
    "evaluate", "create", "discard", "close", "refuse", "store", "forget", "match", "visit", "leave"
]

OPERATIONS: Mapping[str, type[Operation]] = MappingProxyType(
    {kind.__name__.lower(): kind for kind in get_args(Operation)}
)
"""Every operation by the name that traces and questions to them give it."""


def name_of(operation: Operation) -> str:
    """Return the name of an operation."""
    return type(operation).__name__.lower()


def checked_in(operation: Operation) -> tuple[Checked, ...]:
    """Return the clauses that were checked in an operation."""
    return operation.checked if isinstance(operation, Evaluate | Close | Refuse) else ()
