"""Grows sets member by member, by conditions on each member and those before it.

A set that fails with its last member is not extended: every larger set begins with the same
members. Cost: the sets that hold, times the candidates that may follow each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.slices.blocks import Members
from cepkit.indexing import repeated

Ints = npt.NDArray[np.int32]
_Block: TypeAlias = tuple[Ints, npt.NDArray[np.int64]]
"""The list of each set, and the places of its members so far; each set has as many of them."""

ROOM = 1 << 18
"""The number of members, over all sets that grow at a time."""

_TOGETHER = 1 << 14
"""The most sets of several lists that are held in memory to put them in order."""

_LONG = 60
"""The length from which on lists count as equally long: each is put in order by itself."""


def grown(
    lists: Lists, may_go_on: Callable[[Ints, Members], npt.NDArray[np.bool_]]
) -> Iterator[tuple[Ints, Members]]:
    """Yield all sets of lists whose members may stay, in blocks, and the list of each set.

    Args:
        lists: The lists to choose from, members in stream order.
        may_go_on: Takes lists and the first members chosen from each, of which all but the last may
            stay; returns whether the last one may stay too.
    """
    everyone = np.arange(len(lists.begins), dtype=np.int32)
    bound = np.flatnonzero(lists.firsts >= 0)
    alone = _members(lists.take(bound), np.empty((len(bound), 0), dtype=np.int64), whole=False)
    stays = lists.firsts < 0
    stays[bound] = may_go_on(bound.astype(np.int32), alone) if len(bound) else True
    parents = everyone[stays]
    open_blocks = [iter([(parents, np.empty((len(parents), 0), dtype=np.int64))])]
    while open_blocks:
        block = next(open_blocks[-1], None)
        if block is None:
            open_blocks.pop()
            continue
        parents, places = block
        own, size = lists.take(parents), places.shape[1]
        done = np.flatnonzero((own.least <= size) & (size <= own.most))
        if len(done):
            yield parents[done], _members(own.take(done), places[done], whole=True)
        open_blocks.append(_longer(lists, block, may_go_on))


def grown_in_order(
    lists: Lists, may_go_on: Callable[[Ints, Members], npt.NDArray[np.bool_]]
) -> Iterator[tuple[Ints, Members]]:
    """Yield the sets as `grown` does, but all sets of a list before those of the next one."""
    ends = np.cumsum(2.0 ** np.minimum(lists.lengths, _LONG))
    begin = 0
    while begin < len(ends):
        before = ends[begin - 1] if begin else 0.0
        end = max(begin + 1, int(np.searchsorted(ends, before + _TOGETHER, side="right")))
        at = np.arange(begin, min(end, len(ends)), dtype=np.int32)
        begin = end

        def may(parents: Ints, members: Members, at: Ints = at) -> npt.NDArray[np.bool_]:
            return may_go_on(at[parents], members)

        blocks = grown(lists.take(at), may)
        if len(at) == 1:
            yield from ((at[parents], members) for parents, members in blocks)
            continue
        several = list(blocks)
        if several:
            parents = np.concatenate([own for own, _ in several])
            sizes = np.concatenate([members.sizes for _, members in several])
            starts = np.concatenate(([0], np.cumsum(sizes)))
            joined = Members(starts, np.concatenate([members.rows for _, members in several]))
            order = np.argsort(parents, kind="stable")
            yield at[parents[order]], joined.take(order)


def _longer(
    lists: Lists, block: _Block, may_go_on: Callable[[Ints, Members], npt.NDArray[np.bool_]]
) -> Iterator[_Block]:
    """Yield the sets of a block with one more member, some at a time."""
    parents, places = block
    own, size = lists.take(parents), places.shape[1]
    following = own.begins.astype(np.int64) if size == 0 else places[:, -1] + 1
    last = own.ends - np.maximum(own.least - size, 1) + 1  # after it too few are left
    counts = np.where(size < own.most, np.maximum(last - following, 0), 0)
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(parents):
        before = int(ends[begin - 1]) if begin else 0
        room = max(1, ROOM // (size + 1))
        end = max(begin + 1, int(np.searchsorted(ends, before + room, side="right")))
        part = slice(begin, end)
        again = repeated(np.arange(begin, min(end, len(parents))), counts[part])
        begin = end
        if not len(again):
            continue
        within = np.arange(before, before + len(again)) - (ends - counts)[again]
        longer = np.column_stack((places[again], following[again] + within))
        stays = may_go_on(parents[again], _members(lists.take(parents[again]), longer, whole=False))
        if stays.any():
            yield parents[again[stays]], longer[stays]


def _members(lists: Lists, places: npt.NDArray[np.int64], *, whole: bool) -> Members:
    """Return the members at places of lists, after the first member if that is bound.

    Args:
        whole: Whether the last member, if it is bound, comes after them.
    """
    first = (lists.firsts >= 0).astype(np.int64)
    last = (lists.lasts >= 0).astype(np.int64) if whole else np.zeros_like(first)
    starts = np.concatenate(([0], np.cumsum(first + places.shape[1] + last)))
    rows = np.empty(starts[-1], dtype=np.int32)
    rows[starts[:-1][first > 0]] = lists.firsts[first > 0]
    rows[starts[1:][last > 0] - 1] = lists.lasts[last > 0]
    at = (starts[:-1] + first)[:, None] + np.arange(places.shape[1])
    rows[at] = lists.members[places]
    return Members(starts, rows)
