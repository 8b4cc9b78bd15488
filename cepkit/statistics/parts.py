"""Exact counts of parts of a stream, which add up to those of the whole.

What concerns single events is counted in any part (`PartCounts`). Keys are counted in parts that
have no key in common (`KeyPart`), over events or over representatives of equal ones with their
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cepkit.indexing import bin_counts
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import in_first
from cepkit.statistics.keys import Frequent, KeyCounts, key_counts, most_frequent
from cepkit.statistics.lateness import Lateness
from cepkit.statistics.links import KeySource, Link, key_sources, link_codes, links_in
from cepkit.statistics.over_time import Buckets, OverTime
from cepkit.statistics.slice_events import Held, Rows, has_type, partition_of
from cepkit.stream.columns import EventColumns, Kind

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Details:
    """Counts for people rather than for plans, as in `Statistics`.

    Attributes:
        missing: The share of missing values of each attribute.
        over_time: The events in buckets of time.
        by_frequency: For each link the share of pairs of events with equal keys.
        lateness: The events that came out of order.
    """

    missing: Mapping[str, float] = field(default_factory=dict)
    over_time: OverTime | None = None
    keys: tuple[KeyCounts, ...] = ()
    by_frequency: Mapping[frozenset[str], float] = field(default_factory=dict)
    lateness: Lateness | None = None


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The counts of some events.

    Attributes:
        missing: For each attribute the events without it, and all that may have it.
        over_time: For each type its events in the buckets of time.
        links: For each link the events of its first variable, of its second, of both, and those
            of both that agree with themselves.
    """

    missing: Mapping[str, tuple[int, int]]
    over_time: Mapping[str, Counts]
    links: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The counts of some keys.

    Attributes:
        keys: For each key its events, its different values, and the most frequent of these.
        equal: For each link the pairs of events with equal keys.
        pairs: The pairs of events (also of one event) in one partition.
    """

    keys: tuple[tuple[int, int, tuple[Frequent, ...]], ...]
    equal: tuple[int, ...]
    pairs: float


@dataclass(frozen=True, slots=True)
class Weighted:
    """Representatives of equal events of parts of a stream.

    Attributes:
        key: The number of the key by which each represents others.
        number: How many events each represents.
    """

    key: npt.NDArray[np.integer]
    number: Counts


@dataclass(frozen=True, slots=True)
class StreamCounter:
    """Counts a stream for a pattern.

    Attributes:
        buckets: The buckets of time; None for an empty stream.
        links: The equalities between its variables.
        keys: The keys that they and PARTITION BY compare.
    """

    query: Query
    buckets: Buckets | None
    links: tuple[Link, ...]
    keys: tuple[KeySource, ...]

    @classmethod
    def of(cls, query: Query, kinds: Mapping[str, Kind], buckets: Buckets | None) -> StreamCounter:
        """Return the counter of a pattern, given the kinds of its attributes."""
        links = tuple(links_in(query, kinds).values())
        return cls(query, buckets, links, key_sources(query, links))

    def part(self, columns: EventColumns) -> PartCounts:
        """Count some events."""
        missing = {}
        for name, variables in readers(self.query).items():
            fitting = has_type(columns, types_of_variables(self.query, variables))
            missing[name] = _true(columns.attributes[name].missing() & fitting), _true(fitting)
        over_time: dict[str, Counts] = {}
        if self.buckets is not None:
            counts = self.buckets.counts(columns.ts, columns.types, len(columns.type_names))
            over_time = dict(zip(columns.type_names, counts, strict=True))
        return PartCounts(
            missing, over_time, tuple(self._ends(columns, link) for link in self.links)
        )

    def _ends(self, columns: EventColumns, link: Link) -> tuple[int, int, int, int]:
        one, other = self._has(columns, link.first), self._has(columns, link.second)
        both = itself = one & other
        if both.any():
            first, second = link_codes(columns.attributes, link)
            itself = both & (first == second) & (first >= 0)
        return _true(one), _true(other), _true(both), _true(itself)

    def _has(self, columns: EventColumns, variable: str) -> Held:
        return has_type(columns, types_of_variables(self.query, (variable,)))

    def representatives(
        self, columns: EventColumns, weighted: Weighted | None = None
    ) -> Iterator[tuple[int, Rows, Counts]]:
        """Yield for each key its number, an event of each value and type, and their number."""
        for i, key in enumerate(self.keys):
            fitting = np.ones(len(columns), np.bool_) if weighted is None else weighted.key == i
            if not key.missing_agree:
                fitting = fitting & self.has_key(columns, key)
            rows = np.flatnonzero(fitting)
            codes = partition_of(columns, key.attributes)[rows] * len(columns.type_names)
            codes += columns.types[rows]
            _, places, inverse = np.unique(codes, return_index=True, return_inverse=True)
            yield i, rows[places], _sums(inverse, len(places), weighted, rows)

    def key_part(self, columns: EventColumns, weighted: Weighted | None = None) -> KeyPart:
        """Count all events of some keys.

        Args:
            weighted: What they represent; None: each itself, by every key.
        """
        keys = tuple(self._key(columns, i, weighted) for i in range(len(self.keys)))
        equal = tuple(self._equal(columns, link, weighted) for link in self.links)
        return KeyPart(keys, equal, self.pairs(columns, weighted))

    def _key(
        self, columns: EventColumns, i: int, weighted: Weighted | None
    ) -> tuple[int, int, tuple[Frequent, ...]]:
        key = self.keys[i]
        values = [columns.attributes[name] for name in key.attributes]
        fitting = self.has_key(columns, key)
        if weighted is not None:
            fitting &= weighted.key == i
        rows = np.flatnonzero(fitting)
        codes = partition_of(columns, key.attributes)[rows]
        _, places, inverse = np.unique(codes, return_index=True, return_inverse=True)
        numbers = _sums(inverse, len(places), weighted, rows)
        best = most_frequent([column.take(rows[places]) for column in values], numbers)
        return int(numbers.sum()), len(places), best

    def has_key(self, columns: EventColumns, key: KeySource) -> Held:
        """Return for each event whether it has a key and a type of its variables."""
        fitting = has_type(columns, types_of_variables(self.query, key.variables))
        if not key.missing_agree:
            for name in key.attributes:
                fitting = fitting & ~columns.attributes[name].missing()
        return fitting

    def _equal(self, columns: EventColumns, link: Link, weighted: Weighted | None) -> int:
        codes = link_codes(columns.attributes, link)
        size = max(each.max(initial=-1) for each in codes) + 1
        first, second = (
            self._numbers(columns, link, variable, each, size, weighted)
            for variable, each in zip((link.first, link.second), codes, strict=True)
        )
        if float(first.max(initial=0)) * float(second.sum()) < 2.0**62:
            return int(np.dot(first, second))
        some = (first > 0) & (second > 0)
        return int(np.dot(first[some].astype(object), second[some].astype(object)))

    def _numbers(
        self, columns: EventColumns, link: Link, variable: str, codes: Counts, size: int,
        weighted: Weighted | None,
    ) -> Counts:  # fmt: skip
        """Return how many events of a variable have each code of a link."""
        fitting = self._has(columns, variable) & (codes >= 0)
        if weighted is not None:
            attributes = link.of(variable)
            fitting &= weighted.key == [key.attributes for key in self.keys].index(attributes)
        rows = np.flatnonzero(fitting)
        return _sums(codes[rows], size, weighted, rows)

    def pairs(self, columns: EventColumns, weighted: Weighted | None = None) -> float:
        """Return how many pairs of events (also of one event) are in one partition."""
        if not self.query.partition_by:
            return 0.0
        rows = np.arange(len(columns)) if weighted is None else np.flatnonzero(weighted.key == 0)
        codes = partition_of(columns, self.query.partition_by)[rows]
        of_key = _sums(codes, int(codes.max(initial=-1)) + 1, weighted, rows).astype(np.float64)
        # Exact in any order up to 2**53; beyond, squares lose only the last digits.
        return float((of_key * of_key).sum())

    def same_key(self, pairs: float, events: int) -> float:
        """Return the share of pairs of events that are in one partition."""
        return min(1.0, pairs / float(events) ** 2) if self.query.partition_by and events else 1.0

    def details(
        self, parts: Iterable[PartCounts], key_parts: Iterable[KeyPart], lateness: Lateness | None
    ) -> Details:
        """Return the counts of a stream from those of its parts."""
        missing = {name: np.zeros(2, np.int64) for name in readers(self.query)}
        over_time: dict[str, Counts] = {}
        links = np.zeros((len(self.links), 4), np.int64)
        for part in parts:
            for name, numbers in part.missing.items():
                missing[name] += numbers
            for name, counts in part.over_time.items():
                over_time[name] = over_time.get(name, 0) + counts
            links += np.array(part.links, np.int64).reshape(links.shape)
        known = list(key_parts)
        shares = {}
        for i, link in enumerate(self.links):
            first, second, both, itself = map(int, links[i])
            equal = sum(part.equal[i] for part in known) - itself
            shares[link.variables] = share_of_pairs(equal, first * second - both)
        return Details(
            {name: int(absent) / max(1, int(all_)) for name, (absent, all_) in missing.items()},
            None if self.buckets is None else self.buckets.over_time(self.query, over_time),
            tuple(self._merged(i, known) for i in range(len(self.keys))),
            shares,
            lateness,
        )

    def _merged(self, i: int, parts: list[KeyPart]) -> KeyCounts:
        events = sum(part.keys[i][0] for part in parts)
        distinct = sum(part.keys[i][1] for part in parts)
        best = (frequent for part in parts for frequent in part.keys[i][2])
        return key_counts(self.keys[i].attributes, events, distinct, best)


def _true(mask: Held) -> int:
    """Return for how many events something holds."""
    return int(np.count_nonzero(mask))


def _sums(
    codes: npt.NDArray[np.integer], size: int, weighted: Weighted | None, rows: Counts
) -> Counts:
    """Return how many events there are of each code."""
    if weighted is None:
        return bin_counts(codes, minlength=size)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, codes, weighted.number[rows])
    return sums


def share_of_pairs(equal: int, pairs: int) -> float:
    """Return the share of pairs that are equal; 1 if there are no pairs."""
    return equal / pairs if pairs else 1.0


def readers(query: Query) -> dict[str, frozenset[str]]:
    """Return, for each attribute that a query reads, the variables that read it."""
    variables: dict[str, set[str]] = {}
    once = in_first(query.groups)
    for variable, name in attributes_of(query.where):
        variables.setdefault(name, set()).add(once.get(variable, variable))
    for name in query.partition_by:
        variables[name] = {event.variable for event in events_of(query.structure)}
    return {name: frozenset(variables[name]) for name in sorted(variables)}


def types_of_variables(query: Query, variables: Iterable[str]) -> frozenset[str] | None:
    """Return the types that some variables of a query take; None for any."""
    variable_set = set(variables)
    types: set[str] = set()
    for event in events_of(query.structure):
        if event.variable in variable_set:
            if event.types is None:
                return None
            types |= event.types
    return frozenset(types)
