"""The time zone whose clock conditions read: of the pattern, else of the stream, else UTC.

A pattern gets the zone of a stream when it meets it, as if it had been written in it. Statistics
are of patterns without one, so that they serve the pattern as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, TypeAlias

from cepkit.errors import PatternError, Span, StreamError
from cepkit.pattern import conditions as c
from cepkit.pattern.calendar_windows import calendar_window
from cepkit.pattern.nodes import Kind, Structure
from cepkit.pattern.policies import StepBound, TimeWindow
from cepkit.pattern.query import Query, ResultColumn
from cepkit.stream.reading.time_zones import is_utc
from cepkit.stream.schema import check_zone

_Part: TypeAlias = c.Expression | Structure | Kind | ResultColumn | StepBound | TimeWindow
_Located: TypeAlias = c.Literal | c.Call | TimeWindow

OF_CLOCKS = frozenset(
    ("year", "month", "week", "day", "hour", "minute", "second", "weekday", "date", "week_start")
)
"""The functions that read the clock."""

BY_CALENDAR = {"same_day": "date", "same_week": "week_start"}
"""Conditions on two events or times, each with the function that they agree in."""

_WITH_EXPRESSIONS = (
    *("structure", "where", "window", "bounds", "returned", "unrolled_from"),
    *("aggregates", "having"),
)
_TIME_TEXT = re.compile(r"\s*\d{4}-?\d\d")


def known_zone(zone: str, span: Span | None = None) -> str:
    """Return the zone of a pattern.

    Raises:
        PatternError: No time zone has this name.
    """
    try:
        check_zone(zone)
    except StreamError as error:
        raise PatternError(
            error.found, expected=error.expected, hint=error.hint, span=span
        ) from None
    return zone


def by_calendar(
    name: str, arguments: Sequence[c.Expression], span: Span | None, zone: str | None = None
) -> c.Expression:
    """Return a condition of `BY_CALENDAR`; an event without an attribute stands for its time.

    Raises:
        PatternError: It is about one event or time, or more than two.
    """
    if len(arguments) != 2:
        raise PatternError(
            f"{name} of {len(arguments)}", expected=f"two events, as in {name}(a, b)", span=span
        )
    times = (
        c.Attribute(one.name, c.TIME, one.span)
        if isinstance(one, c.Attribute) and not one.variable
        else one
        for one in arguments
    )
    one, two = (c.Call(BY_CALENDAR[name], (time,), time.span, zone=zone) for time in times)
    return c.Comparison("=", one, two, span)


def at_clock(query: Query, zone: str | None) -> Query:
    """Return a query with the zone of its stream, if it depends on one and names none itself."""
    if query.zone is not None or is_utc(zone):
        return query
    there = replace(query, zone=zone)
    located = in_zone(there)
    return query if located is there else located


def in_zone(query: Query) -> Query:
    """Return a query whose constants and functions of the clock are in its zone."""
    zone = query.zone
    if zone is None:
        return query

    def at(node: _Located) -> _Located:
        match node:
            case _ if node.zone is not None:
                return node
            case c.Call(function) if function in OF_CLOCKS:
                return replace(node, zone=zone)
            case c.Literal(datetime()):
                return replace(node, zone=zone)
            case TimeWindow(days=int(days)):
                return calendar_window(days, node, zone)
            case c.Literal(str(text)) if _TIME_TEXT.match(text):
                return replace(node, zone=zone)
            case _:
                return node

    return _mapped(query, at)


def as_written(query: Query) -> Query:
    """Return a query whose zone stands nowhere but in its clause."""
    zone = query.zone
    if zone is None:
        return query
    return _mapped(query, lambda node: _bare(node) if node.zone == zone else node)


def without_zones(query: Query) -> Query:
    """Return a query that names no time zone."""
    cache: dict[str, Query | None] = query.__dict__  # where cached_property caches
    if "without zones" not in cache:
        bare = query if query.zone is None else replace(query, zone=None)
        bare = _mapped(bare, lambda node: node if node.zone is None else _bare(node))
        cache["without zones"] = None if bare is query else bare
    return cache["without zones"] or query


def _bare(node: _Located) -> _Located:
    if isinstance(node, TimeWindow) and node.days is not None:
        return calendar_window(node.days, node)
    return replace(node, zone=None)


def _mapped(query: Query, located: Callable[[_Located], _Located]) -> Query:
    values = {name: getattr(query, name) for name in _WITH_EXPRESSIONS}
    changed: Query = _changed_in(query, values, located)
    return changed


def _changed(part: Any, located: Callable[[_Located], _Located]) -> Any:
    """Return a part of a query with its constants and calls replaced; itself if none changes."""
    if isinstance(part, tuple):
        items = tuple(_changed(item, located) for item in part)
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    if not isinstance(part, _Part):
        return part
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
    node = _changed_in(part, values, located)
    return located(node) if isinstance(node, c.Literal | c.Call | TimeWindow) else node


def _changed_in(
    whole: Any, values: Mapping[str, Any], located: Callable[[_Located], _Located]
) -> Any:
    new = {name: _changed(value, located) for name, value in values.items()}
    changed = {name: value for name, value in new.items() if value is not values[name]}
    return replace(whole, **changed) if changed else whole
