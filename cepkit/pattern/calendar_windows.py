"""Windows of days by the calendar, `WITHIN 60 calendar days`, as bounds between events.

The clock of the last event reads at most so much later than that of the first one. The window
itself is as much longer as the clock may change; so engines look far enough, and these bounds
decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from cepkit.pattern import nodes as n
from cepkit.pattern.policies import StepBound, TimeWindow, Window
from cepkit.stream.durations import UNITS
from cepkit.stream.reading.time_zones import spread


def calendar_window(days: int, like: TimeWindow, zone: str | None = None) -> TimeWindow:
    """Return a window of days by the clock of a zone, otherwise like another."""
    longer = 0 if zone is None else spread(zone)
    return replace(like, microseconds=days * UNITS["d"] + longer, days=days, zone=zone)


def calendar_bounds(structure: n.Structure, window: Window | None) -> tuple[StepBound, ...]:
    """Return the bounds that a window of calendar days means; none for any other window.

    Args:
        structure: With its groups unrolled.
    """
    if not isinstance(window, TimeWindow) or window.days is None:
        return ()
    absent, repeated = n.absent_in(structure), n.repeated_in(structure)
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for first, last in product(_ends(structure, 1), _ends(structure, -1)):
        if (first != last or first in repeated) and not {first, last} <= absent:
            pairs.setdefault(frozenset((first, last)), (first, last))
    return tuple(StepBound(*pair, window, window.span) for pair in pairs.values())


def _ends(structure: n.Structure, step: int) -> list[str]:
    """Return the variables that may be first (step 1) or last (step -1)."""
    match structure:
        case n.Event(variable):
            return [variable]
        case n.Not(item) | n.Kleene(item) | n.First(item) | n.Next(item) | n.Opt(item):
            return _ends(item, step)
        case n.And(items) | n.Or(items):
            return _of_all(items, step)
        case n.Seq(items):
            ends = []
            for item in items[::step]:
                ends.append(item)
                if not _may_be_empty(item):
                    break
            return _of_all(ends, step)


def _of_all(items: Iterable[n.Structure], step: int) -> list[str]:
    return [variable for item in items for variable in _ends(item, step)]


def _may_be_empty(structure: n.Structure) -> bool:
    """Return whether a match may be without an event of a structure."""
    match structure:
        case n.Not() | n.Opt():
            return True
        case n.Kleene(item, minimum):
            return not minimum or _may_be_empty(item)
        case n.Or(items):
            return any(map(_may_be_empty, items))
        case n.And(items) | n.Seq(items):
            return all(map(_may_be_empty, items))
        case _:
            return False
