"""Domains: the types, attribute values and time steps at which the truth of patterns changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.nodes import events_of
from cepkit.pattern.policies import TimeWindow, in_microseconds
from cepkit.pattern.query import Query
from cepkit.stream.columns import Kind

SECOND = 1_000_000

Value: TypeAlias = int | float | str | bool | datetime | timedelta | None

_KINDS: tuple[Kind, ...] = ("integer", "text", "boolean", "timestamp", "duration")
_MOST_VALUES = 32
_EPOCH = datetime(2024, 1, 1)  # noqa: DTZ001 - as columns without a zone
_TIMES = frozenset({"ts", "time", "timestamp", "t", "date", "datetime"})
_OTHER_TYPE = "other"


@dataclass(frozen=True, slots=True)
class Domains:
    """The types, values and times that events of a small stream may have.

    Attributes:
        types: The types: those of the patterns, and another one.
        time: The attribute that is the time of an event, in columns of times.
        kinds: The kind of each other attribute.
        values: The values of each of them, the simplest first; None is a missing one.
        steps: The distances of neighbouring events in microseconds.
    """

    types: tuple[str, ...]
    time: str
    kinds: Mapping[str, Kind]
    values: Mapping[str, tuple[Value, ...]]
    steps: tuple[int, ...]


def domains_of(queries: Sequence[Query]) -> Domains:
    """Return the domains of some patterns.

    Raises:
        UnsupportedError: No kinds of columns suit all conditions: they read arrays, say.
    """
    names = sorted({name for query in queries for name in _read(query)})
    kinds = _kinds(queries, names)
    moments = [name for name in names if kinds[name] == "timestamp"]
    time = next((name for name in moments if name.lower() in _TIMES), None)
    if time is None:
        time = "ts"
        while time in names:
            time += "_"
    own = {name: kind for name, kind in kinds.items() if name != time}
    constants = [node.value for query in queries for node in _nodes(query, c.Literal)]
    values = {name: _values(kind, constants) for name, kind in own.items()}
    named = {name for query in queries for e in events_of(query.written) for name in e.types or ()}
    other = _OTHER_TYPE
    while other in named:
        other += "_"
    return Domains((*sorted(named), other), time, own, values, _steps(queries, constants))


def _read(query: Query) -> set[str]:
    names = {node.name for node in _nodes(query, c.Attribute)}
    names |= {n.attribute for n in _nodes(query, c.Aggregate) if n.attribute is not None}
    return names | {*query.partition_by}


def _nodes(query: Query, kind: type[Any]) -> list[Any]:
    return [n for part in c.conjuncts(query.where) for n in c.walk(part) if isinstance(n, kind)]


def _kinds(queries: Sequence[Query], names: Sequence[str]) -> dict[str, Kind]:
    """Return kinds of attributes that all conditions accept, numbers where these will do.

    Raises:
        PatternError: No kinds are accepted by all conditions.
    """
    alone = [
        (frozenset(name for _, name in c.attributes_of(part)), Query(query.structure, part))
        for query in queries
        for part in c.conjuncts(query.where)
    ]
    # Attributes that conditions compare stand side by side, so that a wrong choice shows early.
    order = list(dict.fromkeys(name for about, _ in alone for name in sorted(about)))
    order += [name for name in names if name not in order]
    kinds: dict[str, Kind] = {}

    def assigned(place: int) -> bool:
        if place == len(order):
            return True
        name = order[place]
        first = ("timestamp",) if name.lower() in _TIMES else ()
        for kind in dict.fromkeys((*first, *_KINDS)):
            kinds[name] = kind
            due = [query for about, query in alone if name in about and about <= kinds.keys()]
            if all(_fit(query, kinds) for query in due) and assigned(place + 1):
                return True
        del kinds[name]
        return False

    if not assigned(0):
        for query in queries:
            check_kinds(query, dict.fromkeys(names, "integer"))
        raise UnsupportedError("conditions on arrays")
    return kinds


def _fit(query: Query, kinds: Mapping[str, Kind]) -> bool:
    try:
        check_kinds(query, kinds)
    except PatternError:
        return False
    return True


def _values(kind: Kind, constants: Sequence[Value]) -> tuple[Value, ...]:
    """Return values of a kind: a few of its own, and those at and beside constants."""
    values: list[Value]
    match kind:
        case "boolean":
            values = [False, True]
        case "text":
            texts = [value for value in constants if isinstance(value, str)]
            values = ["x", "y", *texts, *(text.strip("%").replace("_", "a") for text in texts)]
        case "duration":
            spans = [value for value in constants if isinstance(value, timedelta)]
            values = [timedelta(seconds=s) for s in (0, 1, 2)]
            values += [span + timedelta(seconds=s) for span in spans for s in (0, -1, 1)]
        case "timestamp":
            values = [_EPOCH + timedelta(hours=h) for h in (0, 1)]
            values += [value for value in constants if isinstance(value, datetime)]
        case _:
            numbers = [v for v in constants if isinstance(v, int | float) and type(v) is not bool]
            values = [0, 1, 2, *(n + d for n in numbers for d in (0, -1, 1))]
    return (*dict.fromkeys(values[:_MOST_VALUES]), None)


def _steps(queries: Sequence[Query], constants: Sequence[Value]) -> tuple[int, ...]:
    """Return steps of time: equal times, a second, and those that edges of windows lie between."""
    windows = [q.window for q in queries] + [b.window for q in queries for b in q.bounds]
    lengths = [w.microseconds for w in windows if isinstance(w, TimeWindow)]
    lengths += [abs(in_microseconds(v)) for v in constants if isinstance(v, timedelta)]
    steps = [SECOND, 0]
    for length in lengths:
        steps += [length // 2, length // 3, length, length + SECOND]
    return tuple(dict.fromkeys(step for step in steps if step >= 0))
