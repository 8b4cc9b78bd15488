"""A bucket of a stream: the events of its last window, and the rows that it emits as they complete.

State is raw events, never partial matches. A bucket is complete up to the watermark, or up to its
own latest event minus the lateness where that is later. When this moves from m0 to m1, each search
runs once over the events of (m0 - W, m1] and owns the rows that end in (m0, m1]; a search that
looks ahead emits its rows W later. So each row is emitted once. The answer is that of a batch over
all events that were not late, in whatever order they came, and the plan may change at any time.

Nothing here knows Spark: state and events are Arrow.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepkit.columnar.slices.cutting import Owned
from cepkit.pattern.keys import partition_keys
from cepkit.spark.cells.sending import Sending
from cepkit.spark.streaming.explanation import work_texts
from cepkit.spark.streaming.searches import Carried, Counted, Search
from cepkit.spark.streaming.slices import Slices
from cepkit.stream.columns import EventColumns

TAKEN = "\0taken"
"""The names of columns of marks begin so, one for each search whose matches depend on earlier."""

Found = tuple[str, pa.RecordBatch | int | str]
"""A kind, and the rows of that kind; or a number (`live.KINDS`), or a text about plans."""


@dataclass(frozen=True, slots=True)
class Held:
    """The state of a bucket between micro-batches.

    Attributes:
        events: The rows that later searches may need, in the order of arrival.
        complete: The time before which all events have come, in microseconds; None: not known yet.
        plans: For each search what decides the plan of the next stretch: see `SlicePlans.memory`;
            empty where plans do not follow the stream.
    """

    events: pa.Table
    complete: int | None = None
    plans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bucket:
    """The searches over the events of a bucket.

    Attributes:
        sending: The columns of the events, and how they are read.
        searches: The searches over them.
        slices: The stretches of time whose rows are a bucket's own; None: all.
    """

    sending: Sending
    searches: tuple[Search, ...]
    slices: Slices | None = None

    @property
    def fields(self) -> pa.Schema:
        """The columns of the rows that are held."""
        marks = [pa.field(self._mark(i), pa.bool_()) for i in self._in_turn]
        return pa.schema([*self.sending.fields, *marks])

    @property
    def _in_turn(self) -> tuple[int, ...]:
        return tuple(i for i, search in enumerate(self.searches) if search.in_turn)

    def _mark(self, search: int) -> str:
        return f"{TAKEN}{search}"

    def nothing(self) -> Held:
        """Return the state of a bucket before its first event."""
        return Held(self.fields.empty_table())

    def step(
        self,
        held: Held,
        new: pa.Table,
        until: int | None,
        number: int = 0,
        *,
        complete: int | None = None,
    ) -> Generator[Found, None, Held]:
        """Yield late events, and rows that become certain as time moves on; return the new state.

        Args:
            new: Rows that have come since, in the order of arrival, of `sending`'s columns.
            until: The time in microseconds before which all events had come before these; None:
                not known yet.
            complete: The time before which all events have come with these; None: `until`.
        """
        until = _latest(until, held.complete)
        complete = _latest(until, complete)
        ts = self.sending.times(new)
        late = np.zeros(len(ts), bool) if until is None else ts < until
        if until is not None and late.any():
            # If several buckets have an event, only its owner yields it.
            own = late if self.slices is None else late & (self.slices.owners(ts) == number)
            if own.any():
                yield "late", batch_of(new.filter(pa.array(own)))
                first, last = int(ts[own].min()), int(ts[own].max())
                yield "late-first", first
                yield "late-last", last
                yield "late-by", until - first
            new = new.filter(pa.array(~late))
        for i in self._in_turn:
            new = new.append_column(self._mark(i), pa.array(np.zeros(len(new), bool)))
        table = pa.concat_tables([held.events, new])
        if len(table) and complete is not None:
            if self.sending.arrival in self.sending.fields.names:
                order = pc.sort_indices(table.column(self.sending.arrival))
                table = table.take(order)
            return (yield from self._search(table, held, complete, number))
        return replace(held, events=table, complete=complete)

    def wakes(self, held: Held, number: int = 0) -> int | None:
        """Return the time that must be complete before there is more to do; None: never."""
        if not len(held.events) or held.complete is None:
            return None
        ts = self.sending.times(held.events)
        own = ts if self.slices is None else ts[self.slices.owners(ts) == number]
        times = []
        for search in self.searches:
            later = own[own >= held.complete - search.reach.ahead]
            if len(later):
                times.append(int(later.min()) + search.reach.ahead)
        if any(search.at_any_time for search in self.searches):
            times.append(held.complete)
        if times:
            return min(times)
        reaches = [search.reach for search in self.searches]
        if any(reach.counted is not None and reach.counted.last for reach in reaches):
            return None
        return int(ts.max()) + max(reach.window + reach.ahead for reach in reaches)

    def _search(
        self, table: pa.Table, held: Held, until: int, number: int
    ) -> Generator[Found, None, Held]:
        """Yield the rows of all searches; return the new state."""
        events = self.sending.events(table.select(self.sending.fields.names))
        seen = events.slice(0, int(np.searchsorted(events.ts, until)))
        memories = []
        for i, search in enumerate(self.searches):
            ahead = search.reach.ahead
            owned = Owned(None if held.complete is None else held.complete - ahead, until - ahead)
            carried = Carried(plans=held.plans[i] if held.plans else "")
            if search.in_turn:
                at = table.schema.get_field_index(self._mark(i))
                rows = seen.source_rows(np.arange(len(seen)))
                whole = table.column(at).to_numpy().copy()
                carried.taken = whole[rows]
            for part, own in self._parts(search, seen, owned, number):
                if search.is_due(part.ts, own):
                    yield "looked", len(part)
                    for batch in search.batches(part, own, carried):
                        yield ("plan" if isinstance(batch, str) else search.kind), batch
            if carried.taken is not None:
                whole[rows] = carried.taken
                table = table.set_column(at, table.schema.field(at), pa.array(whole))
            memories.append(carried.plans)
            if search.kind == "match":
                for text in work_texts(i, carried.work):
                    yield "work", text
        plans = tuple(memories) if any(memories) else ()
        return Held(self._of_use(table, events, until), until, plans)

    def _parts(
        self, search: Search, seen: EventColumns, owned: Owned, number: int
    ) -> Iterator[tuple[EventColumns, Owned]]:
        """Yield the events to search, and the stretch of time whose rows are wanted."""
        if self.slices is None:
            yield seen, owned
            return
        for own in self.slices.owned(number, seen.ts, owned):
            assert own.since is not None
            assert own.until is not None
            begin = int(np.searchsorted(seen.ts, own.since - search.reach.window))
            end = int(np.searchsorted(seen.ts, own.until + search.reach.ahead))
            yield seen.slice(begin, end), own

    def _of_use(self, table: pa.Table, events: EventColumns, until: int) -> pa.Table:
        """Return the rows that are still needed when all events before a time have come."""
        ts = self.sending.times(table)
        of_use = np.zeros(len(table), dtype=np.bool_)
        for search in self.searches:
            reach = search.reach
            if reach.counted is not None and reach.counted.last is not None:
                of_use[events.source_rows(_last_of(events, reach.counted, until))] = True
            else:
                of_use |= ts >= until - reach.ahead - reach.window
        return table if of_use.all() else table.filter(pa.array(of_use))


def _last_of(events: EventColumns, counted: Counted, until: int) -> npt.NDArray[np.intp]:
    """Return the last events of each partition before a time, and all later ones."""
    size = int(np.searchsorted(events.ts, until))
    codes = np.zeros(size, dtype=np.int32)
    if counted.partition_by:
        codes = partition_keys([events.attributes[name] for name in counted.partition_by])[0][:size]
    order = np.argsort(codes[::-1], kind="stable")
    ascending = codes[::-1][order]
    begins = np.flatnonzero(np.diff(ascending, prepend=-1))
    behind = np.arange(size) - np.repeat(begins, np.diff(begins, append=size))
    last = size - 1 - order[behind < (counted.last or 0)]
    return np.concatenate([np.sort(last), np.arange(size, len(events))])


def _latest(*times: int | None) -> int | None:
    """Return the latest of the times that are known; None if none is."""
    return max((time for time in times if time is not None), default=None)


def batch_of(table: pa.Table) -> pa.RecordBatch:
    """Return a table as a single batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
