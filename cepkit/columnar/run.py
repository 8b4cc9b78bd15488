"""The steps of a bound program, run over chunks of partial matches, depth first.

A step takes a chunk, fills a buffer of fixed size with the pairs (partial match, new event) that
hold, passes them on as the next step's chunk, and goes on where it stopped. So memory is bounded
by the number of steps, whatever the number of matches. What must not be there is looked for as
soon as all that it depends on is bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from time import perf_counter

import numpy as np
import numpy.typing as npt

from cepkit.columnar.backend import Loops
from cepkit.columnar.binding import BoundProgram, BoundStep
from cepkit.columnar.blocks import Block, PairBlock
from cepkit.columnar.counters import StepCounters
from cepkit.columnar.join import Ints, Join, Partials
from cepkit.columnar.set_conditions import is_late
from cepkit.columnar.sets import SetChoice, Sets

CHUNK = 1 << 15
"""Partial matches taken at a time: what fits a core's cache."""

Mask = npt.NDArray[np.bool_]


class Run:
    """One pass of a bound program over its slice.

    Args:
        bound: The program and the slice.
        loops: The inner loops to use.
        counters: One for each step, those that list sets at the end; the work is added to them.
        choice: Which sets of each Kleene variable are wanted.
    """

    def __init__(
        self,
        bound: BoundProgram,
        loops: Loops,
        counters: Sequence[StepCounters],
        choice: SetChoice = "every",
    ) -> None:
        self._bound = bound
        self._kernels = loops.kernels
        self._join = Join(bound.candidates, loops)
        self._counters = counters
        self._sought: dict[str, StepCounters] = {}
        self._sets = None
        if bound.sets:
            listed = counters[len(bound.steps) :]
            self._sets = Sets(bound, self._join, self._kernels, listed, choice)

    def blocks(self) -> Iterator[Block]:
        """Yield the matches, some at a time, in no particular order."""
        if not self._bound.possible:
            return
        if self._sets is None:
            yield from self._joined()
        else:
            yield from self._sets.blocks(block.partials() for block in self._joined())

    def _joined(self) -> Iterator[PairBlock]:
        """Yield the matches of the steps, those that list sets left out."""
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
                yield PairBlock(len(chunk), self._kernels, known, {}, variable, chunk, chunk)
            else:
                yield from self._extend(1, {variable: chunk}, len(chunk))

    def _extend(self, number: int, partials: Partials, size: int) -> Iterator[PairBlock]:
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
                yield PairBlock(survivors, self._kernels, known, partials, variable, parents, found)
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
        owners, since = bound.program.owners, bound.owned.since
        if complete and since is not None and len(owners) > 1:
            rows = _Pairs(partials, new, found, parents)
            ends = [bound.candidates[v].ts[rows[v]] for v in owners]
            only(reduce(np.maximum, ends) >= since)
        before = len(found)
        for absence in bound.absences[number]:
            only(~self._exists(absence, _Pairs(partials, new, found, parents)))
        for group in bound.otherwise if complete else ():
            if is_late(group, len(bound.steps)):
                continue
            rows = _Pairs(partials, new, found, parents)
            only(reduce(np.logical_or, [self._exists(a.bound, rows) for a in group]))
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
