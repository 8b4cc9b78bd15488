"""The keys of a stream, which PARTITION BY and equalities compare, and their skew."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.errors import StatisticsError
from cepkit.stream.columns import Column
from cepkit.stream.durations import duration_text

MOST_FREQUENT = 10
"""The most keys by name."""

MISSING = "(missing)"
"""The text of a missing value; only PARTITION BY treats it as a key."""


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """The exact counts of a key: the values of one attribute, or of several together.

    Attributes:
        events: The number of events with a key, of the types that the pattern compares by it.
        distinct: The number of different keys.
        most_frequent: The most frequent keys as texts with their numbers of events, in falling
            order; ten at most.
    """

    attributes: tuple[str, ...]
    events: int
    distinct: int
    most_frequent: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        if self.events < 0 or self.distinct < 0:
            raise StatisticsError("a negative number of keys", expected="0 or more")
        counts = tuple((str(key), int(number)) for key, number in self.most_frequent)
        if sum(number for _, number in counts) > self.events or len(counts) > self.distinct:
            raise StatisticsError(
                "the most frequent keys have more events than all",
                expected=f"{self.events:,} events of {self.distinct:,} keys at most",
            )
        object.__setattr__(self, "attributes", tuple(self.attributes))
        object.__setattr__(self, "most_frequent", counts)

    @property
    def largest_share(self) -> float:
        """The share of the events that have the most frequent key; 0 without events."""
        return self.most_frequent[0][1] / self.events if self.most_frequent else 0.0

    @property
    def skew(self) -> float:
        """The events of the most frequent key as a multiple of the mean; 1 if all are even."""
        return self.largest_share * self.distinct if self.most_frequent else 1.0


@dataclass(frozen=True, slots=True)
class Frequent:
    """A frequent key of one part of a stream.

    Attributes:
        number: The number of its events.
        order: The sort key among keys of equal frequency, before the labels; missing values first.
        labels: Its values as texts.
    """

    number: int
    order: tuple[float, ...]
    labels: tuple[str, ...]


def most_frequent(
    columns: Sequence[Column], numbers: npt.NDArray[np.int64]
) -> tuple[Frequent, ...]:
    """Return the most frequent keys; among equally frequent ones the least values win.

    Args:
        numbers: The events of each key; keys without events are left out.
    """
    rows = np.flatnonzero(numbers)
    if len(rows) > MOST_FREQUENT:
        least = np.partition(numbers[rows], -MOST_FREQUENT)[-MOST_FREQUENT]
        rows = rows[numbers[rows] >= least]
    values = [_in_order(column)[rows] for column in columns]
    rows = rows[np.lexsort((*reversed(values), -numbers[rows]))[:MOST_FREQUENT]]
    keys = []
    for row in rows.tolist():
        parts = [_key_text(column, row) for column in columns]
        order, labels = tuple(o for o, _ in parts), tuple(text for _, text in parts)
        keys.append(Frequent(int(numbers[row]), order, labels))
    return tuple(keys)


def key_counts(
    attributes: tuple[str, ...], events: int, distinct: int, parts: Iterable[Frequent]
) -> KeyCounts:
    """Merge the counts of parts of a stream that have no key in common."""
    best = sorted(parts, key=lambda key: (-key.number, key.order, key.labels))[:MOST_FREQUENT]
    return KeyCounts(
        attributes, events, distinct, tuple((", ".join(key.labels), key.number) for key in best)
    )


def _in_order(column: Column) -> npt.NDArray[np.generic]:
    """Return values that sort like those of the column, missing ones first."""
    if column.kind in ("float", "null"):
        return np.where(np.isnan(column.values), -np.inf, column.values)
    return column.values


def _key_text(column: Column, row: int) -> tuple[float, str]:
    """Return the sort key of a value, and its text."""
    value = column.values[row]
    if column.missing()[row] if column.has_missing else False:
        return -math.inf, MISSING
    match column.kind:
        case "text":
            return 0.0, str(column.dictionary[int(value)])
        case "boolean":
            return float(value), "true" if value else "false"
        case "timestamp":
            return float(value), str(np.datetime64(int(value), "us"))
        case "duration":
            return float(value), duration_text(int(value))
        case "integer":
            return float(value), str(int(value))
        case _:
            number = float(value) + 0.0  # no -0.0
            return number, str(int(number)) if number.is_integer() else repr(number)
