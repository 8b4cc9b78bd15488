"""Runs steps over chunks of partial matches, depth first.

A step takes a chunk, fills a buffer of fixed size with the pairs (partial match, new event) that
satisfy its conditions, passes them on as the next step's chunk, and continues where it stopped. So
memory depends on the number of steps, not on the number of matches. A NOT is checked as soon as
everything it depends on is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.columnar.join.owners import Owners
from cepkit.columnar.join.step import BUFFER, Ints, Join, Partials
from cepkit.columnar.kernels.loops import take
from cepkit.columnar.slices.blocks import PairBlock
from cepkit.columnar.slices.bound import BoundStep
from cepkit.columnar.slices.candidates import Candidates
from cepkit.columnar.slices.counters import StepCounters

CHUNK = 1 << 15
"""Partial matches in a chunk, which fits a core's cache."""

Mask = npt.NDArray[np.bool_]


Check: TypeAlias = "tuple[bool, Callable[[PairColumns], Mask]]"
"""A check of rows, with a flag whether it is a NOT."""


class Pipeline:
    """Consecutive steps; the first takes the candidates of one variable.

    Args:
        steps: In the order of work.
        absences: For each of them the NOTs to check after it.
        join: Joins chunks with candidates.
        final: Further checks of complete rows in their order, each with a flag whether it is a NOT.
        owners: Decide which complete rows the slice owns; None if it owns all.
        counts: Whether only the number of complete rows is wanted.
    """

    def __init__(
        self,
        steps: Sequence[BoundStep],
        absences: Sequence[Sequence[BoundStep]],
        candidates: Mapping[str, Candidates],
        join: Join,
        counters: Sequence[StepCounters],
        final: Sequence[Check] = (),
        owners: Owners | None = None,
        *,
        counts: bool = False,
    ) -> None:
        self._steps = steps
        self._absences = absences
        self._candidates = candidates
        self._join = join
        self._counters = counters
        self._complete_checks = final
        # Rows of other slices are left out by the bounds of the last step, or checked.
        self._bounds = owners if owners and len(steps) > 1 and owners.bounds(steps[-1]) else None
        self._final = final
        if owners is not None:
            self._complete_checks = ((False, owners.held), *final)
            if self._bounds is None:
                self._final = self._complete_checks
        self._counts = counts and not self._final and not absences[len(steps) - 1]

    def blocks(self) -> Iterator[PairBlock]:
        """Yield the rows that pass all steps, in batches."""
        step, counters = self._steps[0], self._counters[0]
        first = step.candidates
        assert isinstance(first, Candidates)
        counters.candidates += first.seen
        if not all(len(one.candidates) for one in self._steps):
            counters.survivors += len(first)
            return
        for begin in range(0, len(first), CHUNK):
            began = perf_counter()
            chunk = np.arange(begin, min(begin + CHUNK, len(first)), dtype=np.int32)
            _, chunk = self._kept(0, {}, chunk, chunk)
            self._count(counters, len(chunk), began)
            if not len(chunk):
                continue
            if len(self._steps) == 1:
                yield self._block({}, chunk, step, chunk)
            else:
                yield from self.extend(1, step.new(chunk), len(chunk))

    def _block(
        self, partials: Partials, parents: Ints, step: BoundStep, candidates: Ints
    ) -> PairBlock:
        return PairBlock(len(candidates), self._candidates, partials, parents, step.new(candidates))

    def extend(self, number: int, partials: Partials, size: int) -> Iterator[PairBlock]:
        """Run the steps from `number` on over a chunk of partial matches."""
        if number == len(self._steps):
            yield from self._complete(partials, size)
            return
        step, counters = self._steps[number], self._counters[number]
        began = perf_counter()
        owners = self._bounds if number == len(self._steps) - 1 else None
        if self._counts and number == len(self._steps) - 1:
            count = self._join.number_of_pairs(step, counters, partials, size, owners)
            if count is not None:
                self._count(counters, count, began, min(count, BUFFER))
                if count:
                    yield PairBlock(count, self._candidates, {}, np.empty(0, np.int32), {})
                return
        for pairs in self._join.pairs(step, counters, partials, size, owners):
            parents, candidates = self._kept(number, partials, *pairs)
            survivors = len(candidates)
            longer = {}
            if survivors and number < len(self._steps) - 1:
                longer = {v: take(rows, parents) for v, rows in partials.items()}
                # The buffer will be reused.
                longer |= {v: rows.copy() for v, rows in step.new(candidates).items()}
            self._count(counters, survivors, began)
            if longer:
                yield from self.extend(number + 1, longer, survivors)
            elif survivors:
                yield self._block(partials, parents, step, candidates)
            began = perf_counter()
        counters.seconds += perf_counter() - began

    def _complete(self, partials: Partials, size: int) -> Iterator[PairBlock]:
        """Yield the rows that pass all final checks."""
        parents, step = np.arange(size, dtype=np.int32), self._steps[-1]
        rows = PairColumns(partials, step, partials[step.step.name], parents)
        for _, check in self._complete_checks:
            parents = parents[check(rows)[parents]]
        if len(parents):
            yield PairBlock(len(parents), self._candidates, partials, parents, {})

    def _count(
        self, counters: StepCounters, survivors: int, began: float, held: int | None = None
    ) -> None:
        counters.survivors += survivors
        counters.peak_rows = max(counters.peak_rows, survivors if held is None else held)
        counters.seconds += perf_counter() - began

    def _kept(
        self, number: int, partials: Partials, parents: Ints, candidates: Ints
    ) -> tuple[Ints, Ints]:
        """Return the pairs of a step that neither NOT nor the slice rules out."""
        step, counters = self._steps[number], self._counters[number]
        checks: list[Check] = [(True, partial(self._is_absent, a)) for a in self._absences[number]]
        if number == len(self._steps) - 1:
            checks += self._final
        for negated, check in checks:
            held = check(PairColumns(partials, step, candidates, parents))
            if not held.all():
                if negated:
                    counters.removed += len(candidates) - int(np.count_nonzero(held))
                parents, candidates = parents[held], candidates[held]
        return parents, candidates

    def _is_absent(self, absence: BoundStep, rows: PairColumns) -> Mask:
        return ~self._join.sought(absence, rows, rows.size)


class PairColumns(Mapping[str, Ints]):
    """The candidates of variables in pairs of a step, gathered on demand."""

    def __init__(
        self, partials: Partials, step: BoundStep, candidates: Ints, parents: Ints
    ) -> None:
        self._partials = partials
        self._step = step
        self._candidates = candidates
        self._parents = parents
        self._known: dict[str, Ints] = {}
        self.size = len(candidates)

    def __getitem__(self, variable: str) -> Ints:
        if variable not in self._known:
            if variable in self._step.step.variables:
                self._known |= self._step.new(self._candidates)
            else:
                self._known[variable] = self._partials[variable][self._parents]
        return self._known[variable]

    def __iter__(self) -> Iterator[str]:
        return iter({*self._partials, *self._step.step.variables})

    def __len__(self) -> int:
        return len(self._partials) + len(self._step.step.variables)
