"""Matches that stay on Spark and are fetched in pages.

Nothing there has a number: an event is identified by its content, a match by its events. So a match
that is fetched twice, in any order, is recognised and keeps its number.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepkit.columnar.slices.blocks import Members
from cepkit.pattern.conditions import Expression
from cepkit.pattern.query import Query
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from cepkit_widgets.matches.known import NONE, Ints, Known, Part
from cepkit_widgets.matches.look import margin_of

MOST = 100_000
"""The most matches to hold, each with all columns of its events."""
MOST_AROUND = 2_000
"""The most events to fetch around a match."""


class Pages(Protocol):
    """Where the matches are; see `cepkit.spark.matches.pages`."""

    query: Query
    schema: Schema
    names: tuple[str, ...]
    timed: bool

    def first(self, n: int) -> pa.Table:
        """Return at most `n` matches: a struct for each variable, a list of structs for a set."""

    def searched(
        self,
        n: int,
        condition: Expression | None,
        sort: tuple[str, str] | None,
        *,
        descending: bool = False,
    ) -> pa.Table:
        """Return the first `n` matches, in an order, that satisfy a condition."""

    def can_search(self, condition: Expression | None) -> bool:
        """Return whether all matches can be searched for a condition."""

    def around(self, first: str, last: str, seconds: float, most: int) -> pa.Table:
        """Return the events around some time, those nearest to its beginning."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search of all matches.

    Attributes:
        condition: As it was written; empty for all.
        sort: A variable and an attribute; None for no order.
        descending: Whether the greatest comes first.
        size: How many were fetched: the first in that order.
        complete: Whether these are all that satisfy the condition.
    """

    condition: str
    sort: tuple[str, str] | None
    descending: bool
    size: int = 0
    complete: bool = False


class PagedMatches(Known):
    """The fetched matches, numbered in the order in which they came.

    Fetching (`first`, `searched` and `around` of `pages`) takes long and changes nothing; `take` is
    quick and adds the fetched matches.

    Attributes:
        pages: Where the others are.
        search: The last search for which matches were fetched.
    """

    place = "on Spark"

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.timed = pages.timed
        self.search: Search | None = None
        self._read = sorted(attributes_read(pages.query))
        self._asked = 0
        self._counts: Counter[tuple[tuple[int, ...], ...]] = Counter()
        self._found: list[Part] = []
        self._around: list[tuple[int, int, bool]] = []
        # Before the first match the contents of its columns are unknown.
        self._rows = pa.table({name: pa.nulls(0) for name in pages.names})
        self._copies = np.empty(0, dtype=np.int64)
        super().__init__(
            pages.query, Stream(_NOTHING, Schema("ts", "type"), ("ts", "type")).columns()
        )

    def at_least(self, number: int) -> None:
        """Fetch more until there are so many, or all."""
        if number > self._asked and not self.complete:
            self.take(self.pages.first(min(number, MOST)), min(number, MOST))

    def looked_at(self, _: int) -> int:
        """Return how many matches the reader sees: all that are here."""
        return self.size

    @property
    def most(self) -> int:
        """How many matches are held at most."""
        return MOST

    def take(self, found: pa.Table, asked: int, search: Search | None = None) -> None:
        """Add fetched matches.

        Args:
            found: The matches.
            asked: How many were requested.
            search: The search that found them; None: any matches were requested.
        """
        every = len(found) < asked
        if search is None:
            self._asked = max(self._asked, asked)
        else:
            self.search = Search(
                search.condition, search.sort, search.descending, len(found), every
            )
        self.complete |= every and (search is None or not search.condition)
        self._add(found)

    def covers(self, number: int) -> bool | None:
        """Return whether the events around a match are here; None: only the nearest are."""
        low, high = self._span(number)
        full = [full for begin, end, full in self._around if begin <= low and high <= end]
        return any(full) or (None if full else False)

    def around(self, number: int) -> tuple[str, str, float, int]:
        """Return the arguments of `pages.around` for a match."""
        events = [e for bound in self.binding(number).values() for e in bound]
        ends = self.columns.source_rows(np.array([min(events), max(events)]))
        texts = [_text(self._rows.column(self.pages.schema.time)[int(row)]) for row in ends]
        low, high = self._span(number)
        # Half of the rest that is not the match itself.
        length = int(self.columns.ts[max(events)] - self.columns.ts[min(events)])
        return texts[0], texts[1], (high - low - length) / 2e6, MOST_AROUND

    def take_around(self, number: int, events: pa.Table) -> None:
        """Add fetched events around a match."""
        self._around.append((*self._span(number), len(events) < MOST_AROUND))
        self._grow(events.cast(self._rows.schema), np.zeros(len(events), dtype=np.int64))
        self._number()

    def row(self, event: int) -> int:
        """Return the permanent number of an event."""
        return int(self.columns.source_rows(np.array([event]))[0])

    def event(self, row: int) -> int:
        """Return the event with this permanent number."""
        return int(self._events[row])

    def _span(self, number: int) -> tuple[int, int]:
        times = self.columns.ts[[e for bound in self.binding(number).values() for e in bound]]
        low, high = int(times.min()), int(times.max())
        return low - margin_of(high - low), high + margin_of(high - low)

    def _add(self, found: pa.Table) -> None:
        bound = {v: _events_of(found.column(v)) for v in self.variables}
        there = np.stack([np.diff(starts) > 0 for starts, _ in bound.values()])
        flat = pa.concat_tables([events for _, events in bound.values()])
        if not len(self._rows):
            self._rows = flat.slice(0, 0)
        owners = np.concatenate(
            [np.repeat(np.arange(len(found)), np.diff(starts)) for starts, _ in bound.values()]
        )
        rows = self._grow(flat, owners)
        ends = np.cumsum([0, *(len(events) for _, events in bound.values())])
        sets = {
            v: Members(starts, rows[begin : begin + starts[-1]])
            for (v, (starts, _)), begin in zip(bound.items(), ends, strict=False)
        }
        new = self._unknown(sets)
        # The matches of each branch of an OR are grouped.
        for pattern in np.unique(there[:, new], axis=1).T if len(new) else ():
            some = new[(there[:, new] == pattern[:, None]).all(axis=0)]
            own = {
                v: sets[v].take(some) for v, has in zip(self.variables, pattern, strict=True) if has
            }
            self._found.append(
                Part(
                    self.size,
                    len(some),
                    {
                        v: members.rows.astype(np.int64)
                        for v, members in own.items()
                        if v not in self.repeated
                    },
                    {v: members for v, members in own.items() if v in self.repeated},
                )
            )
            self.size += len(some)
        self._number()

    def _unknown(self, sets: dict[str, Members]) -> Ints:
        """Return which matches are new; equal ones may be different matches."""
        lists = []
        for members in sets.values():
            ends = zip(members.starts, members.starts[1:], strict=False)
            lists.append([tuple(members.rows[begin:end].tolist()) for begin, end in ends])
        seen: Counter[tuple[tuple[int, ...], ...]] = Counter()
        new = []
        for number, key in enumerate(zip(*lists, strict=True)):
            seen[key] += 1
            if seen[key] > self._counts[key]:
                new.append(number)
        self._counts |= seen
        return np.array(new, dtype=np.int64)

    def _grow(self, events: pa.Table, owners: Ints) -> Ints:
        """Add events that are new; return the row of each.

        Args:
            events: The events, with the columns of those that are here.
            owners: The match that each was fetched for: equal events of one owner are different
                events.
        """
        here = len(self._rows)
        every = pa.concat_tables([self._rows, events])
        codes = _codes(every)
        copies = np.concatenate((self._copies, _occurrences(owners, codes[here:])))
        pairs = np.unique(np.stack((codes, copies)), axis=1, return_index=True, return_inverse=True)
        # Numbered by first appearance: the events that are here keep their rows.
        first, inverse = pairs[1], pairs[2].reshape(-1)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        self._rows = every.take(pa.array(first[order])).combine_chunks()
        self._copies = copies[first[order]]
        rows: Ints = rank[inverse][here:]
        return rows

    def _number(self) -> None:
        """Number all events, and those of all matches, in stream order."""
        schema = self.pages.schema
        self._hold(Stream(self._rows, schema, tuple(self._rows.column_names)).columns(self._read))
        self._events = np.full(len(self._rows), NONE, dtype=np.int64)
        numbers = np.arange(len(self.columns))
        self._events[self.columns.source_rows(numbers)] = numbers
        self._parts = [
            Part(
                part.begin,
                part.size,
                {v: self._events[rows] for v, rows in part.rows.items()},
                {
                    v: Members(members.starts, self._events[members.rows]).in_stream_order()
                    for v, members in part.members.items()
                },
            )
            for part in self._found
        ]
        self._made.clear()


_NOTHING = pa.table({"ts": pa.array([], pa.timestamp("us")), "type": pa.array([], pa.string())})


def _events_of(column: pa.ChunkedArray) -> tuple[Ints, pa.Table]:
    """Return the events of a variable in all matches, and where those of each match begin."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        events = pc.list_flatten(column)
    else:
        sizes = pc.cast(column.is_valid(), pa.int64()).to_numpy()
        events = column.drop_null()
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    names = [field.name for field in events.type]
    kinds = [field.type for field in events.type]
    chunks = events.chunks if isinstance(events, pa.ChunkedArray) else [events]
    tables = [pa.Table.from_arrays(chunk.flatten(), names=names) for chunk in chunks]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    return starts, pa.concat_tables([schema.empty_table(), *tables])


