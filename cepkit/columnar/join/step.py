"""One join step over a chunk of partial matches: ranges, inner loop, remaining conditions.

The same look-up serves a step that binds a variable (`groups`) and one that only tests for an event
(`exists`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import StepCounters
from cepkit.columnar.join.generated import (
    CountLoop,
    GeneratedJoin,
    JoinLoop,
    count_of,
    exists_of,
    first_of,
    generate,
    join_of,
)
from cepkit.columnar.kernels.loops import cut, searched_bounds
from cepkit.columnar.slices.bands import band_limits, value_ranges
from cepkit.columnar.slices.bound import BoundBand, BoundStep, KeySearch, Owners, Table
from cepkit.columnar.slices.candidates import Candidates, SubtreeCandidates
from cepkit.indexing import take, where
from cepkit.pattern.conditions import Expression
from cepkit.pattern.evaluation.columns import truth, value
from cepkit.pattern.evaluation.kinds import as_floats
from cepkit.stream.columns import Column
from cepkit.threads import end_if_stopped

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Partials = Mapping[str, Ints]
"""For each bound variable, the candidate of each partial match."""

BUFFER = 1 << 16
"""The most pairs that a step collects before it passes them on."""

GENERATE_AFTER = 1 << 21
"""A loop is generated for a step's residual predicates after this many candidates: compiling takes
a third of a second."""

_UNINTERRUPTED = 1 << 26
"""The candidates of a count between two looks at whether it shall end."""

_FIRST_STRETCH = 8
"""The first stretch of candidates in a search for the first one."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """An inner loop for one chunk: its last arguments, and the conditions left to check."""

    join: JoinLoop | CountLoop
    arguments: tuple[npt.NDArray[Any], ...]
    unchecked: Sequence[Expression]


class Join:
    """Joins partial matches with the candidates of further variables, on one slice."""

    def __init__(self, candidates: Mapping[str, Candidates]) -> None:
        self._candidates = candidates
        self._generated: dict[tuple[str, bool], GeneratedJoin | None] = {}
        self._sought: dict[str, StepCounters] = {}

    def number_of_pairs(
        self,
        bound: BoundStep,
        counters: StepCounters,
        partials: Partials,
        size: int,
        owners: Owners | None = None,
    ) -> int | None:
        """Return how many pairs satisfy the conditions; None if only `groups` can say."""
        step = bound.step
        if bound.ends or step.distinct or step.follows or step.precedes:
            return None
        looked_at = counters.earlier + counters.candidates
        if bound.residuals and self._generate(bound, looked_at, counts=True) is None:
            return None
        low, high = self.ranges(bound, partials, size)
        if owners is not None:
            low = owners.low(bound, partials, low)
        candidates = _in(low, high)
        counters.by_value = counters.by_value or bound.by_value is not None
        if not (bound.bands or bound.residuals):
            counters.candidates += candidates  # without a look at any
            return candidates
        counters.look_at(candidates)
        loop = self._choose_loop(bound, looked_at, partials, size, counts=True)
        done = number = 0
        while done < size:
            end_if_stopped()
            done, count = loop.join(low, high, done, _UNINTERRUPTED, *loop.arguments)
            number += count
        return number

    def groups(
        self,
        bound: BoundStep,
        counters: StepCounters,
        partials: Partials,
        size: int,
        owners: Owners | None = None,
    ) -> Iterator[tuple[int, int, Ints, Ints]]:
        """Return stretches of partial matches with all their pairs: begin, end, pairs.

        The pairs satisfy the conditions of the step. Those of one partial match are adjacent, with
        ascending candidates. They lie in reused buffers: consume them before the next stretch.

        Args:
            counters: Examined candidates are added to them.
            owners: Leave out what the slice does not own, if they bound this step.
        """
        low, high = self.ranges(bound, partials, size)
        if owners is not None:
            low = owners.low(bound, partials, low)
        for end in bound.ends:
            self._cut(end, bound, partials, low, high)
        return self._groups(bound, counters, partials, size, (low, high))

    def _groups(
        self,
        bound: BoundStep,
        counters: StepCounters,
        partials: Partials,
        size: int,
        ranges: tuple[Ints, Ints],
    ) -> Iterator[tuple[int, int, Ints, Ints]]:
        low, high = ranges
        counters.look_at(_in(low, high))
        counters.by_value = counters.by_value or bound.by_value is not None
        looked_at = counters.earlier + counters.candidates
        loop = self._choose_loop(bound, looked_at, partials, size)
        parents, candidates = np.empty(BUFFER, np.int32), np.empty(BUFFER, np.int32)
        done = 0
        while done < size:
            end_if_stopped()
            stopped, count = loop.join(low, high, done, parents, candidates, *loop.arguments)
            if stopped == done:  # one partial match has more candidates than fit the buffer
                room = int(high[done]) - int(low[done])
                parents, candidates = np.empty(room, np.int32), np.empty(room, np.int32)
                continue
            yield (
                done,
                stopped,
                *self._checked(bound, partials, loop, parents[:count], candidates[:count]),
            )
            done = stopped

    def _cut(
        self, end: BoundStep, bound: BoundStep, partials: Partials, low: Ints, high: Ints
    ) -> None:
        """End the ranges of a step at the first event that must not come before."""
        new, others = bound.candidates.clock("order"), end.candidates.clock("order")
        if not len(new):
            return
        size, some = len(low), high > low
        until = np.where(some, take(new, np.where(some, high - 1, 0)), 0)
        begin, stop = self.ranges(end, partials, size)
        found = np.full(size, -1, dtype=np.int32)
        if end.residuals:
            self._find_first(end, partials, (begin, np.where(some, stop, begin)), found)
        else:
            bands = self._limits(end.bands, partials, size)
            first_of(len(end.bands))(begin, stop, others, until, found, *bands)
        cut(low, high, new, found, others)

    def _find_first(
        self, bound: BoundStep, partials: Partials, ranges: tuple[Ints, Ints], found: Ints
    ) -> None:
        """Find the first candidate that satisfies the conditions, in growing parts of a range."""
        counters = self._sought.setdefault(bound.step.name, StepCounters(bound.step.name))
        decided = np.zeros(len(found), dtype=np.bool_)
        for rows, part, limits in _stretches(ranges, partials, decided):
            for _, _, parents, new in self._groups(bound, counters, part, len(rows), limits):
                if len(parents):
                    first = np.append(True, parents[1:] != parents[:-1])
                    found[rows[parents[first]]] = new[first]
                    decided[rows[parents]] = True

    def sought(self, absence: BoundStep, rows: Partials, size: int) -> npt.NDArray[np.bool_]:
        """Return for each row whether a forbidden event exists.

        Examined candidates add up over the chunks: a search with many candidates earns a generated
        loop.
        """
        name = absence.step.name
        counters = self._sought.setdefault(name, StepCounters(name))
        return self.exists(absence, counters, rows, size)

    def exists(
        self, bound: BoundStep, counters: StepCounters, partials: Partials, size: int
    ) -> npt.NDArray[np.bool_]:
        """Return for each partial match whether it has such an event, and all that go with it."""
        step, then = bound.step, bound.then
        ranges = low, high = self.ranges(bound, partials, size)
        checked = bound.residuals or step.distinct or step.follows or step.precedes
        if then is None and not checked:
            bands = self._limits(bound.bands, partials, size)
            present = np.empty(size, dtype=np.bool_)
            exists_of(len(bound.bands))(low, high, present, *bands)
            return present
        for end in bound.ends:
            self._cut(end, bound, partials, low, high)
        present = np.zeros(size, dtype=np.bool_)
        for rows, part, limits in _stretches(ranges, partials, present):
            for _, _, parents, new in self._groups(bound, counters, part, len(rows), limits):
                those = rows[parents]
                if then is not None:
                    longer = {v: take(candidates, parents) for v, candidates in part.items()}
                    those = those[self.sought(then, longer | bound.new(new), len(parents))]
                present[those] = True
        return present

    def ranges(self, bound: BoundStep, partials: Partials, size: int) -> tuple[Ints, Ints]:
        """Return for each partial match where its candidates begin and end."""
        if bound.by_value is not None:
            return value_ranges(self._limits((bound.by_value,), partials, size))
        ends = []
        for limits, tightest, otherwise in (
            (bound.lower, np.maximum, 0),
            (bound.upper, np.minimum, len(bound.candidates)),
        ):
            end: Ints | None = None
            for limit in limits:
                if isinstance(limit, Table):
                    own = take(limit.first, partials[limit.variable])
                else:
                    own = self._searched(bound, limit, partials)
                end = own if end is None else tightest(end, own)
            ends.append(np.full(size, otherwise, dtype=np.int32) if end is None else end)
        low, high = ends
        return low, high

    def _searched(self, bound: BoundStep, search: KeySearch, partials: Partials) -> Ints:
        limit, new = search.limit, bound.candidates
        times = self._candidates[limit.variable].clock(limit.clock)
        limits = take(times, partials[limit.variable]) + limit.delta
        if search.partner is None or search.key_class is None or new.starts is None:
            keys = np.zeros(len(limits), dtype=np.int32)
            starts = np.array([0, len(new)], dtype=np.int64)
        else:
            codes = self._candidates[search.partner].keys[search.key_class]
            keys, starts = take(codes, partials[search.partner]), new.starts
        out = np.empty(len(limits), dtype=np.int32)
        searched_bounds(limits, keys, new.clock(limit.clock), starts, out)
        return out

    def _choose_loop(
        self,
        bound: BoundStep,
        looked_at: int,
        partials: Partials,
        size: int,
        *,
        counts: bool = False,
    ) -> _Loop:
        """Return the loop for a chunk, with the conditions left to check on its output."""
        bands = self._limits(bound.bands, partials, size)
        generated = self._generate(bound, looked_at, counts=counts)
        if generated is None:
            loop = count_of(len(bound.bands)) if counts else join_of(len(bound.bands))
            return _Loop(loop, bands, bound.residuals)
        operands = generated.operands(partials, partial(self._column, partials), size)
        return _Loop(generated.join, (*bands, *operands), ())

    def _generate(self, bound: BoundStep, looked_at: int, *, counts: bool) -> GeneratedJoin | None:
        """Return a generated loop for the step, if it is possible and worthwhile."""
        if not bound.residuals or looked_at < GENERATE_AFTER:
            return None
        if isinstance(bound.candidates, SubtreeCandidates):
            return None  # loops are generated only for steps of one variable
        variable = bound.candidates.step.variable
        if (variable, counts) not in self._generated:
            self._generated[variable, counts] = generate(
                bound.residuals,
                variable,
                self._candidates,
                bands=len(bound.bands),
                counts=counts,
            )
        return self._generated[variable, counts]

    def _limits(
        self, bands: Sequence[BoundBand], partials: Partials, size: int
    ) -> tuple[Floats, ...]:
        """Return for each band the least and greatest values of partial matches, and its column."""
        arrays: list[Floats] = []
        for band in bands:
            least: Floats | None = None
            most: Floats | None = None
            for side in band.sides:
                low: Floats | None
                high: Floats | None
                if side.band is None:
                    rows = partials[side.variable or ""]
                    low = None if side.least is None else take(side.least, rows)
                    high = None if side.most is None else take(side.most, rows)
                else:
                    other = value(side.band.other, partial(self._column, partials))
                    low, high = band_limits(side.band.operator, as_floats(other))
                # A NaN on either side stays: such a band is empty.
                if low is not None:
                    least = low if least is None else np.maximum(least, low)
                if high is not None:
                    most = high if most is None else np.minimum(most, high)
            arrays += (
                np.full(size, -np.inf) if least is None else least,
                np.full(size, np.inf) if most is None else most,
                band.column,
            )
        return tuple(arrays)

    def _column(self, partials: Partials, variable: str, attribute: str) -> Column:
        return self._candidates[variable].column(attribute).take(partials[variable])

    def _checked(
        self, bound: BoundStep, partials: Partials, loop: _Loop, parents: Ints, candidates: Ints
    ) -> tuple[Ints, Ints]:
        """Return the pairs that pass the remaining conditions."""
        step = bound.step

        def taken(variable: str) -> Ints:
            if variable not in step.variables:
                return take(partials[variable], parents)
            if isinstance(bound.candidates, SubtreeCandidates):
                return take(bound.candidates.members[variable], candidates)
            return candidates

        def read(variable: str, attribute: str) -> Column:
            return self._candidates[variable].column(attribute).take(taken(variable))

        def rows(variable: str) -> Ints:
            return take(self._candidates[variable].rows, taken(variable))

        for condition in loop.unchecked:
            held = truth(condition, read, len(candidates))
            parents, candidates = where(held, parents, candidates)
        for one, other in step.distinct:
            held = rows(one) != rows(other)
            parents, candidates = where(held, parents, candidates)
        for other, apart in step.follows:
            held = rows(step.variables[0]) - rows(other) >= apart
            parents, candidates = where(held, parents, candidates)
        for other, apart in step.precedes:
            held = rows(other) - rows(step.variables[0]) >= apart
            parents, candidates = where(held, parents, candidates)
        return parents, candidates


def _in(low: Ints, high: Ints) -> int:
    """Return how many candidates are in all ranges."""
    return int((np.maximum(low, high) - low).sum(dtype=np.int64))


def _stretches(
    ranges: tuple[Ints, Ints], partials: Partials, decided: npt.NDArray[np.bool_]
) -> Iterator[tuple[Ints, Partials, tuple[Ints, Ints]]]:
    """Yield growing parts of the ranges of the partial matches that are not decided yet.

    Args:
        ranges: Where the candidates of each partial match begin and end.
        decided: The partial matches for which no more is looked for; the caller fills it.

    Yields:
        The numbers of some partial matches, these, and where their candidates begin and end.
    """
    begin, stop = ranges
    rows, width = np.flatnonzero(stop > begin).astype(np.int32), _FIRST_STRETCH
    while len(rows):
        low = begin[rows]
        high = np.minimum(low.astype(np.int64) + width, stop[rows]).astype(np.int32)
        yield rows, {v: take(candidates, rows) for v, candidates in partials.items()}, (low, high)
        begin[rows] = high
        rows = rows[~decided[rows] & (high < stop[rows])]
        width *= 2
