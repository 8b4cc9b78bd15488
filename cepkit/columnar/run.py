"""Runs a bound program over its slice: subtrees first, then the steps, then the sets.

The steps follow the left side of a tree; the partial matches of right sides are found before and
joined like single events. If they do not fit in memory, they come in parts, and the steps run again
for each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import AnyStep, GroupStep
from cepkit.columnar.join.owners import Owners
from cepkit.columnar.join.pipeline import Check, Mask, PairColumns, Pipeline
from cepkit.columnar.join.step import Ints, Join, Partials
from cepkit.columnar.kleene.conditions import is_late
from cepkit.columnar.kleene.limits import SetChoice, Tries
from cepkit.columnar.kleene.sets import Offers, Sets
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.blocks import Block, PairBlock
from cepkit.columnar.slices.bound import BoundAbsence, BoundStep, Subtree
from cepkit.columnar.slices.counters import StepCounters

GROUP_ROWS = 1 << 22
"""The most partial matches of a subtree held at a time."""


FoundTree: TypeAlias = Callable[[], "Sequence[dict[str, Ints]] | None"]
"""Returns the partial matches of a subtree in batches: the candidates of each variable."""


class Run:
    """One pass of a bound program over its slice.

    Args:
        counters: One for each step in the order of work, those that list sets at the end; the
            work is added to them.
        choice: Which sets of each Kleene variable are wanted.
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
        """Yield the matches in batches, in no particular order."""
        if self._sets is None:
            yield from self._rows()
        else:
            yield from self._sets.blocks(block.partials() for block in self._rows())

    def fitting(self, tries: Tries) -> Iterator[tuple[Partials, int]]:
        """Yield the partial matches of all steps that have any sets; there are Kleene variables.

        Args:
            tries: How many sets may be tried to find that out.

        Raises:
            TooManySets: There are more.
        """
        assert self._sets is not None
        yield from self._sets.fitting((block.partials() for block in self._rows()), tries)

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
            if rows is None:
                rows = (block.partials() for block in self._rows())
            yield from self._sets.offers(rows, tries, arrival)
            return
        for block in self._rows():
            events = {v: block.events(v) for v in self._bound.program.variables}
            yield Offers(block.size, events, {})

    def _rows(self) -> Iterator[PairBlock]:
        """Yield the rows that the steps bind."""
        bound = self._bound
        if bound.possible:
            yield from self._joined(bound.program.steps, bound.steps, bound.absences, whole=True)

    def begun(self) -> Iterator[tuple[Partials, int]]:
        """Yield the rows that the steps bind, with their number."""
        return (block.partials() for block in self._rows())

    def longer(self, length: int, rows: Partials, size: int) -> Iterator[tuple[Partials, int]]:
        """Extend rows of the first `length` steps by the other steps."""
        return (block.partials() for block in self._extended(length, rows, size))

    def continued(self, length: int, rows: Partials, size: int) -> Iterator[Block]:
        """Yield the matches from rows of the first `length` steps."""
        if self._sets is None:
            yield from self._extended(length, rows, size)
        else:
            yield from self._sets.blocks(self.longer(length, rows, size))

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
