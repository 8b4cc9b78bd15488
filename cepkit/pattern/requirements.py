"""Requirements: the conditions of a match as a list, each measured by itself.

`Demands` sums up those that are about a whole match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias, assert_never

from cepkit.pattern.conditions import Expression, has_set_functions, is_filter, variables_of
from cepkit.pattern.names import column_text, variable_text
from cepkit.pattern.nodes import And, Beside, Event, First, Kleene, Next, Not, Seq, Structure
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.numbers import set_of_neighbours
from cepkit.pattern.policies import Clock, CountWindow, Strategy, TimeWindow, window_text
from cepkit.pattern.printer import expression_text, structure_text

Kind: TypeAlias = Literal[
    "type", "filter", "order", "distinct", "partition", "window", "contiguity", "condition",
    "size", "not", "run", "greedy", "until", "consumption",
]  # fmt: skip
"""The kinds of requirements, as tables name them."""


@dataclass(frozen=True, slots=True)
class OfType:
    """An event has one of its variable's types."""

    event: Event


@dataclass(frozen=True, slots=True)
class Before:
    """One event is strictly before another."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Distinct:
    """Two variables are not the same event."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class SamePartition:
    """All events agree on the attributes of PARTITION BY."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """All events lie inside the window."""

    window: TimeWindow | CountWindow
    partitioned: bool = False

    @property
    def clock(self) -> Clock:
        """The unit of its length."""
        if isinstance(self.window, TimeWindow):
            return "time"
        return "place" if self.partitioned else "arrival"


@dataclass(frozen=True, slots=True)
class SideBySide:
    """No other event lies between those of the match (of their partition, where that counts)."""

    strategy: Strategy

    @property
    def clock(self) -> Clock:
        """The numbers that have no gap."""
        return "arrival" if self.strategy is Strategy.STRICT_CONTIGUITY else "place"


@dataclass(frozen=True, slots=True)
class Holds:
    """A condition is true, for each member of a Kleene variable."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Size:
    """A Kleene variable has as many events as its bounds ask for."""

    variable: str
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no event for a variable under NOT, or for one that FIRST or a set implies.

    Attributes:
        event: The event that must not be there.
        part: The part of the pattern that forbids it.
        others: Further events: it is forbidden only together with them.
    """

    event: Event
    part: Structure
    others: tuple[Event, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        """All events that must not be there together."""
        return (self.event, *self.others)


@dataclass(frozen=True, slots=True)
class Unconsumed:
    """Under skip-till-next-match: no earlier match took an event of this one."""


Requirement: TypeAlias = (
    OfType | Before | Distinct | SamePartition | Within | SideBySide | Holds | Size | Absent
    | Unconsumed
)  # fmt: skip


def requirements_of(branch: Branch) -> tuple[Requirement, ...]:
    """Return all that `branch` requires of a match, each once, from the simple to the intricate."""
    return tuple(dict.fromkeys(_requirements(branch)))


def _requirements(branch: Branch) -> Iterator[Requirement]:
    positive = branch.variables
    yield from map(OfType, branch.positive)
    about = [(c, variables_of(c)) for c in branch.conditions]
    # A condition about an absent event says which event that is; it is no requirement by itself.
    about = [(c, names) for c, names in about if names <= set(positive)]
    yield from (Holds(c) for c, names in about if len(names) <= 1 and not has_set_functions(c))
    pairs = list(combinations(branch.positive, 2))
    for x, y in combinations(positive, 2):
        if (x, y) in branch.order:
            yield Before(x, y)
        elif (y, x) in branch.order:
            yield Before(y, x)
    if branch.partition_by:
        yield SamePartition(branch.partition_by)
    if branch.window is not None:
        yield Within(branch.window, bool(branch.partition_by))
    if branch.strategy in (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY):
        yield SideBySide(branch.strategy)
    yield from (Distinct(x.variable, y.variable) for x, y in pairs if x.overlaps(y))
    yield from (Holds(c) for c, names in about if len(names) > 1 or has_set_functions(c))
    yield from (Size(*bounds) for bounds in branch.repeated if bounds[1:] != (1, None))
    for event, *others in branch.absences:
        if others:
            together = _in_order([event, *others], branch.order)
            yield Absent(event, Not(together), tuple(others))
        else:
            yield absent_of(branch, event)
    if branch.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        yield Unconsumed()


def _in_order(events: Sequence[Event], order: Collection[tuple[str, str]]) -> Structure:
    """Return events as the SEQ and AND that have their order."""
    if len(events) == 1:
        return replace(events[0], span=None)

    def ordered(one: Event, other: Event) -> bool:
        pair = one.variable, other.variable
        return pair in order or pair[::-1] in order

    parts = _joined(events, ordered)
    if len(parts) > 1:
        return And(tuple(_in_order(part, order) for part in parts))
    parts = _joined(events, lambda one, other: not ordered(one, other))
    earlier = {part[0].variable: 0 for part in parts}
    for _, later in order:
        if later in earlier:
            earlier[later] += 1
    parts.sort(key=lambda part: earlier[part[0].variable])
    return Seq(tuple(_in_order(part, order) for part in parts))


def _joined(events: Sequence[Event], together: Callable[[Event, Event], bool]) -> list[list[Event]]:
    """Return the connected groups of events, where `together` says which two are connected."""
    parts: list[list[Event]] = []
    for event in events:
        neighbours = [part for part in parts if any(together(event, other) for other in part)]
        parts = [part for part in parts if part not in neighbours]
        parts.append([*(other for part in neighbours for other in part), event])
    return parts


def absent_of(branch: Branch, event: Event) -> Absent:
    """Return the requirement that one of a branch's absent events is not there."""
    first, beside = event.earlier_than, event.beside
    if beside is None and first is None:
        return Absent(event, Not(event))
    variable = first if beside is None else beside.variable
    assert variable is not None
    own = replace(branch.event(variable), span=None)
    places = {e.beside.place for e in branch.negated if e.beside and e.beside.variable == variable}
    item: Structure = own
    if variable in branch.runs and "before" not in places:
        item = First(own)
    elif variable in set_of_neighbours(branch.conditions):
        item = Next(own)
    if beside is None:
        repeated = {name for name, _, _ in branch.repeated}
        return Absent(event, First(Kleene(item) if variable in repeated else own))
    until = replace(event, beside=None, span=None) if beside.place == "until" else None
    greedy = beside.place in ("before", "behind") or (
        beside.place == "between" and "before" in places
    )
    return Absent(event, Kleene(item, greedy=greedy, until=until))


