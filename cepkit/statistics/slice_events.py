"""The events of a slice, with a cache of sorted and derived arrays.

The cache has the rows of a type that pass some conditions, rows sorted by partition and time, and
equal keys, up to `MOST_KEPT` numbers for each event. O(n log n) for n events each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import numpy as np
import numpy.typing as npt

from cepkit.indexing import value_codes
from cepkit.pattern.canonical import PLACEHOLDER, CanonicalEvent
from cepkit.pattern.evaluation.columns import Read, truth
from cepkit.pattern.keys import partition_keys
from cepkit.statistics.links import Link, link_codes
from cepkit.stream.columns import Column, EventColumns

Held = npt.NDArray[np.bool_]
Owned = tuple[int, int] | None
Rows = npt.NDArray[np.int64]

MOST_KEPT = 3
"""The most numbers in an `ArrayCache` for each event of a slice."""
_DIGIT = 16


class ArrayCache:
    """A cache of arrays derived from a slice; it evicts the least recently used.

    Args:
        most: The most numbers that the cache holds.
    """

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._arrays: dict[Hashable, tuple[tuple[Rows, ...], object]] = {}

    def of(
        self, key: Hashable, make: Callable[[], tuple[Rows, ...]], named: object = None
    ) -> tuple[Rows, ...]:
        """Return the arrays of a key, computed if they are not in the cache.

        Args:
            make: The function that computes the arrays.
            named: The objects that the key identifies by `id`; the cache keeps them alive, so that
                no other object gets the same id.
        """
        entry = self._arrays.pop(key, None)
        if entry is None:
            entry = make(), named
            self._size += sum(map(len, entry[0]))
        self._arrays[key] = entry
        while self._size > self._most and len(self._arrays) > 1:
            oldest, _ = self._arrays.pop(next(iter(self._arrays)))
            self._size -= sum(map(len, oldest))
        return entry[0]


class Sorted:
    """The events of a slice sorted by partition and time."""

    def __init__(self, columns: EventColumns) -> None:
        self.ts = columns.ts
        size = len(columns)
        # Places in the stream stand for times, so that (partition, place) fits one integer.
        begins = np.flatnonzero(np.diff(columns.ts)) + 1
        self.places = np.zeros(size, dtype=np.int64)
        self.places[begins] = begins
        np.maximum.accumulate(self.places, out=self.places)
        self.stride = size + 1
        self._ranked = ArrayCache(MOST_KEPT * size)
        self._partitions: dict[int, tuple[Rows, int]] = {}

    def ranked(self, keys: Rows, rows: Rows) -> tuple[Rows, ...]:
        """Return the ranks of rows sorted by partition and time, and the rows."""

        def sort() -> tuple[Rows, ...]:
            own = keys[rows]
            order = sorting_order(own)
            return (own * self.stride + self.places[rows])[order], rows[order]

        return self._ranked.of((id(keys), id(rows)), sort, (keys, rows))

    def partitions(self, keys: Rows) -> int:
        """Return the number of partitions, at least one."""
        entry = self._partitions.get(id(keys))
        if entry is None:
            number = len(np.unique(keys)) if keys.any() else 1
            entry = self._partitions[id(keys)] = keys, number
        return entry[1]


def sorting_order(keys: Rows) -> Rows:
    """Return the stable sorting order of non-negative integers, as `numpy.argsort` does.

    NumPy radix-sorts 16 bits, but sorts longer integers by comparing, which takes ten times as
    long.
    """
    digits = int(keys.max(initial=0)).bit_length()
    if digits > 3 * _DIGIT or int(keys.min(initial=0)) < 0:
        return np.argsort(keys, kind="stable")
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    for shift in range(_DIGIT, digits, _DIGIT):
        order = order[np.argsort((keys[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def reader(columns: EventColumns, rows: Mapping[str, Rows]) -> Read:
    """Return a function that reads the columns of the bound events for `evaluation`."""

    def read(variable: str, attribute: str) -> Column:
        return columns.attributes[attribute].take(rows[variable])

    return read


def partition_of(columns: EventColumns, attributes: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """Return the number of the partition of each event; missing values form one key."""
    if not attributes:
        return np.zeros(len(columns), dtype=np.int64)
    codes, _ = partition_keys([columns.attributes[name] for name in attributes])
    return codes.astype(np.int64)


def has_type(columns: EventColumns, types: frozenset[str] | None) -> Held:
    """Return for each event whether it has one of some types; None for any type."""
    if types is None:
        return np.ones(len(columns), dtype=np.bool_)
    is_type = np.array([name in types for name in columns.type_names], dtype=np.bool_)
    return is_type[columns.types] if len(is_type) else np.zeros(len(columns), dtype=np.bool_)


class Events:
    """The events of a slice, with arrays that branches share.

    Args:
        columns: The events of the slice and those that complete their combinations.
        partition_by: The attributes of the partitions.
        owned: The first and the last microsecond of the slice; None if it owns all events.
    """

    def __init__(
        self, columns: EventColumns, partition_by: tuple[str, ...] = (), owned: Owned = None
    ) -> None:
        self.columns = columns
        self.keys = partition_of(columns, partition_by)
        self.sorted = Sorted(columns)
        self._owned = owned
        self._passing, self._links = (ArrayCache(MOST_KEPT * len(columns)) for _ in range(2))

    def rows(self, event: CanonicalEvent) -> Rows:
        """Return the events of some types that pass some conditions."""

        def pick() -> tuple[Rows, ...]:
            if not event.filters:
                return (np.flatnonzero(has_type(self.columns, event.types)),)
            rows = self.rows(CanonicalEvent(event.types))
            for condition in event.filters:
                rows = rows[truth(condition, reader(self.columns, {PLACEHOLDER: rows}), len(rows))]
            return (rows,)

        return self._passing.of(event, pick)[0]

    def owned_rows(self, rows: Rows) -> Rows:
        """Return the rows that the slice owns: all if it is the whole stream."""
        if self._owned is None:
            return rows
        ts = self.columns.ts[rows]
        return rows[(ts >= self._owned[0]) & (ts <= self._owned[1])]

    def link(self, link: Link) -> tuple[Mapping[str, Rows], Mapping[str, Rows]]:
        """Return the keys of a link's variables, -1 if missing, also combined with partitions."""

        def make() -> tuple[Rows, ...]:
            codes = link_codes(self.columns.attributes, link)
            return *codes, *_joined_keys(self.keys, codes)

        first, second, *joined = self._links.of(link.attributes, make)
        names = (link.first, link.second)
        return dict(zip(names, (first, second), strict=True)), dict(zip(names, joined, strict=True))


def _joined_keys(keys: Rows, codes: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
    """Return keys of two variables that are equal exactly if partition and codes are."""
    first, second = codes
    size = max(int(first.max(initial=0)), int(second.max(initial=0))) + 1
    alike = first is second
    joined = [keys * size + np.maximum(each, 0) for each in ((first,) if alike else codes)]
    dense, _ = value_codes(np.concatenate(joined))
    parts = np.split(dense.astype(np.int64), len(joined))
    return parts[0], parts[-1]
