"""The largest match of each choice of the single events, where sets had to be made to be compared.

Matches with the same single events come one after the other, so one of them is held at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.slices.blocks import Members, SetBlock


def _single_variables(program: Program) -> list[str]:
    """Return the variables that tell one choice of the single events from another."""
    ends = program.ends - {*program.owners}
    return [variable for variable in program.bound if variable not in ends]


def largest_of_each(program: Program, blocks: Iterable[SetBlock]) -> Iterator[SetBlock]:
    """Yield of the matches with the same single events, which come together, the largest."""
    best: SetBlock | None = None
    for block in blocks:
        joined = block if best is None else best.followed_by(block)
        single = [joined.events(v) for v in _single_variables(program)]
        changes = np.zeros(joined.size, dtype=np.bool_)
        for events in single:
            changes[1:] |= events[1:] != events[:-1]
        firsts = _first_of_largest(program, joined, np.cumsum(changes))
        # The last group may go on in the next block.
        if len(firsts) > 1:
            yield joined.take(firsts[:-1])
        best = joined.take(firsts[-1:])
    if best is not None:
        yield best


def _first_of_largest(
    program: Program, block: SetBlock, groups: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return of each group the match with the most members, the earliest of such."""
    sets = []
    for variable in program.variables:
        members = block.members(variable)
        if members is not None:
            sets.append(members)
    sizes = np.sum([members.sizes for members in sets], axis=0)
    most = np.zeros(int(groups[-1]) + 1, dtype=np.int64)
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
