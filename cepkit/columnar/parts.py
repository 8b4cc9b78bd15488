"""The slices of a stream in memory, and their matches, found side by side.

Each slice has its own counters, which are added in the order of slices, as its matches are handed
on. So matches, counters and errors do not depend on the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Counters, Program, add_counters, counters_for
from cepkit.columnar.compile.query import CompiledQuery
from cepkit.columnar.kernels.loops import counting_sort
from cepkit.columnar.kleene.limits import SetChoice
from cepkit.columnar.run import Run
from cepkit.columnar.slices.binding import Binder
from cepkit.columnar.slices.blocks import Block, SetBlock
from cepkit.columnar.slices.cutting import (
    EVERYTHING,
    HEAVY,
    HEAVY_CANDIDATES,
    HEAVY_ROWS,
    HEAVY_WINDOWS,
    Owned,
    cut,
    looks_ahead,
    numbered,
    readings,
    rows_of_slices,
    slices,
)
from cepkit.columnar.slices.plans import SlicePlan, SlicePlans, SliceRun, SliceWork, total
from cepkit.pattern.keys import partition_keys
from cepkit.stream.columns import EventColumns

T = TypeVar("T")

Make: TypeAlias = Callable[[int, Block], Iterable[T]]
"""Returns what is made of some matches of a branch, in the thread that has found them. It may be
held, while a block is valid only until the next one is found."""

PARTITIONED, PARTITIONED_CANDIDATES, PARTITION_PARTS = 32.0, 1 << 26, 16
"""Without a window a stream's partitions are dealt out to so many parts, if more than so many
candidates are expected for an event, and in all."""

_planning = threading.Lock()


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A slice of the events of a stream.

    Attributes:
        columns: The events that it sees.
        begin: The row of the first of them.
        first: The row of the first event that it owns.
        end: The row after the last one.
        owned: The matches that are its own.
        rows: The row of each event, where they are those of some partitions; None: side by side.
    """

    columns: EventColumns
    begin: int
    first: int
    end: int
    owned: Owned
    rows: npt.NDArray[np.integer] | None = None

    def placed(self, block: Block) -> Block:
        """Return matches of the slice as rows of the whole."""
        if self.rows is not None:
            return (block if isinstance(block, SetBlock) else block.held()).among(self.rows)
        if self.begin == 0:
            return block
        fits = self.begin + len(self.columns) <= 1 << 31
        return block.shifted(np.int32(self.begin) if fits else np.int64(self.begin))


@dataclass(frozen=True, eq=False, slots=True)
class PartRun:
    """The end of a slice's run.

    Attributes:
        plan: Its own plan; None for the query's.
        query: The compiled query that it ran.
        counters: Its work.
    """

    part: Part
    plan: SlicePlan | None
    query: CompiledQuery
    counters: Counters

    def add_to(self, work: Counters | SliceWork, columns: EventColumns) -> None:
        """Add the work of the slice to that of the slices before it."""
        if not isinstance(work, SliceWork):
            add_counters(work, self.counters)
            return
        part, plan = self.part, self.plan
        assert plan is not None
        add_counters(work.of(plan.branches, self.query), self.counters)
        if part.first < part.end:
            candidates, partial_matches = total(self.counters)
            work.slices.append(
                SliceRun(
                    int(columns.ts[part.first]),
                    int(columns.ts[part.end - 1]),
                    part.end - part.first,
                    plan.branches,
                    plan.rates,
                    plan.why,
                    candidates,
                    partial_matches,
                )
            )


def whole(_: int, block: Block) -> Iterable[Block]:
    """Return matches as they are, for one thread only."""
    return (block,)


def held(_: int, block: Block) -> Iterable[Block]:
    """Return the blocks of a slice with their events, which stay valid."""
    return (block if isinstance(block, SetBlock) else block.held(),)


def sized(_: int, block: Block) -> Iterable[int]:
    """Return the number of matches alone."""
    return (block.size,)


def matches_of(
    query: CompiledQuery,
    columns: EventColumns,
    owned: Owned,
    counters: Counters,
    choice: SetChoice,
) -> Iterator[tuple[int, Block]]:
    """Return program numbers and matches in a slice, in batches.

    Args:
        counters: For each program those of its steps; the work is added to them.
        choice: Which sets of each Kleene variable are wanted.
    """
    if len(query.programs) > 1:
        # Imported here: a single program does not need it.
        from cepkit.columnar.forest import matches_in_common

        return matches_in_common(query, columns, owned, counters, choice)
    (program,), (own,) = query.programs, counters
    return zip(
        repeat(0), Run(Binder(program, columns, owned).bound(), own, choice).blocks(), strict=False
    )