def kind_of(requirement: Requirement) -> Kind:
    """Return the kind of a requirement."""
    match requirement:
        case OfType():
            return "type"
        case Before():
            return "order"
        case Distinct():
            return "distinct"
        case SamePartition():
            return "partition"
        case Within():
            return "window"
        case SideBySide():
            return "contiguity"
        case Holds(condition):
            return "filter" if is_filter(condition) else "condition"
        case Size():
            return "size"
        case Absent(Event(beside=Beside()), Kleene(greedy=greedy, until=until)):
            return "greedy" if greedy else "run" if until is None else "until"
        case Absent():
            return "not"
        case Unconsumed():
            return "consumption"
        case _:
            assert_never(requirement)


def text_of(requirement: Requirement) -> str:
    """Return a requirement as a text, in the pattern's own words where there are some."""
    match requirement:
        case OfType(event):  # of a kind: its condition is a requirement of its own
            return structure_text(replace(event, kinds=()))
        case Before(first, second):
            return f"{variable_text(first)} before {variable_text(second)}"
        case Distinct(first, second):
            return f"{variable_text(first)} is not {variable_text(second)}"
        case SamePartition(names):
            return f"PARTITION BY {', '.join(map(column_text, names))}"
        case Within(window):
            return f"WITHIN {window_text(window)}"
        case SideBySide(strategy):
            return f"STRATEGY {strategy}"
        case Holds(condition):
            return expression_text(condition)
        case Size(variable, minimum, maximum):
            most = "" if maximum is None else str(maximum)
            bounds = str(minimum) if minimum == maximum else f"{minimum},{most}"
            return f"{variable_text(variable)}{{{bounds}}}"
        case Absent(part=part):
            return structure_text(part)
        case Unconsumed():
            return f"STRATEGY {Strategy.SKIP_TILL_NEXT_MATCH}"
        case _:
            assert_never(requirement)


