"""Bounds in time of each step, from the window and the order of a pattern."""

from __future__ import annotations

from collections.abc import Sequence

from cepkit.columnar.compile.demands import Windows
from cepkit.columnar.compile.program import Bound
from cepkit.pattern.normal_form import Branch


def lower_bounds(
    branch: Branch, variable: str, bound: Sequence[str], windows: Windows
) -> tuple[Bound, ...]:
    """Return the lower time bounds of a variable, given the bound variables."""
    latest, _ = branch.neighbours(variable, bound)
    if latest:
        # It is later than the latest of those before it. The other bounds follow from that, and so
        # does the window in time: the latest are inside it already.
        return tuple(Bound(x, 1, "order") for x in latest)
    last = branch.latest(bound)
    return tuple(Bound(x, -length, clock) for length, clock in windows for x in last)


def upper_bounds(
    branch: Branch, variable: str, bound: Sequence[str], windows: Windows
) -> tuple[Bound, ...]:
    """Return the upper time bounds of a variable, given the bound variables."""
    _, soonest = branch.neighbours(variable, bound)
    if soonest:
        return tuple(Bound(x, 0, "order") for x in soonest)
    first = branch.earliest(bound)
    return tuple(Bound(x, length + 1, clock) for length, clock in windows for x in first)
