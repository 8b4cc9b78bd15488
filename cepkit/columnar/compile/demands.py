"""The requirements of a branch, by what a program makes of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import Expression
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Clock

Windows: TypeAlias = tuple[tuple[int, Clock], ...]
"""The greatest difference between any two events of a match, in each clock that matters."""

MOST_MEMBERS = 2**31 - 1
"""More events than a slice can have: larger sizes mean the same."""


@dataclass(frozen=True, slots=True)
class Demands:
    """The requirements of a branch that are about a whole match.

    Attributes:
        conditions: The conditions on its events.
        windows: How far apart two of its events may be.
        around: How far an absent event may be from them: contiguity does not hold for it.
        gapless: The clock in which its events have no gap; None: there may be events between them.
        bounded: Whether the number of its events has a limit.
        in_turn: Whether it takes no event of an earlier match.
        partitioned: Whether they are of one partition.
    """

    conditions: tuple[Expression, ...]
    windows: Windows
    around: Windows
    gapless: Clock | None
    bounded: bool
    in_turn: bool
    partitioned: bool

    @classmethod
    def of(cls, branch: Branch) -> Demands:
        """Return the demands of a branch."""
        conditions: list[Expression] = []
        around: dict[Clock, int] = {}
        gapless: Clock | None = None
        in_turn = partitioned = False
        for requirement in req.requirements_of(branch):
            match requirement:
                case req.Holds(condition):
                    conditions.append(condition)
                case req.Within(window):
                    around[requirement.clock] = window.most
                case req.SideBySide():
                    gapless = requirement.clock
                case req.Unconsumed():
                    in_turn = True
                case req.SamePartition():
                    partitioned = True
                case req.OfType() | req.Before() | req.Distinct():
                    pass  # of the steps of single events, and of ends of sets
                case req.Size() | req.Absent():
                    pass  # of steps of their own
                case _:
                    assert_never(requirement)
        windows, size = dict(around), _size_of(branch)
        if gapless is not None and size < MOST_MEMBERS:
            # The events lie side by side if the first and the last are as near as they can be.
            windows[gapless] = min(size - 1, windows.get(gapless, size))
        return cls(
            tuple(conditions),
            tuple((most, clock) for clock, most in windows.items()),
            tuple((most, clock) for clock, most in around.items()),
            gapless,
            size < MOST_MEMBERS,
            in_turn,
            partitioned,
        )

    @property
    def clock_of_next(self) -> Clock:
        """The clock in which NEXT binds the event right after the one before it."""
        return "place" if self.partitioned else "arrival"

    @property
    def length(self) -> int | None:
        """The largest time inside a match in microseconds; None for no limit."""
        return next((most for most, clock in self.around if clock == "time"), None)


def _size_of(branch: Branch) -> int:
    """Return the largest number of events in a match, at most `MOST_MEMBERS`."""
    size = len(branch.variables) - len(branch.repeated)
    for _, _, maximum in branch.repeated:
        size += MOST_MEMBERS if maximum is None else maximum
    return min(MOST_MEMBERS, size)
