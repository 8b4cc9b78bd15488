"""A program: the lookups, comparisons and checks of each step of a plan; counters of their work.

Programs know nothing of data: `query.py` makes one from a branch and a plan,
`slices/binding.py` binds it to the events of a slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from cepkit.columnar.compile.kleene import Cap, Repeated
from cepkit.pattern.conditions import ComparisonOperator, Expression, set_of_members
from cepkit.pattern.nodes import Event
from cepkit.pattern.policies import Clock
from cepkit.pattern.requirements import Windows

Member = tuple[str, str | None]
"""A variable and an attribute that equals those of other members; None: its partition."""

RUN = "\0run"
"""Stands for an attribute: the stretch of events side by side, each of which some variable of
the branch could take. Events of a contiguous match are in one such stretch."""


BoundClock = Clock | Literal["order"]
"""The unit of a bound: a clock, or the order of events. That is time, unless events of equal
time have an order too."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit for a new event: the event of `variable` plus `delta`.

    The new event is not before a lower bound, and it is before an upper one.
    """

    variable: str
    delta: int
    clock: BoundClock = "time"


@dataclass(frozen=True, slots=True)
class Band:
    """`own operator other`: the side of the new variable, and the bound side."""

    own: Expression
    operator: ComparisonOperator
    other: Expression


@dataclass(frozen=True, slots=True)
class Step:
    """How one variable is added to the partial matches.

    Attributes:
        event: The new variable and its types.
        filters: Conditions on the new variable alone.
        classes: The equality classes that link it to bound variables.
        lower: It is not before any of these.
        upper: It is before all of these.
        windows: How far it may be from any other event of the match.
        bands: Comparisons with the new variable on one side and bound ones on the other.
        residuals: Residual predicates: the other conditions that can be checked now.
        distinct_from: Bound variables that could be the same event.
        follows: Variables, and how many events in stream order it is at least after each.
        precedes: Variables, and how many events in stream order it is at least before each.
    """

    event: Event
    filters: tuple[Expression, ...]
    classes: tuple[int, ...]
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]
    windows: Windows
    bands: tuple[Band, ...]
    residuals: tuple[Expression, ...]
    distinct_from: tuple[str, ...]
    follows: tuple[tuple[str, int], ...] = ()
    precedes: tuple[tuple[str, int], ...] = ()

    @property
    def variable(self) -> str:
        """The new variable."""
        return self.event.variable

    @property
    def name(self) -> str:
        """The name of the step in tables."""
        return self.event.variable

    @property
    def variables(self) -> tuple[str, ...]:
        """The new variable; a `GroupStep` has several."""
        return (self.event.variable,)

    @property
    def distinct(self) -> tuple[tuple[str, str], ...]:
        """The pairs of a new and a bound variable that could be the same event."""
        return tuple((self.event.variable, bound) for bound in self.distinct_from)


@dataclass(frozen=True, slots=True)
class GroupStep:
    """How the partial matches of a subtree, evaluated first, are joined to the bound ones.

    Attributes:
        name: The name of the step in tables.
        variables: All variables that it binds.
        steps: The steps that find the partial matches of the subtree.
        absences: The absences that are checked after these steps.
        scopes: For each variable its bounds and windows relative to the bound variables.
        classes: The equality classes that link the subtree to bound variables.
        bands: Comparisons with the subtree on one side and bound variables on the other.
        residuals: Residual predicates: the other conditions between the two.
        distinct: The pairs of a new and a bound variable that could be the same event.
    """

    name: str
    variables: tuple[str, ...]
    steps: tuple[AnyStep, ...]
    absences: tuple[Absence, ...]
    scopes: tuple[Step, ...]
    classes: tuple[int, ...]
    bands: tuple[Band, ...]
    residuals: tuple[Expression, ...]
    distinct: tuple[tuple[str, str], ...]
    follows: tuple[tuple[str, int], ...] = ()
    precedes: tuple[tuple[str, int], ...] = ()


AnyStep: TypeAlias = "Step | GroupStep"


@dataclass(frozen=True, slots=True)
class Further:
    """The conditions under which an event would be one more member of a greedy set.

    Attributes:
        variable: The Kleene variable.
        conditions: The conditions on each member; they must hold for the event as the last one.
        end: The absence of UNTIL, beyond the set: the event lies before the first such event after
            the set, or after the last one before the set.
        behind: Whether the event is after the set, not before it.
    """

    variable: str
    conditions: tuple[Expression, ...]
    end: Absence | None
    behind: bool


@dataclass(frozen=True, slots=True)
class Absence:
    """A negated variable, searched like a step; partial matches for which it exists are dropped.

    Events that are absent together are searched one after the other, each beside those found before
    it; a partial match is dropped only if all are found.

    Attributes:
        step: How it would be bound, once everything that it depends on is bound.
        after: The number of the step after which it can be checked, from 0; the number of all steps
            if it depends on the members of sets.
        conditions: Its conditions about sets or their members; they must hold for every member.
        apart: Kleene variables of which it could be, but must not be, a member.
        ends: Whether it is searched before step `after`, which then looks no further than the first
            such event: no event after that can be bound there.
        then: The next of those that are absent together.
        further: Of GREEDY, the part that depends on the members of the set.
    """

    step: Step
    after: int
    conditions: tuple[Expression, ...] = ()
    apart: tuple[str, ...] = ()
    ends: bool = False
    then: Absence | None = None
    further: Further | None = None

    @property
    def together(self) -> tuple[Absence, ...]:
        """This absence, and the further ones that are absent together with it."""
        return (self, *(() if self.then is None else self.then.together))


@dataclass(frozen=True, slots=True)
class SetStep:
    """The step of a Kleene variable, which lists the candidates for its sets.

    The ends that are bound by themselves are members too and not listed.

    Attributes:
        step: How one member is listed.
        shared: The ends that the step ignores: rows that differ only in them share one list, and
            each takes the part of it that lies between its ends.
        caps: Limits that cut off sets: further members can only exceed them more.
    """

    repeated: Repeated
    step: Step
    shared: tuple[str, ...]
    caps: tuple[Cap, ...] = ()


@dataclass(frozen=True)
class Program:
    """A plan of one branch, ready to be bound to columns.

    Attributes:
        variables: The variables of a match, in pattern order.
        steps: The steps that bind single events, in the order of the plan, and then the ends of
            sets that must be bound.
        sets: The steps of the Kleene variables, in the order of the plan; they follow all `steps`.
        on_sets: Conditions about whole sets, or about members of several.
        overlapping: Kleene variables that could have a member in common.
        side_by_side: Under contiguity the clock in which there is no gap, if there are sets.
        chain: Under strict contiguity the variables, if each is the next event after the one
            before; else empty.
        absences: The negated variables, in the order in which they are checked.
        otherwise: The negated variables of each earlier branch that binds the same variables: if
            no event exists for any of them, that branch finds the match.
        classes: Sets of (variable, attribute) that are equal in every match; then, from number
            `linked` on, those that link a negated variable to what it is compared with.
        linked: The number of classes that hold in every match.
        owners: The variables whose latest event decides to which slice a match belongs.
        looks_ahead: Whether a slice needs events after those of its owners.
        followed: Whether sets may have members after all owners.
        window: The most microseconds between the first and the last event; None: no limit.
        windows: How far apart any two events may be, in each clock that matters.
        attributes: All attributes that conditions read.
        partition_by: The attributes of the partition.
        next_clock: The clock that NEXT counts in, if there is one.
        constants: Conditions about no variable at all.
    """

    variables: tuple[str, ...]
    steps: tuple[AnyStep, ...]
    sets: tuple[SetStep, ...]
    on_sets: tuple[Expression, ...]
    overlapping: tuple[tuple[str, str], ...]
    side_by_side: Clock | None
    chain: tuple[str, ...]
    absences: tuple[Absence, ...]
    otherwise: tuple[tuple[Absence, ...], ...]
    classes: tuple[frozenset[Member], ...]
    linked: int
    owners: tuple[str, ...]
    looks_ahead: bool
    followed: bool
    window: int | None
    windows: Windows
    attributes: frozenset[str]
    partition_by: tuple[str, ...]
    next_clock: Clock | None
    constants: tuple[Expression, ...]

    @cached_property
    def columns(self) -> frozenset[str]:
        """All columns that evaluation reads beside time and type."""
        return self.attributes | frozenset(self.partition_by)

    @cached_property
    def listed(self) -> tuple[Step, ...]:
        """The steps that list the members of sets."""
        return tuple(one.step for one in self.sets)

    @cached_property
    def everything(self) -> tuple[Step, ...]:
        """All steps: those that bind, those that list, and those that look for absent events."""
        return (*self.single, *self.listed, *self.negated)

    @cached_property
    def clocks(self) -> frozenset[Clock]:
        """The clocks of all windows and bounds."""
        clocks = {clock for step in self.everything for _, clock in step.windows}
        clocks |= {clock for clock in (self.side_by_side, self.next_clock) if clock is not None}
        return frozenset(clocks)

    @cached_property
    def cuts_sets_off(self) -> bool:
        """Whether conditions may cut the search for sets short."""
        between = any(set_of_members(condition) is not None for condition in self.on_sets)
        return between or any(one.caps for one in self.sets)

    @cached_property
    def tries_sets(self) -> bool:
        """Whether any requirement can be checked only when sets are chosen."""
        late = any(
            absence.after == len(self.steps)
            for group in (self.absences, *self.otherwise)
            for absence in group
        )
        counted = any(clock != "time" for _, clock in self.windows)
        conditions = self.on_sets or self.overlapping or self.side_by_side or late or counted
        return bool(self.sets and conditions)

    @cached_property
    def ends(self) -> frozenset[str]:
        """The variables for the first or the last member of a set."""
        return frozenset(end for one in self.sets for end in one.repeated.ends)

    @cached_property
    def work(self) -> tuple[AnyStep, ...]:
        """All steps, those of subtrees before the step that joins them."""
        return work_of(self.steps)

    @cached_property
    def single(self) -> tuple[Step, ...]:
        """The steps that bind a single variable, those in subtrees included."""
        return tuple(step for step in self.work if isinstance(step, Step))

    @cached_property
    def bound(self) -> tuple[str, ...]:
        """The variables that the steps bind, in their order."""
        return tuple(variable for step in self.steps for variable in step.variables)

    @cached_property
    def negated(self) -> tuple[Step, ...]:
        """The steps that look for absent events."""
        inner = (step.absences for step in self.work if isinstance(step, GroupStep))
        groups = (self.absences, *self.otherwise, *inner)
        return tuple(one.step for group in groups for absence in group for one in absence.together)


def work_of(steps: tuple[AnyStep, ...]) -> tuple[AnyStep, ...]:
    """Return steps in the order of evaluation: those of subtrees before the step that joins."""
    work: list[AnyStep] = []
    for step in steps:
        if isinstance(step, GroupStep):
            work += work_of(step.steps)
        work.append(step)
    return tuple(work)


@dataclass(slots=True)
class StepCounters:
    """The work of one step.

    Attributes:
        variable: The variable that the step added.
        candidates: Pairs of a partial match and an event that were examined (for the first step,
            events).
        survivors: Partial matches that passed.
        removed: Partial matches that an event under NOT ruled out.
        peak_rows: The most partial matches of this step held at once; where matches are counted
            without being held, about as many as would be.
        seconds: Time spent in the step, without later steps.
        shared_with: The branch (from 1) whose step did this one's work as well; 0 if it did its
            own. A step may be shared in some slices and not in others.
        by_value: Whether it looked candidates up by a value in some slice.
        earlier: The candidates of earlier slices; whether a loop is worth generating depends on it.
    """

    variable: str
    candidates: int = 0
    survivors: int = 0
    removed: int = 0
    peak_rows: int = 0
    seconds: float = 0.0
    shared_with: int = 0
    by_value: bool = False
    earlier: int = field(default=0, compare=False, repr=False)

    def look_at(self, candidates: int) -> None:
        """Count candidates that are looked at next."""
        self.candidates += candidates

    def add(self, other: StepCounters) -> None:
        """Add the work of the same step on another slice."""
        self.candidates += other.candidates
        self.survivors += other.survivors
        self.removed += other.removed
        self.peak_rows = max(self.peak_rows, other.peak_rows)
        self.seconds += other.seconds
        self.shared_with = self.shared_with or other.shared_with
        self.by_value = self.by_value or other.by_value


Counters: TypeAlias = tuple[tuple[StepCounters, ...], ...]
"""The counters of the steps of each branch."""


def counters_for(programs: Sequence[Program], earlier: Counters | None = None) -> Counters:
    """Return counters at zero, one for each step of each program.

    Args:
        earlier: Those of the slices before; None: there are no slices before.
    """
    counters = tuple(
        tuple(StepCounters(step.name) for step in (*program.work, *program.listed))
        for program in programs
    )
    for steps, before in zip(counters, earlier or (), strict=False):
        for step, one in zip(steps, before, strict=True):
            step.earlier = one.earlier + one.candidates
    return counters


def add_counters(counters: Counters, more: Counters) -> None:
    """Add the work of the same steps on other slices."""
    for steps, others in zip(counters, more, strict=True):
        for step, other in zip(steps, others, strict=True):
            step.add(other)
