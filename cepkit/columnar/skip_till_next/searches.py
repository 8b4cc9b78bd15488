"""The searches of skip-till-next-match in one slice: bound once, broken off and gone on with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.kernels.backend import Loops
from cepkit.columnar.skip_till_next.batches import taken_blocks
from cepkit.columnar.skip_till_next.flatten import flatten
from cepkit.columnar.skip_till_next.loops import next_match_loops
from cepkit.columnar.skip_till_next.walks import ROWS, SIZE, Walks, walk_programs
from cepkit.columnar.slices.binding import BoundProgram, bind
from cepkit.columnar.slices.blocks import SetBlock
from cepkit.columnar.slices.candidates import Owned
from cepkit.columnar.slices.counters import StepCounters
from cepkit.pattern.normal_form import Branch
from cepkit.stream.columns import EventColumns


class Walking:
    """Takes matches by walks, where they can decide.

    Args:
        branches: The normal form of the query.
        programs: Their programs, for the variables and their place in the counters.
        columns: The stream.
        consumed: For each event whether a match has it; what is taken is added.
        counters: For each branch those of its steps.
        loops: The inner loops to use.
    """

    def __init__(
        self,
        branches: Sequence[Branch],
        programs: Sequence[Program],
        columns: EventColumns,
        consumed: npt.NDArray[np.bool_],
        counters: Sequence[Sequence[StepCounters]],
        loops: Loops,
    ) -> None:
        self._branches = branches
        self._programs = programs
        self._columns = columns
        self._consumed = consumed
        self._counters = counters
        self._loops = loops
        # Candidates are tried in the order of time, and the smallest arrival numbers are wanted.
        self._walks = walk_programs(branches) if columns.in_order() else None
        self.possible = self._walks is not None

    def searches(self, begin: int, first: int, end: int) -> Searches | None:
        """Return the searches from the last events from `first` to `end`; None: walks cannot.

        Args:
            begin: The first event up to a window before.
            first: Where the slice begins.
            end: Where it ends; events of one time are not parted.
        """
        assert self._walks is not None
        began = perf_counter()
        bound = self._bound(begin, first, end)
        flat = flatten(self._branches, self._walks, bound)
        self._counters[0][0].seconds += perf_counter() - began
        if flat is None:
            return None
        return Searches(self, bound, flat, triggers(flat, bound, begin, first))

    def _bound(self, begin: int, first: int, end: int) -> list[BoundProgram]:
        assert self._walks is not None
        ts, n = self._columns.ts, len(self._columns)
        ahead = end
        if end < n and any(program.negated for _, program in self._walks):
            window = self._walks[0][1].window or 0
            ahead = int(np.searchsorted(ts, ts[end - 1] + window, side="right"))
        part = self._columns if ahead - begin == n else self._columns.slice(begin, ahead)
        owned = Owned(
            since=None if first == 0 else int(ts[first]), until=None if end == n else int(ts[end])
        )
        return [bind(program, part, self._loops.kernels, owned) for _, program in self._walks]

    def taken(
        self, flat: Walks, lasts: Lasts, memory: npt.NDArray[np.int32], patience: int
    ) -> tuple[int, int, Iterator[tuple[int, SetBlock]]]:
        """Take matches, one after the other, as long as patience lasts.

        Returns:
            How many of the last events were tried, the work, and branch and matches.
        """
        assert self._walks is not None
        began = perf_counter()
        width = max(len(program.variables) for program in self._programs)
        taken = np.empty((len(lasts.rows), width), dtype=np.int32)
        taken_walks = np.empty(len(lasts.rows), dtype=np.int32)
        looked, removed = (np.zeros(len(flat.nodes) + 1, dtype=np.int64) for _ in range(2))
        ts, consumed = self._columns.ts[lasts.begin :], self._consumed[lasts.begin :]
        found, tried = next_match_loops(self._loops).scan(
            flat,
            ts,
            lasts.walks,
            lasts.at,
            lasts.rows,
            consumed,
            taken,
            taken_walks,
            looked,
            removed,
            memory,
            patience,
        )
        taken, taken_walks = taken[:found], taken_walks[:found]
        branches = np.array([number for number, _ in self._walks])[taken_walks]
        self._count(flat, looked, removed, np.bincount(branches, minlength=len(self._programs)))
        self._counters[0][0].seconds += perf_counter() - began
        taken[taken >= 0] += lasts.begin
        return tried, int(looked[-1]), taken_blocks(self._programs, taken, branches)

    def _count(
        self, flat: Walks, looked: npt.NDArray[Any], removed: npt.NDArray[Any], matches: Any
    ) -> None:
        assert self._walks is not None
        for counted, number in zip(self._counters, matches.tolist(), strict=True):
            for counters in counted:
                counters.survivors += number
                counters.peak_rows = max(counters.peak_rows, min(number, 1))
        for begin, (branch, program) in zip(flat.begins.tolist(), self._walks, strict=False):
            of_variable = {counted.variable: counted for counted in self._counters[branch]}
            for node, step in enumerate(program.single, start=begin):
                of_variable[step.variable].candidates += int(looked[node])
                of_variable[step.variable].removed += int(removed[node])


class Lasts(NamedTuple):
    """The events that can be last in a match, in stream order.

    Attributes:
        begin: The row of the stream at which the slice begins.
        walks: For each the walk in which it can be last.
        at: Its number among the candidates of the walk's first step.
        rows: Its row in the slice.
    """

    begin: int
    walks: npt.NDArray[np.int32]
    at: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]

    def since(self, row: int) -> Lasts:
        """Return those from a row of the stream on."""
        first = int(np.searchsorted(self.rows, row - self.begin))
        return Lasts(self.begin, self.walks[first:], self.at[first:], self.rows[first:])


class Searches:
    """The searches of one slice, that can be broken off and gone on with.

    Args:
        walking: Takes the matches.
        bound: The programs. They are freed with what was made of them: memory that comes back in
            one piece is there for the next slice, and need not be fetched from the system anew.
        flat: The walks, bound to the slice.
        lasts: The events that can be last.
    """

    def __init__(
        self, walking: Walking, bound: Sequence[BoundProgram], flat: Walks, lasts: Lasts
    ) -> None:
        self._walking = walking
        self._bound = bound
        self._flat = flat
        self._lasts = lasts
        candidates = int(flat.nodes[: flat.begins[-1], SIZE].sum())
        self._memory = np.zeros((2, candidates), dtype=np.int32)

    def taken(
        self, first: int, end: int, patience: int
    ) -> tuple[int, int, Iterator[tuple[int, SetBlock]]]:
        """Return how far the searches came, their work, and branch and matches."""
        lasts = self._lasts.since(first)
        tried, work, found = self._walking.taken(self._flat, lasts, self._memory, patience)
        reached = end if tried == len(lasts.rows) else lasts.begin + int(lasts.rows[tried])
        return reached, work, found


def triggers(flat: Walks, bound: Sequence[BoundProgram], begin: int, first: int) -> Lasts:
    """Return the events that can be last, in stream order.

    Args:
        flat: The walks.
        bound: Their programs, bound.
        begin: The row of the stream at which the slice begins.
        first: The first row of the stream that is wanted.
    """
    parts = []
    for number, program in enumerate(bound):
        node = flat.nodes[flat.begins[number]]
        rows = flat.ints[node[ROWS] : node[ROWS] + (node[SIZE] if program.possible else 0)]
        at = np.arange(np.searchsorted(rows, first - begin), len(rows), dtype=np.int32)
        parts.append((np.full(len(at), number, dtype=np.int32), at, rows[at]))
    if len(parts) == 1:
        return Lasts(begin, *parts[0])
    walks, at, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return Lasts(begin, walks[order], at[order], rows[order])
