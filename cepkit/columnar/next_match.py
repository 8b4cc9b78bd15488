"""skip-till-next-match: every event takes part in one match at most.

The stream is scanned in order; at each event, of all matches that it completes and whose events
are free, the one with the smallest arrival numbers in pattern order is taken and its events are
consumed. So the result does not depend on the plan. Two roads lead there:

- walks (next_match_walks.py), where events came in the order of time: a search in depth from each
  event that can be last, which stops at its first success. O(events) where most searches succeed
  at once; at worst, where conditions refuse everything, a search looks at all partial matches in
  its window, O(window^(variables - 1)).
- batches (next_match_batches.py) for everything else - sets, functions of the user's between
  events, integers beyond 2^53: all matches are found, then chosen from.

What is consumed carries over, so slices of the stream follow each other; the walks of a slice
need memory for its candidates, and the stream one byte for each event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.backend import Backend, Loops, loops
from cepkit.columnar.binding import BoundProgram, bind
from cepkit.columnar.blocks import SetBlock
from cepkit.columnar.candidates import Owned
from cepkit.columnar.clocks import numbered
from cepkit.columnar.counters import StepCounters
from cepkit.columnar.detection import slices
from cepkit.columnar.next_match_batches import Batches, taken_blocks
from cepkit.columnar.next_match_flatten import flatten
from cepkit.columnar.next_match_loops import next_match_loops
from cepkit.columnar.next_match_walks import ROWS, SIZE, Walks, walk_programs
from cepkit.columnar.program import Program
from cepkit.pattern.normal_form import Branch
from cepkit.stream.columns import EventColumns


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
    walking = _Walking(branches, programs, columns, consumed, counters, chosen)
    batches = Batches(programs, columns, consumed, counters, chosen, slice_rows)
    whole = any(clock != "time" for program in programs for _, clock in program.windows)
    window = None if whole else programs[0].window
    for begin, first, end in slices(columns.ts, window, slice_rows):
        found = walking.blocks(begin, first, end)
        yield from batches.blocks(first, end) if found is None else found


class _Walking:
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

    def blocks(self, begin: int, first: int, end: int) -> Iterator[tuple[int, SetBlock]] | None:
        """Return branch and matches for the last events from `first` to `end`; None: walks cannot.

        Args:
            begin: The first event up to a window before.
            first: Where the slice begins.
            end: Where it ends; events of one time are not parted.
        """
        if self._walks is None:
            return None
        began = perf_counter()
        bound = self._bound(begin, first, end)
        flat = flatten(self._branches, self._walks, bound)
        if flat is None:
            return None
        return self._taken(flat, bound, begin, first, began)

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

    def _taken(
        self, flat: Walks, bound: Sequence[BoundProgram], begin: int, first: int, began: float
    ) -> Iterator[tuple[int, SetBlock]]:
        assert self._walks is not None
        walks, at, rows = triggers(flat, bound, first - begin)
        width = max(len(program.variables) for program in self._programs)
        taken = np.empty((len(rows), width), dtype=np.int32)
        taken_walks = np.empty(len(rows), dtype=np.int32)
        looked, removed = (np.zeros(len(flat.nodes), dtype=np.int64) for _ in range(2))
        ts, consumed = self._columns.ts[begin:], self._consumed[begin:]
        found = next_match_loops(self._loops).scan(
            flat, ts, walks, at, rows, consumed, taken, taken_walks, looked, removed
        )
        taken, taken_walks = taken[:found], taken_walks[:found]
        branches = np.array([number for number, _ in self._walks])[taken_walks]
        self._count(flat, looked, removed, np.bincount(branches, minlength=len(self._programs)))
        self._counters[0][0].seconds += perf_counter() - began
        taken[taken >= 0] += begin
        yield from taken_blocks(self._programs, taken, branches)

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


def triggers(
    flat: Walks, bound: Sequence[BoundProgram], first: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return walk, candidate and row of each event that can be last, in stream order.

    Args:
        flat: The walks.
        bound: Their programs, bound.
        first: The first row that is wanted.
    """
    parts = []
    for number, program in enumerate(bound):
        node = flat.nodes[flat.begins[number]]
        rows = flat.ints[node[ROWS] : node[ROWS] + (node[SIZE] if program.possible else 0)]
        at = np.arange(np.searchsorted(rows, first), len(rows), dtype=np.int32)
        parts.append((np.full(len(at), number, dtype=np.int32), at, rows[at]))
    if len(parts) == 1:
        return parts[0]
    walks, at, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return walks[order], at[order], rows[order]
