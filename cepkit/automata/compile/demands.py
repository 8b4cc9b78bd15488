"""Tests that are due when a variable is bound: conditions, absences, a scope in time."""

from __future__ import annotations

from cepkit.automata.compile.shown import Shown
from cepkit.automata.events import Event
from cepkit.automata.scalars import Truth
from cepkit.pattern.nodes import Beside
from cepkit.tracing.operations import Reason
from cepkit.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A condition, ready to be evaluated on a binding.

    Attributes:
        text: As it stands in the pattern.
        holds: Whether it is true of a binding.
        shown: The text with values in place of attributes, for a binding.
        mask: The positive variables that it is about.
        sets: Those of them of which it reads a whole set.
        growing: The set of which it is about each member and those before it; 0: it is not.
        of_last: Of such one the same of the last member alone.
        reach: How many members must be before one of which it is asked.
    """

    text: str
    clause: int
    holds: Truth
    shown: Shown
    mask: int
    sets: int
    growing: int = 0
    of_last: Test | None = None
    reach: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """An event that must not be there, as it is looked for.

    In bindings the events that were found before it stand behind the places of a match, and it
    stands behind these.

    Attributes:
        index: Its number among the absent ones.
        after: The places that it would come after, the nearest ones.
        before: The places that it would come before, the nearest ones.
        tests: Conditions about it and what is bound or found, on a binding that ends with it.
    """

    index: int
    after: tuple[int, ...]
    before: tuple[int, ...]
    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Absence:
    """An event that must not be there, or several that must not be there together.

    Attributes:
        searches: For each of its events how all are looked for, one after the other, beginning with
            that one.
        clause: The number of the clause that says so.
        needs: The variables that must be bound before it can be decided.
        windowed: Whether the window limits where its events can be; else their neighbours do.
        beside: Where it would be beside a set; None: its neighbours say where.
        slot: The place of that set; -1: there is none.
        end: UNTIL of that set, where GREEDY lets no event be there with which the set would not
            end before what UNTIL says.
    """

    searches: tuple[tuple[Sought, ...], ...]
    clause: int
    needs: int
    windowed: bool
    beside: Beside | None = None
    slot: int = -1
    end: Absence | None = None

    @property
    def reason(self) -> Reason:
        """Why an instance ends that has such an event."""
        if self.beside is None:
            return "absence"
        return "beyond" if self.beside.place == "until" else "lacking"

    @property
    def awaited(self) -> bool:
        """Whether such an event may come after everything else of a match."""
        first = self.searches[0][0]
        return not first.before and (self.beside is None or self.beside.place == "behind")

    @property
    def lasting(self) -> bool:
        """Whether a set that has such an event beside it has one however it grows."""
        return self.beside is not None and self.beside.place in ("between", "until")


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """Events that must not be there, together, and why an instance ends because of them."""

    reason: Reason
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """The demands on an event for a variable when some others are bound.

    Attributes:
        slot: The place of the variable.
        after: The places of bound variables that it must come after, the nearest ones.
        before: The places of bound variables that it must come before, the nearest ones.
        rivals: The places of bound variables that could be the same event.
        tests: The conditions that become due, on the new event (of a set: on its new member).
        growing: Of a set: conditions on its newest member and those before it.
        closing: Of a set: what is due when it ends.
        lasting: Of a set: what must not be there, and is decided by each member.
        absences: What must not be there and is decided by taking it (of a set: by its end).
        scope: Where in time it lies, in words; empty for anywhere.
    """

    slot: int
    after: tuple[int, ...]
    before: tuple[int, ...]
    rivals: tuple[int, ...]
    tests: tuple[Test, ...]
    growing: tuple[Test, ...]
    closing: tuple[Test, ...]
    lasting: tuple[Absence, ...]
    absences: tuple[Absence, ...]
    scope: str
