"""The lifetimes of matches: how long their window keeps them live.

With a window in time a match expires once more than the window has passed since its first event.
With a window in events it expires at the time of the first event that does not fit into the window
with it; without such an event it stays live. Events are numbered as in detection: in the order of
arrival, in the whole stream or inside each partition, regardless of type. At a moment all events of
that time and earlier have arrived. So with events out of order, an event with a large number may
end a match before its last event: then the match is new at that event and never live.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.rows.matched import NEVER
from cepkit.columnar.slices.blocks import Members
from cepkit.columnar.slices.cutting import with_numbers
from cepkit.indexing import reduced
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.policies import Clock, CountWindow, TimeWindow, Window
from cepkit.stream.columns import EventColumns

Wide = npt.NDArray[np.int64]
Rows = npt.NDArray[np.integer]


class Lifetimes:
    """Computes when matches expire.

    Args:
        partition_by: Inside which partitions a window in events counts.
        columns: The stream; the whole stream for a window in events.
    """

    def __init__(
        self, window: Window | None, partition_by: tuple[str, ...], columns: EventColumns
    ) -> None:
        self._ts = columns.ts
        self._length: int | None = None
        self._numbers: Wide | None = None
        match window:
            case TimeWindow():
                self._length = window.most
            case CountWindow():
                self._count(columns, partition_by, window.most + 1)
            case None:
                pass

    def _count(self, columns: EventColumns, partition_by: tuple[str, ...], events: int) -> None:
        self._length = events
        clock: Clock = "place" if partition_by else "arrival"
        columns = with_numbers(columns, frozenset((clock,)), partition_by)
        numbers = columns.places if partition_by else columns.arrivals
        assert numbers is not None
        self._numbers = numbers
        parts = np.zeros(len(columns), dtype=np.int64)
        if partition_by:
            parts[:] = partition_keys([columns.attributes[name] for name in partition_by])[0]
        # A single number sorts by partition, then by arrival.
        self._least = int(numbers.min(initial=0))
        self._span = int(numbers.max(initial=0)) - self._least + 2
        self._parts = parts
        self._order = np.argsort(parts, kind="stable")
        place = parts * self._span + (numbers - self._least)
        self._arrived = np.maximum.accumulate(place[self._order])

    def ends(self, begins: Rows, single: Mapping[str, Rows], sets: Mapping[str, Members]) -> Wide:
        """Return the first moment at which each match is no longer live.

        Args:
            begins: The first event of each match, in stream order.
            single: For each variable its event in each match.
            sets: For each Kleene variable its members.
        """
        if self._length is None:
            return np.full(len(begins), NEVER, dtype=np.int64)
        if self._numbers is None:
            return np.minimum(self._ts[begins], NEVER - 1 - self._length) + (self._length + 1)
        numbers = self._numbers
        numbers_of_events = [numbers[rows] for rows in single.values()]
        if len(begins):
            numbers_of_events += [
                reduced(np.minimum, numbers[s.rows], s.starts[:-1]) for s in sets.values()
            ]
        first = (
            np.minimum.reduce(numbers_of_events)
            if numbers_of_events
            else np.empty(0, dtype=np.int64)
        )
        past = np.minimum(first - self._least + self._length, self._span - 1)
        base = self._parts[begins] * self._span
        at = np.searchsorted(self._arrived, base + past)
        comes = at < len(self._arrived)
        comes[comes] = self._arrived[at[comes]] < base[comes] + self._span
        ends = np.full(len(begins), NEVER, dtype=np.int64)
        ends[comes] = self._ts[self._order[at[comes]]]
        return ends
