"""Runs a bound program over its slice: subtrees first, then the steps, then the sets.

The steps follow the left side of a tree; the partial matches of right sides are found before and
joined like single events. If they do not fit in memory, they come in parts, and the steps run again
for each part.

Chunks of partial matches go through the steps depth first. A step takes a chunk, fills a buffer of
fixed size with the pairs (partial match, new event) that satisfy its conditions, passes them on as
the next step's chunk, and continues where it stopped. So memory depends on the number of steps, not
on the number of matches. A NOT is checked as soon as everything it depends on is bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from time import perf_counter
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import AnyStep, GroupStep, StepCounters
from cepkit.columnar.join.step import BUFFER, Ints, Join, Partials
from cepkit.columnar.kleene.conditions import is_late
from cepkit.columnar.kleene.limits import SetChoice, Tries
from cepkit.columnar.kleene.sets import Offers, Sets
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.blocks import Block, PairBlock
from cepkit.columnar.slices.bound import BoundAbsence, BoundStep, Owners, Subtree
from cepkit.columnar.slices.candidates import Candidates
from cepkit.indexing import take, where

CHUNK = 1 << 15
"""Partial matches in a chunk, which fits a core's cache."""

Mask = npt.NDArray[np.bool_]


Check: TypeAlias = "tuple[bool, Callable[[PairColumns], Mask]]"
"""A check of rows, with a flag whether it is a NOT."""