def _codes(table: pa.Table) -> Ints:
    """Return a number for each row: rows with equal values share it."""
    codes: Ints = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        one = column.combine_chunks()
        try:
            coded = pc.dictionary_encode(one, null_encoding="encode")
        except pa.ArrowNotImplementedError:
            # Lists and other nested values.
            coded = pc.dictionary_encode(pa.array(map(repr, one.to_pylist()), pa.string()))
        part = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        values = part.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = np.unique(codes * (len(part.dictionary) + 1) + values, return_inverse=True)[1]
    return codes


def _occurrences(owners: Ints, codes: Ints) -> Ints:
    """Return for each event how many equal ones of the same owner come before it."""
    order = np.lexsort((codes, owners))
    a, b = owners[order], codes[order]
    begins = np.flatnonzero(np.concatenate(([True], (a[1:] != a[:-1]) | (b[1:] != b[:-1]))))
    counts = np.arange(len(order)) - np.repeat(begins, np.diff([*begins, len(order)]))
    occurrences = np.empty(len(order), dtype=np.int64)
    occurrences[order] = counts
    return occurrences


def _text(value: pa.Scalar) -> str:
    """Return a time as a text of its type, as Spark reads it."""
    plain = value.as_py()
    return plain.isoformat(sep=" ") if hasattr(plain, "isoformat") else str(plain)
