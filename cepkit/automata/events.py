"""The events of a stream one at a time, with the attributes that a query reads.

O(events), from columns. Missing values are None, texts are texts, times are microseconds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.pattern.conditions import NUMBER, TIME
from cepkit.pattern.evaluation.closures import History
from cepkit.pattern.evaluation.functions.correlation import standardised
from cepkit.pattern.numbers import number_columns
from cepkit.pattern.policies import CountWindow
from cepkit.pattern.query import Query
from cepkit.stream.columns import Column, EventColumns
from cepkit.stream.values import plain_values

Place: TypeAlias = "Event | tuple[Event, ...] | None"
"""The value of a variable: an event, the members of a set in stream order, or None."""

Binding: TypeAlias = tuple[Place, ...]
"""One place for each variable."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """An event for mechanisms.

    Attributes:
        number: Its number in stream order, from 0.
        ts: Its time in microseconds since 1970 UTC.
        order: Its place in the order of events: `ts`, or its number.
        clock: Its place in the window: `ts`, its arrival number, or that inside its partition.
        values: The attributes that the query reads, in the order of their names.
        key: The values of PARTITION BY; empty without it.
    """

    number: int
    ts: int
    order: int
    clock: int
    type: str
    values: tuple[Any, ...]
    key: tuple[Hashable, ...] = ()


def events_of(columns: EventColumns, query: Query, names: Sequence[str]) -> Iterator[Event]:
    """Yield the events of a stream in stream order."""
    arrivals = columns.arrival()
    key_columns = [_values(columns.attributes[name]) for name in query.partition_by]
    keys: list[tuple[Hashable, ...]] = [()] * len(columns)
    if key_columns:
        keys = list(zip(*key_columns, strict=True))
    clock, attributes = columns.ts, columns.attributes
    if isinstance(query.window, CountWindow) or NUMBER in names:
        counted = _places(arrivals, keys) if query.partition_by else arrivals
        attributes = {**attributes, **number_columns(counted)}
        clock = counted if isinstance(query.window, CountWindow) else clock
    attributes = {**attributes, TIME: columns.attributes[TIME]}
    value_columns = [_values(attributes[name]) for name in names]
    rows = zip(*value_columns, strict=True) if value_columns else iter([()] * len(columns))
    types = [columns.type_names[code] for code in columns.types.tolist()]
    numbers = range(len(columns))
    times = columns.ts.tolist()
    orders = columns.order().tolist() if columns.by_arrival else times
    for number, ts, order, at, kind, values, key in zip(
        numbers, times, orders, clock.tolist(), types, rows, keys, strict=True
    ):
        yield Event(number, ts, order, at, kind, tuple(values), key)


def _values(column: Column) -> list[Any]:
    """Return the values of a column, None for missing; arrays with their standardised rows."""
    values = plain_values(column)
    if column.kind != "array":
        return values
    units = standardised(column)
    return [
        None if value is None else History(row, unit)
        for value, row, unit in zip(values, column.values, units, strict=True)
    ]


def _places(
    arrivals: npt.NDArray[np.int64], keys: list[tuple[Hashable, ...]]
) -> npt.NDArray[np.int64]:
    """Return for each event the number of earlier arrivals in its partition."""
    counts: dict[tuple[Hashable, ...], int] = {}
    places = np.empty(len(arrivals), dtype=np.int64)
    for row in np.argsort(arrivals, kind="stable").tolist():
        key = keys[row]
        places[row] = counts.get(key, 0)
        counts[key] = counts.get(key, 0) + 1
    return places
