"""Corrections of expected numbers by sampled joins: bursts and dependent conditions.

For each sampled set S we know two quotients, measured / expected: one for the combinations in
scope, one for those of them that satisfy the conditions. "Expected" assumes even arrivals and
independent conditions. Their logarithms are written as sums over the subsets of S,

    ln quotient(S) = sum of correction(T) over the sampled sets T in S

so that corrections multiply as selectivities do, and the measurements of pairs hold in larger sets
too. If a set had few hits, its quotient is shrunk towards the one that its subsets predict.
O(4^n) for n variables.
Source: ours; the sums are interactions of a log-linear model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cepkit.plan.logarithms import log, log_sum
from cepkit.statistics.selectivity import Joined

PRIOR = 1.0
"""With this many hits, a set's own sample counts as much as those of its subsets."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrections for sets of variables, as logarithms.

    Attributes:
        scopes: The corrections of the number of combinations in scope.
        dependences: The corrections of the number of these that satisfy the conditions.
    """

    scopes: Mapping[frozenset[str], float] = field(default_factory=dict)
    dependences: Mapping[frozenset[str], float] = field(default_factory=dict)


def corrections(
    sampled: Mapping[frozenset[str], tuple[Joined, float, float]],
) -> Corrections:
    """Return the corrections that turn the expected numbers into the sampled ones.

    Args:
        sampled: For each sampled set its sample, and the logarithms of two expected shares of all
            combinations: those in scope, and those that also satisfy the conditions.
    """
    scopes: dict[frozenset[str], float] = {}
    dependences: dict[frozenset[str], float] = {}
    for names in sorted(sampled, key=len):
        joined, in_scope, log_share = sampled[names]
        if not joined.in_scope or not joined.each or math.isinf(log_share):
            continue
        below = [each for each in scopes if each < names]
        scope = log(joined.in_scope) - in_scope
        scopes[names] = math.fsum((scope, *(-scopes[each] for each in below)))
        log_expected = math.fsum((log_share, scope, *(dependences[each] for each in below)))
        dependences[names] = _corrected(joined, log_expected - math.log(joined.each))
    return Corrections(scopes, dependences)


def _corrected(joined: Joined, log_expected: float) -> float:
    """Return ln(hits / expected hits), shrunk towards 0 if both are few."""
    hits = joined.hits
    # Zero hits may have been nearly one.
    missed = -log_sum((0.0, log_expected - math.log(PRIOR)))
    if not hits:
        return missed
    certain = 1.0 if joined.exact else hits / (hits + PRIOR)
    return certain * (math.log(hits) - log_expected) + (1 - certain) * missed
