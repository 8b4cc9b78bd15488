"""skip-till-next-match over batches of last events, for every detectable query.

All matches that end in a batch of events and contain no consumed event are found as under
skip-till-any-match, sorted by (last event, arrival numbers, branch), and taken one after the other
if their events are still free. Only then sets of Kleene variables are chosen: see sets.py. Batches
shrink if there are many matches and grow if there are few, so that at most `HELD` are held; in a
batch of one event only the first match is kept.

Cost: finding all matches whose events are free when their batch begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program, StepCounters
from cepkit.columnar.kleene.limits import MOST_TRIED, TooManySets, Tries
from cepkit.columnar.kleene.sets import Offers
from cepkit.columnar.run import Run
from cepkit.columnar.skip_till_next.sets import PendingOffers
from cepkit.columnar.slices.binding import Binder
from cepkit.columnar.slices.blocks import SetBlock
from cepkit.columnar.slices.cutting import Owned
from cepkit.compiling import compiled
from cepkit.errors import LimitError
from cepkit.stream.columns import EventColumns

HELD = 1 << 20
"""The most matches held at once, exceeded by at most one block."""

FIRST_BATCH = 1 << 14
"""Events of the first batch."""

TRIAL, TRIAL_HELD = 1 << 10, 1 << 16
"""Events of a trial, and the most matches held there."""

LOOK, TAKEN = 0.4, 25.0
"""The cost of a candidate and of a match, in candidates examined by a search."""

TRIED = 1 << 20
"""Sets tried at a time; all sets of some rows."""

Rows = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


def taken_blocks(
    programs: Sequence[Program], rows: Rows, branches: npt.NDArray[np.integer]
) -> Iterator[tuple[int, SetBlock]]:
    """Yield the matches of each branch that has any.

    Args:
        rows: For each match the rows of its variables in pattern order, then -1.
    """
    for number, program in enumerate(programs):
        own = rows[branches == number]
        if len(own):
            names = enumerate(program.variables)
            yield number, SetBlock(len(own), {v: own[:, i].copy() for i, v in names}, {})


class Batches:
    """Takes the matches of a query from a stream, batch after batch.

    Args:
        consumed: Whether a match has consumed each event; updated in place.
        most_rows: The most events of a batch; None: any number.

    Attributes:
        work: The work so far, in candidates examined by a search.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        columns: EventColumns,
        consumed: npt.NDArray[np.bool_],
        counters: Sequence[Sequence[StepCounters]],
        most_rows: int | None = None,
    ) -> None:
        self._programs = programs
        self._columns = columns
        self._consumed = consumed
        self._counters = counters
        self._most_rows = most_rows
        self._batch = FIRST_BATCH
        self._tried = 0
        self.work = 0.0
        self._arrival = None if columns.in_order() else columns.arrival()

    def blocks(self, first: int, end: int) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch and matches for the last events from `first` to `end`.

        Raises:
            LimitError: It would have to try too many sets against conditions.
        """
        while first < end:
            until = min(end, first + max(1, min(self._batch, self._most_rows or end)))
            held = self._held(first, until, HELD)
            if held is None:
                self._batch = max(1, (until - first) // 4)
                continue
            if held.size < HELD // 8:
                self._batch = max(self._batch, 4 * (until - first))
            first = until
            yield from self._taken(held)

    def trial(self, first: int, until: int) -> Iterator[tuple[int, SetBlock]] | None:
        """Return the result of `blocks`; None if there are too many matches."""
        held = self._held(first, until, TRIAL_HELD)
        return None if held is None else self._taken(held)

    def _taken(self, held: _Pending) -> Iterator[tuple[int, SetBlock]]:
        for number, block in held.taken():
            self._counters[number][-1].survivors += block.size
            yield number, block

    def _held(self, first: int, until: int, most: int) -> _Pending | None:
        """Return all matches that end in a batch, and add the work; None if too many to hold.

        A batch of one event keeps only the first match.
        """
        survivors = [steps[-1].survivors for steps in self._counters]
        before = self._looked()
        held, size = self._found_all(first, until, most)
        self.work += LOOK * (self._looked() - before) + TAKEN * size
        for steps, number in zip(self._counters, survivors, strict=True):
            steps[-1].survivors = number  # only taken ones count as matches
        return held

    def _looked(self) -> int:
        return sum(c.candidates + 3 * c.survivors for steps in self._counters for c in steps)

    def _found_all(self, first: int, until: int, most: int) -> tuple[_Pending | None, int]:
        held: _Pending
        if any(program.sets for program in self._programs):
            held = PendingOffers(self._programs, self._consumed, self._arrival)
        else:
            held = _PendingMatches(self._programs, self._consumed, self._arrival)
        before = MOST_TRIED - self._tried
        tries = Tries(before, TRIED, until - first == 1)
        for number in range(len(self._programs)):
            try:
                for begin, offers in self._found(number, first, until, tries):
                    held.add(number, offers, begin, first)
                    if held.size > most:
                        if until - first > 1:
                            return None, held.size
                        held.keep_first()
            except TooManySets:
                if until - first > 1:
                    return None, held.size
                raise _too_many(self._programs[number]) from None
        self._tried += before - tries.left
        return held, held.size

    def _found(
        self, number: int, first: int, until: int, tries: Tries
    ) -> Iterator[tuple[int, Offers]]:
        """Yield the matches of one branch that end in a batch, and some earlier ones."""
        ts, program = self._columns.ts, self._programs[number]
        begin, ahead = 0, len(ts)
        if program.window is not None and all(clock == "time" for _, clock in program.windows):
            begin = int(np.searchsorted(ts, ts[first] - program.window))
            # Events under NOT may come up to a window after the last event.
            ahead = until
            if program.negated:
                ahead = int(np.searchsorted(ts, ts[until - 1] + program.window, side="right"))
        elif not program.negated and all(clock == "time" for _, clock in program.windows):
            ahead = until
        covers_all = begin == 0 and ahead == len(ts)
        part = self._columns if covers_all else self._columns.slice(begin, ahead)
        free = ~self._consumed[begin:ahead]
        free[until - begin :] = False
        owned = Owned(since=int(ts[first]), free=free)
        arrival = None if self._arrival is None else self._arrival[begin:ahead]
        bound = Binder(program, part, owned, in_time=True).bound()
        for offers in Run(bound, self._counters[number]).offers(tries, arrival):
            yield begin, offers


class _Pending(Protocol):
    """The matches that end in a batch, before they are taken."""

    size: int

    def add(self, number: int, offers: Offers, shift: int, first: int) -> None:
        """Add matches of a branch in a slice that begins at row `shift`."""
        ...

    def keep_first(self) -> None:
        """Keep only the first match of each last event."""
        ...

    def taken(self) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch and matches, and mark their events as consumed."""
        ...


