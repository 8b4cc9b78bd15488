"""The JSON document of the player, `cepkit.player/1`: several traces of one stream.

Pattern, clauses, events and moments appear once; each trace keeps the rest of its JSON, with a step
for each moment (docs/player.md). Long traces are cut, and the document says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias, assert_never

from cepkit.errors import TraceError
from cepkit.figures.player.carried import CarriedData
from cepkit.figures.player.moments import Moment, counts_at, first_of, moments_of
from cepkit.stream.codec import encode
from cepkit.tracing import AnyTrace, CounterTrace, MechanismTrace
from cepkit.tracing.operations import REASONS, TOGETHER

Traces: TypeAlias = Sequence[AnyTrace]
"""Traces of one kind, which are played together."""

SCHEMA = "cepkit.player/1"

DEFAULT_STEPS = 2_000
"""Steps that keep a notebook small: some 0.3 MB for each trace."""
MOST_STEPS = 20_000
"""With more, a step takes too long and the document gets too large."""
MOST_OPERATIONS = 400_000
"""The most operations of all traces: an eager automaton may do thousands in a step."""

_LARGEST = 2**53
"""The largest integer that JavaScript holds exactly."""

_SHARED = ("pattern", "clauses", "events", "moments", "looked_at")


def player_document(
    traces: Traces, steps: int = DEFAULT_STEPS, carried: CarriedData | None = None
) -> dict[str, Any]:
    """Return the document for traces of the same pattern over the same stream.

    Args:
        traces: One for each card, in the order in which they are shown.
        steps: How many steps at most.
        carried: Which data of events it contains; None for all.

    Raises:
        TraceError: There is no trace, the traces differ in kind, pattern or stream, the number of
            steps is out of range, or the events lack an attribute.
    """
    if not 1 <= steps <= MOST_STEPS:
        raise TraceError(f"a player of {steps:,} steps", expected=f"1 to {MOST_STEPS:,}")
    first = first_of(traces)
    moments = moments_of(traces)
    # A trace with many operations a step may be recorded less far: play as far as all go.
    recorded = min((len(trace) for trace in traces if trace.truncated), default=len(moments))
    total = max(
        (t.truncated.ran or t.truncated.of for t in traces if t.truncated), default=len(moments)
    )
    operations = [
        [() if step is None else trace.operations[step] for step in _steps_of(n, moments)]
        for n, trace in enumerate(traces)
    ]
    length = affordable(operations, min(steps, recorded))
    left_out = 0 if first.truncated else first.streamed - len(first.events)
    notes = (
        cut_in_words(length, total, recorded, steps),
        f"{left_out:,} events that do nothing are left out." if left_out else None,
    )
    counters = [trace for trace in traces if isinstance(trace, CounterTrace)]
    clauses = [asdict(clause) for clause in first.clauses]
    moments = moments[:length]
    carried = carried or CarriedData()
    carried.check(first.events.attributes, [key for trace in counters for key in trace.keys])
    return {
        "schema": SCHEMA,
        "pattern": first.pattern,
        "clauses": clauses,
        "types": types_of(clauses, first.events.type),
        "reasons": {**REASONS, "together": TOGETHER},
        "events": carried.of_events(_events(first, moments)),
        **({"moments": _columns(counters, moments)} if counters else {}),
        "traces": [
            carried.of_trace(_played(trace, n, moments), first.events.attributes, clauses)
            for n, trace in enumerate(traces)
        ],
        "cut": " ".join(filter(None, notes)) or None,
    }


def _steps_of(number: int, moments: Sequence[Moment]) -> list[int | None]:
    """Return the steps that one of the traces takes at the moments."""
    return [moment.steps[number] for moment in moments]


def _events(trace: AnyTrace, moments: Sequence[Moment]) -> dict[str, Any]:
    """Return the events up to the last that is shown."""
    events = trace.events
    end = 1 + max((m.event for m in moments if m.event is not None), default=-1)
    columns = {n: list(getattr(events, n)[:end]) for n in ("id", "name", "time", "type")}
    attributes = encode(events)["attributes"]
    return {
        **columns,
        "attributes": {name: list(map(exact, column[:end])) for name, column in attributes.items()},
    }


def _played(trace: AnyTrace, number: int, moments: Sequence[Moment]) -> dict[str, Any]:
    """Return a trace's own part at each moment; its totals are those of the whole run."""
    encoded = trace.encoded()
    at = _steps_of(number, moments)
    counts = counts_at(trace, number, moments)
    own = {
        **{name: value for name, value in encoded.items() if name not in _SHARED},
        "steps": [[] if step is None else encoded["steps"][step] for step in at],
        "counters": {
            name: [exact(getattr(one, name)) for one in counts] for name in encoded["counters"]
        },
        "totals": encode(trace.totals),
    }
    match trace:
        case MechanismTrace():
            own["matches"] = [one for one in own["matches"] if one["step"] < len(moments)]
            own["final"] = trace.final and len(trace) <= len(moments)
        case CounterTrace():
            actions = (None if step is None else trace.heads[step].action for step in at)
            own["actions"] = [action or "nothing" for action in actions]
            own["steps"] = [[list(map(exact, one)) for one in step] for step in own["steps"]]
            new = [(step, one.new) for step, one in enumerate(counts) if one.new]
            own["matches"] = [{"step": step, "new": exact(count)} for step, count in new]
        case _:
            assert_never(trace)
    return own


