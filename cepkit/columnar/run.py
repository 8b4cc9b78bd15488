"""The steps of a bound program, run over chunks of partial matches, depth first.

A step takes a chunk, fills a buffer of fixed size with the pairs (partial match, new event) that
hold, passes them on as the next step's chunk, and goes on where it stopped. So memory is bounded
by the number of steps, whatever the number of matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.backend import Kernels, Loops
from cepkit.columnar.binding import (
    BoundBand,
    BoundProgram,
    BoundStep,
    Search,
    Side,
    Table,
    band_limits,
)
from cepkit.columnar.candidates import Candidates
from cepkit.columnar.counters import StepCounters
from cepkit.columnar.generated import GeneratedJoin, generate
from cepkit.pattern.conditions import Expression
from cepkit.pattern.evaluation import truth, value
from cepkit.pattern.operations import as_floats
from cepkit.stream.columns import Column

Ints = npt.NDArray[np.int32]

Floats = npt.NDArray[np.float64]
Partials = dict[str, Ints]
"""For each bound variable, the candidate of each partial match."""

CHUNK = 1 << 15
"""Partial matches taken at a time: what fits a core's cache."""

BUFFER = 1 << 16
"""Pairs that a step lets through before it passes them on."""


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


@dataclass(frozen=True, slots=True)
class _Loop:
    """An inner loop for one chunk: its arguments, and what it does not check."""

    join: Callable[..., tuple[int, int]]
    arguments: tuple[npt.NDArray[Any], ...]
    bands: Sequence[tuple[Floats, Floats, Floats]]
    residues: Sequence[Expression]


