"""Traces of prefix counters as JSON and back: `cepkit.counters/1`, described in docs/trace.md.

A trace has all counters after each step; the JSON has what each step changed, as short lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepkit.aggregation.tracing.records import (
    CountedEvents,
    CounterCounts,
    Saved,
    StartCounters,
    Step,
)
from cepkit.aggregation.tracing.shape import check_counter_trace
from cepkit.aggregation.tracing.trace import CounterTrace
from cepkit.stream.json_text import decode_columns, encode_columns
from cepkit.stream.shapes import ShapeError, check_below

SCHEMA = "cepkit.counters/1"


def encode(trace: CounterTrace) -> dict[str, Any]:
    """Return a trace as what JSON can hold."""
    events, steps = trace.events, trace.steps
    counters = trace.counters
    return {
        "schema": SCHEMA,
        "pattern": trace.pattern,
        "name": trace.name,
        "pieces": [list(piece) for piece in trace.pieces],
        "absent": [[position, variable] for position, variable in trace.absent],
        "window": trace.window,
        "keys": list(trace.keys),
        "events": {
            "row": list(events.row),
            "name": list(events.name),
            "time": list(events.time),
            "type": list(events.type),
            "attributes": encode_columns(events.attributes),
        },
        "moments": {
            "time": [step.ts for step in steps],
            "event": [step.number for step in steps],
            "key": [step.key for step in steps],
            "action": [step.action for step in steps],
            "position": [step.position for step in steps],
            "trigger": [step.trigger for step in steps],
        },
        "steps": _changes(steps),
        "counters": {
            name: [getattr(counts, name) for counts in counters] for name in CounterCounts._fields
        },
        "looked_at": trace.looked_at,
    }


def _changes(steps: tuple[Step, ...]) -> list[list[list[Any]]]:
    """Return for each step what it changed; rows are numbered as they come."""
    numbers: dict[tuple[int, int, str], int] = {}
    starts: dict[tuple[int, str], int] = {}
    before: dict[int, StartCounters] = {}
    found = []
    for step in steps:
        done: list[list[Any]] = []
        after: dict[int, StartCounters] = {}
        for row in step.counters:
            number = numbers.setdefault(row.name, len(numbers))
            after[number] = row
            if row.piece == 0:
                starts[row.key, row.start] = number
        done += [["close", number] for number in before if number not in after]
        for number, row in after.items():
            known = before.get(number)
            if known is row:
                continue
            if known is None:
                named = step.number if row.start else None
                done.append(["open", number, row.key, row.piece, named, row.expires])
            done += _changed(number, known, row, starts, ends=step.action == "end")
        found.append(done)
        before = after
    return found


def _changed(
    number: int,
    known: StartCounters | None,
    row: StartCounters,
    starts: dict[tuple[int, str], int],
    *,
    ends: bool,
) -> list[list[Any]]:
    """Return what of a row changed."""
    saved = {one.start for one in row.snapshot}
    done: list[list[Any]] = []
    if known is None:
        done += [["save", number, starts[row.key, one.start], one.count] for one in row.snapshot]
    else:
        gone = [one.start for one in known.snapshot if one.start not in saved]
        done += [["drop", number, starts[row.key, start]] for start in gone]
    counts = (0,) * len(row.counts) if known is None else known.counts
    for place, (old, new) in enumerate(zip(counts, row.counts, strict=True)):
        if old != new:
            done.append(
                ["clear", number, place, old] if ends else ["add", number, place, old, new - old]
            )
    return done


def decode(data: dict[str, Any]) -> CounterTrace:
    """Return the trace that `encode` made an object of.

    Raises:
        ShapeError: It is none.
    """
    check_counter_trace(data)
    given = data["events"]
    events = CountedEvents(
        tuple(given["row"]),
        tuple(given["name"]),
        tuple(given["time"]),
        tuple(given["type"]),
        decode_columns(given["attributes"]),
    )
    pieces = tuple(map(tuple, data["pieces"]))
    return CounterTrace(
        data["pattern"],
        pieces,
        tuple((position, variable) for position, variable in data["absent"]),
        data["window"],
        tuple(data["keys"]),
        events,
        tuple(_steps(data, events, [len(piece) for piece in pieces])),
        data["looked_at"],
    )


def _steps(data: dict[str, Any], events: CountedEvents, sizes: list[int]) -> list[Step]:
    """Return the steps: what they changed is done again."""
    moments, counters = data["moments"], data["counters"]
    rows: dict[int, StartCounters] = {}
    opened: dict[int, StartCounters] = {}
    steps: list[Step] = []
    updates = 0
    for i, changes in enumerate(data["steps"]):
        closed = [_row(rows, change[1], i).start for change in changes if change[0] == "close"]
        for name, number, *rest in changes:
            match name:
                case "open":
                    key, piece, event, expires = rest
                    start = "" if event is None else events.name[event]
                    rows[number] = StartCounters(
                        key, piece, start, expires, (0,) * sizes[piece], ()
                    )
                    opened[number] = rows[number]
                case "close":
                    del rows[number]
                case _:
                    rows[number] = _done(_row(rows, number, i), opened, name, rest, i)
        event = moments["event"][i]
        steps.append(
            Step(
                moments["time"][i],
                ", ".join(dict.fromkeys(closed)) if event is None else events.name[event],
                None if event is None else events.row[event],
                event,
                moments["key"][i],
                moments["action"][i],
                moments["position"][i],
                tuple(rows.values()),
                counters["matches"][i],
                counters["new"][i],
                moments["trigger"][i],
                counters["updates"][i] - updates,
            )
        )
        updates = counters["updates"][i]
    return steps


def _row(rows: Mapping[int, StartCounters], number: int, step: int) -> StartCounters:
    """Return a row by its number.

    Raises:
        ShapeError: There is none.
    """
    if number not in rows:
        raise ShapeError(
            f"about a row {number} that is not there", "one opened before", f"steps[{step}]"
        )
    return rows[number]


def _done(
    row: StartCounters, opened: Mapping[int, StartCounters], name: str, rest: list[int], step: int
) -> StartCounters:
    """Return a row after a change."""
    counts, snapshot = list(row.counts), row.snapshot
    if name in ("add", "clear"):
        place, before, *added = rest
        check_below(place, len(counts), "counts", f"steps[{step}]")
        counts[place] = before + added[0] if added else 0
    else:
        began = _row(opened, rest[0], step)
        if name == "save":
            snapshot = (*snapshot, Saved(began.start, began.expires, rest[1]))
        else:
            snapshot = tuple(one for one in snapshot if one.start != began.start)
    return StartCounters(row.key, row.piece, row.start, row.expires, tuple(counts), snapshot)