class Pipeline:
    """Consecutive steps; the first takes the candidates of one variable.

    Args:
        absences: For each of them the NOTs to check after it.
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
        counters.look_at(first.seen)
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
        for _, _, *pairs in self._join.groups(step, counters, partials, size, owners):
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
                parents, candidates = where(held, parents, candidates)
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
                self._known[variable] = take(self._partials[variable], self._parents)
        return self._known[variable]

    def __iter__(self) -> Iterator[str]:
        return iter({*self._partials, *self._step.step.variables})

    def __len__(self) -> int:
        return len(self._partials) + len(self._step.step.variables)


GROUP_ROWS = 1 << 22
"""The most partial matches of a subtree held at a time."""


FoundTree: TypeAlias = Callable[[], "Sequence[dict[str, Ints]] | None"]
"""Returns the partial matches of a subtree in batches: the candidates of each variable."""


class Run:
    """One pass of a bound program over its slice.

    Args:
        counters: One for each step in the order of work, those that list sets at the end; the
            work is added to them.
        trees: For subtrees shared with other programs, by the identity of the joining step, a
            function that returns the partial matches, or None if they are too many to hold.
    """

    def __init__(
        self,
        bound: BoundProgram,
        counters: Sequence[StepCounters],
        choice: SetChoice = "every",
        trees: Mapping[int, FoundTree] = MappingProxyType({}),
    ) -> None:
        self._bound = bound
        self._trees = trees
        self._join = Join(bound.candidates)
        work = bound.program.work
        self._counters = dict(zip(map(id, work), counters, strict=False))
        self._sets = None
        self._counts = choice == "count" and not bound.sets
        if bound.sets:
            listed = counters[len(work) :]
            self._sets = Sets(bound, self._join, listed, choice)

    def blocks(self) -> Iterator[Block]:
        """Return the matches in batches, in no particular order."""
        return self._rows() if self._sets is None else self._sets.blocks(self.begun())

    def fitting(self, tries: Tries) -> Iterator[tuple[Partials, int]]:
        """Return the partial matches of all steps that have any sets; there are Kleene variables.

        Args:
            tries: How many sets may be tried to find that out.

        Raises:
            TooManySets: There are more.
        """
        assert self._sets is not None
        return self._sets.fitting(self.begun(), tries)

    def offers(
        self,
        tries: Tries,
        arrival: npt.NDArray[np.int64] | None = None,
        rows: Iterable[tuple[Partials, int]] | None = None,
    ) -> Iterator[Offers]:
        """Yield the matches; sets that need not be enumerated yet stay lists of candidates.

        Args:
            tries: The most sets to enumerate for conditions on them.
            arrival: The arrival number of each event of the slice; None: row order.
            rows: Some of the rows that the steps bind; None: all of them.

        Raises:
            TooManySets: There are more.
        """
        if self._sets is not None:
            yield from self._sets.offers(self.begun() if rows is None else rows, tries, arrival)
            return
        for block in self._rows():
            events = {v: block.events(v) for v in self._bound.program.variables}
            yield Offers(block.size, events, {})

    def _rows(self) -> Iterator[PairBlock]:
        """Return the rows that the steps bind."""
        bound = self._bound
        if not bound.possible:
            return iter(())
        return self._joined(bound.program.steps, bound.steps, bound.absences, whole=True)

    def begun(self) -> Iterator[tuple[Partials, int]]:
        """Return the rows that the steps bind, with their number."""
        return (block.partials() for block in self._rows())

    def longer(self, length: int, rows: Partials, size: int) -> Iterator[tuple[Partials, int]]:
        """Return rows of the first `length` steps, extended by the other steps."""
        return (block.partials() for block in self._extended(length, rows, size))

    def continued(self, length: int, rows: Partials, size: int) -> Iterator[Block]:
        """Return the matches from rows of the first `length` steps."""
        if self._sets is None:
            return self._extended(length, rows, size)
        return self._sets.blocks(self.longer(length, rows, size))

    def _extended(self, length: int, rows: Partials, size: int) -> Iterator[PairBlock]:
        bound = self._bound
        ready = [step for step in bound.steps if isinstance(step, BoundStep)]
        pipeline = self._pipeline(ready, bound.program.steps, bound.absences, whole=True)
        return pipeline.extend(length, rows, size)

    def _pipeline(
        self,
        bound: Sequence[BoundStep],
        steps: Sequence[AnyStep],
        absences: Sequence[Sequence[BoundStep]],
        *,
        whole: bool,
    ) -> Pipeline:
        """Return the pipeline of some steps, with final checks if they are the `whole` tree."""
        return Pipeline(
            bound,
            absences,
            self._bound.candidates,
            self._join,
            [self._counters[id(step)] for step in steps],
            tuple(self._final()) if whole else (),
            self._owners() if whole else None,
            counts=whole and self._counts,
        )

    def _joined(
        self,
        steps: Sequence[AnyStep],
        bound: Sequence[BoundStep | Subtree],
        absences: Sequence[Sequence[BoundStep]],
        *,
        whole: bool = False,
    ) -> Iterator[PairBlock]:
        """Yield the partial matches of a tree; those of the `whole` tree as far as wanted."""
        for ready in self._with_subtrees(bound):
            yield from self._pipeline(ready, steps, absences, whole=whole).blocks()

    def _with_subtrees(self, bound: Sequence[BoundStep | Subtree]) -> Iterator[list[BoundStep]]:
        """Yield the steps with materialised subtrees, once for each of their parts."""
        for number, step in enumerate(bound):
            if isinstance(step, Subtree):
                for members in self._parts(step):
                    ready = self._bound.binder.join(step, members)
                    yield from self._with_subtrees([*bound[:number], ready, *bound[number + 1 :]])
                return
        yield [step for step in bound if isinstance(step, BoundStep)]

    def _parts(self, subtree: Subtree) -> Iterator[dict[str, Ints]]:
        """Yield the partial matches of a subtree in parts that fit in memory."""
        if id(subtree.step) in self._trees:
            members = self._trees[id(subtree.step)]()
            if members is not None:
                yield from members
                return
        held: list[Mapping[str, Ints]] = []
        size = 0
        for block in self._joined(subtree.step.steps, subtree.steps, subtree.absences):
            rows, count = block.partials()
            held.append(rows)
            size += count
            counters = self._counters[id(subtree.step.steps[-1])]
            counters.peak_rows = max(counters.peak_rows, size)
            if size >= GROUP_ROWS:
                yield _together(subtree.step, held)
                held, size = [], 0
        if size:
            yield _together(subtree.step, held)

    def _owners(self) -> Owners | None:
        return Owners.of(self._bound.owners, self._bound.candidates, self._bound.owned)

    def _final(self) -> Iterator[Check]:
        """Yield the checks of complete rows: no earlier branch finds them."""
        bound = self._bound
        for group in bound.otherwise:
            if not is_late(group, len(bound.steps)):

                def elsewhere(rows: PairColumns, group: Sequence[BoundAbsence] = group) -> Mask:
                    return reduce(
                        np.logical_or, [self._join.sought(a.bound, rows, rows.size) for a in group]
                    )

                yield True, elsewhere


def _together(step: GroupStep, held: Sequence[Mapping[str, Ints]]) -> dict[str, Ints]:
    return {v: np.concatenate([rows[v] for rows in held]) for v in step.variables}
