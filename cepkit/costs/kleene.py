"""How many sets of events a repeated variable can take in a window, for planning only.

N events expected in a window have 2^N subsets; within bounds m to n there are the sum of the
binomials C(N, k) for k from m to n. A plan then treats the sets as if they were events.
O(min(n, N)). It is C of the expectation, not the expectation of C: the latter is greater.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 5.2.
"""

from __future__ import annotations

import math

from cepkit.plan.logarithms import log, log_sum


def log_sets(events: float, minimum: int, maximum: int | None) -> float:
    """Return the logarithm of the number of sets.

    Args:
        events: The number of events expected in a window; need not be whole.
        minimum: The least size of a set.
        maximum: The greatest, None for no bound.
    """
    if events == 0:
        return -math.inf
    if minimum == 1 and maximum is None:
        return events * math.log(2)
    if minimum > events:
        # Fewer come than are needed: at most the probability that enough do (Poisson).
        return min(0.0, minimum * log(events) - math.lgamma(minimum + 1))
    most = math.floor(events) if maximum is None else min(maximum, math.floor(events))
    return log_sum(
        math.lgamma(events + 1) - math.lgamma(k + 1) - math.lgamma(events - k + 1)
        for k in range(minimum, most + 1)
    )
