"""Events found by a key and their number: those of one partition, or with an equal attribute."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from cepkit.diagnosis.requirements import Holds, Requirement, SamePartition
from cepkit.diagnosis.scene import Ints
from cepkit.pattern.conditions import Attribute, Comparison


class KeyIndex:
    """Some events, sorted by key and number.

    Args:
        codes: The key of each event of the stream, from 0; below 0 where it agrees with none.
        events: Which events, ascending.
    """

    def __init__(self, codes: Ints, events: Ints) -> None:
        self._codes = codes
        # One number orders by both: a key's events end where the next one's begin.
        known = np.flatnonzero(codes[events] >= 0)
        ranks = codes[events[known]] * len(codes) + events[known]
        order = np.argsort(ranks, kind="stable")
        self.order = known[order]
        self._ranks = ranks[order]

    def ranges(self, partners: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """Return where in `order` the events are that have a partner's key.

        Args:
            partners: Events that have the keys.
            low: The least event for each.
            high: The one after the greatest.
        """
        starts = self._codes[partners] * len(self._codes)
        begin = np.searchsorted(self._ranks, starts + low)
        return begin, np.maximum(begin, np.searchsorted(self._ranks, starts + high))


@dataclass(frozen=True, slots=True)
class Key:
    """What a new event must have in common with a bound one.

    Attributes:
        requirement: What demands it.
        partner: The bound variable.
        name: The attribute; None for the partition.
    """

    requirement: Requirement
    partner: str
    name: str | None


def chosen_key(
    requirements: Iterable[Requirement], variable: str, bound: Collection[str]
) -> Key | None:
    """Return the key by which a new variable's events are found: the first that is demanded.

    An equality of two attributes of one name is one; of different names their codes would differ.

    Args:
        requirements: Those that are looked at.
        variable: The new variable.
        bound: The bound ones.
    """
    if not bound:
        return None
    for requirement in requirements:
        match requirement:
            case SamePartition():
                return Key(requirement, next(iter(bound)), None)
            case Holds(Comparison("=", Attribute(one, name), Attribute(other, same))):
                for new, old in ((one, other), (other, one)):
                    if name == same and new == variable and old in bound:
                        return Key(requirement, old, name)
            case _:
                continue
    return None
