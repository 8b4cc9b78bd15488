"""skip-till-next-match for everything that the engine can detect: batches of last events.

All matches that end in a batch of events, and have none that is consumed, are found as under
skip-till-any-match, put into the order of (last event, arrival numbers, branch), and taken one
after the other as long as their events are free. Batches shrink where matches abound and grow
where they are few, so that at most `HELD` are held; of one event's matches only the first is kept.

Cost: that of all matches whose events are free when their batch begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cepkit.columnar.backend import Loops
from cepkit.columnar.binding import bind
from cepkit.columnar.blocks import Block, SetBlock
from cepkit.columnar.candidates import Owned
from cepkit.columnar.counters import StepCounters
from cepkit.columnar.next_match_loops import next_match_loops
from cepkit.columnar.program import Program
from cepkit.columnar.run import Run
from cepkit.stream.columns import EventColumns

HELD = 1 << 20
"""Matches held at once, more only by one block."""

FIRST_BATCH = 1 << 14
"""Events of the first batch."""

Rows = npt.NDArray[np.int32]


def taken_blocks(
    programs: Sequence[Program], rows: Rows, branches: npt.NDArray[np.integer]
) -> Iterator[tuple[int, SetBlock]]:
    """Yield the matches of each branch that has any.

    Args:
        programs: Of the branches.
        rows: For each match the rows of its variables in pattern order, then -1.
        branches: The branch of each.
    """
    for number, program in enumerate(programs):
        own = rows[branches == number]
        if len(own):
            names = enumerate(program.variables)
            yield number, SetBlock(len(own), {v: own[:, i].copy() for i, v in names}, {})


class Batches:
    """Takes the matches of a query from a stream, batch after batch.

    Args:
        programs: Of all branches.
        columns: The stream.
        consumed: For each event whether a match has it; what is taken is added.
        counters: For each branch those of its steps.
        loops: The inner loops to use.
        most_rows: The most events of a batch; None: any number.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        columns: EventColumns,
        consumed: npt.NDArray[np.bool_],
        counters: Sequence[Sequence[StepCounters]],
        loops: Loops,
        most_rows: int | None = None,
    ) -> None:
        self._programs = programs
        self._columns = columns
        self._consumed = consumed
        self._counters = counters
        self._loops = loops
        self._most_rows = most_rows
        self._batch = FIRST_BATCH
        self._arrival = None if columns.in_order() else columns.arrival()

    def blocks(self, first: int, end: int) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch and matches for the last events from `first` to `end`."""
        while first < end:
            until = min(end, first + max(1, min(self._batch, self._most_rows or end)))
            survivors = [steps[-1].survivors for steps in self._counters]
            held = self._held(first, until)
            for steps, before in zip(self._counters, survivors, strict=True):
                steps[-1].survivors = before  # only what is taken is a match
            if held is None:
                self._batch = max(1, (until - first) // 4)
                continue
            rows, branches = held
            if len(rows) < HELD // 8:
                self._batch = max(self._batch, 4 * (until - first))
            first = until
            taken = self._taken(rows, branches)
            for number, block in taken_blocks(self._programs, rows[taken], branches[taken]):
                self._counters[number][-1].survivors += block.size
                yield number, block

    def _taken(self, rows: Rows, branches: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of the matches to take."""
        taken = np.empty(len(rows), dtype=np.int64)
        order = self._in_order(rows, branches)
        size = next_match_loops(self._loops).take_in_order(rows, order, self._consumed, taken)
        return taken[:size]

    def _in_order(self, rows: Rows, branches: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of the matches in the order in which they are offered."""
        arrival = rows if self._arrival is None else np.append(self._arrival, -1)[rows]
        # The last key counts most.
        return np.lexsort((branches, *arrival.T[::-1], rows.max(axis=1, initial=-1)))

    def _held(self, first: int, until: int) -> tuple[Rows, npt.NDArray[np.int64]] | None:
        """Return all matches that end in a batch and their branches; None: too many to hold.

        Of a batch of one event only the first match is held.
        """
        width = max(len(program.variables) for program in self._programs)
        parts: list[Rows] = []
        branches: list[npt.NDArray[np.int64]] = []
        held = 0

        def together() -> tuple[Rows, npt.NDArray[np.int64]]:
            nothing = np.empty((0, width), dtype=np.int32)
            return (
                np.concatenate((nothing, *parts)),
                np.concatenate((np.empty(0, dtype=np.int64), *branches)),
            )

        for number, program in enumerate(self._programs):
            for begin, block in self._found(number, program, first, until):
                rows = rows_of(block, program, begin, width)
                rows = rows[rows.max(axis=1) >= first]
                parts.append(rows)
                branches.append(np.full(len(rows), number))
                held += len(rows)
                if held <= HELD:
                    continue
                if until - first > 1:
                    return None
                everything, numbers = together()
                least = self._in_order(everything, numbers)[:1]
                parts, branches, held = [everything[least]], [numbers[least]], 1
        return together()

    def _found(
        self, number: int, program: Program, first: int, until: int
    ) -> Iterator[tuple[int, Block]]:
        """Yield the matches of one branch that end in a batch, and some that end before it."""
        ts = self._columns.ts
        begin, ahead = 0, len(ts)
        if program.window is not None and all(clock == "time" for _, clock in program.windows):
            begin = int(np.searchsorted(ts, ts[first] - program.window))
            # What must not be there may come up to a window after the last event.
            ahead = until
            if program.negated:
                ahead = int(np.searchsorted(ts, ts[until - 1] + program.window, side="right"))
        elif not program.negated and all(clock == "time" for _, clock in program.windows):
            ahead = until
        whole = begin == 0 and ahead == len(ts)
        part = self._columns if whole else self._columns.slice(begin, ahead)
        free = ~self._consumed[begin:ahead]
        free[until - begin :] = False
        owned = Owned(since=int(ts[first]), free=free)
        bound = bind(program, part, self._loops.kernels, owned)
        for block in Run(bound, self._loops, self._counters[number]).blocks():
            yield begin, block


def rows_of(block: Block, program: Program, shift: int, width: int) -> Rows:
    """Return the matches of a block as rows of the stream.

    Args:
        block: Some matches of a slice.
        program: Of their branch.
        shift: The row at which the slice begins.
        width: The columns; those beyond the variables of the branch are -1.

    Returns:
        A row for each match, its events in pattern order.
    """
    rows = np.full((block.size, width), -1, dtype=np.int32)
    for i, variable in enumerate(program.variables):
        rows[:, i] = block.events(variable)
        rows[:, i] += shift
    return rows
