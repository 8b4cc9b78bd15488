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
