"""AFTER MATCH SKIP: selects matches by their start and by how soon they complete.

Of the matches that start with the same event at most one is taken, the one that completes first. So
only one match for each event is held, and at the end a loop goes through them in stream order.
Cost: a pass over the matches, and memory for as many as there are events.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import assert_never

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.kernels.skipping import completing_first, soonest_of, taken
from cepkit.columnar.slices.blocks import Block, Members, SetBlock, bound_in
from cepkit.indexing import repeated, take
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.policies import AfterMatch, SkipTo
from cepkit.pattern.repetitions import Group, Repetitions
from cepkit.stream.columns import EventColumns

_HELD = 1 << 20
"""After this many held matches, those that another one has made useless are dropped."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Selectable:
    """A block of matches of one program that may be selected.

    Attributes:
        block: The matches.
        starts: The first event of each.
        ends: The last event of each.
    """

    block: SetBlock
    starts: Integers
    ends: Integers

    @property
    def nbytes(self) -> int:
        """The bytes of all."""
        return self.block.nbytes + self.starts.nbytes + self.ends.nbytes

    def take(self, at: Integers) -> Selectable:
        """Return those at `at`."""
        return Selectable(self.block.take(at), self.starts[at], self.ends[at])

    @staticmethod
    def joined(parts: Sequence[Selectable]) -> Selectable:
        """Return those of several blocks."""
        first, *others = parts
        if not others:
            return first
        block = first.block.followed_by(*(each.block for each in others))
        starts = np.concatenate([each.starts for each in parts])
        return Selectable(block, starts, np.concatenate([each.ends for each in parts]))


@dataclass(slots=True)
class _Held:
    """Matches of one program.

    Attributes:
        size: How many there are.
        most: The number of matches that triggers dropping useless ones.
    """

    parts: list[Selectable] = field(default_factory=list)
    size: int = 0
    most: int = _HELD


