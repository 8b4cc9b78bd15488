"""What the player shows, as one JSON document: several traces of one stream, `cepkit.player/1`.

Events, pattern and clauses are said once; each trace keeps its diagram, steps, counters and
matches (docs/player.md). Long traces are cut, and the document says so in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cepkit.automata.operations import REASONS
from cepkit.automata.records import EventTable
from cepkit.automata.trace import Trace
from cepkit.automata.trace_json import encode
from cepkit.errors import TraceError

SCHEMA = "cepkit.player/1"

DEFAULT_STEPS = 2_000
"""As many steps as a notebook keeps without growing heavy: some 0.3 MB for each trace."""
MOST_STEPS = 20_000
"""Beyond that a step takes too long, and the document too much."""
MOST_OPERATIONS = 400_000
"""Of all traces: an eager automaton may do thousands in a step."""

_LARGEST = 2**53
"""The integers up to here are numbers of JavaScript."""

_SHARED = ("pattern", "clauses", "events")


def player_document(traces: Sequence[Trace], steps: int = DEFAULT_STEPS) -> dict[str, Any]:
    """Return the document for traces of the same pattern over the same stream.

    Args:
        traces: One for each card, in the order in which they are shown.
        steps: How many steps at most.

    Raises:
        TraceError: There is no trace, they are not of one pattern and stream, or the number of
            steps is none that the player can show.
    """
    if not traces:
        raise TraceError("no trace to show", expected="one trace or several of the same stream")
    if not 1 <= steps <= MOST_STEPS:
        raise TraceError(f"a player of {steps:,} steps", expected=f"1 to {MOST_STEPS:,}")
    found = [encode(trace) for trace in traces]
    first = found[0]
    # One that does much in each step may have been recorded less far: they are played as far as all
    # go.
    recorded = min(len(trace["steps"]) for trace in found)
    for other in found[1:]:
        if different := _difference(first, other, recorded):
            raise TraceError(
                f"the traces '{first['name']}' and '{other['name']}' have different {different}",
                expected="traces of one pattern over one stream",
            )
    kept = _affordable(found, min(steps, recorded))
    return {
        "schema": SCHEMA,
        "pattern": first["pattern"],
        "clauses": first["clauses"],
        "types": _types(first),
        "reasons": dict(REASONS),
        "events": _first_events(traces[0].events, first["events"], kept),
        "traces": [_first_steps(trace, kept) for trace in found],
        "cut": _cut(found, recorded, kept, steps),
    }


def _difference(one: Mapping[str, Any], other: Mapping[str, Any], steps: int) -> str | None:
    """Return what two traces do not share, None where they belong together."""
    if one["pattern"] != other["pattern"]:
        return "patterns"
    same = one["totals"]["events"] == other["totals"]["events"] and all(
        one["events"][name][:steps] == other["events"][name][:steps]
        for name in ("id", "time", "type")
    )
    return None if same else "streams"


def _affordable(traces: Sequence[Mapping[str, Any]], steps: int) -> int:
    """Return how many of the first `steps` steps hold no more operations than a page can."""
    total = 0
    for step in range(steps):
        total += sum(len(trace["steps"][step]) for trace in traces if step < len(trace["steps"]))
        if total > MOST_OPERATIONS:
            return max(1, step)
    return steps


def _types(trace: Mapping[str, Any]) -> list[str]:
    """Return the types that the pattern names, in its order: they get colours."""
    present = dict.fromkeys(trace["events"]["type"])
    found: dict[str, None] = {}
    for clause in trace["clauses"]:
        if clause["kind"] in ("event", "absence"):
            words = set(re.findall(r'"(?:[^"]|"")*"|\w+', clause["text"]))
            quoted = {word[1:-1].replace('""', '"') for word in words if word.startswith('"')}
            found.update(dict.fromkeys(kind for kind in present if kind in words | quoted))
    return list(found)


def _first_events(table: EventTable, events: Mapping[str, Any], steps: int) -> dict[str, Any]:
    return {
        "id": events["id"][:steps],
        # The player calls events as all sentences do.
        "name": [table.name(event) for event in range(min(steps, len(table)))],
        "time": events["time"][:steps],
        "type": events["type"][:steps],
        "attributes": {
            name: list(map(_exact, column[:steps])) for name, column in events["attributes"].items()
        },
    }


def _exact(value: Any) -> Any:
    """Return a value that a browser reads as it is: large integers as texts."""
    return str(value) if isinstance(value, int) and abs(value) > _LARGEST else value


def _first_steps(trace: Mapping[str, Any], steps: int) -> dict[str, Any]:
    own = {name: value for name, value in trace.items() if name not in _SHARED}
    own["steps"] = trace["steps"][:steps]
    own["counters"] = {name: column[:steps] for name, column in trace["counters"].items()}
    own["matches"] = [match for match in trace["matches"] if match["step"] < steps]
    own["final"] = trace["final"] and len(trace["steps"]) <= steps
    return own


def _cut(traces: Sequence[Mapping[str, Any]], recorded: int, kept: int, asked: int) -> str | None:
    """Say what is not shown, and how to see it; None where everything is."""
    whole = max(
        trace["truncated"]["of"] if trace["truncated"] else len(trace["steps"]) for trace in traces
    )
    if kept >= whole:
        return None
    told = f"These are the first {kept:,} of {whole:,} steps."
    if kept < min(asked, recorded):
        return f"{told} They hold as many operations as the player can show."
    if kept < recorded and kept < MOST_STEPS:
        most = min(recorded, MOST_STEPS)
        return f"{told} draw(trace, steps={most}) shows more."
    return f"{told} The totals of the trace count all of them."
