"""What the player shows of mechanisms: several traces of one stream, `cepkit.player/1`.

Events, pattern and clauses are said once; each trace keeps its diagram, steps, counters and
matches (docs/player.md). Long traces are cut, and the document says so in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cepkit.automata.operations import REASONS
from cepkit.automata.records import EventTable
from cepkit.automata.trace import Trace
from cepkit.automata.trace_json import encode
from cepkit.errors import TraceError
from cepkit.figures.player.shared import SCHEMA, affordable, cut_in_words, exact, types_of

_SHARED = ("pattern", "clauses", "events")


def mechanism_document(traces: Sequence[Trace], steps: int) -> dict[str, Any]:
    """Return the document for traces of the same pattern over the same stream.

    Args:
        traces: One for each card, in the order in which they are shown; at least one.
        steps: How many steps at most.

    Raises:
        TraceError: They are not of one pattern and stream.
    """
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
    kept = affordable([trace["steps"] for trace in found], min(steps, recorded))
    whole = max(
        trace["truncated"]["of"] if trace["truncated"] else len(trace["steps"]) for trace in found
    )
    return {
        "schema": SCHEMA,
        "pattern": first["pattern"],
        "clauses": first["clauses"],
        "types": types_of(first["clauses"], first["events"]["type"]),
        "reasons": dict(REASONS),
        "events": _first_events(traces[0].events, first["events"], kept),
        "traces": [_first_steps(trace, kept) for trace in found],
        "cut": cut_in_words(kept, whole, recorded, steps),
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


def _first_events(table: EventTable, events: Mapping[str, Any], steps: int) -> dict[str, Any]:
    return {
        "id": events["id"][:steps],
        # The player calls events as all sentences do.
        "name": [table.name(event) for event in range(min(steps, len(table)))],
        "time": events["time"][:steps],
        "type": events["type"][:steps],
        "attributes": {
            name: list(map(exact, column[:steps])) for name, column in events["attributes"].items()
        },
    }


def _first_steps(trace: Mapping[str, Any], steps: int) -> dict[str, Any]:
    own = {name: value for name, value in trace.items() if name not in _SHARED}
    own["steps"] = trace["steps"][:steps]
    own["counters"] = {name: column[:steps] for name, column in trace["counters"].items()}
    own["matches"] = [match for match in trace["matches"] if match["step"] < steps]
    own["final"] = trace["final"] and len(trace["steps"]) <= steps
    return own
