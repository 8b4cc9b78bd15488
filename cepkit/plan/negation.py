"""The step at which a NOT is checked: as soon as all that it depends on is bound.

Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 5.3; windows and events that could be the same are ours.
"""

from __future__ import annotations

from cepkit.pattern.conditions import variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow


def depends_on(branch: Branch, variable: str) -> frozenset[str]:
    """Return the positive variables that must be bound before a NOT can be checked.

    These are its nearest neighbours in the pattern's order, the variables that its conditions name,
    and the variables that could take the same event. If it has no neighbour on one side, the window
    ends it there: it depends on all variables that may come last, or first. If the window counts
    events it depends on every variable, because arrival numbers need not follow time. If several
    events are absent together, it depends on all that each of them depends on.

    Args:
        variable: One of the branch's negated variables.
    """
    several = (_depends_on(branch, each) for each in branch.absent_with(variable))
    return frozenset[str]().union(*several)


def _depends_on(branch: Branch, variable: str) -> frozenset[str]:
    positive = set(branch.variables)
    absent = branch.event(variable)
    beside = absent.beside
    before, after = branch.before(variable) & positive, branch.after(variable) & positive
    latest, soonest = branch.neighbours(variable, positive)
    begins, ends = bool(before), bool(after)
    needed = set[str]()
    if beside is None:
        could_be = {event.variable for event in branch.positive if event.overlaps(absent)}
        needed |= could_be - before - after
    else:
        needed.add(beside.variable)
        if beside.begin is not None:
            latest, begins = [], True
        if beside.end is not None:
            soonest, ends = [], True
    needed.update(latest, soonest)
    for condition in branch.conditions:
        if variable in variables_of(condition):
            needed |= variables_of(condition) & positive
    match branch.window:
        case CountWindow():
            needed |= positive
        case TimeWindow():
            if not begins:
                needed.update(branch.latest(positive))
            if not ends:
                needed.update(branch.earliest(positive))
        case None:
            pass
    return frozenset(needed)
