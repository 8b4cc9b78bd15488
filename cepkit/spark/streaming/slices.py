"""Time slices, assigned to buckets in turn: for patterns without a key.

Of n buckets each owns every n-th slice. It is sent the events of its slices, of a window before
them and, if a later event may break a match, of a window after them. So an event is sent to about
1 + W/L buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.columnar.slices.cutting import Owned

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Slices:
    """How time is cut.

    Attributes:
        length: The length of a slice, in microseconds.
        buckets: The number of buckets that slices are assigned to.
        window: How much before its slices a bucket must see, in microseconds.
        ahead: How much after them.
    """

    length: int
    buckets: int
    window: int
    ahead: int

    def owners(self, ts: Integers) -> Integers:
        """Return the bucket that owns the slice of each event, by their times."""
        return ts // self.length % self.buckets

    def copies(self, ts: Integers) -> tuple[npt.NDArray[np.intp], Integers]:
        """Return which events are sent to which buckets: an event and a bucket for each copy."""
        first, last = (ts - self.ahead) // self.length, (ts + self.window) // self.length
        count = np.minimum(last - first + 1, self.buckets)
        events = np.repeat(np.arange(len(ts)), count)
        ordinal = np.arange(len(events)) - np.repeat(np.cumsum(count) - count, count)
        return events, (first[events] + ordinal) % self.buckets

    def owned(self, bucket: int, ts: Integers, owned: Owned) -> Iterator[Owned]:
        """Yield the parts of a stretch of time that a bucket owns and that have events.

        Args:
            ts: The times of the events that it sees, ascending.
        """
        assert owned.until is not None
        begin = 0 if owned.since is None else int(np.searchsorted(ts, owned.since))
        inside = ts[begin : int(np.searchsorted(ts, owned.until))]
        for number in np.unique(inside // self.length).tolist():
            if number % self.buckets == bucket:
                since, until = number * self.length, (number + 1) * self.length
                if owned.since is not None:
                    since = max(since, owned.since)
                yield Owned(since, min(until, owned.until))
