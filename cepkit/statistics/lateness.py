"""Measured lateness: the distances of events that come out of order.

An event is late if an event that arrived earlier has a later time; its lateness is the difference
to the latest time before it. A histogram whose bins grow by 2^(1/64) counts lateness, so that the
counts of parts of a stream can be added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cepkit.errors import StatisticsError
from cepkit.indexing import bin_counts
from cepkit.statistics.selectivity import not_negative

_BINS_PER_DOUBLING = 64
_BINS = 63 * _BINS_PER_DOUBLING


@dataclass(frozen=True, slots=True)
class Lateness:
    """The events of a stream that arrived after later ones.

    Attributes:
        late: The number of late events.
        events: The number of all events.
        longest_seconds: The greatest lateness; a watermark that waits so long misses none.
        percentile_99_seconds: The lateness that 99 % of the late events do not exceed, at most
            1.1 % too large; a watermark that waits so long misses 1 % of the late events.
    """

    late: int
    events: int
    longest_seconds: float = 0.0
    percentile_99_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.late <= max(self.events, 0):
            raise StatisticsError(
                f"{self.late} late events of {self.events}", expected="a part of them"
            )
        for name in ("longest_seconds", "percentile_99_seconds"):
            seconds = not_negative(getattr(self, name), "a lateness")
            object.__setattr__(self, name, seconds)

    @property
    def share(self) -> float:
        """The share of the events that are late."""
        return self.late / self.events if self.events else 0.0


@dataclass(slots=True)
class LateCounts:
    """Counts of late events so far; two can be added up.

    Attributes:
        events: The number of events.
        longest: The greatest lateness in microseconds.
        bins: The number of late events in each bin of lateness.
    """

    events: int = 0
    longest: int = 0
    bins: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BINS, np.int64))

    def count(self, ts: npt.NDArray[np.int64], latest: int | None) -> int | None:
        """Count events and return the latest time of all.

        Args:
            ts: The times of the events in the order of arrival.
            latest: The latest time of earlier arrivals; None without any.
        """
        self.events += len(ts)
        if not len(ts):
            return latest
        latest_so_far = np.maximum.accumulate(ts)
        if latest is not None:
            latest_so_far = np.maximum(latest_so_far, latest)
        late = (latest_so_far - ts)[latest_so_far > ts]
        if len(late):
            self.longest = max(self.longest, int(late.max()))
            places = np.floor(np.log2(late) * _BINS_PER_DOUBLING).astype(np.int64)
            self.bins += bin_counts(places, minlength=_BINS)
        return int(latest_so_far[-1])

    def add(self, other: LateCounts) -> None:
        """Add other counts."""
        self.events += other.events
        self.longest = max(self.longest, other.longest)
        self.bins += other.bins

    def result(self) -> Lateness:
        """Return the lateness of the events."""
        late = int(self.bins.sum())
        if not late:
            return Lateness(0, self.events)
        # The first bin with 99 % up to it, in whole numbers.
        place = int(np.searchsorted(self.bins.cumsum() * 100, late * 99))
        edge = 2.0 ** ((place + 1) / _BINS_PER_DOUBLING)
        most = min(edge, float(self.longest))
        return Lateness(late, self.events, self.longest / 1e6, most / 1e6)
