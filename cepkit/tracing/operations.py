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
    "expired",
    "absence",
    "beyond",
    "lacking",
    "exhausted",
    "unfinished",
    "matched",
    "duplicate",
    "ended",
]

REASONS: dict[Reason, str] = {
    "expired": "the window closed before it was complete",
    "absence": "a forbidden event came",
    "beyond": "its set goes beyond an event that ends it",
    "lacking": "its set leaves out an event that belongs to it",
    "exhausted": "the event it waits for can no longer come",
    "unfinished": "its set can neither end nor grow",
    "matched": "it became a match",
    "duplicate": "another branch of the OR found the same match",
    "ended": "the stream ended before it was complete",
}
"""The reasons why an instance ends, in words."""
TOGETHER = "forbidden events came together"
"""The reason "absence" in words, where a NOT is of several events."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A clause that was evaluated.

    Attributes:
        clause: Its number in the clauses of the trace.
        text: The condition with values in place of attributes: ``3 < 7``.
        held: Whether it is true.
    """

    clause: int
    text: str
    held: bool


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An edge was evaluated: on an instance and a candidate event, or on two instances.

    Clauses are checked one after the other up to the first that fails; an edge without conditions
    is evaluated too, and holds.
    """

    instance: int
    edge: int
    event: int | None
    checked: tuple[Checked, ...]
    held: bool
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """An instance was created: with one more event than its parent, or joined from two."""

    instance: int
    parents: tuple[int, ...]
    node: int
    variable: str | None
    event: int | None


@dataclass(frozen=True, slots=True)
class Discard:
    """An instance ended; `event` is the event that broke it, or those under one NOT."""

    instance: int
    reason: Reason
    event: int | tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """A check whether the set of an instance may end with its present members."""

    instance: int
    checked: tuple[Checked, ...]
    held: bool
    event: int | tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """An event was refused for a variable: a condition on that variable alone fails."""

    event: int
    variable: str
    checked: tuple[Checked, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """An event was stored in the input buffer of a variable."""

    event: int
    variable: str


@dataclass(frozen=True, slots=True)
class Forget:
    """An event left the input buffer: it can be in no later match."""

    event: int
    variable: str


@dataclass(frozen=True, slots=True)
class Match:
    """An instance became a match, with its number in the trace."""

    instance: int
    match: int


@dataclass(frozen=True, slots=True)
class Visit:
    """A state was instantiated by its first instance."""

    node: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A state was removed after its last instance left."""

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
"""Every operation by its name in traces and searches."""


def name_of(operation: Operation) -> str:
    """Return the name of an operation."""
    return type(operation).__name__.lower()


def forbidden_in(operation: Operation) -> tuple[int, ...]:
    """Return the events in an operation that must not be there."""
    match operation:
        case Discard(event=int(event)) | Close(event=int(event)):
            return (event,)
        case Discard(event=tuple(events)) | Close(event=tuple(events)):
            return events
        case _:
            return ()


def checked_in(operation: Operation) -> tuple[Checked, ...]:
    """Return the clauses checked in an operation."""
    return operation.checked if isinstance(operation, Evaluate | Close | Refuse) else ()
