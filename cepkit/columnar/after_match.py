"""AFTER MATCH SKIP: selects matches by their start and by how soon they complete.

Of the matches that start with the same event at most one is taken, the one that completes first. So
only one match for each event is held, and at the end a loop goes through them in stream order.
Cost: a pass over the matches, and memory for as many as there are events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.kernels.skipping import completing_first, soonest_of, taken
from cepkit.columnar.slices.blocks import Block, Members, SetBlock, bound_in
from cepkit.indexing import repeated
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.policies import AfterMatch, SkipTo
from cepkit.pattern.repetitions import Group, Repetitions
from cepkit.stream.columns import EventColumns

_HELD = 1 << 20
"""After this many held matches, those that another one has made useless are dropped."""

Integers = npt.NDArray[np.int64]


@dataclass(slots=True)
class _Held:
    """Matches of one program.

    Attributes:
        size: How many there are.
        most: The number of matches that triggers dropping useless ones.
    """

    blocks: list[SetBlock] = field(default_factory=list)
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
        self._own, self._excluded = own, excluded
        self._arrival = columns.arrival()
        self._in_order = columns.in_order()
        self._soonest = np.full(len(columns), len(columns), dtype=np.int64)
        self._best = np.full(len(columns), -1, dtype=np.int64)
        self._held = [_Held() for _ in programs]

    def add(self, number: int, block: Block) -> None:
        """Add some matches of a program."""
        some = self._of_use(number, SetBlock(block.size, *self._bound(number, block)))
        if not some.size:
            return
        held = self._held[number]
        held.blocks.append(some)
        held.size += some.size
        if held.size > held.most:
            whole = self._of_use(number, _joined(held.blocks))
            self._held[number] = _Held([whole], whole.size, max(_HELD, 2 * whole.size))

    def left(self) -> Iterator[tuple[int, SetBlock]]:
        """Yield branch numbers and selected matches."""
        found = {n: _joined(held.blocks) for n, held in enumerate(self._held) if held.blocks}
        self._held = []
        # Another branch may have found one meanwhile that completes sooner.
        blocks = {number: self._soonest_of(number, block) for number, block in found.items()}
        if not blocks:
            return
        starts = np.concatenate([self._ends_of(n, block)[0] for n, block in blocks.items()])
        keys = [self._keys(number, block) for number, block in blocks.items()]
        kept = self._completing_first(starts, *map(np.concatenate, zip(*keys, strict=True)))
        kept = kept[np.argsort(starts[kept])]
        to = np.concatenate([self._to(number, block) for number, block in blocks.items()])
        chosen = np.zeros(len(kept), dtype=np.bool_)
        partitions, size = self._partitions()
        begins = np.zeros(size, dtype=np.int64)
        excluded = np.flatnonzero(self._excluded)
        begins[partitions[excluded]] = excluded + 1  # of each partition the last one stays
        starts, to = starts[kept], to[kept]
        taken(starts, to, partitions[starts], begins, chosen)
        self._excluded |= np.arange(len(partitions)) < begins[partitions]
        begin, places = 0, np.sort(kept[chosen])
        for number, block in blocks.items():
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

    def _of_use(self, number: int, block: SetBlock) -> SetBlock:
        """Return the matches of a block that may be selected: one for each first event."""
        starts, _ = self._ends_of(number, block)
        may_start = (starts >= self._own[0]) & (starts < self._own[1]) & ~self._excluded[starts]
        some = block if may_start.all() else block.take(np.flatnonzero(may_start))
        some = self._soonest_of(number, some)
        if not some.size:
            return some
        starts, _ = self._ends_of(number, some)
        return some.take(np.sort(self._completing_first(starts, *self._keys(number, some))))

    def _soonest_of(self, number: int, block: SetBlock) -> SetBlock:
        """Return the matches that complete as soon as any with the same first event."""
        starts, ends = self._ends_of(number, block)
        kept = np.empty(block.size, dtype=np.int64)
        count = soonest_of(starts, ends, self._soonest, kept)
        return block if count == block.size else block.take(kept[:count])

    def _completing_first(self, starts: Integers, sizes: Integers, keys: Integers) -> Integers:
        """Return one match for each first event, among matches that complete together."""
        begins = np.concatenate(([0], np.cumsum(sizes)))
        kept = np.empty(len(starts), dtype=np.int64)
        count = completing_first(starts, begins, keys, self._arrival, self._best, kept)
        return kept[:count]

    def _ends_of(self, number: int, block: SetBlock) -> tuple[Integers, Integers]:
        """Return the first and the last event of each match."""
        rows, sets = self._bound(number, block)
        starts = np.minimum.reduce([*rows.values(), *(each.first for each in sets.values())])
        ends = np.maximum.reduce([*rows.values(), *(each.last for each in sets.values())])
        return starts, ends

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

    def _to(self, number: int, block: SetBlock) -> Integers:
        """Return for each match the first event at which another may start."""
        starts, ends = self._ends_of(number, block)
        match self._skip.to:
            case SkipTo.PAST_LAST_EVENT:
                return ends + 1
            case SkipTo.NEXT:
                return starts + 1
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


def _joined(blocks: Sequence[SetBlock]) -> SetBlock:
    """Return the matches of several blocks of one program."""
    first = blocks[0]
    return first if len(blocks) == 1 else first.followed_by(*blocks[1:])