class _PendingMatches:
    """Matches of single events: each a row of the stream's rows in pattern order, then -1."""

    def __init__(
        self,
        programs: Sequence[Program],
        consumed: npt.NDArray[np.bool_],
        arrival: npt.NDArray[np.int64] | None,
    ) -> None:
        self._programs = programs
        self._consumed = consumed
        self._arrival = arrival
        width = max(len(program.variables) for program in programs)
        self._rows = [np.empty((0, width), dtype=np.int32)]
        self._branches = [np.empty(0, dtype=np.int64)]
        self.size = 0

    def add(self, number: int, offers: Offers, shift: int, first: int) -> None:
        rows = np.full((offers.size, self._rows[0].shape[1]), -1, dtype=np.int32)
        for i, variable in enumerate(self._programs[number].variables):
            rows[:, i] = offers.rows[variable]
            rows[:, i] += shift
        rows = rows[rows.max(axis=1) >= first]
        self._rows.append(rows)
        self._branches.append(np.full(len(rows), number))
        self.size += len(rows)

    def keep_first(self) -> None:
        rows, branches = self._together()
        least = self._in_order(rows, branches)[:1]
        self._rows, self._branches, self.size = [rows[least]], [branches[least]], 1

    def taken(self) -> Iterator[tuple[int, SetBlock]]:
        rows, branches = self._together()
        taken = np.empty(len(rows), dtype=np.int64)
        order = self._in_order(rows, branches)
        size = take_in_order(rows, order, self._consumed, taken)
        taken = taken[:size]
        yield from taken_blocks(self._programs, rows[taken], branches[taken])

    def _together(self) -> tuple[Rows, npt.NDArray[np.int64]]:
        return np.concatenate(self._rows), np.concatenate(self._branches)

    def _in_order(self, rows: Rows, branches: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of the matches in order of preference."""
        arrival = rows if self._arrival is None else np.append(self._arrival, -1)[rows]
        # The last key counts most.
        return np.lexsort((branches, *arrival.T[::-1], rows.max(axis=1, initial=-1)))


@compiled
def take_in_order(
    rows: Rows, order: Numbers, consumed: npt.NDArray[np.bool_], taken: Numbers
) -> int:
    """Take the matches whose events are all free, one after the other.

    Args:
        rows: int32[n, width], for each match the rows of its events, then -1.
        order: int64[n], the numbers of the matches, in order of preference.
        consumed: bool[events], whether a match has consumed an event; updated in place.
        taken: int64[n], the output: the numbers of the taken matches.

    Returns:
        The number of taken matches.
    """
    m = 0
    for i in order:
        free = True
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0 and consumed[rows[i, k]]:
                free = False
                break
        if free:
            for k in range(rows.shape[1]):
                if rows[i, k] >= 0:
                    consumed[rows[i, k]] = True
            taken[m] = i
            m += 1
    return m


def _too_many(program: Program) -> LimitError:
    names = " and ".join(f"'{step.variable}'" for step in program.listed)
    return LimitError(
        f"too many sets of {names} to check the conditions on whole sets on one after the other",
        expected=f"at most {MOST_TRIED:,} sets to try",
        hint="KL(...){1,3} bounds their size; a shorter window, or conditions on single members,"
        " leave fewer events to choose from",
    )
