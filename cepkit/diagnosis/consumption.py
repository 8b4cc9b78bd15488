"""What skip-till-next-match takes: each event takes part in one match at most.

The stream is gone through in its order; at each event the first of the matches that end with it
and whose events are all free is taken. So what takes an event can be known only from all matches
before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cepkit.diagnosis.findings import Binding, Finding, Inspector
from cepkit.diagnosis.measures import Measures
from cepkit.diagnosis.requirements import Unconsumed
from cepkit.diagnosis.search import Search
from cepkit.diagnosis.words import listed
from cepkit.diagnosis.work import Work

Taken: TypeAlias = Mapping[str, int]
"""A match: the event of each variable."""

_MOST = 200_000


def taken(
    measures: Sequence[Measures], orders: Sequence[Sequence[str]], work: Work, until: int
) -> list[Taken] | None:
    """Return the matches that end with `until` or before it, in the order in which they are taken.

    Args:
        measures: Of all branches of the query.
        orders: An order of the variables of each.
        work: What it may cost.
        until: The last event to look at.

    Returns:
        The matches; None where that would cost too much, or where sets are taken.
    """
    if any(measured.branch.repeated for measured in measures):
        return None
    ending: dict[int, list[tuple[list[int], int, Taken]]] = {}
    count = 0
    for number, (measured, order) in enumerate(zip(measures, orders, strict=True)):
        arrival, names = measured.scene.arrival, measured.branch.variables
        search = Search(measured, order, work, until=until)
        for block in search.blocks():
            count += len(block)
            if count > _MOST:
                return None
            for at in range(len(block)):
                match: Taken = {name: int(block.rows[name][at]) for name in names}
                arrivals = [int(arrival[event]) for event in match.values()]
                ending.setdefault(max(match.values()), []).append((arrivals, number, match))
        if not search.coverage.complete:
            return None
    consumed: set[int] = set()
    chosen: list[Taken] = []
    for event in sorted(ending):
        free = [m for m in ending[event] if consumed.isdisjoint(m[2].values())]
        if free:
            first = min(free, key=lambda m: m[:2])[2]
            chosen.append(first)
            consumed.update(first.values())
    return chosen


def unconsumed(taken: Sequence[Taken] | None, binding: Binding, inspector: Inspector) -> Finding:
    """Return whether skip-till-next-match takes a combination, or else what took its events.

    Args:
        taken: The matches that are taken; None where they are not known.
        binding: One event for each variable.
        inspector: Knows what events are called.
    """
    requirement = Unconsumed()
    if taken is None:
        return Finding(requirement, None, "not looked at: the matches before it are too many")
    events = {e for members in binding.values() for e in members}
    single = {v: members[0] for v, members in binding.items()}
    for match in taken:
        if dict(match) == single:
            return Finding(requirement, True, "it is the first with free events")
        both = sorted(events & set(match.values()))
        if both:
            which = listed([inspector.name(e) for e in both])
            text = ", ".join(f"{v} = {inspector.name(e)}" for v, e in match.items())
            told = f"{which} {'was' if len(both) == 1 else 'were'} taken by the match {text}"
            return Finding(requirement, False, told, relative=1.0, events=tuple(both))
    return Finding(requirement, False, "another match was taken", relative=1.0)
