"""Rates and selectivities over a sliding window of time, while events come one by one.

An exponential histogram counts the events of a window in buckets of 1, 2, 4, ... events; only the
oldest bucket may lie partly outside the window. With at most k/2 + 1 buckets of each size the
relative error of the count is at most 1/k. An event costs O(1) on average, O(log n) at worst; n
events in a window take O(k log n) numbers.
Source: Datar, Gionis, Indyk and Motwani, *Maintaining Stream Statistics over Sliding Windows* (SIAM
J. Comput. 2002), which ADAPT (US 11,693,862 B2) takes for its estimates.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from cepkit.errors import StatisticsError
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.statistics.model import Statistics
from cepkit.statistics.selectivity import Selectivity


class SlidingCount:
    """An approximate count of the events in the last stretch of time.

    Args:
        window: The length of the stretch, in microseconds.
        error: The largest relative error of the count.

    Raises:
        StatisticsError: The window or the error is invalid.
    """

    def __init__(self, window: int, error: float = 0.05) -> None:
        if window <= 0:
            raise StatisticsError(f"a window of {window} microseconds", expected="1 or more")
        if not 0 < error < 1:
            raise StatisticsError(f"an error of {error}", expected="more than 0 and less than 1")
        self.window = window
        self._most = math.ceil(math.ceil(1 / error) / 2) + 1
        # For each size, 1, 2, 4, ..., the times of the newest events of its buckets, oldest first.
        self._buckets: list[deque[int]] = [deque()]
        self._total = 0

    def add(self, ts: int) -> None:
        """Count an event; it must not be earlier than the last one."""
        self._expire(ts)
        self._buckets[0].append(ts)
        self._total += 1
        size = 0
        while len(self._buckets[size]) > self._most:
            self._buckets[size].popleft()
            newest = self._buckets[size].popleft()
            size += 1
            if size == len(self._buckets):
                self._buckets.append(deque())
            self._buckets[size].append(newest)

    def count(self, now: int) -> float:
        """Return the number of events after `now` less the window."""
        self._expire(now)
        largest = self._largest()
        return 0.0 if largest is None else self._total - (2**largest - 1) / 2

    @property
    def buckets(self) -> int:
        """The number of buckets."""
        return sum(map(len, self._buckets))

    def _expire(self, now: int) -> None:
        while (size := self._largest()) is not None:
            if self._buckets[size][0] > now - self.window:
                return
            self._buckets[size].popleft()
            self._total -= 2**size

    def _largest(self) -> int | None:
        """Return the size of the oldest bucket, as a power of two; None if there is none."""
        sizes = range(len(self._buckets) - 1, -1, -1)
        return next((size for size in sizes if self._buckets[size]), None)


class OnlineStatistics:
    """The statistics of a pattern over the last stretch of a stream.

    It counts events, and for sets of variables the evaluations of their conditions and the
    successful ones. Conditions without evaluations keep their previous selectivity.

    Args:
        window: The length of the stretch, in microseconds.
        error: The largest relative error of a count.
    """

    def __init__(self, query: Query, known: Statistics, window: int, error: float = 0.05) -> None:
        self._known, self._window, self._error = known, window, error
        self._all = SlidingCount(window, error)
        types = {event.variable: event.types for event in events_of(query.structure)}
        self._types = {v: types[v] for v in known.rates if v in types}
        names_of_types = frozenset().union(*(t for t in self._types.values() if t is not None))
        self._by_type = {name: SlidingCount(window, error) for name in names_of_types}
        self._tried: dict[frozenset[str], tuple[SlidingCount, SlidingCount]] = {}
        self._first: int | None = None

    def add(self, ts: int, kind: str) -> None:
        """Count an event.

        Args:
            ts: Its time in microseconds, not before that of the last event.
            kind: Its type.
        """
        self._first = ts if self._first is None else self._first
        self._all.add(ts)
        if kind in self._by_type:
            self._by_type[kind].add(ts)

    def tried(self, ts: int, variables: Iterable[str], *, held: bool) -> None:
        """Count one evaluation of the conditions between some variables.

        Args:
            ts: The time in microseconds, not before the last time.
            variables: The variables, two or more.
            held: Whether the conditions held.
        """
        names = frozenset(variables)
        if names not in self._tried:
            tries, passes = (SlidingCount(self._window, self._error) for _ in range(2))
            self._tried[names] = tries, passes
        tries, passes = self._tried[names]
        tries.add(ts)
        if held:
            passes.add(ts)

    def now(self, ts: int) -> Statistics:
        """Return the statistics of the stretch before a time.

        Events that did not come, and conditions that never held, count as half a case.

        Args:
            ts: The time in microseconds, not before that of the last event.
        """
        begin = ts - self._window if self._first is None else max(self._first, ts - self._window)
        seconds = max(ts - begin, 1) / 1e6
        rates = dict(self._known.rates)
        for variable, types in self._types.items():
            counts = [self._all] if types is None else [self._by_type[name] for name in types]
            rates[variable] = max(sum(c.count(ts) for c in counts), 0.5) / seconds
        shares = dict(self._known.selectivities)
        for names, (tries, passes) in self._tried.items():
            evaluations = tries.count(ts)
            if evaluations > 0:
                share = min(1.0, max(passes.count(ts), 0.5) / max(evaluations, 1.0))
                shares[names] = Selectivity(share, round(evaluations))
        return replace(
            self._known,
            rates=rates,
            selectivities=shares,
            events=round(self._all.count(ts)),
            first=begin,
            last=ts,
            over_time=None,
            forecast=None,
            joins={},
            others=(),
        )
