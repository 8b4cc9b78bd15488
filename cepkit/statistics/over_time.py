"""Counts of each variable's events in equal buckets of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from cepkit.errors import StatisticsError
from cepkit.indexing import bin_counts
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.stream.shapes import Time

MOST_BUCKETS = 60
"""The number of buckets in a narrow figure."""

_EVENTS_PER_BUCKET = 10
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class OverTime:
    """The numbers of events of each variable's types, in equal buckets of time.

    Attributes:
        begin: The begin of the first bucket, in microseconds since 1970.
        bucket_seconds: The length of a bucket.
        counts: For each variable the events of its types in each bucket, before its own
            conditions.
    """

    begin: Time
    bucket_seconds: float
    counts: Mapping[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        if not self.bucket_seconds > 0:
            raise StatisticsError(
                f"a bucket of {self.bucket_seconds} seconds", expected="more than 0"
            )
        counts = {v: tuple(map(int, numbers)) for v, numbers in self.counts.items()}
        if len({len(numbers) for numbers in counts.values()}) > 1:
            raise StatisticsError("the variables have different numbers of buckets")
        buckets = max(map(len, counts.values()), default=0)
        end = self.begin + self.bucket_seconds * _SECOND * buckets
        if not -(2**63) <= self.begin <= end < 2**63:
            raise StatisticsError(
                f"{buckets:,} buckets of {self.bucket_seconds:g} seconds from {self.begin:,}"
                " microseconds after 1970 on",
                expected="times up to 292,000 years before and after 1970",
                hint="begin= is in microseconds, bucket_seconds= in seconds",
            )
        if any(number < 0 for numbers in counts.values() for number in numbers):
            raise StatisticsError("a negative number of events in a bucket", expected="0 or more")
        object.__setattr__(self, "counts", MappingProxyType(counts))

    @property
    def buckets(self) -> int:
        """The number of buckets."""
        return len(next(iter(self.counts.values()), ()))

    def rates(self, variable: str) -> tuple[float, ...]:
        """Return the events per second of the variable's types in each bucket."""
        return tuple(count / self.bucket_seconds for count in self._of(variable))

    def mean_rate(self, variable: str) -> float:
        """Return the mean of the buckets' rates."""
        counts = self._of(variable)
        return sum(counts) / len(counts) / self.bucket_seconds if counts else 0.0

    def largest_rate(self, variable: str) -> float:
        """Return the rate in the busiest bucket."""
        return max(self.rates(variable), default=0.0)

    def smallest_rate(self, variable: str) -> float:
        """Return the rate in the quietest bucket."""
        return min(self.rates(variable), default=0.0)

    def drift(self, variable: str) -> float:
        """Return the change of the rate from the first quarter of the stream to the last.

        It is (last - first) / max(last, first), between -1 (the events stopped) and 1 (they began);
        -0.5 means that the rate halved, 0.5 that it doubled. 0 for fewer than two buckets, and
        without events in either quarter.
        """
        counts = self._of(variable)
        size = max(1, len(counts) // 4)
        if len(counts) < 2:
            return 0.0
        first, last = sum(counts[:size]), sum(counts[-size:])
        return (last - first) / max(first, last) if max(first, last) else 0.0

    def burst(self, variable: str) -> float:
        """Return the Fano factor of the counts: their variance divided by their mean.

        It is about 1 for events that come independently at a constant rate, below 1 for more
        regular ones, above 1 for bursts and for drift. 1 for fewer than two buckets, and without
        events.
        """
        counts = np.array(self._of(variable), dtype=np.float64)
        if len(counts) < 2 or not counts.any():
            return 1.0
        return float(counts.var(ddof=1) / counts.mean())

    def _of(self, variable: str) -> tuple[int, ...]:
        if variable not in self.counts:
            raise StatisticsError(
                f"nothing was counted over time for a variable '{variable}'",
                expected=f"one of {', '.join(self.counts)}" if self.counts else None,
            )
        return self.counts[variable]

    def __hash__(self) -> int:
        return hash((self.begin, self.bucket_seconds, frozenset(self.counts.items())))

    # A read-only mapping cannot be pickled, a plain one can.
    def __reduce__(self) -> tuple[object, ...]:
        return OverTime, (self.begin, self.bucket_seconds, dict(self.counts))


@dataclass(frozen=True, slots=True)
class Buckets:
    """Equal stretches of time that cover a stream.

    Attributes:
        begin: The begin of the first, in microseconds.
        length: The length of each, in microseconds.
    """

    begin: int
    length: int
    number: int

    @classmethod
    def of(cls, first: int, last: int, events: int) -> Buckets:
        """Return the buckets of a stream, fewer for few events."""
        if first == last:
            return cls(first, _SECOND, 1)  # a single moment has no rate: count it as one second
        buckets = min(MOST_BUCKETS, max(1, events // _EVENTS_PER_BUCKET))
        length = -(-(last - first + 1) // buckets)
        return cls(first, length, -(-(last - first + 1) // length))

    def counts(
        self, ts: npt.NDArray[np.int64], types: npt.NDArray[np.integer], size: int
    ) -> npt.NDArray[np.int64]:
        """Return the number of events of each type in each bucket: `size` rows, one for each type.

        Args:
            ts: The times of the events, inside the stream.
            types: Their types as codes from 0; events with a negative code do not count.
            size: The number of types.
        """
        has_code = types >= 0
        places = types[has_code].astype(np.int64) * self.number
        places += (ts[has_code] - self.begin) // self.length
        return bin_counts(places, minlength=size * self.number).reshape(size, self.number)

    def over_time(self, query: Query, by_type: Mapping[str, npt.NDArray[np.int64]]) -> OverTime:
        """Return the counts of each variable, from those of each type."""
        counts = {}
        for event in events_of(query.structure):
            types = by_type if event.types is None else event.types
            total = np.zeros(self.number, dtype=np.int64)
            for name in types:
                total = total + by_type.get(name, 0)
            counts[event.variable] = total
        return self.of_variables(counts)

    def of_variables(self, counts: Mapping[str, npt.NDArray[np.int64]]) -> OverTime:
        """Return the counts of each variable together with the buckets."""
        numbers = {variable: tuple(total.tolist()) for variable, total in counts.items()}
        return OverTime(self.begin, self.length / _SECOND, numbers)