def _columns(traces: Sequence[CounterTrace], moments: Sequence[Moment]) -> dict[str, list[Any]]:
    """Return the moments of counters as columns."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("time", "event", "name", "key", "position", "trigger")
    }
    for moment in moments:
        steps = [t.steps[i] for t, i in zip(traces, moment.steps, strict=True) if i is not None]
        names = dict.fromkeys(name for step in steps for name in step.event.split(", "))
        idle = moment.event is None or not steps
        row = (
            moment.time,
            moment.event,
            traces[0].events.name[moment.event] if moment.event is not None else ", ".join(names),
            None if idle else steps[0].key,
            None if idle else steps[0].position,
            not idle and steps[0].trigger,
        )
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return columns


def affordable(traces: Sequence[Sequence[Sequence[Any]]], steps: int) -> int:
    """Return how many of the first `steps` steps fit a page by their operations.

    Args:
        traces: For each trace its steps, for each step its operations.
        steps: How many to look at.
    """
    total = 0
    for step in range(steps):
        total += sum(len(trace[step]) for trace in traces if step < len(trace))
        if total > MOST_OPERATIONS:
            return max(1, step)
    return steps


def types_of(clauses: Sequence[Mapping[str, Any]], types: Sequence[str]) -> list[str]:
    """Return the types that the pattern names, in its order: they get colours."""
    present = dict.fromkeys(types)
    types_by_name: dict[str, None] = {}
    for clause in clauses:
        if clause["kind"] in ("event", "absence"):
            words = set(re.findall(r'"(?:[^"]|"")*"|\w+', clause["text"]))
            quoted = {word[1:-1].replace('""', '"') for word in words if word.startswith('"')}
            types_by_name.update(dict.fromkeys(kind for kind in present if kind in words | quoted))
    return list(types_by_name)


def exact(value: Any) -> Any:
    """Return a value that a browser reads exactly: large integers become texts."""
    return str(value) if isinstance(value, int) and abs(value) > _LARGEST else value


def cut_in_words(length: int, total: int, recorded: int, limit: int) -> str | None:
    """Describe how many steps are shown, and how to see more; None if all are shown.

    Args:
        recorded: How many of them the traces hold.
    """
    if length >= total:
        return None
    text = f"These are the first {length:,} of {total:,} steps."
    if length < min(limit, recorded):
        return f"{text} They hold as many operations as the player can show."
    if length < recorded and length < MOST_STEPS:
        return f"{text} draw(trace, steps={min(recorded, MOST_STEPS)}) shows more."
    return f"{text} The totals of the trace count all of them."
