"""The combinations that come nearest to a match, each violation once.

If a.price is not below b.price, hundreds of c may go with that a and b: all of them are one near
miss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cepkit.budget import Work
from cepkit.diagnosis.event_table import Ints
from cepkit.diagnosis.partials import Partials
from cepkit.diagnosis.search import Coverage, Search
from cepkit.pattern import requirements as req

_UNPRUNED = 8_000_000
"""The budget of a search that also counts combinations that fail one requirement alone."""

MIX = np.uint64(0x9E3779B97F4A7C15)
"""The multiplier of the hash that tells near misses apart: 2**64 over the golden ratio."""


@dataclass(frozen=True, slots=True)
class Combination:
    """A combination: one event for each variable.

    Attributes:
        events: By variable.
        violations: How many requirements it violates, of those that were looked at.
        rank: The order of near misses: the number of violations, then their sum.
    """

    events: dict[str, int]
    violations: int
    rank: float


def nearest(
    search: Search, most: int, *, least_violations: int = 1, prune: bool = True
) -> tuple[list[Combination], Coverage, dict[int, int]]:
    """Return the combinations that violate least.

    Args:
        least_violations: Combinations with fewer violations are left out.
        prune: Whether partial matches that are worse than the best so far are dropped early; they
            are not counted then.

    Returns:
        The combinations, nearest first; how much was seen; how many combinations violate exactly
        one requirement, by its key in the search, complete only without pruning.
    """
    best: dict[int, Combination] = {}
    counts: dict[int, int] = {}
    for block in search.blocks():
        if not prune:
            one = block.take(block.violations == 1)
            keys, numbers = np.unique(_violated(search, one), return_counts=True)
            for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
                counts[key] = counts.get(key, 0) + number
        later = block.take(block.violations >= least_violations)
        ranks = later.rank()
        order = np.argsort(ranks, kind="stable")
        identities = _identities(search, later)[order]
        _, firsts = np.unique(identities, return_index=True)
        for at in order[np.sort(firsts)][:most].tolist():
            events = {v: int(rows[at]) for v, rows in later.rows.items()}
            new = Combination(events, int(later.violations[at]), float(ranks[at]))
            identity = int(_identities(search, later.take(np.array([at])))[0])
            if identity not in best or new.rank < best[identity].rank:
                best[identity] = new
        ordered = sorted(best.items(), key=lambda i: (i[1].rank, sorted(i[1].events.values())))
        best = dict(ordered[:most])
        if prune and len(best) == most:
            search.worst = next(reversed(best.values())).rank
    return list(best.values()), search.coverage, counts


def nearest_and_alone(
    search: Search, most: int
) -> tuple[list[dict[str, int]], Coverage, dict[req.Requirement, int] | None]:
    """Return the combinations that violate least; first without pruning, where that is cheap.

    Returns:
        The combinations; how much was seen; for each requirement the combinations that violate it
        alone, None where they were not counted.
    """
    unpruned = replace(search, work=Work(min(_UNPRUNED, search.work.budget)))
    found, coverage, counts = nearest(unpruned, most, prune=False)
    alone: dict[req.Requirement, int] | None = None
    if coverage.complete:
        known = unpruned.keys.items()
        alone = {r: counts.get(key, 0) for r, key in known if r not in search.ignored}
    else:
        found, coverage, _ = nearest(search, most)
    return [one.events for one in found], coverage, alone


def _violated(search: Search, partials: Partials) -> Ints:
    """Return for each combination the sum of the keys of all requirements that it violates."""
    which = partials.which.copy()
    for requirement in search.far:
        violation = search.measures.of(requirement, partials.rows, len(partials))
        which += np.where(violation.broken, np.int64(search.keys[requirement]), 0)
    return which


def _identities(search: Search, partials: Partials) -> npt.NDArray[np.uint64]:
    """Return a number for each combination: equal where the same events violate the same."""
    identity = _violated(search, partials).astype(np.uint64)
    # The first and the last event stand for a violated window, contiguity or partition.
    stacked = np.stack(list(partials.rows.values()))
    ends = (stacked.min(axis=0), stacked.max(axis=0))
    for events in ends:
        identity = identity * MIX + np.where(partials.far > 0, events + 1, 0).astype(np.uint64)
    for variable, bit in search.bits.items():
        touched = (partials.touched & bit) != 0
        events = np.where(touched, partials.rows[variable] + 1, 0)
        identity = identity * MIX + events.astype(np.uint64)
    return identity
