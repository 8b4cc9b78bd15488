"""The journal of a run: counters, and operations while they are traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from cepkit.automata.compile.demands import Test
from cepkit.automata.events import Binding, Event
from cepkit.errors import LimitError
from cepkit.memory import Room
from cepkit.tracing import operations as ops
from cepkit.tracing.operations import Checked, Operation, Reason
from cepkit.tracing.records import Counts
from cepkit.values import dataclass

MOST_INSTANCES = 1_000_000
MOST_IN_STEP = 400_000
"""Operations of one step that are written down; of a step with more nothing is."""
_EVERY, _BYTES = 10_000, 1_000
"""After so many instances, of so many bytes each, memory is looked at."""
_INSTEAD = (
    "take fewer events (limit=), a shorter window or another plan; detect needs no memory for them"
)


@dataclass(slots=True, eq=False)
class Instance:
    """A partial match that waits for more: a token on a node of the diagram.

    Attributes:
        number: Its number, in order of creation.
        node: Where it is.
        bound: The variables that it binds, as a mask.
        binding: What they are bound to.
        low: The least clock of its events.
        high: The greatest.
        alive: Whether it still exists.
        outcome: What it has become, while its set may still grow; None: nothing yet.
        timed: Whether it is known when its window closes.
        homes: The tables that it stands in, to be taken out of when it ends; of an instance that is
            no view the first is that of the living.
        base: Of a view the instance that it is a view of; they have one number.
        views: The same partial match by the variables of other branches, while these want it.
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
    """Return an instance as if it had an event more; it is none of those that are counted."""
    low, high = min(instance.low, event.clock), max(instance.high, event.clock)
    return Instance(instance.number, instance.node, instance.bound, binding, low, high)


@dataclass(slots=True)
class Journal:
    """Counts what happens, numbers instances and matches, and writes operations down.

    Attributes:
        recording: Whether operations are written down.
        operations: Those of the step under way.
        new_matches: Those of the step under way, if that is written down: instance, branch and
            binding of each.
        room: The memory that instances take.
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

    def counts(self) -> Counts:
        """Return the counters as they are now."""
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
        """Note that an instance has ended; `by` are events that must not be there."""
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
        """Write an evaluation down, and return whether all tests hold of `binding`."""
        checked = checks(tests, binding)
        held = len(checked) == len(tests) and all(one.held for one in checked)
        by = None if event is None else event.number
        sibling = None if other is None else other.number
        self._write(ops.Evaluate(instance.number, edge, by, checked, held, sibling))
        return held

    def close(
        self, number: int, tests: tuple[Test, ...], binding: Binding, by: Sequence[Event]
    ) -> None:
        """Write down whether a set may end; `by` are events that must not be there."""
        checked = checks(tests, binding)
        held = not by and all(one.held for one in checked)
        self._write(ops.Close(number, checked, held, _forbidden(by)))

    def refuse(self, event: Event, variable: str, tests: tuple[Test, ...]) -> None:
        """Write down that an event fails the conditions on it alone."""
        self._write(ops.Refuse(event.number, variable, checks(tests, (event,))))

    def _write(self, operation: Operation) -> None:
        """Write an operation down; none of the step, nor of those after it, if they are too many.

        The last event of a pattern may complete millions of matches.
        """
        self.operations.append(operation)
        if len(self.operations) > MOST_IN_STEP:
            self.recording = False
            self.operations.clear()
            self.new_matches.clear()


def _forbidden(events: Sequence[Event]) -> int | tuple[int, ...] | None:
    """Return the number of an event that must not be there, or the numbers of several."""
    numbers = tuple(sorted(event.number for event in events))
    return numbers if len(numbers) > 1 else next(iter(numbers), None)


def checks(tests: tuple[Test, ...], binding: Binding) -> tuple[Checked, ...]:
    """Return the outcome of each test up to the first that fails."""
    recorded = []
    for test in tests:
        held = test.holds(binding)
        recorded.append(Checked(test.clause, test.shown(binding), held))
        if not held:
            break
    return tuple(recorded)
