"""What the JSON of a trace must be: its shape, and that what it names by a number is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Literal, TypedDict, get_origin, get_type_hints

from cepkit.automata.chart import EdgeKind, NodeKind
from cepkit.automata.clauses import ClauseKind
from cepkit.automata.contract import DiagramKind
from cepkit.automata.journal import Counts
from cepkit.automata.operations import OPERATIONS, Checked
from cepkit.pattern.limits import MAX_EVENTS
from cepkit.stream.shapes import (
    Attributes,
    Number,
    ShapeError,
    Time,
    check,
    check_below,
    check_even,
    shown,
)


class _Clause(TypedDict):
    kind: ClauseKind
    begin: Number
    end: Number
    text: str


class _Events(TypedDict):
    id: list[Number]
    time: list[Time]
    type: list[str]
    attributes: Attributes


class _Node(TypedDict):
    id: Number
    branch: Number
    label: str
    kind: NodeKind
    variables: list[str]
    x: float
    y: float


_Edge = TypedDict(
    "_Edge",
    {
        "id": Number,
        "from": Number,
        "to": Number,
        "kind": EdgeKind,
        "label": str,
        "conditions": list[str],
        "scope": str,
    },
)


class _Diagram(TypedDict):
    kind: DiagramKind
    nodes: list[_Node]
    edges: list[_Edge]


class _Match(TypedDict):
    step: Number
    instance: Number
    events: dict[str, Number | list[Number]]


class _Truncated(TypedDict):
    shown: Number
    of: Number


class TraceShape(TypedDict):
    """A trace, as docs/trace.md describes it."""

    pattern: str
    clauses: list[_Clause]
    variables: list[str]
    events: _Events
    mechanism: str
    plan: str
    diagram: _Diagram
    steps: list[list[list[Any]]]
    counters: dict[str, list[Number]]
    matches: list[_Match]
    truncated: _Truncated | None
    totals: dict[str, Number]


def _shape(hint: Any) -> Any:
    """Return as what JSON holds a field of an operation."""
    if hint is bool:
        return Literal[0, 1]
    if hint == tuple[Checked, ...]:
        return list[tuple[Number, str, Literal[0, 1]]]
    if get_origin(hint) is tuple:
        return list[Number]
    if hint == int | None:
        return Number | None
    return Number if hint is int else hint


_OPERATIONS: Mapping[str, Mapping[str, Any]] = {
    name: {f.name: _shape(get_type_hints(kind)[f.name]) for f in fields(kind)}
    for name, kind in OPERATIONS.items()
}
"""For each operation its fields, and the shape of each."""

_MAY_LACK = frozenset(n for n, kind in OPERATIONS.items() if fields(kind)[-1].default is None)


def check_trace(data: Any) -> None:
    """Check what a trace should be.

    Raises:
        ShapeError: It is none, or names what it does not have.
    """
    check(data, TraceShape)
    for number, clause in enumerate(data["clauses"]):
        if not clause["begin"] <= clause["end"] <= len(data["pattern"]):
            raise ShapeError("outside of the pattern", "a part of it", f"clauses[{number}]")
    events, diagram, steps = data["events"], data["diagram"], data["steps"]
    count = len(events["id"])
    check_even({name: events[name] for name in ("time", "type")}, count, "events")
    check_even(events["attributes"], count, "events.attributes")
    if len(steps) > count + 1:
        raise ShapeError(shown(steps), "one for each event, and one for the end", "steps")
    check_even({n: data["counters"].get(n, ()) for n in Counts._fields}, len(steps), "counters")
    for name in (*Counts._fields, "peak_instances", "peak_stored", "events"):
        if name not in data["totals"]:
            raise ShapeError("missing", "it to be there", f"totals.{name}")
    for kind in ("nodes", "edges"):
        for number, one in enumerate(diagram[kind]):
            if one["id"] != number:
                raise ShapeError(shown(one["id"]), f"{number}", f"diagram.{kind}[{number}].id")
    for number, edge in enumerate(diagram["edges"]):
        for end in ("from", "to"):
            check_below(edge[end], len(diagram["nodes"]), "nodes", f"diagram.edges[{number}].{end}")
    if diagram["kind"] == "evaluation-tree":
        _check_trees(diagram)
    for number, match in enumerate(data["matches"]):
        _check_match(match, data, f"matches[{number}]")
    operations = _Operations.of(data)
    for number, step in enumerate(steps):
        for i, row in enumerate(step):
            try:
                operations.check(row)
            except ShapeError as error:
                raise error.within(f"steps[{number}][{i}]") from None


def _check_trees(diagram: Mapping[str, Any]) -> None:
    """Check that nodes and the edges that join them are trees: leaves, and joins of two."""
    parents: dict[int, int] = {}
    parts: Counter[int] = Counter()
    for edge in diagram["edges"]:
        if edge["kind"] == "join":
            if edge["from"] in parents:
                place = f"diagram.edges[{edge['id']}]"
                raise ShapeError("a second way up", "one from each node", place)
            parents[edge["from"]] = edge["to"]
            parts[edge["to"]] += 1
    for number, node in enumerate(diagram["nodes"]):
        fits = parts[number] == 2 or (not parts[number] and node["variables"])
        above: int | None = number
        for _ in range(MAX_EVENTS + 1):
            above = None if above is None else parents.get(above)
        if not fits or above is not None:
            raise ShapeError("no part of a tree", "a leaf, or a join", f"diagram.nodes[{number}]")


def _check_match(match: Mapping[str, Any], data: Mapping[str, Any], place: str) -> None:
    check_below(match["step"], len(data["steps"]), "steps", f"{place}.step")
    if not match["events"]:
        raise ShapeError("empty", "a variable or more", f"{place}.events")
    for variable, bound in match["events"].items():
        if variable not in data["variables"] or bound == []:
            expected = "one of the trace's variables, and an event or more"
            raise ShapeError(f"{shown(variable)}: {shown(bound)}", expected, f"{place}.events")
        for event in bound if isinstance(bound, list) else (bound,):
            check_below(event, len(data["events"]["id"]), "events", f"{place}.events")


@dataclass(frozen=True, slots=True)
class _Operations:
    """Checks operations, one after the other.

    Attributes:
        sizes: For each field that names something by its number, what, and how many there are.
        variables: What a match can bind.
        born: The instances that were created so far.
    """

    sizes: Mapping[str, tuple[str, int]]
    variables: Sequence[str]
    born: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> _Operations:
        sizes = {
            "event": ("events", len(data["events"]["id"])),
            "edge": ("edges", len(data["diagram"]["edges"])),
            "node": ("nodes", len(data["diagram"]["nodes"])),
            "match": ("matches", len(data["matches"])),
            "clause": ("clauses", len(data["clauses"])),
        }
        return cls(sizes, data["variables"])

    def check(self, row: list[Any]) -> None:
        name = row[0] if row else None
        form = _OPERATIONS.get(name) if isinstance(name, str) else None
        if form is None or name is None:
            raise ShapeError(f"an operation {shown(name)} that is not known", "another name")
        # The last field is left out where it has its default.
        values = [*row[1:], None] if name in _MAY_LACK and len(row) == len(form) else row[1:]
        if len(values) != len(form):
            raise ShapeError(shown(row), f"{name} and {len(form)} values")
        operation = dict(zip(form, values, strict=True))
        for part, value in operation.items():
            try:
                check(value, form[part])
            except ShapeError as error:
                raise error.within(part) from None
            if part in self.sizes:
                what, size = self.sizes[part]
                check_below(value, size, what, part)
        for clause, *_ in operation.get("checked", ()):
            check_below(clause, self.sizes["clause"][1], "clauses", "checked")
        self._check_instances(name, operation)

    def _check_instances(self, name: str, operation: Mapping[str, Any]) -> None:
        named: Iterable[int | None] = chain((operation.get("other"),), operation.get("parents", ()))
        if name == "create":
            variable = operation["variable"]
            if variable is not None and variable not in self.variables:
                raise ShapeError(shown(variable), "one of the trace's variables", "variable")
        else:
            named = chain(named, (operation.get("instance"),))
        for instance in named:
            if instance is not None and instance not in self.born:
                raise ShapeError(f"instance {shown(instance)}", "one that was created before")
        if name == "create":
            if operation["instance"] in self.born:
                found = f"a second instance {operation['instance']}"
                raise ShapeError(found, "a number of its own for each")
            self.born.add(operation["instance"])
