"""skip-till-next-match: every event takes part in one match at most.

The stream is scanned in order; at each event, of all matches that it completes and whose events
are free, the one with the smallest arrival numbers in pattern order is taken and its events are
consumed. So the result does not depend on the plan. Two roads lead there:

- walks (walks.py), where events came in the order of time: a search in depth from each
  event that can be last, which stops at its first success. O(events) where most searches succeed
  at once; at worst, where conditions refuse everything, a search looks at all partial matches in
  its window, O(window^(variables - 1)).
- batches (batches.py), in the order of the plan: all matches are found, then chosen
  from. Where searches take long a batch is tried, and where it takes less work batches go on;
  and they are all there is for sets, `corr` and functions of the user's between events, integers
  beyond 2^53, and events out of order.

What is consumed carries over, so slices of the stream follow each other; the walks of a slice
need memory for its candidates, and the stream one byte for each event.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence

import numpy as np

from cepkit.columnar.compile.program import Program
from cepkit.columnar.detector import slices
from cepkit.columnar.kernels.backend import Backend, loops
from cepkit.columnar.skip_till_next.batches import TRIAL, Batches
from cepkit.columnar.skip_till_next.searches import Searches, Walking
from cepkit.columnar.slices.blocks import SetBlock
from cepkit.columnar.slices.clocks import numbered
from cepkit.columnar.slices.counters import StepCounters
from cepkit.pattern.normal_form import Branch
from cepkit.stream.columns import EventColumns

PATIENCE = 16
"""Looks at a candidate for each event, beyond which walks are compared with batches."""

STRETCH = 1 << 19
"""After so many events of batches their work is compared with that of walks."""


def next_matches(
    branches: Sequence[Branch],
    programs: Sequence[Program],
    columns: EventColumns,
    counters: Sequence[Sequence[StepCounters]],
    *,
    slice_rows: int | None = None,
    backend: Backend | None = None,
) -> Iterator[tuple[int, SetBlock]]:
    """Yield branch number and matches, some at a time, in stream order of their slices.

    Walks count for each variable the candidates looked at, and as survivors the matches.

    Args:
        branches: The normal form of the query.
        programs: Their programs; they are followed in batches only.
        columns: The stream.
        counters: For each branch those of its steps; the work is added to them.
        slice_rows: Events of a slice; None: chosen from the window.
        backend: The inner loops; None: the fastest there are.
    """
    chosen = loops(backend)
    columns = numbered(programs[0], columns)
    consumed = np.zeros(len(columns), dtype=np.bool_)
    walking = Walking(branches, programs, columns, consumed, counters, chosen)
    batches = Batches(programs, columns, consumed, counters, chosen, slice_rows)
    roads = _Roads(walking, batches)
    whole = any(clock != "time" for program in programs for _, clock in program.windows)
    window = None if whole else programs[0].window
    for begin, first, end in slices(columns.ts, window, slice_rows):
        yield from roads.blocks(begin, first, end)


class _Roads:
    """Chooses between walks and batches: where searches take long, both are tried.

    A road goes on from any event, so the choice is one of work alone.
    """

    def __init__(self, walking: Walking, batches: Batches) -> None:
        self._walking = walking
        self._batches = batches
        self._by_batches = not walking.possible
        self._patience = PATIENCE
        self._work_of_walks = math.inf

    def blocks(self, begin: int, first: int, end: int) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch and matches for the last events from `first` to `end`."""
        searches: Searches | None = None
        while first < end:
            if self._by_batches:
                until = min(end, first + STRETCH) if self._walking.possible else end
                before = self._batches.work
                yield from self._batches.blocks(first, until)
                work = (self._batches.work - before) / (until - first)
                self._by_batches = work <= self._work_of_walks
                first = until
                continue
            searches = searches or self._walking.searches(begin, first, end)
            if searches is None:
                yield from self._batches.blocks(first, end)
                return
            reached, looked, found = searches.taken(first, end, self._patience)
            yield from found
            self._work_of_walks = looked / max(1, reached - first)
            first = reached
            if first < end:
                first = yield from self._trial(first, min(end, first + TRIAL))

    def _trial(self, first: int, until: int) -> Generator[tuple[int, SetBlock], None, int]:
        """Try a batch, choose the road to go on by, and return from where on."""
        before = self._batches.work
        tried = self._batches.trial(first, until)
        if tried is not None:
            yield from tried
            work = (self._batches.work - before) / (until - first)
            self._by_batches = work < self._work_of_walks
        if not self._by_batches:
            self._patience *= 4  # it pays less and less to ask again
        return first if tried is None else until
