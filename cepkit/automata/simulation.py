"""A whole run of a mechanism over a stream, as a trace."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from cepkit.automata.clauses import Clauses
from cepkit.automata.contract import Mechanism
from cepkit.automata.diagram import diagram
from cepkit.automata.events import Event, events_of
from cepkit.automata.journal import Counts
from cepkit.automata.machine import Machine
from cepkit.automata.records import EventTable, Step, Totals, TracedMatch, Truncated
from cepkit.automata.trace import Trace
from cepkit.memory import Expected, Room
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.durations import duration_text
from cepkit.pattern.evaluation.closures import History
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.policies import CountWindow
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.plan.printer import one_line
from cepkit.printing import time_text
from cepkit.stream.columns import EventColumns

MOST_STEPS = 20_000
MOST_OPERATIONS = 100_000
"""Of a trace: what a browser can still hold."""

_EVENT, _VALUE, _ARRAY = 240, 70, 500
"""Bytes of an event as an object, and of each of its attributes; an array's numbers come on top."""
_INSTEAD = "simulate(..., limit=1000) takes the first thousand; detect takes all in little memory"


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
    names = attributes_read(query)
    check_kinds(query, columns.kinds)
    _check_memory(columns, names)
    kinds = {name: columns.attributes[name].kind for name in names}
    ascending = not isinstance(query.window, CountWindow) or columns.in_order()
    made = Machine(mechanism, query, plan, names, kinds, ascending=ascending)
    return made, list(events_of(columns, query, names))


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
) -> Trace:
    """Run a mechanism over a stream and return what it did.

    Args:
        mechanism: Which.
        columns: The stream, with all that the query reads.
        query: What is looked for.
        plan: A plan of the kind that the mechanism follows.
        max_steps: How many steps to keep; the run goes on without.
    """
    machine, events = machine_for(mechanism, columns, query, plan)
    steps: list[Step] = []
    counters: list[Counts] = []
    matches: list[TracedMatch] = []
    operations = 0
    journal = machine.journal

    def keep(event: int | None, done: Sequence[Any]) -> None:
        nonlocal operations
        found = machine.take_found()
        if not journal.recording:
            return
        step = len(steps)
        steps.append(Step(step, event, tuple(done)))
        counters.append(journal.counts())
        for instance, branch, binding in found:
            names = machine.rules[branch].variables
            bound = {v: _number(place) for v, place in zip(names, binding, strict=True)}
            matches.append(TracedMatch(step, instance, bound))
        operations += len(done)
        # The end of the stream is a step as well, but no event.
        journal.recording = operations < MOST_OPERATIONS and (
            step + 1 < max_steps or step + 1 == len(events)
        )

    for event in events:
        keep(event.number, machine.feed(event))
    keep(None, machine.finish())
    whole = len(events) + 1
    names = attributes_read(query)
    clauses = Clauses.of(query)
    shown = sum(step.event is not None for step in steps)
    order = one_line(plan) if mechanism.follows != "nothing" else ""
    variables = tuple(dict.fromkeys(v for rules in machine.rules for v in rules.variables))
    return Trace(
        clauses.text,
        clauses.rows,
        _table(events[:shown], columns, names),
        mechanism.name,
        order,
        diagram(mechanism.diagram, machine.chart),
        tuple(steps),
        tuple(counters),
        tuple(matches),
        Totals(journal.counts(), journal.peak_instances, journal.peak_stored, len(events)),
        None if len(steps) == whole else Truncated(len(steps), whole),
        variables,
    )


def _number(place: Any) -> int | tuple[int, ...]:
    if isinstance(place, tuple):
        return tuple(event.number for event in place)
    number: int = place.number
    return number


def _table(events: Sequence[Event], columns: EventColumns, names: Sequence[str]) -> EventTable:
    kinds = [columns.attributes[name].kind for name in names]
    values = zip(*(event.values for event in events), strict=True) if events else [()] * len(names)
    return EventTable(
        tuple(columns.arrival()[: len(events)].tolist()),
        tuple(event.ts for event in events),
        tuple(event.type for event in events),
        {
            name: tuple(_shown(value, kind) for value in column)
            for name, kind, column in zip(names, kinds, values, strict=True)
        },
    )


def _shown(value: Any, kind: str) -> Any:
    if isinstance(value, History):
        return tuple(None if isnan(v) else v for v in value.values.tolist())
    if kind == "timestamp" and value is not None:
        return time_text(value)
    if kind == "duration" and value is not None:
        return duration_text(value)
    return value
