"""The steps of a bound program, run over chunks of partial matches, depth first.

A step takes a chunk, fills a buffer of fixed size with the pairs (partial match, new event) that
hold, passes them on as the next step's chunk, and goes on where it stopped. So memory is bounded
by the number of steps, whatever the number of matches. What must not be there is looked for as
soon as all that it depends on is bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from time import perf_counter

import numpy as np
import numpy.typing as npt

from cepkit.columnar.backend import Kernels, Loops
from cepkit.columnar.binding import BoundProgram, BoundStep
from cepkit.columnar.candidates import Candidates
from cepkit.columnar.counters import StepCounters
from cepkit.columnar.join import Ints, Join, Partials

CHUNK = 1 << 15
"""Partial matches taken at a time: what fits a core's cache."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Block:
    """Some matches of a slice, with the last step left as pairs until somebody asks.

    It is good until the next block is asked for: the pairs lie in a buffer that is filled again.

    Attributes:
        size: The number of matches.
    """

    size: int
    _kernels: Kernels
    _candidates: Mapping[str, Candidates]
    _partials: Partials
    _last: str
    _parents: Ints
    _found: Ints
    _shift: int = 0

    def events(self, variable: str) -> npt.NDArray[np.integer]:
        """Return for each match the row of the event that `variable` is bound to."""
        take, rows = self._kernels.take, self._candidates[variable].rows
        if variable == self._last:
            rows = take(rows, self._found)
        else:
            rows = take(take(rows, self._partials[variable]), self._parents)
        return rows.astype(np.int64) + self._shift if self._shift else rows

    def shifted(self, rows: int) -> Block:
        """Return the block as of a stream in which the slice begins at `rows`."""
        return replace(self, _shift=self._shift + rows)


class Run:
    """One pass of a bound program over its slice.

    Args:
        bound: The program and the slice.
        loops: The inner loops to use.
        counters: One for each step; the work is added to them.
    """

    def __init__(self, bound: BoundProgram, loops: Loops, counters: Sequence[StepCounters]) -> None:
        self._bound = bound
        self._kernels = loops.kernels
        self._join = Join(bound.candidates, loops)
        self._counters = counters
        self._sought: dict[str, StepCounters] = {}

    def blocks(self) -> Iterator[Block]:
        """Yield the matches, some at a time, in no particular order."""
        if not self._bound.possible:
            return
        first, counters = self._bound.steps[0].candidates, self._counters[0]
        counters.candidates += first.seen
        variable = first.step.variable
        if not all(len(step.candidates) for step in self._bound.steps):
            counters.survivors += len(first)
            return
        for begin in range(0, len(first), CHUNK):
            began = perf_counter()
            chunk = np.arange(begin, min(begin + CHUNK, len(first)), dtype=np.int32)
            chunk, _ = self._kept(0, {}, chunk, chunk)
            self._count(counters, len(chunk), began)
            if not len(chunk):
                continue
            if len(self._bound.steps) == 1:
                known = self._bound.candidates
                yield Block(len(chunk), self._kernels, known, {}, variable, chunk, chunk)
            else:
                yield from self._extend(1, {variable: chunk}, len(chunk))

    def _extend(self, number: int, partials: Partials, size: int) -> Iterator[Block]:
        """Run the steps from `number` on over a chunk of partial matches."""
        step, counters = self._bound.steps[number], self._counters[number]
        variable = step.step.variable
        began = perf_counter()
        for parents, found in self._join.pairs(step, counters, partials, size):
            found, parents = self._kept(number, partials, found, parents)  # noqa: PLW2901
            survivors = len(found)
            longer = {}
            if survivors and number < len(self._bound.steps) - 1:
                longer = {v: self._kernels.take(rows, parents) for v, rows in partials.items()}
                longer[variable] = found.copy()  # the buffer is filled again
            self._count(counters, survivors, began)
            if longer:
                yield from self._extend(number + 1, longer, survivors)
            elif survivors:
                known = self._bound.candidates
                yield Block(survivors, self._kernels, known, partials, variable, parents, found)
            began = perf_counter()
        counters.seconds += perf_counter() - began

    def _count(self, counters: StepCounters, survivors: int, began: float) -> None:
        counters.survivors += survivors
        counters.peak_rows = max(counters.peak_rows, survivors)
        counters.seconds += perf_counter() - began

    def _kept(
        self, number: int, partials: Partials, found: Ints, parents: Ints
    ) -> tuple[Ints, Ints]:
        """Return the pairs of a step without those that NOT or the slice rules out."""
        bound, counters = self._bound, self._counters[number]
        new = bound.steps[number].step.variable

        def only(held: Mask) -> None:
            nonlocal found, parents
            if not held.all():
                found, parents = found[held], parents[held]

        complete = number == len(bound.steps) - 1
        last, since = bound.program.last, bound.owned.since
        if complete and since is not None and len(last) > 1:
            rows = _Pairs(partials, new, found, parents)
            ends = [bound.candidates[v].ts[rows[v]] for v in last]
            only(reduce(np.maximum, ends) >= since)
        before = len(found)
        for absence in bound.absences[number]:
            only(~self._exists(absence, _Pairs(partials, new, found, parents)))
        for group in bound.otherwise if complete else ():
            rows = _Pairs(partials, new, found, parents)
            only(reduce(np.logical_or, [self._exists(a, rows) for a in group]))
        counters.removed += before - len(found)
        return found, parents

    def _exists(self, absence: BoundStep, rows: _Pairs) -> Mask:
        # Kept over the chunks: a search that looks at many candidates earns a loop of its own.
        variable = absence.step.variable
        looked = self._sought.setdefault(variable, StepCounters(variable))
        return self._join.exists(absence, looked, rows, rows.size)


class _Pairs(Mapping[str, Ints]):
    """The candidate of each variable in pairs of a step, gathered when it is asked for."""

    def __init__(self, partials: Partials, new: str, found: Ints, parents: Ints) -> None:
        self._partials = partials
        self._parents = parents
        self._known = {new: found}
        self.size = len(found)

    def __getitem__(self, variable: str) -> Ints:
        if variable not in self._known:
            self._known[variable] = self._partials[variable][self._parents]
        return self._known[variable]

    def __iter__(self) -> Iterator[str]:
        return iter({*self._partials, *self._known})

    def __len__(self) -> int:
        return len({*self._partials, *self._known})
