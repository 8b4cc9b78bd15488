"""The time zone whose clock conditions read: of the pattern, else of the stream.

Without one they read UTC. A query gets the zone of a stream when it meets it; statistics and plans
are of queries without one, so that they serve the pattern as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, TypeAlias

from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.functions.times import OF_CLOCKS
from cepkit.pattern.query import Query
from cepkit.stream.reading.time_zones import is_utc

_Located: TypeAlias = c.Literal | c.Call

_TIME_TEXT = re.compile(r"\s*\d{4}-?\d\d")


def at_clock(query: Query, zone: str | None) -> Query:
    """Return a query whose constants and functions of the clock are in a zone.

    Args:
        query: The query; a zone that it names itself counts before this one.
        zone: The zone of its stream; None is UTC.
    """
    clock = query.zone or zone
    return query if is_utc(clock) else _mapped(query, lambda node: _at(node, clock))


def without_zones(query: Query) -> Query:
    """Return a query that names no time zone."""
    query = query if query.zone is None else replace(query, zone=None)
    return _mapped(query, lambda node: node if node.zone is None else replace(node, zone=None))


def _at(node: _Located, zone: str | None) -> _Located:
    match node:
        case _ if node.zone is not None:
            return node
        case c.Call(function) if function in OF_CLOCKS:
            return replace(node, zone=zone)
        case c.Literal(datetime()):
            return replace(node, zone=zone)
        case c.Literal(str(text)) if _TIME_TEXT.match(text):
            return replace(node, zone=zone)
        case _:
            return node


def _mapped(query: Query, located: Callable[[_Located], _Located]) -> Query:
    where = None if query.where is None else _changed(query.where, located)
    returned = tuple(replace(r, value=_changed(r.value, located)) for r in query.returned)
    if where is query.where and all(map(_same, returned, query.returned)):
        return query
    return replace(query, where=where, returned=returned)


def _same(one: Any, other: Any) -> bool:
    return one.value is other.value


def _changed(node: Any, located: Callable[[_Located], _Located]) -> Any:
    """Return an expression with its constants and calls replaced; itself if none changes."""
    if isinstance(node, tuple):
        parts = tuple(_changed(part, located) for part in node)
        return parts if any(a is not b for a, b in zip(parts, node, strict=True)) else node
    if not isinstance(node, c.Expression):
        return node
    values = {f.name: getattr(node, f.name) for f in fields(node) if f.init}
    new = {name: _changed(value, located) for name, value in values.items()}
    changed = {name: value for name, value in new.items() if value is not values[name]}
    node = replace(node, **changed) if changed else node
    if not isinstance(node, c.Literal | c.Call):
        return node
    return located(node)
