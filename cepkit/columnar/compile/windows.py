"""Bounds in time of each step, from the window and the order of a pattern."""

from __future__ import annotations

from collections.abc import Sequence

from cepkit.columnar.compile.kleene import size_of
from cepkit.columnar.compile.program import Bound, Windows
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import Clock, CountWindow, Strategy, TimeWindow


def window_length(branch: Branch) -> int | None:
    """Return the largest time difference inside a match in microseconds; None for no limit."""
    return branch.window.most if isinstance(branch.window, TimeWindow) else None


def windows_of(branch: Branch, *, absent: bool = False) -> Windows:
    """Return how far apart two events of a match may be.

    Contiguity is a window too: the events of a match lie side by side if and only if the first and
    the last are as near as their number allows. It does not hold for absent events.

    Args:
        absent: Whether one of the events is a negated one.
    """
    windows: list[tuple[int, Clock]] = []
    length = window_length(branch)
    if length is not None:
        windows.append((length, "time"))
    if isinstance(branch.window, CountWindow):
        windows.append((branch.window.most, "place" if branch.partition_by else "arrival"))
    size, gapless = size_of(branch), gapless_clock(branch)
    if gapless is not None and size is not None and not absent:
        windows.append((size - 1, gapless))
    clocks = dict.fromkeys(clock for _, clock in windows)
    return tuple((min(n for n, c in windows if c == clock), clock) for clock in clocks)


def gapless_clock(branch: Branch) -> Clock | None:
    """Return the clock in which the events of a match must be adjacent; None if there is none."""
    match branch.strategy:
        case Strategy.STRICT_CONTIGUITY:
            return "arrival"
        case Strategy.PARTITION_CONTIGUITY:
            return "place"
        case _:
            return None


def clock_of_next(branch: Branch) -> Clock:
    """Return the clock in which NEXT binds the event right after the one before it."""
    return "place" if branch.partition_by else "arrival"


def lower_bounds(
    branch: Branch, variable: str, bound: Sequence[str], windows: Windows
) -> tuple[Bound, ...]:
    """Return the lower time bounds of a variable, given the bound variables."""
    before = [x for x in bound if x in branch.before(variable)]
    if before:
        # It is later than the latest of those before it. The other bounds follow from that, and so
        # does the window in time: the latest are inside it already.
        latest = [x for x in before if not branch.after(x) & set(before)]
        return tuple(Bound(x, 1, "order") for x in latest)
    latest = [x for x in bound if not branch.after(x) & set(bound)]
    return tuple(Bound(x, -length, clock) for length, clock in windows for x in latest)


def upper_bounds(
    branch: Branch, variable: str, bound: Sequence[str], windows: Windows
) -> tuple[Bound, ...]:
    """Return the upper time bounds of a variable, given the bound variables."""
    after = [x for x in bound if x in branch.after(variable)]
    if after:
        earliest = [x for x in after if not branch.before(x) & set(after)]
        return tuple(Bound(x, 0, "order") for x in earliest)
    earliest = [x for x in bound if not branch.before(x) & set(bound)]
    return tuple(Bound(x, length + 1, clock) for length, clock in windows for x in earliest)