def jobs_of(
    query: CompiledQuery,
    columns: EventColumns,
    owned: Owned,
    choice: SetChoice,
    make: Make[T],
    work: Counters | SliceWork,
    *,
    plans: SlicePlans | None = None,
    slice_rows: int | None = None,
) -> Iterator[Callable[[], Iterator[tuple[int, T] | PartRun]]]:
    """Yield a job for each slice: it gives branch numbers, results of `make`, and last its run.

    Args:
        columns: A stream, or a part of it.
        owned: The matches that are the part's own.
        choice: Which sets of each Kleene variable are wanted.
        work: The work so far.
        plans: Chooses the plan of each slice; None: always that of `query`.
        slice_rows: Events of a slice; None: chosen from the window.
    """
    windows = None
    least = rows_of_slices(len(columns)) if plans is None else plans.least_rows(columns)
    if plans is None and query.work > HEAVY:
        least = min(least, max(HEAVY_ROWS, int(HEAVY_CANDIDATES / query.work)))
        windows = HEAVY_WINDOWS
    parts = None
    if plans is None and slice_rows is None and owned == EVERYTHING:
        parts = partitions_of(query, columns)
    if parts is None:
        parts = parts_of(query.programs, columns, owned, slice_rows, least, windows)
    for part in parts:
        if plans is None or not isinstance(work, SliceWork):
            assert not isinstance(work, SliceWork)
            yield _job(part, None, query, counters_for(query.programs, work), choice, make)
            continue
        # Two runs of one query may plan at the same time; the plan of a slice may depend on
        # the slices before it.
        with _planning:
            plan = plans(columns, part.first, part.end)
        chosen = plan.query or query
        counters = counters_for(chosen.programs, work.counters.get(plan.branches))
        yield _job(part, plan, chosen, counters, choice, make)


def _job(
    part: Part,
    plan: SlicePlan | None,
    query: CompiledQuery,
    counters: Counters,
    choice: SetChoice,
    make: Make[T],
) -> Callable[[], Iterator[tuple[int, T] | PartRun]]:
    def run() -> Iterator[tuple[int, T] | PartRun]:
        for number, block in matches_of(query, part.columns, part.owned, counters, choice):
            for made in make(number, part.placed(block)):
                yield number, made
        yield PartRun(part, plan, query, counters)

    return run


def weight(result: Any) -> int:
    """Return about how many bytes wait in a result."""
    return 0 if isinstance(result, PartRun) else int(getattr(result[1], "nbytes", 1 << 10))


def parts_of(
    programs: Sequence[Program],
    columns: EventColumns,
    owned: Owned,
    slice_rows: int | None,
    least: int,
    windows: int | None = None,
) -> Iterator[Part]:
    """Yield the slices of a stream, or of a part of it.

    Args:
        owned: The matches that are the part's own.
        slice_rows: Events of a slice; None: chosen from the window.
        least: The least events of a slice, if `slice_rows` is None.
        windows: The same in windows; None: as usual.
    """
    n, first_owned, end_owned = len(columns), 0, len(columns)
    everything = owned.since is None and owned.until is None
    if everything:
        for program in programs:
            columns = numbered(program, columns)
    clock, window = cut(programs, columns)
    values = readings(columns, clock)
    if not everything and clock != owned.clock:
        yield Part(columns, 0, 0, n, owned)
        return
    if owned.since is not None:
        first_owned = int(np.searchsorted(values, owned.since))
    if owned.until is not None:
        end_owned = int(np.searchsorted(values, owned.until))
    looking = looks_ahead(programs, clock)
    for begin, first, end in slices(
        values, window, slice_rows, first_owned, end_owned, least, windows
    ):
        # Events under NOT, and members of sets, may come up to a window after the slice.
        ahead = end
        if end < n and looking:
            ahead = n
            if window is not None and end > first:
                ahead = int(np.searchsorted(values, values[end - 1] + window, side="right"))
        part = columns if ahead - begin == n else columns.slice(begin, ahead)
        since = owned.since if first == first_owned else int(values[first])
        until = owned.until if end == end_owned else int(values[end])
        yield Part(part, begin, first, end, Owned(since, until, clock))


def partitions_of(query: CompiledQuery, columns: EventColumns) -> Iterator[Part] | None:
    """Return parts with some partitions each, where there is no window that can cut.

    To deal the events out takes about as long as to search them where there is little to do.

    Returns:
        The parts; None if slices serve, there are no partitions, or it does not pay.
    """
    programs = query.programs
    partition_by = programs[0].partition_by
    pays = query.work > PARTITIONED and query.work * len(columns) > PARTITIONED_CANDIDATES
    if not partition_by or not pays:
        return None
    for program in programs:
        columns = numbered(program, columns)
    if cut(programs, columns)[1] is not None:
        return None
    codes, count = partition_keys([columns.attributes[name] for name in partition_by])
    if count < 2:
        return None
    number = min(PARTITION_PARTS, count)
    starts = np.zeros(number + 1, dtype=np.int64)
    order = np.empty(len(columns), dtype=np.int32)
    counting_sort((codes % number).astype(np.int32, copy=False), starts, order)

    def parts() -> Iterator[Part]:
        for begin, end in pairwise(starts.tolist()):
            rows = order[begin:end]
            yield Part(columns.take(rows), 0, begin, end, EVERYTHING, rows)

    return parts()
