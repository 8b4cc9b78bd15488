"""A whole run of a mechanism over a stream: what it follows, and the trace that comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cepkit.automata.chart import diagram
from cepkit.automata.events import Event, events_of
from cepkit.automata.machine import Machine
from cepkit.automata.mechanisms.contract import Mechanism
from cepkit.errors import PlanError, UnsupportedError
from cepkit.memory import Expected, Room
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.policies import CountWindow, Strategy
from cepkit.pattern.query import Query
from cepkit.plan.checks import PlanLike, as_plan
from cepkit.plan.nodes import Plan, TreePlan
from cepkit.plan.printer import one_line
from cepkit.stream.columns import EventColumns
from cepkit.tracing import MechanismTrace
from cepkit.tracing.clauses import Clauses
from cepkit.tracing.events import EventTable, shown_attributes
from cepkit.tracing.operations import Operation
from cepkit.tracing.records import Counts, Totals, TracedMatch, Truncated

MOST_STEPS = 20_000
MOST_OPERATIONS = 100_000
"""Of a trace: what a browser can still hold."""

_EVENT, _VALUE, _ARRAY = 240, 70, 500
"""Bytes of an event as an object, and of each of its attributes; an array's numbers come on top."""
_INSTEAD = "simulate(..., limit=1000) takes the first thousand; detect takes all in little memory"


def refuse_unsupported(query: Query) -> None:
    """Refuse, by name, what no mechanism does.

    Raises:
        UnsupportedError: AGG, or a strategy other than skip-till-any-match.
    """
    if query.aggregates:
        raise UnsupportedError("mechanisms find matches; AGG asks for none", hint="leave AGG out")
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        raise UnsupportedError(
            f"mechanisms cannot follow the strategy {query.strategy} yet",
            expected=str(Strategy.SKIP_TILL_ANY_MATCH),
            hint="detect can",
        )


def follow(mechanism: Mechanism, plan: PlanLike, query: Query) -> Plan:
    """Return the plan that a mechanism is to follow.

    Raises:
        PlanError: It does not belong to the query, or is a tree where an order is followed.
    """
    query_plan = as_plan(plan, query)
    if mechanism.follows == "an order":
        for branch in query_plan.branches:
            if isinstance(branch, TreePlan):
                raise PlanError(
                    f"'{mechanism.name}' follows an order, and {branch} is a tree",
                    expected="an order, as ['c', 'b', 'a']",
                    hint="the mechanism 'evaluation-tree' follows any tree",
                )
    return query_plan


def attributes_read(query: Query) -> tuple[str, ...]:
    """Return the attributes that a query reads, PARTITION BY included."""
    read = {name for _, name in attributes_of(query.where)} if query.where else set()
    return tuple(sorted(read | set(query.partition_by)))


def machine_for(
    mechanism: Mechanism, columns: EventColumns, query: Query, plan: Plan
) -> tuple[Machine, list[Event]]:
    """Return a mechanism ready to run and the events of a stream for it.

    Args:
        mechanism: Which.
        columns: The stream, with all that the query reads.
        query: What is looked for.
        plan: A plan of the kind that the mechanism follows.

    Raises:
        PatternError: A condition compares what cannot be compared.
        LimitError: The events would not fit the free memory.
    """
    machine = new_machine(mechanism, columns, query, plan)
    _check_memory(columns, attributes_read(query))
    return machine, list(events_of(columns, query, attributes_read(query)))


def new_machine(mechanism: Mechanism, columns: EventColumns, query: Query, plan: Plan) -> Machine:
    """Return a mechanism ready to run over a stream (see `machine_for`)."""
    names = attributes_read(query)
    check_kinds(query, columns.kinds)
    kinds = {name: columns.attributes[name].kind for name in names}
    ascending = not isinstance(query.window, CountWindow) or columns.in_order()
    return Machine(mechanism, query, plan, names, kinds, ascending=ascending)


