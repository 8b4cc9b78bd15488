"""The journal of a run: counters, and operations while it records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepkit.automata.compile.demands import Test
from cepkit.automata.events import Binding, Event
from cepkit.budget import Work
from cepkit.errors import LimitError
from cepkit.memory import Room
from cepkit.tracing import operations as ops
from cepkit.tracing.operations import Checked, Operation, Reason
from cepkit.tracing.records import Counts

MOST_INSTANCES = 1_000_000
MOST_IN_STEP = 400_000
"""The most operations of a recorded step."""
CREATED, RECORDED, SHOWN = 4, 8, 7
"""The work of an instance, of a recorded operation, and of each event of a test in it."""
_EVERY, _BYTES = 10_000, 1_000
"""Memory is checked after this many instances, each of this many bytes."""
_INSTEAD = (
    "take fewer events (limit=), a shorter window or another plan; detect needs no memory for them"
)


@dataclass(slots=True, eq=False)
class Instance:
    """A partial match that waits for more events: a token on a node of the diagram.

    Attributes:
        number: Its number, in order of creation.
        bound: The variables that it binds, as a mask.
        binding: Their events.
        low: The least clock of its events.
        high: The greatest clock of its events.
        alive: Whether it still exists.
        outcome: Its outcome so far, while its set may still grow; None: none yet.
        timed: Whether the clock expires it.
        homes: The tables that hold it; for an instance that is no view, `Lane.alive` is the first.
        base: For a view, its instance; both have one number.
        views: The views of the instance in other branches that still wait.
    """

    number: int
    node: int
    bound: int
    binding: Binding
    low: int
    high: int
    alive: bool = True
    outcome: Reason | None = None
    timed: bool = False
    homes: list[dict[int, Instance]] = field(default_factory=list)
    base: Instance | None = None
    views: Sequence[Instance] = ()


def with_event(instance: Instance, binding: Binding, event: Event) -> Instance:
    """Return a copy of an instance with one more event, for searches; it is not counted."""
    low, high = min(instance.low, event.clock), max(instance.high, event.clock)
    return Instance(instance.number, instance.node, instance.bound, binding, low, high)


@dataclass(slots=True)
class Journal:
    """The journal of a run: it counts, numbers instances and matches, and records operations.

    Attributes:
        recording: Whether it records operations.
        operations: The operations of the current step.
        new_matches: The matches of the current step, if recorded: instance, branch and binding.
        room: The memory of instances.
        work: What it may do: see `CREATED`.
    """

    recording: bool = True
    operations: list[Operation] = field(default_factory=list)
    new_matches: list[tuple[int, int, Binding]] = field(default_factory=list)
    evaluations: int = 0
    instances: int = 0
    stored: int = 0
    created: int = 0
    expired: int = 0
    forgotten: int = 0
    matches: int = 0
    peak_instances: int = 0
    peak_stored: int = 0
    matches_by_branch: Counter[int] = field(default_factory=Counter)
    room: Room = field(default_factory=lambda: Room("partial matches", "instances", _INSTEAD))
    work: Work = field(default_factory=Work)

    def counts(self) -> Counts:
        """Return the current counters."""
        return Counts(
            self.evaluations,
            self.instances,
            self.stored,
            self.created,
            self.expired,
            self.forgotten,
            self.matches,
        )

    def create(
        self, parents: tuple[int, ...], node: int, variable: str | None, event: Event | None
    ) -> int:
        """Return the number of a new instance."""
        self.work.take(CREATED)
        number = self.created
        self.created += 1
        self.instances += 1
        if self.instances > self.peak_instances:
            self.peak_instances = self.instances
            if self.instances > MOST_INSTANCES:
                raise LimitError(
                    f"more than {MOST_INSTANCES:,} partial matches are alive at once", hint=_INSTEAD
                )
            if not self.instances % _EVERY:
                self.room.take(_EVERY, _EVERY * _BYTES)
        if self.recording:
            bound = None if event is None else event.number
            self._write(ops.Create(number, parents, node, variable, bound))
        return number

    def discard(self, number: int, reason: Reason, by: Sequence[Event] = ()) -> None:
        """Note that an instance has ended; `by` are the forbidden events."""
        self.instances -= 1
        if reason == "expired":
            self.expired += 1
        if self.recording:
            self._write(ops.Discard(number, reason, _forbidden(by)))

    def store(self, event: Event, variable: str) -> None:
        """Note that an event went into a buffer."""
        self.stored += 1
        self.peak_stored = max(self.peak_stored, self.stored)
        if self.recording:
            self._write(ops.Store(event.number, variable))

    def forget(self, event: Event, variable: str) -> None:
        """Note that an event left a buffer."""
        self.stored -= 1
        self.forgotten += 1
        if self.recording:
            self._write(ops.Forget(event.number, variable))

    def visit(self, node: int) -> None:
        """Note that a state is instantiated."""
        if self.recording:
            self._write(ops.Visit(node))

    def leave(self, node: int) -> None:
        """Note that a state is removed."""
        if self.recording:
            self._write(ops.Leave(node))

    def match(self, instance: Instance, branch: int) -> None:
        """Note a match."""
        if self.recording:
            self.new_matches.append((instance.number, branch, instance.binding))
            self._write(ops.Match(instance.number, self.matches))
        self.matches += 1
        self.matches_by_branch[branch] += 1

    def evaluate(
        self,
        instance: Instance,
        edge: int,
        event: Event | None,
        tests: tuple[Test, ...],
        binding: Binding,
        other: Instance | None = None,
    ) -> bool:
        """Record an evaluation, and return whether all tests hold of `binding`."""
        checked = self._checks(tests, binding)
        held = len(checked) == len(tests) and all(one.held for one in checked)
        by = None if event is None else event.number
        sibling = None if other is None else other.number
        self._write(ops.Evaluate(instance.number, edge, by, checked, held, sibling))
        return held

    def close(
        self, number: int, tests: tuple[Test, ...], binding: Binding, by: Sequence[Event]
    ) -> None:
        """Record whether a set may end; `by` are the forbidden events."""
        checked = self._checks(tests, binding)
        held = not by and all(one.held for one in checked)
        self._write(ops.Close(number, checked, held, _forbidden(by)))

    def refuse(self, event: Event, variable: str, tests: tuple[Test, ...]) -> None:
        """Record that an event fails the conditions on it alone."""
        self._write(ops.Refuse(event.number, variable, self._checks(tests, (event,))))

    def _checks(self, tests: tuple[Test, ...], binding: Binding) -> tuple[Checked, ...]:
        """Return the outcome of each test up to the first that fails."""
        self.work.take(SHOWN * sum(1 + test.mask.bit_count() for test in tests))
        outcomes = []
        for test in tests:
            held = test.holds(binding)
            outcomes.append(Checked(test.clause, test.shown(binding), held))
            if not held:
                break
        return tuple(outcomes)

    def _write(self, operation: Operation) -> None:
        """Record an operation; with too many in one step, drop the step and stop recording.

        The last event of a pattern may complete millions of matches.
        """
        self.work.take(RECORDED)
        self.operations.append(operation)
        if len(self.operations) > MOST_IN_STEP:
            self.recording = False
            self.operations.clear()
            self.new_matches.clear()


def _forbidden(events: Sequence[Event]) -> int | tuple[int, ...] | None:
    """Return the number of a forbidden event, or the numbers of several."""
    numbers = tuple(sorted(event.number for event in events))
    return numbers if len(numbers) > 1 else next(iter(numbers), None)
