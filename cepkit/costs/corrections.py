"""Corrections of expected numbers by sampled joins: bursts and dependent conditions.

Of each set S that was sampled two quotients are known: of the combinations in scope, and of those
of these that satisfy the conditions, each against what is expected of even arrivals and independent
conditions. As logarithms they are written as sums over the subsets of S,

    ln quotient(S) = sum of correction(T) over the sampled sets T in S

so that corrections count as selectivities do, and what was found of pairs holds in larger sets too.
What few hits tell of a set is drawn towards what its subsets let expect. O(4^n) for n variables.
Source: ours; the sums are interactions of a log-linear model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cepkit.plan.logarithms import log, log_sum
from cepkit.statistics.selectivity import Joined

PRIOR = 1.0
"""How many hits it takes to believe the sample of a set as much as those of its subsets."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of sets of variables, as logarithms.

    Attributes:
        scopes: Of how many combinations are in scope.
        dependences: Of how many of these satisfy the conditions.
    """

    scopes: Mapping[frozenset[str], float] = field(default_factory=dict)
    dependences: Mapping[frozenset[str], float] = field(default_factory=dict)


def corrections(
    found: Mapping[frozenset[str], tuple[Joined, float, float]],
) -> Corrections:
    """Return the corrections that make what is expected what was found.

    Args:
        found: For each sampled set what was found; and the logarithms of the shares of all
            combinations that are expected in scope, and to satisfy the conditions as well.
    """
    scopes: dict[frozenset[str], float] = {}
    dependences: dict[frozenset[str], float] = {}
    for names in sorted(found, key=len):
        joined, in_scope, held = found[names]
        if not joined.in_scope or not joined.each or math.isinf(held):
            continue
        below = [each for each in scopes if each < names]
        scope = log(joined.in_scope) - in_scope
        scopes[names] = math.fsum((scope, *(-scopes[each] for each in below)))
        known = math.fsum((held, scope, *(dependences[each] for each in below)))
        dependences[names] = _corrected(joined, known - math.log(joined.each))
    return Corrections(scopes, dependences)


def _corrected(joined: Joined, log_expected: float) -> float:
    """Return ln(hits / expected hits), where there are few of both nearer to 0."""
    hits = joined.hits
    # Without a hit there may have been nearly one.
    missed = -log_sum((0.0, log_expected - math.log(PRIOR)))
    if not hits:
        return missed
    certain = 1.0 if joined.exact else hits / (hits + PRIOR)
    return certain * (math.log(hits) - log_expected) + (1 - certain) * missed
