"""A candidate: a pattern as the search sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from cepkit.calibration.labels import Integers
from cepkit.learning.training import Training, Truths
from cepkit.pattern.names import attribute_text, type_text
from cepkit.stream.durations import duration_text
from cepkit.stream.schema import ONLY_TYPE

Operator: TypeAlias = Literal["SEQ", "AND"]
VARIABLES = "abcd"


@dataclass(frozen=True, slots=True, order=True)
class Narrowing:
    """A condition of one event with a constant, or of two events.

    Attributes:
        attribute: What is compared.
        sign: The comparison.
        left: The number of the event; -1 for one under NOT.
        right: The number of the other event; -1 for a constant.
        constant: The constant: a number, or a code; 0 for another event.
        is_code: Whether codes are compared, for equality.
    """

    attribute: str
    sign: Literal["<", ">", "="]
    left: int
    right: int = -1
    constant: float = 0.0
    is_code: bool = False

    def holds(self, training: Training, left: Integers, right: Integers | None) -> Truths:
        """Return whether it holds for some events."""
        if self.is_code:
            codes = training.codes[self.attribute][left]
            if right is None:
                return np.asarray(codes == self.constant)
            return np.asarray((codes >= 0) & (codes == training.codes[self.attribute][right]))
        values = training.numbers[self.attribute]
        other = self.constant if right is None else values[right]
        return np.asarray(values[left] < other if self.sign == "<" else values[left] > other)

    def moved(self, place: int, by: int = 1) -> Narrowing:
        """Return it after an event was inserted at a place, or one taken away."""
        right = self.right + by * (self.right >= place) if self.right >= 0 else -1
        return replace(self, left=self.left + by * (self.left >= place), right=right)

    def text(self, training: Training, variable: str = "") -> str:
        """Return it as a pattern writes it; of an event under NOT with its variable."""
        name = attribute_text(self.attribute)
        left = f"{variable or VARIABLES[self.left]}.{name}"
        if self.right >= 0:
            right = f"{VARIABLES[self.right]}.{name}"
        elif self.is_code:
            right = training.constants[self.attribute][int(self.constant)]
        else:
            whole = int(self.constant)
            right = str(whole) if whole == self.constant else repr(float(self.constant))
        return f"{left} {self.sign} {right}"


@dataclass(frozen=True, slots=True)
class Absence:
    """A type that may not be there, or its events that pass a filter.

    Attributes:
        type: The code of the type.
        place: Before which event: 0 is before the first, their number after the last.
        filter: The filter, if there is one.
    """

    type: int
    place: int
    filter: Narrowing | None = None

    def events(self, training: Training) -> Integers:
        """Return the places of the events that may not be there."""
        events = training.events[self.type]
        return events if self.filter is None else events[self.filter.holds(training, events, None)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pattern that may announce incidents.

    Attributes:
        operator: SEQ or AND of its events; SEQ for one.
        types: The codes of their types; ascending for AND.
        window: Its window in microseconds.
        conditions: Its conditions.
        absences: Its absences; those of AND are before the first event.
    """

    operator: Operator
    types: tuple[int, ...]
    window: int
    conditions: tuple[Narrowing, ...] = ()
    absences: tuple[Absence, ...] = ()

    @property
    def size(self) -> int:
        """The number of its parts, which each has a price."""
        filters = sum(each.filter is not None for each in self.absences)
        return len(self.types) + len(self.conditions) + len(self.absences) + filters

    @property
    def shape(self) -> tuple[object, ...]:
        """The parts by which proposals differ: all but the conditions and the window."""
        return self.operator, self.types, tuple((each.type, each.place) for each in self.absences)

    @property
    def ends_late(self) -> bool:
        """Whether an alarm is at the end of the window, when an absence after it is certain."""
        return any(each.place == len(self.types) for each in self.absences)

    def inserted(self, type_code: int, place: int) -> Candidate:
        """Return it with one more event."""
        types = (*self.types[:place], type_code, *self.types[place:])
        conditions = tuple(each.moved(place) for each in self.conditions)
        return replace(self, types=types, conditions=conditions)

    def without(self, place: int) -> Candidate:
        """Return it without one of its events and without the conditions on that event."""
        types = (*self.types[:place], *self.types[place + 1 :])
        conditions = tuple(
            each.moved(place, -1)
            for each in self.conditions
            if place not in (each.left, each.right)
        )
        absences = tuple(
            replace(each, place=each.place - (each.place > place)) for each in self.absences
        )
        operator: Operator = "SEQ" if len(types) == 1 else self.operator
        return Candidate(operator, types, self.window, conditions, absences)

    def narrowed_from(self) -> Iterator[Candidate]:
        """Yield it without each of its parts."""
        if len(self.types) > 1:
            for place in range(len(self.types)):
                yield self.without(place)
        for condition in self.conditions:
            rest = tuple(each for each in self.conditions if each != condition)
            yield replace(self, conditions=rest)
        for absence in self.absences:
            yield replace(self, absences=tuple(a for a in self.absences if a != absence))

    def text(self, training: Training) -> str:
        """Return it as the text of a pattern."""
        names = training.type_names
        named = [("ANY" if name == ONLY_TYPE else type_text(name)) for name in names]
        items = [f"{named[code]} {VARIABLES[at]}" for at, code in enumerate(self.types)]
        absent = [""] * (len(items) + 1)
        for number, each in enumerate(self.absences):
            absent[each.place] += f"NOT({named[each.type]} n{number}), "
        if self.operator == "AND":
            inner = f"AND({', '.join(items)})"
            structure = f"SEQ({absent[0]}{inner})" if self.absences else inner
        elif len(items) == 1 and not self.absences:
            structure = items[0]
        else:
            parts = "".join(absent[at] + f"{item}, " for at, item in enumerate(items))
            structure = f"SEQ({(parts + absent[-1]).removesuffix(', ')})"
        lines = [f"PATTERN {structure}"]
        where = [each.text(training) for each in self.conditions]
        where += [
            each.filter.text(training, f"n{number}")
            for number, each in enumerate(self.absences)
            if each.filter is not None
        ]
        if where:
            lines.append("WHERE " + " AND ".join(where))
        if len(items) > 1 or self.absences:
            lines.append(f"WITHIN {duration_text(self.window)}")
        if training.by is not None:
            lines.append(f"PARTITION BY {attribute_text(training.by)}")
        return "\n".join(lines)
