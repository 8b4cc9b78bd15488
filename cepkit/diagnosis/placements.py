"""Placements: which repetition of a group each named event may belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from cepkit.pattern.normal_form import Branch
from cepkit.pattern.repetitions import Group

_MOST = 20
"""The most placements of named events in a branch that an answer looks at."""

Named: TypeAlias = Mapping[str, tuple[int, ...]]
"""The events of each variable."""


def placements(groups: Sequence[Group], branch: Branch, events: Named) -> tuple[list[Named], bool]:
    """Return named events under the names that they may have in a branch.

    A variable of a group has a name in each repetition, `a[1]`, `a[2]`. Its events take some of
    these, the earlier event the earlier one.

    Args:
        branch: The branch, which has each group a number of times.
        events: The named events, as numbers in stream order.

    Returns:
        The placements in the order of the branch; if there are none, the first one out of order;
        none at all for more events than repetitions. And whether these are all placements.
    """
    names = {event.variable for event in (*branch.positive, *branch.negated)}
    repeated = {v: each for group in groups for v, each in group.within(names).items()}
    placed: list[Named] = [{v: own for v, own in events.items() if v not in repeated}]
    complete = True
    for variable in repeated.keys() & events.keys():
        own = [(event,) for event in sorted(events[variable])]
        longer: list[Named] = [
            {**one, **dict(zip(chosen, own, strict=True))}
            for chosen in combinations(repeated[variable], len(own))
            for one in placed
        ]
        likely = [one for one in longer if _in_order(branch, one)] or longer[:1]
        complete &= len(likely) <= _MOST
        placed = likely[:_MOST]
    return placed, complete


def _in_order(branch: Branch, named: Named) -> bool:
    return all(max(named[x]) < min(named[y]) for x, y in branch.order if x in named and y in named)
