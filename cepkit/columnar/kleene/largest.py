"""The largest sets: for each choice of the single events the match with the most members.

Where all variables are sets, the first member of the one that is written first tells one choice
from another. O(members) for each match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.slices.blocks import Members, SetBlock

_HELD = 1 << 14
"""The least number of matches that are held before the largest of them are found."""


def largest_of_each(program: Program, blocks: Iterable[SetBlock]) -> Iterator[SetBlock]:
    """Yield the largest of the matches with the same single events, the earliest of several."""
    single = _single_variables(program)
    # Where all variables are sets, a plan may bind the ends of others before.
    in_turn = {*program.bound[: len(single)]} == {*single}
    return _largest_in_turn(program, blocks) if in_turn else _largest_of_all(program, blocks)


def _single_variables(program: Program) -> list[str]:
    """Return the variables that tell one choice of the single events from another."""
    ends = program.ends - {*program.owners}
    return [variable for variable in program.bound if variable not in ends]


def _largest_of_all(program: Program, blocks: Iterable[SetBlock]) -> Iterator[SetBlock]:
    """Yield the largest of the matches with the same single events, which come in any order.

    One for each choice of the single events is held.
    """
    best: list[SetBlock] = []
    known = new = 0
    for block in blocks:
        best.append(block)
        new += block.size
        if new > max(known, _HELD):
            best = [_largest(program, best)]
            known, new = best[0].size, 0
    if best:
        yield _largest(program, best)


def _largest(program: Program, blocks: Sequence[SetBlock]) -> SetBlock:
    """Return the largest of the matches with the same single events."""
    first, *rest = blocks
    joined = first.followed_by(*rest)
    single = [joined.events(v) for v in _single_variables(program)]
    _, groups = np.unique(np.stack(single), axis=1, return_inverse=True)
    return joined.take(_first_of_largest(program, joined, groups.reshape(-1)))


def _largest_in_turn(program: Program, blocks: Iterable[SetBlock]) -> Iterator[SetBlock]:
    """Yield the largest of the matches with the same single events, which come in a row.

    One of them is held at a time.
    """
    best: SetBlock | None = None
    for block in blocks:
        joined = block if best is None else best.followed_by(block)
        single = [joined.events(v) for v in _single_variables(program)]
        changes = np.zeros(joined.size, dtype=np.bool_)
        for events in single:
            changes[1:] |= events[1:] != events[:-1]
        firsts = _first_of_largest(program, joined, np.cumsum(changes))
        # The last group may continue in the next block.
        if len(firsts) > 1:
            yield joined.take(firsts[:-1])
        best = joined.take(firsts[-1:])
    if best is not None:
        yield best


def _first_of_largest(
    program: Program, block: SetBlock, groups: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return for each group, from 0, the match with the most members, the earliest of several."""
    sets = []
    for variable in program.variables:
        members = block.members(variable)
        if members is not None:
            sets.append(members)
    sizes = np.sum([members.sizes for members in sets], axis=0)
    most = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.maximum.at(most, groups, sizes)
    best: dict[int, int] = {}
    for match in np.flatnonzero(sizes == most[groups]).tolist():
        rival = best.setdefault(int(groups[match]), match)
        if rival != match and _events(sets, match) < _events(sets, rival):
            best[int(groups[match])] = match
    return np.array([best[group] for group in range(len(most))])


def _events(sets: Sequence[Members], match: int) -> list[list[int]]:
    """Return the members of all sets of a match, for comparison with another."""
    return [
        members.rows[members.starts[match] : members.starts[match + 1]].tolist() for members in sets
    ]
