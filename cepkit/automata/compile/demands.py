"""The demands on a new event of an instance: conditions, absences, a scope in time."""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.automata.compile.shown import Shown
from cepkit.automata.events import Event
from cepkit.automata.scalars import Truth
from cepkit.pattern.nodes import Beside
from cepkit.tracing.operations import Reason


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A condition compiled for evaluation on a binding.

    Attributes:
        text: The condition in the pattern.
        clause: The number of its clause.
        holds: Whether it is true of a binding.
        shown: Its text with the values of a binding in place of attributes.
        mask: The positive variables that it reads.
        sets: The variables whose whole sets it reads.
        growing: The set whose members it compares with earlier ones; 0: none.
        of_last: With `growing`, the test of the last member alone.
        reach: With `growing`, how many members must precede a tested one.
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
    """A step of the search for absent events: one event.

    A binding of a search has the places of a match, then the events of earlier steps, then this
    event.

    Attributes:
        index: Its number among the absent events.
        after: The nearest places before it.
        before: The nearest places after it.
        tests: The conditions about it and earlier places, on a binding that ends with it.
    """

    index: int
    after: tuple[int, ...]
    before: tuple[int, ...]
    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Absence:
    """The absence of an event, or of several events together.

    Attributes:
        searches: For each of its events a search for all of them that starts with that event.
        clause: The number of its clause.
        needs: The variables that must be bound before it can be decided.
        windowed: Whether the window limits the places of its events; else their neighbours do.
        beside: Its place beside a set; None: its neighbours decide its place.
        slot: The place of that set; -1: none.
        end: For GREEDY, the UNTIL of that set: an event that would come after the end of the set
            does not count.
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
        """Why an instance ends because of it."""
        if self.beside is None:
            return "absence"
        return "beyond" if self.beside.place == "until" else "lacking"

    @property
    def awaited(self) -> bool:
        """Whether its event may come after all other events of a match."""
        first = self.searches[0][0]
        return not first.before and (self.beside is None or self.beside.end is None)

    @property
    def lasting(self) -> bool:
        """Whether it stays violated however the set grows."""
        end = None if self.beside is None else self.beside.end
        return end is not None and end.end == "last"


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """Forbidden events of an instance, and the reason for its end."""

    reason: Reason
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """The demands on an event for a variable when some others are bound.

    Attributes:
        slot: The place of the variable.
        after: The nearest bound places before it.
        before: The nearest bound places after it.
        rivals: The bound places that could have the same event.
        tests: The conditions that become due on the new event, or on the new member of a set.
        growing: The conditions on the newest member of a set and earlier ones.
        closing: The conditions that become due when a set ends.
        lasting: The absences that each member of a set decides.
        absences: The absences that the event decides, or the end of a set.
        scope: The scope in words, as in "after a"; empty for anywhere.
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
