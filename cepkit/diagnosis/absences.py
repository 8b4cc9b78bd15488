"""Which events break a NOT: those that, in its place, would belong to the match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.partials import pairs
from cepkit.diagnosis.requirements import Within, may_coincide
from cepkit.diagnosis.scene import Combinations, Ints, scope, spans
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.nodes import Event


def killers(
    measures: Measures,
    event: Event,
    rows: Combinations,
    size: int,
    *,
    sets: Mapping[str, Sequence[int]] | None = None,
    spend: Callable[[int], None] = lambda _: None,
) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of a combination and an event that breaks a NOT there, some at a time.

    A window that the combination itself exceeds is taken to be as long as it is.

    Args:
        measures: Of the branch.
        event: What must be absent.
        rows: Combinations of all positive variables.
        size: How many.
        sets: The events of all variables, where `rows` are the members of one match.
        spend: Is told of the pairs before they are looked at.
    """
    scene, branch, name = measures.scene, measures.branch, event.variable
    about = [c for c in branch.conditions if name in variables_of(c)]
    candidates = scene.of_types(event.types)
    for condition in (c for c in about if variables_of(c) == {name}):
        read = scene.reader({name: candidates})
        candidates = candidates[~measures.condition(condition, read, len(candidates)).broken]
    windows = []
    if branch.window is not None:
        limit = measures.limit(Within(branch.window, bool(branch.partition_by)), 0)
        clock = scene.clock(limit.clock)
        if sets is None:
            length = spans(clock, rows)
        else:
            length = np.full(size, np.ptp(clock[list(chain.from_iterable(sets.values()))]))
        windows.append((limit.clock, np.maximum(limit.most, length)))
    low, high = scope(
        scene,
        rows,
        size,
        after=branch.before(name) & rows.keys(),
        before=branch.after(name) & rows.keys(),
        windows=windows,
    )
    begin, end = np.searchsorted(candidates, low), np.searchsorted(candidates, high)
    for parents, at in pairs(begin, np.maximum(begin, end)):
        spend(len(at))
        new = candidates[at]
        together = {**{v: events[parents] for v, events in rows.items()}, name: new}
        held = np.ones(len(new), dtype=np.bool_)
        for variable in rows:
            if may_coincide(branch, variable, name):
                held &= together[variable] != new
        if branch.partition_by:
            held &= scene.partition[together[branch.variables[0]]] == scene.partition[new]
        for name_of_clock, most in windows:
            if name_of_clock != "time":
                held &= spans(scene.clock(name_of_clock), together) <= most[parents]
        for condition in (c for c in about if variables_of(c) != {name}):
            read = scene.reader(together, sets)
            held &= ~measures.condition(condition, read, len(new)).broken
        yield parents[held], new[held]