class Run:
    """One pass of a bound program over its slice.

    Args:
        bound: The program and the slice.
        loops: The inner loops to use.
        counters: One for each step; the work is added to them.
    """

    def __init__(self, bound: BoundProgram, loops: Loops, counters: Sequence[StepCounters]) -> None:
        self._bound = bound
        self._loops = loops
        self._kernels = loops.kernels
        self._generated: dict[int, GeneratedJoin | None] = {}
        self._counters = counters

    def blocks(self) -> Iterator[Block]:
        """Yield the matches, some at a time, in no particular order."""
        if not self._bound.possible:
            return
        first = self._bound.steps[0].candidates
        self._counters[0].candidates += first.seen
        self._counters[0].survivors += len(first)
        if not all(len(bound.candidates) for bound in self._bound.steps):
            return
        for begin in range(0, len(first), CHUNK):
            chunk = np.arange(begin, min(begin + CHUNK, len(first)), dtype=np.int32)
            self._counters[0].peak_rows = max(self._counters[0].peak_rows, len(chunk))
            if len(self._bound.steps) == 1:
                name = first.step.variable
                yield Block(
                    len(chunk), self._kernels, self._bound.candidates, {}, name, chunk, chunk
                )
            else:
                yield from self._extend(1, {first.step.variable: chunk}, len(chunk))

    def _extend(self, number: int, partials: Partials, size: int) -> Iterator[Block]:
        """Run the steps from `number` on over a chunk of partial matches."""
        bound, counters = self._bound.steps[number], self._counters[number]
        began = perf_counter()
        low, high = self._ranges(bound, partials, size)
        counters.candidates += int(np.maximum(high.astype(np.int64) - low, 0).sum())
        loop = self._choose_loop(number, partials, size)
        parents, found = np.empty(BUFFER, np.int32), np.empty(BUFFER, np.int32)
        done = 0
        while done < size:
            stopped, count = loop.join(low, high, done, parents, found, *loop.arguments)
            if stopped == done:  # one partial match has more candidates than the buffer has room
                room = int(high[done]) - int(low[done])
                parents, found = np.empty(room, np.int32), np.empty(room, np.int32)
                continue
            done = stopped
            pairs = self._checked(number, partials, loop, parents[:count], found[:count])
            survivors = len(pairs[1])
            counters.survivors += survivors
            counters.peak_rows = max(counters.peak_rows, survivors)
            if survivors and number == len(self._bound.steps) - 1:
                counters.seconds += perf_counter() - began
                known, last = self._bound.candidates, bound.step.variable
                yield Block(survivors, self._kernels, known, partials, last, *pairs)
                began = perf_counter()
            elif survivors:
                longer = {v: self._kernels.take(rows, pairs[0]) for v, rows in partials.items()}
                longer[bound.step.variable] = pairs[1].copy()  # the buffer is filled again
                counters.seconds += perf_counter() - began
                yield from self._extend(number + 1, longer, survivors)
                began = perf_counter()
        counters.seconds += perf_counter() - began

    def _ranges(self, bound: BoundStep, partials: Partials, size: int) -> tuple[Ints, Ints]:
        """Return for each partial match where its candidates begin and end."""
        low = self._limit(bound, bound.lower, partials, np.maximum)
        high = self._limit(bound, bound.upper, partials, np.minimum)
        if low is None:
            low = np.zeros(size, dtype=np.int32)
        if high is None:
            high = np.full(size, len(bound.candidates), dtype=np.int32)
        return low, high

    def _limit(
        self,
        bound: BoundStep,
        limit: tuple[Table, ...] | Search,
        partials: Partials,
        tightest: np.ufunc,
    ) -> Ints | None:
        if isinstance(limit, Search):
            return self._searched(bound, limit, partials, tightest)
        parts = [self._kernels.take(t.first, partials[t.variable]) for t in limit]
        return reduce(tightest, parts) if parts else None

    def _searched(
        self, bound: BoundStep, search: Search, partials: Partials, tightest: np.ufunc
    ) -> Ints:
        candidates, new = self._bound.candidates, bound.candidates
        times = [candidates[b.variable].ts[partials[b.variable]] + b.delta for b in search.limits]
        wanted = reduce(tightest, times)
        if search.partner is None or search.key_class is None or new.starts is None:
            keys = np.zeros(len(wanted), dtype=np.int32)
            starts = np.array([0, len(new)], dtype=np.int64)
        else:
            keys = candidates[search.partner].keys[search.key_class][partials[search.partner]]
            starts = new.starts
        out = np.empty(len(wanted), dtype=np.int32)
        self._kernels.searched_bounds(wanted, keys, new.ts, starts, out)
        return out

    def _choose_loop(self, number: int, partials: Partials, size: int) -> _Loop:
        """Return the loop for a chunk, and what is left to check on what it lets through."""
        bound = self._bound.steps[number]
        bands = [self._limits(band, partials, size) for band in bound.bands]
        generated = self._generate(number)
        if generated is not None:
            read = partial(self._column, partials)
            triples = [array for band in bands for array in band]
            arguments = (*triples, *generated.arguments(partials, read, size))
            return _Loop(generated.join, arguments, [], ())
        room = len(self._kernels.JOINS) - 1
        arguments = tuple(array for band in bands[:room] for array in band)
        join = self._kernels.JOINS[len(bands[:room])]
        return _Loop(join, arguments, bands[room:], bound.residues)

    def _generate(self, number: int) -> GeneratedJoin | None:
        """Return a loop written for the step, if it is worth one and there can be one."""
        after, bound = self._loops.generate_after, self._bound.steps[number]
        if after is None or not bound.residues or self._counters[number].candidates < after:
            return None
        if number not in self._generated:
            self._generated[number] = generate(
                bound.residues,
                bound.step.variable,
                self._bound.candidates,
                bands=len(bound.bands),
                compiled=self._loops.compiled,
            )
        return self._generated[number]

    def _limits(
        self, band: BoundBand, partials: Partials, size: int
    ) -> tuple[Floats, Floats, Floats]:
        """Return least and greatest value for each partial match, and the column they are for."""
        least, most = np.full(size, -np.inf), np.full(size, np.inf)
        for side in band.sides:
            low, high = self._side(side, partials)
            # A NaN on either side stays: no value is in such a band.
            least = least if low is None else np.maximum(least, low)
            most = most if high is None else np.minimum(most, high)
        return least, most, band.column

    def _side(self, side: Side, partials: Partials) -> tuple[Floats | None, Floats | None]:
        if side.band is None:
            rows = partials[side.variable or ""]
            return (
                None if side.least is None else self._kernels.take(side.least, rows),
                None if side.most is None else self._kernels.take(side.most, rows),
            )
        other = value(side.band.other, partial(self._column, partials))
        return band_limits(side.band.operator, as_floats(other))

    def _column(self, partials: Partials, variable: str, attribute: str) -> Column:
        return self._bound.candidates[variable].column(attribute).take(partials[variable])

    def _checked(
        self,
        number: int,
        partials: Partials,
        loop: _Loop,
        parents: Ints,
        found: Ints,
    ) -> tuple[Ints, Ints]:
        """Return the pairs that pass what the inner loop has not checked."""
        bound = self._bound.steps[number]
        candidates = self._bound.candidates
        new = bound.step.variable

        def taken(variable: str) -> Ints:
            return found if variable == new else partials[variable][parents]

        def read(variable: str, attribute: str) -> Column:
            return candidates[variable].column(attribute).take(taken(variable))

        for least, most, column in loop.bands:
            values = column[found]
            held = (values >= least[parents]) & (values <= most[parents])
            parents, found = parents[held], found[held]
        for condition in loop.residues:
            held = truth(condition, read, len(found))
            parents, found = parents[held], found[held]
        for other in bound.step.distinct_from:
            held = candidates[new].rows[found] != candidates[other].rows[taken(other)]
            parents, found = parents[held], found[held]
        last, owned_from = self._bound.program.last, self._bound.owned_from
        complete = number == len(self._bound.steps) - 1
        if complete and owned_from is not None and len(last) > 1:
            ends = [candidates[v].ts[taken(v)] for v in last]
            held = reduce(np.maximum, ends) >= owned_from
            parents, found = parents[held], found[held]
        return parents, found
