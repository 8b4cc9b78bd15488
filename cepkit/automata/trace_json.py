"""Traces as JSON and back: `cepkit.trace/1`, described in docs/trace.md.

Columns instead of records, and operations as short lists: a step is some hundred bytes.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cepkit.automata.chart import Edge, Node
from cepkit.automata.clauses import Clause
from cepkit.automata.diagram import Diagram, PlacedNode
from cepkit.automata.journal import Counts
from cepkit.automata.operations_json import decode_operation, encode_operation
from cepkit.automata.records import EventTable, Step, Totals, TracedMatch, Truncated
from cepkit.automata.trace import Trace
from cepkit.automata.trace_shape import check_trace
from cepkit.stream.json_text import decode_columns, encode_columns

SCHEMA = "cepkit.trace/1"


def encode(trace: Trace) -> dict[str, Any]:
    """Return a trace as what JSON can hold."""
    events = trace.events
    return {
        "schema": SCHEMA,
        "pattern": trace.pattern,
        "clauses": [asdict(clause) for clause in trace.clauses],
        "variables": list(trace.variables),
        "events": {
            "id": list(events.id),
            "time": list(events.time),
            "type": list(events.type),
            "attributes": encode_columns(events.attributes),
        },
        "mechanism": trace.mechanism,
        "plan": trace.plan,
        "name": trace.name,
        "diagram": _encode_diagram(trace.diagram),
        "steps": [[encode_operation(o) for o in step.operations] for step in trace.steps],
        "counters": {
            name: [count[i] for count in trace.counters] for i, name in enumerate(Counts._fields)
        },
        "matches": [
            {
                "step": match.step,
                "instance": match.instance,
                "events": {v: _listed(events) for v, events in match.events.items()},
            }
            for match in trace.matches
        ],
        "final": trace.final,
        "truncated": trace.truncated and {"shown": trace.truncated.shown, "of": trace.truncated.of},
        "totals": {
            **trace.totals.counts._asdict(),
            "peak_instances": trace.totals.peak_instances,
            "peak_stored": trace.totals.peak_stored,
            "events": trace.totals.events,
        },
    }


def decode(data: dict[str, Any]) -> Trace:
    """Return the trace that `encode` made an object of.

    Raises:
        ShapeError: It is none.
    """
    check_trace(data)
    events = data["events"]
    count = len(events["id"])
    steps = tuple(
        Step(i, i if i < count else None, tuple(map(decode_operation, step)))
        for i, step in enumerate(data["steps"])
    )
    totals = data["totals"]
    return Trace(
        data["pattern"],
        tuple(Clause(c["kind"], c["begin"], c["end"], c["text"]) for c in data["clauses"]),
        EventTable(
            tuple(events["id"]),
            tuple(events["time"]),
            tuple(events["type"]),
            decode_columns(events["attributes"]),
        ),
        data["mechanism"],
        data["plan"],
        _decode_diagram(data["diagram"]),
        steps,
        tuple(
            Counts(*row)
            for row in zip(*(data["counters"][name] for name in Counts._fields), strict=True)
        ),
        tuple(
            TracedMatch(
                match["step"],
                match["instance"],
                {v: tuple(e) if isinstance(e, list) else e for v, e in match["events"].items()},
            )
            for match in data["matches"]
        ),
        Totals(
            Counts(*(totals[name] for name in Counts._fields)),
            totals["peak_instances"],
            totals["peak_stored"],
            totals["events"],
        ),
        data["truncated"] and Truncated(data["truncated"]["shown"], data["truncated"]["of"]),
        tuple(data["variables"]),
    )


def _encode_diagram(diagram: Diagram) -> dict[str, Any]:
    return {
        "kind": diagram.kind,
        "nodes": [
            {
                "id": p.node.id,
                "branch": p.node.branch,
                "label": p.node.label,
                "kind": p.node.kind,
                "variables": list(p.node.variables),
                "x": p.x,
                "y": p.y,
            }
            for p in diagram.nodes
        ],
        "edges": [
            {
                "id": e.id,
                "from": e.begin,
                "to": e.end,
                "kind": e.kind,
                "label": e.label,
                "conditions": list(e.conditions),
                "scope": e.scope,
            }
            for e in diagram.edges
        ],
    }


def _decode_diagram(data: dict[str, Any]) -> Diagram:
    return Diagram(
        data["kind"],
        tuple(
            PlacedNode(
                Node(n["id"], n["branch"], n["label"], n["kind"], tuple(n["variables"])),
                n["x"],
                n["y"],
            )
            for n in data["nodes"]
        ),
        tuple(
            Edge(
                e["id"],
                e["from"],
                e["to"],
                e["kind"],
                e["label"],
                tuple(e["conditions"]),
                e["scope"],
            )
            for e in data["edges"]
        ),
    )


def _listed(events: int | tuple[int, ...]) -> int | list[int]:
    return list(events) if isinstance(events, tuple) else events