def _check_memory(columns: EventColumns, names: Sequence[str]) -> None:
    """Refuse events that would not fit the free memory as objects, before one is made."""
    size = _EVENT
    for name in names:
        shape = columns.attributes[name].values.shape
        size += _VALUE if len(shape) == 1 else _ARRAY + 8 * shape[1]
    events = Expected(len(columns), 1.0, f"there are {len(columns):,} events")
    Room("events", "objects", _INSTEAD, lambda: events).take(1, size)


def simulate(
    mechanism: Mechanism, columns: EventColumns, query: Query, plan: Plan, max_steps: int
) -> MechanismTrace:
    """Run a mechanism over a stream and return what it did.

    Args:
        mechanism: Which.
        columns: The stream, with all that the query reads.
        query: What is looked for.
        plan: A plan of the kind that the mechanism follows.
        max_steps: How many steps to keep; the run goes on without.
    """
    machine, events = machine_for(mechanism, columns, query, plan)
    recording = Recording(machine, len(events), max_steps)
    for event in events:
        recording.keep(machine.feed(event))
    recording.keep(machine.finish())
    shown = one_line(plan) if mechanism.follows != "nothing" else ""
    return recording.trace(mechanism, columns, query, shown)


class Recording:
    """What a machine does, written down step by step.

    Args:
        machine: The machine.
        events: How many the stream has; after them comes a step for its end.
        max_steps: How many steps to keep.
    """

    def __init__(self, machine: Machine, events: int, max_steps: int) -> None:
        self.matches: list[TracedMatch] = []
        self._machine, self._events, self._max_steps = machine, events, max_steps
        self._steps: list[tuple[Operation, ...]] = []
        self._counters: list[Counts] = []
        self._operations = 0

    @property
    def whole(self) -> bool:
        """Whether all that was done so far is kept."""
        return self._machine.journal.recording

    def keep(self, step: Sequence[Operation]) -> None:
        """Write a step down: what the machine has just done."""
        journal = self._machine.journal
        new_matches = self._machine.take_matches()
        if not journal.recording:
            return
        for instance, branch, binding in new_matches:
            names = self._machine.rules[branch].variables
            bound = {v: _number(place) for v, place in zip(names, binding, strict=True)}
            self.matches.append(TracedMatch(len(self._steps), instance, bound))
        self._steps.append(tuple(step))
        self._counters.append(journal.counts())
        self._operations += len(step)
        # The end of the stream is a step as well, but no event.
        journal.recording = self._operations < MOST_OPERATIONS and (
            len(self._steps) < self._max_steps or len(self._steps) == self._events
        )

    def trace(
        self, mechanism: Mechanism, columns: EventColumns, query: Query, plan: str
    ) -> MechanismTrace:
        """Return the trace, when all steps are kept.

        Args:
            mechanism: What has run.
            columns: The stream.
            query: What was looked for.
            plan: What it followed, as a text.
        """
        journal, rules = self._machine.journal, self._machine.rules
        total = self._events + 1
        clauses = Clauses.of(query)
        rows = np.arange(min(len(self._steps), self._events))
        return MechanismTrace(
            pattern=clauses.text,
            clauses=clauses.rows,
            variables=tuple(dict.fromkeys(v for one in rules for v in one.variables)),
            events=EventTable(
                tuple(columns.arrival()[rows].tolist()),
                tuple(columns.ts[rows].tolist()),
                tuple(columns.type_names[code] for code in columns.types[rows].tolist()),
                shown_attributes(columns, attributes_read(query), rows),
            ),
            mechanism=mechanism.name,
            plan=plan,
            diagram=diagram(mechanism.diagram, self._machine.chart),
            operations=tuple(self._steps),
            counters=tuple(self._counters),
            matches=tuple(self.matches),
            totals=Totals(
                journal.counts(), journal.peak_instances, journal.peak_stored, self._events
            ),
            truncated=None if len(self._steps) == total else Truncated(len(self._steps), total),
        )


def _number(place: Any) -> int | tuple[int, ...]:
    if isinstance(place, tuple):
        return tuple(event.number for event in place)
    number: int = place.number
    return number
