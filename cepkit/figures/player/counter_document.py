"""What the player shows of prefix counters: several traces of one query, `cepkit.player/1`.

A step of the player is a moment (`moments`): traces that are cut differently go in step. Counters
are told as changes; long traces are cut, and the document says so in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from cepkit.aggregation.tracing.codec import encode
from cepkit.aggregation.tracing.records import Action, CounterCounts
from cepkit.aggregation.tracing.trace import CounterTrace
from cepkit.automata.clauses import Clauses
from cepkit.figures.player.moments import Moment, counts_at, moments_of
from cepkit.figures.player.shared import SCHEMA, affordable, cut_in_words, exact, types_of
from cepkit.pattern.parser import parse

_OWN = ("schema", "name", "pieces", "absent", "window", "keys")


def counter_document(traces: Sequence[CounterTrace], steps: int) -> dict[str, Any]:
    """Return the document for traces of the same query over the same stream.

    Args:
        traces: One for each card, in the order in which they are shown; at least one.
        steps: How many moments at most.

    Raises:
        TraceError: They are not of one query and stream.
    """
    first = traces[0]
    moments = moments_of(traces)
    encoded = [encode(trace) for trace in traces]
    operations = [
        [[] if moment.steps[n] is None else trace["steps"][moment.steps[n]] for moment in moments]
        for n, trace in enumerate(encoded)
    ]
    kept = affordable(operations, min(steps, len(moments)))
    clauses = [asdict(clause) for clause in Clauses.of(parse(first.pattern)).rows]
    left_out = first.looked_at - len(first.events)
    told = [
        cut_in_words(kept, len(moments), len(moments), steps),
        f"{left_out:,} events that do nothing are left out." if left_out else None,
    ]
    return {
        "schema": SCHEMA,
        "pattern": first.pattern,
        "clauses": clauses,
        "types": types_of(clauses, first.events.type),
        "reasons": {},
        "events": _events(encoded[0]["events"], moments[:kept]),
        "moments": _columns(traces, moments[:kept]),
        "traces": [
            {
                **{name: trace[name] for name in _OWN},
                "actions": _actions(traces[n], n, moments[:kept]),
                **_played(operations[n][:kept], counts_at(traces[n], n, moments), kept),
            }
            for n, trace in enumerate(encoded)
        ],
        "cut": " ".join(filter(None, told)) or None,
    }


def _events(events: dict[str, Any], moments: Sequence[Moment]) -> dict[str, Any]:
    """Return the events up to the last that is shown."""
    end = 1 + max((m.event for m in moments if m.event is not None), default=-1)
    return {
        "id": events["row"][:end],
        **{name: events[name][:end] for name in ("name", "time", "type")},
        "attributes": {
            name: list(map(exact, column[:end])) for name, column in events["attributes"].items()
        },
    }


def _columns(traces: Sequence[CounterTrace], moments: Sequence[Moment]) -> dict[str, list[Any]]:
    """Return what the moments are, a column for each of it."""
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


def _actions(
    trace: CounterTrace, number: int, moments: Sequence[Moment]
) -> list[Action | Literal["nothing"]]:
    """Return what a trace does at each moment: where it is cut, an event starts a piece."""
    places = (moment.steps[number] for moment in moments)
    return ["nothing" if place is None else trace.steps[place].action for place in places]


def _played(
    operations: Sequence[Sequence[Sequence[Any]]], counters: Sequence[CounterCounts], kept: int
) -> dict[str, Any]:
    """Return what a trace does in the moments that are shown; the totals are those of all."""
    return {
        "steps": [[list(map(exact, one)) for one in step] for step in operations],
        "counters": {
            name: [exact(getattr(counts, name)) for counts in counters[:kept]]
            for name in CounterCounts._fields
        },
        "matches": [
            {"step": i, "new": exact(counts.new)}
            for i, counts in enumerate(counters[:kept])
            if counts.new
        ],
        "totals": {
            "updates": max((counts.updates for counts in counters), default=0),
            "peak_rows": max((counts.rows for counts in counters), default=0),
            "peak_saved": max((counts.saved for counts in counters), default=0),
            "new": sum(counts.new for counts in counters),
        },
    }