class AfterMatchSelection:
    """Collects matches as they are found, and returns the selected ones at the end.

    Args:
        skip: Where the next match may start.
        own: The rows with which matches may start: the first, and the one after the last.
        excluded: For each event whether earlier matches exclude those that start with it. What
            matches that are taken exclude is added.
    """

    def __init__(
        self,
        skip: AfterMatch,
        programs: Sequence[Program],
        columns: EventColumns,
        own: tuple[int, int],
        excluded: npt.NDArray[np.bool_],
        groups: Sequence[Group] = (),
    ) -> None:
        self._repetitions = [Repetitions(groups, program.variables) for program in programs]
        self._skip, self._programs, self._columns = skip, programs, columns
        self._excluded, self._local = excluded, threading.local()
        self._arrival = columns.arrival()
        self._in_order = columns.in_order()
        # Less than any event where no match may start.
        self._soonest = np.where(excluded, np.int64(-1), np.int64(len(columns)))
        self._soonest[: own[0]] = self._soonest[own[1] :] = -1
        self._held = [_Held() for _ in programs]

    def of_use(self, number: int, block: Block) -> Iterator[Selectable]:
        """Yield the matches of a block that may be selected, one for each first event.

        Threads that find matches call it side by side: it changes nothing. It may not see what was
        added last, and then yields more than it need.
        """
        if not block.size:
            return
        rows, sets = self._bound(number, block)
        starts = reduce(np.minimum, (*rows.values(), *(each.first for each in sets.values())))
        ends = reduce(np.maximum, (*rows.values(), *(each.last for each in sets.values())))
        starts, ends = (each.astype(np.int64, copy=False) for each in (starts, ends))
        first = int(starts.min())
        soonest = self._scratch("soonest", int(starts.max()) + 1 - first)
        some = Selectable(SetBlock(block.size, rows, sets), starts, ends)
        yield self._one_for_each(number, self._soonest_of(some, soonest, first))

    def _scratch(self, name: str, size: int) -> Integers:
        """Return numbers of this thread, at first -1."""
        known: Integers | None = getattr(self._local, name, None)
        if known is None or len(known) < size:
            known = np.full(size, -1, dtype=np.int64)
            setattr(self._local, name, known)
        return known

    def add(self, number: int, some: Selectable) -> None:
        """Add some matches of a program."""
        some = self._soonest_of(some)
        if not some.block.size:
            return
        held = self._held[number]
        held.parts.append(some)
        held.size += some.block.size
        if held.size > held.most:
            joined = self._soonest_of(Selectable.joined(held.parts))
            whole = self._one_for_each(number, joined)
            size = whole.block.size
            self._held[number] = _Held([whole], size, max(_HELD, 2 * size))

    def left(self) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch numbers and selected matches."""
        held = {n: each.parts for n, each in enumerate(self._held) if each.parts}
        self._held = []
        # Another branch may have found one meanwhile that completes sooner.
        found = {n: self._soonest_of(Selectable.joined(parts)) for n, parts in held.items()}
        if not found:
            return
        starts = np.concatenate([some.starts for some in found.values()])
        keys = [self._keys(number, some.block) for number, some in found.items()]
        kept = self._completing_first(starts, *map(np.concatenate, zip(*keys, strict=True)))
        kept = kept[np.argsort(starts[kept], kind="stable")]  # nearly ascending already
        to = np.concatenate([self._to(number, some) for number, some in found.items()])
        chosen = np.zeros(len(kept), dtype=np.bool_)
        partitions, size = self._partitions()
        begins = np.zeros(size, dtype=np.int64)
        excluded = np.flatnonzero(self._excluded)
        begins[partitions[excluded]] = excluded + 1  # of each partition the last one stays
        starts, to = starts[kept], to[kept]
        taken(starts, to, partitions[starts], begins, chosen)
        if size == 1:
            self._excluded[: begins[0]] = True
        else:
            self._excluded |= np.arange(len(partitions)) < take(begins, partitions)
        begin, places = 0, np.sort(kept[chosen], kind="stable")
        for number, some in found.items():
            block = some.block
            own = places[(places >= begin) & (places < begin + block.size)] - begin
            begin += block.size
            if len(own):
                yield number, block.take(own)

    def _partitions(self) -> tuple[npt.NDArray[np.int32], int]:
        """Return the partition of each event, and how many there are."""
        partition_by, columns = self._programs[0].partition_by, self._columns
        if not partition_by:
            return np.zeros(len(columns), dtype=np.int32), 1
        return partition_keys([columns.attributes[name] for name in partition_by])

    def _one_for_each(self, number: int, some: Selectable) -> Selectable:
        """Return one match for each first event, of those that complete together."""
        if not some.block.size:
            return some
        keys = self._keys(number, some.block)
        return some.take(self._completing_first(some.starts, *keys))

    def _soonest_of(
        self, some: Selectable, soonest: Integers | None = None, first: int = 0
    ) -> Selectable:
        """Return the matches that complete as soon as any with the same first event.

        Args:
            soonest: Room for the least last event of each first one; None for those of all
                matches so far, to which these are added.
            first: The first event of `soonest`.
        """
        anew = soonest is not None
        soonest = self._soonest if soonest is None else soonest
        kept = np.empty(some.block.size, dtype=np.int64)
        count = soonest_of(some.starts, some.ends, self._soonest, first, anew, soonest, kept)
        return some if count == len(kept) else some.take(kept[:count])

    def _completing_first(self, starts: Integers, sizes: Integers, keys: Integers) -> Integers:
        """Return one match for each first event, among matches that complete together."""
        begins = np.concatenate(([0], np.cumsum(sizes)))
        kept = np.empty(len(starts), dtype=np.int64)
        first = int(starts.min())
        best = self._scratch("best", int(starts.max()) + 1 - first)
        count = completing_first(starts - first, begins, keys, self._arrival, best, kept)
        return kept[:count]

    def _bound(
        self, number: int, block: Block
    ) -> tuple[dict[str, npt.NDArray[np.integer]], dict[str, Members]]:
        """Return the event of each single variable, and the set of each Kleene variable."""
        return bound_in(block, self._programs[number].variables)

    def _keys(self, number: int, block: SetBlock) -> tuple[Integers, Integers]:
        """Return the number of entries of each match, and all events in pattern order.

        -1 follows the members of a set (in arrival order), so that a set sorts before its own
        subsets.
        """
        rows, sets = self._bound(number, block)
        sizes = np.full(block.size, len(rows) + len(sets), dtype=np.int64)
        for each in sets.values():
            sizes += each.sizes
        at = np.cumsum(sizes) - sizes
        keys = np.full(int(sizes.sum()), -1, dtype=np.int64)
        for variable in self._programs[number].variables:
            if variable in rows:
                keys[at] = rows[variable]
                at = at + 1
                continue
            members = self._by_arrival(sets[variable])
            own = np.arange(len(members.rows)) - repeated(members.starts[:-1], members.sizes)
            keys[repeated(at, members.sizes) + own] = members.rows
            at = at + members.sizes + 1
        return sizes, keys

    def _by_arrival(self, members: Members) -> Members:
        if self._in_order:
            return members
        matches = repeated(np.arange(len(members.sizes)), members.sizes)
        order = np.lexsort((self._arrival[members.rows], matches))
        return Members(members.starts, members.rows[order])

    def _to(self, number: int, some: Selectable) -> Integers:
        """Return for each match the first event at which another may start."""
        block = some.block
        match self._skip.to:
            case SkipTo.PAST_LAST_EVENT:
                return some.ends + 1
            case SkipTo.NEXT:
                return some.starts + 1
            case SkipTo.FIRST | SkipTo.LAST as to:
                assert self._skip.variable is not None
                names = self._repetitions[number].named(self._skip.variable)
                name = names[0] if to is SkipTo.FIRST else names[-1]
                members = block.members(name)
                if members is None:
                    return block.events(name).astype(np.int64, copy=False)
                rows = members.first if to is SkipTo.FIRST else members.last
                return rows.astype(np.int64, copy=False)
            case other:
                assert_never(other)
