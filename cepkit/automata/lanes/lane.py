"""The base of all lanes: one branch in one partition.

A lane gets the events of its partition. It keeps instances and buffers, decides absences, and
holds matches back until no forbidden event can come any more. Mechanisms differ in how they take
events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cepkit.automata.compile.demands import Absence, Breach, Sought, Stage, Test
from cepkit.automata.compile.rules import Rules
from cepkit.automata.events import Binding, Event, Place
from cepkit.automata.lanes.buffers import Buffer, Clock
from cepkit.automata.lanes.journal import Instance, Journal, with_event
from cepkit.automata.lanes.scopes import Scopes, end_of, is_beside, own
from cepkit.errors import LimitError
from cepkit.tracing.operations import Reason

MOST_MEMBERS = 30
"""The most members of a set; all sets of so many events would take an hour."""
_EVERY, _IDENTITY = 10_000, 300
"""Memory is checked after this many matches kept against duplicates, each of this many bytes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The run that a lane is part of.

    Attributes:
        rules: The demands of its branch.
        branch: The number of its branch, from 0.
        clock: The clock that expires instances and events.
        seen: The matches of all branches that can find the same ones; None if no other can.
    """

    rules: Rules
    branch: int
    journal: Journal
    clock: Clock
    seen: set[Hashable] | None


class Lane(ABC):
    """A branch in a partition."""

    def __init__(self, setting: Setting) -> None:
        self.rules = setting.rules
        self.branch = setting.branch
        self.journal = setting.journal
        self.clock = setting.clock
        self._seen = setting.seen
        self.alive: dict[int, Instance] = {}
        self.pending: dict[int, Instance] = {}
        # The absences beside sets share a buffer for each name.
        buffers: dict[tuple[str, bool], Buffer] = {}
        self._absent = tuple(
            buffers.setdefault((name, event.beside is None), Buffer(name))
            for event in self.rules.branch.negated
            for name in (self.rules.name_of(event.variable),)
        )
        self._awaited = tuple(a for a in self.rules.absences if a.awaited)
        self.scopes = Scopes(self.rules.limit, timed=self.rules.timed)

    @abstractmethod
    def arrive(self, event: Event, slots: Sequence[int]) -> None:
        """Take in an event that passes the filters of the variables at `slots`."""

    def feed(self, event: Event) -> None:
        """Take in an event of this partition."""
        positive, negative = self.rules.roles(event.type)
        passed: dict[int, bool] = {}
        for index in negative:
            buffer, filters = self._absent[index], self.rules.absent_filters[index]
            key = id(buffer)
            if key not in passed:
                passed[key] = self._passes(event, buffer.variable, filters)
                if passed[key] and self.rules.decided[index]:
                    self.clock.keep(event, buffer)
            if passed[key]:
                self._break(*self.rules.searches[index], event)
        slots = [
            slot
            for slot in positive
            if self._passes(event, self.rules.called[slot], self.rules.filters[slot])
        ]
        if slots:
            self.arrive(event, slots)

    def mature(self) -> None:
        """Make matches of the instances that waited only for the end of the stream."""
        for instance in list(self.pending.values()):
            if instance.views:
                self._report(instance)
                self.move_out(instance, self.pending)
            else:
                self._mature(instance)

    def finish(self) -> None:
        """End all instances at the end of the stream."""
        for instance in list(self.alive.values()):
            self.discard(instance, instance.outcome or "ended")

    def create(
        self,
        parents: tuple[int, ...],
        node: int,
        bound: int,
        binding: Binding,
        low: int,
        high: int,
        variable: str | None = None,
        event: Event | None = None,
    ) -> Instance:
        """Return a new instance."""
        number = self.journal.create(parents, node, variable, event)
        instance = Instance(number, node, bound, binding, low, high, homes=[self.alive])
        self.alive[number] = instance
        return instance

    def extended(
        self, parent: Instance, node: int, slot: int, place: Place, event: Event
    ) -> Instance:
        """Return a child of `parent` with the new event, and `place` at `slot`.

        A place that is bound already is replaced: its set has grown.
        """
        low = min(parent.low, event.clock) if parent.bound else event.clock
        high = max(parent.high, event.clock) if parent.bound else event.clock
        return self.create(
            (parent.number,),
            node,
            parent.bound | 1 << slot,
            with_place(parent.binding, slot, place),
            low,
            high,
            self.rules.called[slot],
            event,
        )

    def offered(
        self, instance: Instance, stage: Stage, event: Event
    ) -> tuple[Place, tuple[Test, ...], Binding]:
        """Return the value of a variable that takes an event: it, or a set that ends with it.

        Also what must hold, and the binding of which it must.
        """
        slot = stage.slot
        if slot not in self.rules.bounds:
            return event, stage.tests, with_place(instance.binding, slot, event)
        members: Any = instance.binding[slot] or ()
        grown = (*members, event)
        tests = (*stage.tests, *(t for t in stage.growing if t.reach <= len(members)))
        tested = grown if stage.growing else (event,)
        return grown, tests, with_place(instance.binding, slot, tested)

    def stay(self, instance: Instance, *homes: dict[int, Instance]) -> None:
        """Keep an instance in some tables until its window closes."""
        if instance.bound and not instance.timed:
            instance.timed = True
            self.clock.wait(instance, self._expire)
        for home in homes:
            home[instance.number] = instance
            instance.homes.append(home)

    def move_out(self, instance: Instance, home: dict[int, Instance]) -> None:
        """Take an instance out of a table."""
        del home[instance.number]
        instance.homes = [other for other in instance.homes if other is not home]

    def discard(self, instance: Instance, reason: Reason, by: Sequence[Event] = ()) -> None:
        """End an instance with its views, or a view; with its last view an idle instance ends."""
        number = instance.number
        for one in (instance, *instance.views) if instance.views else (instance,):
            one.alive = False
            for home in one.homes:
                home.pop(number, None)
        base = instance.base
        if base is None:
            self.journal.discard(instance.number, reason, by)
            return
        base.views = [view for view in base.views if view is not instance]
        if len(base.homes) == 1 and not base.views:
            self.discard(base, base.outcome or reason, by)

    def complete(self, instance: Instance) -> None:
        """Make a match of a complete instance, or hold it back for absences still to decide."""
        if self._awaited:
            self.stay(instance, self.pending)
        else:
            self._report(instance)

    def loses(self, instance: Instance, lasting: tuple[Absence, ...]) -> bool:
        """End an instance whose set violates a lasting absence; return whether it does."""
        by = self.breaker(lasting, instance) if lasting else None
        if by is not None:
            self.discard(instance, by.reason, by.events)
        return by is not None

    def may_end(
        self,
        instance: Instance,
        slot: int,
        closing: tuple[Test, ...],
        absences: tuple[Absence, ...],
    ) -> bool:
        """Return whether the set at `slot` may end with its present members."""
        enough = len(self.members(instance, slot)) >= self.rules.bounds[slot][0]
        return enough and self.closes(instance, closing, absences)

    def closes(
        self, instance: Instance, tests: tuple[Test, ...], absences: tuple[Absence, ...]
    ) -> bool:
        """Return whether the tests and absences at the end of sets hold."""
        held = all(test.holds(instance.binding) for test in tests)
        by = self.breaker(absences, instance) if held else None
        if self.journal.recording and (tests or by):
            events = () if by is None else by.events
            self.journal.close(instance.number, tests, instance.binding, events)
        return held and by is None

    def members(self, instance: Instance, slot: int) -> tuple[Event, ...]:
        """Return the members of the set at `slot`."""
        bound_members = instance.binding[slot]
        assert isinstance(bound_members, tuple)
        return bound_members

    def may_grow(self, instance: Instance, slot: int) -> bool:
        """Return whether the set at `slot` may have one more member.

        Raises:
            LimitError: It has `MOST_MEMBERS`, too many to make all their sets.
        """
        size, most = len(self.members(instance, slot)), self.rules.bounds[slot][1]
        if most is not None and size >= most:
            return False
        if size >= MOST_MEMBERS:
            raise LimitError(
                f"'{self.rules.variables[slot]}' has more than {MOST_MEMBERS} candidates, so more "
                f"than {2**MOST_MEMBERS:,} sets",
                hint="bound the set, KL(B b){1,3}, or take a shorter window; detect counts sets "
                "without making them",
            )
        return True

    def breaker(self, absences: Iterable[Absence], instance: Instance) -> Breach | None:
        """Return the first violated absence of an instance with its events, or None."""
        for absence in absences:
            events = self._search(absence, absence.searches[0], instance)
            if events:
                return Breach(absence.reason, events)
        return None

    def holds(
        self,
        instance: Instance,
        edge: int,
        event: Event | None,
        tests: tuple[Test, ...],
        binding: Binding,
        other: Instance | None = None,
    ) -> bool:
        """Evaluate an edge on an instance and an event or another instance, and count it."""
        journal = self.journal
        journal.evaluations += 1
        journal.work.take(1 + len(tests))
        if journal.recording:
            return journal.evaluate(instance, edge, event, tests, binding, other)
        return all(test.holds(binding) for test in tests)

    def _search(
        self, absence: Absence, search: tuple[Sought, ...], instance: Instance
    ) -> tuple[Event, ...]:
        """Return buffered events for all steps of a search; empty if there are none."""
        buffer = self._absent[search[0].index]
        events = self.scopes.between(buffer, absence, search[0], instance)
        self.journal.work.take(len(events))
        for event in events:
            by = self._breaks(absence, search, instance, event)
            if by:
                return by
        return ()

    def _breaks(
        self, absence: Absence, search: tuple[Sought, ...], instance: Instance, event: Event
    ) -> tuple[Event, ...]:
        """Return an event that violates an absence, with the further events of a search."""
        if absence.windowed and not self.scopes.in_window(instance, event):
            return ()
        until = absence.beside is not None and absence.beside.place == "until"
        if not until and own(event, instance, range(len(instance.binding))):
            return ()
        binding = (*instance.binding, event)
        if not all(test.holds(binding) for test in search[0].tests):
            return ()
        if absence.end is not None and self._ends_before(absence, absence.end, instance, event):
            return ()
        if len(search) == 1:
            return (event,)
        others = self._search(absence, search[1:], with_event(instance, binding, event))
        return (event, *others) if others else ()

    def _ends_before(
        self, absence: Absence, end: Absence, instance: Instance, event: Event
    ) -> bool:
        """Return whether UNTIL ends a set before it could take an event."""
        assert absence.beside is not None
        members = self.members(instance, absence.slot)
        longer = (event, *members) if absence.beside.place == "before" else (*members, event)
        binding = with_place(instance.binding, absence.slot, longer)
        return bool(self._search(end, end.searches[0], with_event(instance, binding, event)))

    def _break(self, absence: Absence, search: tuple[Sought, ...], event: Event) -> None:
        """End the pending instances that an event violates."""
        if not absence.awaited:
            return
        self.journal.work.take(len(self.pending))
        for instance in list(self.pending.values()):
            late = all(end_of(instance.binding[slot]) < event.order for slot in search[0].after)
            if absence.beside is not None:
                late = late and is_beside(absence, instance, event)
            by = self._breaks(absence, search, instance, event) if late else ()
            if by:
                # An instance whose set may grow may still become other matches.
                if len(instance.homes) > 2 or instance.views:
                    self.move_out(instance, self.pending)
                    if self.journal.recording:
                        self.journal.close(instance.number, (), instance.binding, by)
                else:
                    self.discard(instance, absence.reason, by)

    def _mature(self, instance: Instance) -> None:
        self._report(instance)
        self.discard(instance, instance.outcome or "ended")

    def _expire(self, instance: Instance) -> None:
        if instance.number in self.pending:
            self._mature(instance)
        else:
            self.discard(instance, instance.outcome or "expired")

    def _report(self, instance: Instance) -> None:
        """Make a match of an instance, unless another branch has found it."""
        if self._seen is not None:
            identity = tuple(_numbers(place) for place in instance.binding)
            if identity in self._seen:
                instance.outcome = "duplicate"
                if instance.base is not None:
                    instance.base.outcome = instance.base.outcome or "duplicate"
                return
            self._seen.add(identity)
            if not len(self._seen) % _EVERY:
                self.journal.room.take(_EVERY, _EVERY * _IDENTITY)
        instance.outcome = "matched"
        if instance.base is not None:
            instance.base.outcome = "matched"
        self.journal.match(instance, self.branch)

    def _passes(self, event: Event, variable: str, filters: tuple[Test, ...]) -> bool:
        for test in filters:
            if not test.holds((event,)):
                if self.journal.recording:
                    self.journal.refuse(event, variable, filters)
                return False
        return True


def with_place(binding: Binding, slot: int, place: Place) -> Binding:
    """Return a binding with a new value at one place."""
    return (*binding[:slot], place, *binding[slot + 1 :])


def _numbers(place: Place) -> Hashable:
    if isinstance(place, tuple):
        return tuple(event.number for event in place)
    return None if place is None else place.number