def variables_in(requirement: Requirement, positive: Collection[str]) -> frozenset[str]:
    """Return the positive variables that a requirement is about; all if it is about the match.

    Args:
        positive: The variables of the branch's matches.
    """
    match requirement:
        case OfType(event):
            return frozenset((event.variable,))
        case Before(first, second) | Distinct(first, second):
            return frozenset((first, second))
        case Holds(condition):
            return variables_of(condition)
        case Size(variable):
            return frozenset((variable,))
        case SamePartition() | Within() | SideBySide() | Absent() | Unconsumed():
            return frozenset(positive)
        case _:
            assert_never(requirement)


def may_coincide(branch: Branch, x: str, y: str) -> bool:
    """Return whether one event could stand for two variables, if that were allowed."""
    ordered = (x, y) in branch.order or (y, x) in branch.order
    return not ordered and branch.event(x).overlaps(branch.event(y))


def about_sets(requirement: Requirement, branch: Branch) -> bool:
    """Return whether a requirement is about whole sets, not about single events.

    All other requirements hold for each single member of every set for which they hold.
    """
    match requirement:
        case Size():
            return True
        case Holds(condition):
            return has_set_functions(condition)
        case SideBySide() | Absent():
            return bool(branch.repeated)
        case OfType() | Before() | Distinct() | SamePartition() | Within() | Unconsumed():
            return False
        case _:
            assert_never(requirement)


Windows: TypeAlias = tuple[tuple[int, Clock], ...]
"""The greatest difference between any two events of a match, in each clock that matters."""

MOST_MEMBERS = 2**31 - 1
"""More events than a slice can have: larger sizes mean the same."""


@dataclass(frozen=True, slots=True)
class Demands:
    """The requirements of a branch that are about a whole match.

    Attributes:
        conditions: The conditions on its events.
        windows: How far apart two of its events may be.
        around: How far an absent event may be from them: contiguity does not hold for it.
        gapless: The clock in which its events have no gap; None: there may be events between them.
        bounded: Whether the number of its events has a limit.
        in_turn: Whether it takes no event of an earlier match.
        partitioned: Whether they are of one partition.
    """

    conditions: tuple[Expression, ...]
    windows: Windows
    around: Windows
    gapless: Clock | None
    bounded: bool
    in_turn: bool
    partitioned: bool

    @classmethod
    def of(cls, branch: Branch) -> Demands:
        """Return the demands of a branch."""
        conditions: list[Expression] = []
        around: dict[Clock, int] = {}
        gapless: Clock | None = None
        in_turn = partitioned = False
        for requirement in requirements_of(branch):
            match requirement:
                case Holds(condition):
                    conditions.append(condition)
                case Within(window):
                    around[requirement.clock] = window.most
                case SideBySide():
                    gapless = requirement.clock
                case Unconsumed():
                    in_turn = True
                case SamePartition():
                    partitioned = True
                case OfType() | Before() | Distinct():
                    pass  # of the steps of single events, and of ends of sets
                case Size() | Absent():
                    pass  # of steps of their own
                case _:
                    assert_never(requirement)
        windows, size = dict(around), _size_of(branch)
        if gapless is not None and size < MOST_MEMBERS:
            # The events lie side by side if the first and the last are as near as they can be.
            windows[gapless] = min(size - 1, windows.get(gapless, size))
        return cls(
            tuple(conditions),
            tuple((most, clock) for clock, most in windows.items()),
            tuple((most, clock) for clock, most in around.items()),
            gapless,
            size < MOST_MEMBERS,
            in_turn,
            partitioned,
        )

    @property
    def clock_of_next(self) -> Clock:
        """The clock in which NEXT binds the event right after the one before it."""
        return "place" if self.partitioned else "arrival"

    @property
    def length(self) -> int | None:
        """The largest time inside a match in microseconds; None for no limit."""
        return next((most for most, clock in self.around if clock == "time"), None)


def _size_of(branch: Branch) -> int:
    """Return the largest number of events in a match, at most `MOST_MEMBERS`."""
    size = len(branch.variables) - len(branch.repeated)
    for _, _, maximum in branch.repeated:
        size += MOST_MEMBERS if maximum is None else maximum
    return min(MOST_MEMBERS, size)
