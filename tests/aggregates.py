"""The expected aggregates of a query: those of the judge's matches, one by one.

It takes the definition of `cepkit.aggregate` literally, and shares only the node classes of queries
with the package; `rows_in` also the names of columns.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepkit.aggregation.rows.tables import column_of
from cepkit.pattern import conditions as c
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.pattern.query import ResultColumn
from tests.judge import (
    Event,
    Match,
    _choices,
    _conjuncts,
    _of_repetitions,
    _precedes,
    judge,
    returned,
)
from tests.judge_values import known, value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from cepkit.pattern.query import Query

Row = tuple[Any, ...]


def rows_of(query: Query, events: Collection[Event], emit: str, ties: str = "none") -> list[Row]:
    """Return the rows in some order: (ts, cause, group..., aggregates..., new matches).

    A total has None for ts, cause and new matches.
    """
    group_by = query.group_by
    together = tuple(dict.fromkeys((*query.partition_by, *group_by)))
    bare = replace(query, aggregates=(), group_by=(), having=(), partition_by=together)
    by_arrival = {event.arrival: event for event in events}
    all_matches = [_Match(match, by_arrival, group_by) for match in judge(events, bare, ties=ties)]

    def row(ts: Any, cause: Any, group: Row, matches: Sequence[_Match], new: Any) -> Row:
        values = tuple(
            _of_values(a, matches, events, bare)
            if isinstance(a, c.ValueAggregate)
            else _aggregate(a, matches)
            for a in query.aggregates
        )
        return (ts, cause, *group, *values, new)

    def kept(rows: list[Row]) -> list[Row]:
        begin = 2 + len(group_by)
        return [
            row
            for row in rows
            if all(
                _holds(threshold, row[begin + query.aggregates.index(threshold.left)])
                for threshold in query.having
            )
        ]

    if emit == "total":
        groups = {m.group for m in all_matches} if group_by else {()}
        return kept(
            [row(None, None, g, [m for m in all_matches if m.group == g], None) for g in groups]
        )
    triggers = _triggers(bare, events)
    rows = []

    def live(now: int, group: Row) -> list[_Match]:
        return [m for m in all_matches if m.group == group and _is_live(bare, m, now, events)]

    moments = {(event.ts, _group(event, group_by)) for event in triggers}
    for event in triggers:
        group = _group(event, group_by)
        new = [m for m in all_matches if m.last is event]
        shown = new if emit == "new" else live(event.ts, group)
        rows.append(row(event.ts, "trigger", group, shown, len(new)))
    if emit == "changes":
        expiries = {
            (ts, m.group) for m in all_matches if (ts := _expiry(bare, m, events)) is not None
        }
        for ts, group in expiries - moments:
            rows.append(row(ts, "expiry", group, live(ts, group), 0))
    return kept(rows)


_COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def _holds(threshold: c.Comparison, value: Any) -> bool:
    """Return whether an aggregate satisfies a threshold; a missing one satisfies none."""
    number = known(value)
    return number is not None and _COMPARED[threshold.operator](number, threshold.right.value)


def plain(item: Any) -> Any:
    """Return a value in one form: None for missing, floats rounded.

    The root of a rounding error of 1e-16 is 1e-8, so deviations may differ by that.
    """
    item = known(item)
    return round(item, 6) + 0.0 if isinstance(item, float) else item


def rows_in(table: pa.Table, query: Query, form: Callable[[Any], Any] = plain) -> Counter[Row]:
    """Return the rows of a result as `rows_of` writes them, equal aggregates once."""
    total = "ts" not in table.column_names
    columns = []
    names = dict.fromkeys(map(column_of, query.aggregates))
    for name in ("ts", "cause", *query.group_by, *names, "new_matches"):
        if name not in table.column_names:
            missing = "trigger" if name == "cause" and not total else None
            columns.append([missing] * len(table))
            continue
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        columns.append([form(item) for item in column.to_pylist()])
    return Counter(zip(*columns, strict=True))


class _Match:
    """A match: its events by variable, the first and the last of them, its group.

    `earliest` is the least of its arrival numbers, which need not be that of the first event.
    """

    def __init__(self, match: Match, events: dict[int, Event], group_by: tuple[str, ...]) -> None:
        self.match = match
        self.events = {
            variable: [events[n] for n in (numbers if isinstance(numbers, tuple) else (numbers,))]
            for variable, numbers in match
        }
        all_events = [event for some in self.events.values() for event in some]
        self.first = min(all_events, key=lambda event: (event.ts, event.arrival))
        self.last = max(all_events, key=lambda event: (event.ts, event.arrival))
        self.earliest = min(event.arrival for event in all_events)
        self.group = _group(self.first, group_by)


def _group(event: Event, group_by: tuple[str, ...]) -> Row:
    return tuple(known(event.attributes[name]) for name in group_by)


def _is_live(query: Query, match: _Match, now: int, events: Collection[Event]) -> bool:
    """Return whether a match is complete and its window has not passed."""
    if match.last.ts > now:
        return False
    match query.window:
        case None:
            return True
        case TimeWindow(width, exclusive):
            age = now - match.first.ts
            return age < width if exclusive else age <= width
        case CountWindow(number, exclusive):
            # The number of events since the first of the match, in the order of arrival.
            part = _group(match.first, query.partition_by)
            arrivals = sorted(e.arrival for e in events if _group(e, query.partition_by) == part)
            here = [e.arrival for e in events if e.ts <= now and e.arrival in arrivals]
            since = arrivals.index(max(here)) - arrivals.index(match.earliest) + 1
            return since <= number - exclusive


def _expiry(query: Query, match: _Match, events: Collection[Event]) -> int | None:
    """Return the time at which a match stops being live, None for never."""
    if isinstance(query.window, TimeWindow):
        return match.first.ts + query.window.microseconds + (not query.window.exclusive)
    moments = sorted({event.ts for event in events if event.ts >= match.last.ts})
    lives = [_is_live(query, match, ts, events) for ts in moments]
    return moments[lives.index(False)] if lives[0] and not lives[-1] else None


def _triggers(query: Query, events: Collection[Event]) -> list[Event]:
    """Return the events that may end a match, by type and by the conditions on them alone."""
    choices = [
        (leaves, [c for part in _conjuncts(query.where) for c in _of_repetitions(part, leaves)])
        for leaves in _choices(query.written)
    ]
    triggers = []
    for event in sorted(events, key=lambda event: (event.ts, event.arrival)):
        for leaves, conditions in choices:
            positive = [leaf for leaf in leaves if leaf.kind != "absent"]
            for leaf in positive:
                alone = [
                    part
                    for part in conditions
                    if part.variables == {leaf.variable} and not part.as_set
                ]
                if (
                    not any(_precedes(leaf, o) for o in positive if o is not leaf)
                    and (leaf.types is None or event.type in leaf.types)
                    and all(part.holds({leaf.variable: (event,)}) for part in alone)
                    and event not in triggers
                ):
                    triggers.append(event)
    return triggers


def _aggregate(aggregate: c.Aggregate, matches: Sequence[_Match]) -> Any:
    if aggregate.variable is None:
        return len(matches)
    events = [event for m in matches for event in m.events.get(aggregate.variable, ())]
    if aggregate.attribute is None:
        return len(events)
    attribute = c.Attribute(aggregate.variable, aggregate.attribute)
    values = [value(attribute, {aggregate.variable: event.attributes}, {}) for event in events]
    values = [item for item in values if item is not None]
    return meaning(aggregate.function, values)


def _of_values(
    aggregate: c.ValueAggregate, matches: Sequence[_Match], events: Collection[Event], bare: Query
) -> Any:
    """Return an aggregate of a value of each match, which RETURN would have."""
    one = replace(bare, returned=(ResultColumn("value", aggregate.argument),))
    values = [
        item for m in matches if (item := known(returned(events, one, m.match)[0])) is not None
    ]
    function, share = aggregate.function, aggregate.share
    if function == c.DISTINCT:
        return len(set(values))
    are_durations = isinstance(next(iter(values), None), timedelta)
    if are_durations and function not in ("count", "min", "max"):
        values = [Fraction(item // timedelta(microseconds=1)) for item in values]
    if function == "median" or function == "percentile" or function[0] == "p":
        percent = 50 if function == "median" else int(function[1:]) if share is None else 0
        result = _quantile(sorted(values), Fraction(percent, 100) if share is None else share)
        result = float(result) if isinstance(result, int) else result
    else:
        result = meaning(function, values)
    if isinstance(result, Fraction):
        return timedelta(microseconds=round(result)) if are_durations else float(result)
    return result


def _quantile(values: Sequence[Any], share: Any) -> Any:
    """Return the value at a place among sorted ones, in a straight line between two."""
    if not values:
        return None
    at = Fraction(str(share)) * (len(values) - 1)
    low, high = values[math.floor(at)], values[math.ceil(at)]
    part: Any = at - math.floor(at)
    if isinstance(low, float):
        part = float(part)
    return low if low == high else low + (high - low) * part


def meaning(function: str, values: Sequence[Any]) -> Any:
    """Return an aggregate of the language over values, none of them missing, in exact numbers."""
    match function:
        case "count":
            return len(values)
        case "sum":
            return _sum(values) if values else None
        case "avg":
            return _sum(values) / len(values) if values else None
        case "min":
            return min(values, default=None)
        case "max":
            return max(values, default=None)
        case "variance":
            return _variance(values)
        case "stddev":
            variance = _variance(values)
            return None if variance is None else math.sqrt(variance)
        case _:
            raise AssertionError(f"the judge does not know {function}: say what it means here")


def _sum(values: Sequence[Any]) -> Any:
    """Return the sum, rounded once: whole numbers are not rounded, floats are at the end."""
    if not any(isinstance(item, float) for item in values):
        return sum(values)
    return float(sum(map(Fraction, values))) if all(map(math.isfinite, values)) else sum(values)


def _variance(values: Sequence[Any]) -> float | None:
    """Return the variance of a sample: divided by one less than the number of values."""
    if len(values) < 2:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    exact = [Fraction(item) for item in values]
    mean = sum(exact) / len(exact)
    return float(sum((item - mean) ** 2 for item in exact) / (len(exact) - 1))
