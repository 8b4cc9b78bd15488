"""Estimates of partial matches by sampling the joins of each set of variables.

A sample of the partial matches of a set is extended by another variable: an index counts the events
in scope of each partial match, some of the pairs are drawn, and those that satisfy the conditions
are the sample of the larger set. Each drawn pair is weighted by the pairs it stands for, so the
numbers are unbiased, including bursts and dependent conditions. Earlier statistics, not chance,
decide the subset from which a set is reached and the number of draws. Another subset is taken only
if the sample of the first is empty. The error grows with each step: a step that keeps h adds about
1 / sqrt(h). O(2^n) steps for n variables, each O(sample * log events).
Source: index-based join sampling is in *Cardinality Estimation Done Right: Index-Based Join
Sampling* (CIDR 2017); windows, order and all subsets are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import exp, fsum, log, prod
from typing import assert_never

import numpy as np

from cepkit.pattern import requirements as req
from cepkit.pattern.canonical import CanonicalEvent, canonical_event
from cepkit.pattern.conditions import Expression, variables_of
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.rewrite import without_not
from cepkit.statistics.measuring.lookups import Bound, Lookups, Scope
from cepkit.statistics.model import Statistics
from cepkit.statistics.selectivity import Joined
from cepkit.statistics.slice_events import Held, Rows, reader
from cepkit.stream.columns import EventColumns

MOST_VARIABLES = 6
"""More variables have too many sets."""

SAMPLE = 1000
"""The size of a set's sample; the error of a count is then about 3 % for each step."""
_ALL = 32_000
"""The size of all samples together."""

_FEW, _MORE = 30, 8
"""If fewer than `_FEW` hits are expected, the number of draws is multiplied by `_MORE`."""
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a stream that is sampled.

    Attributes:
        owned: For each event whether it belongs to the part; a partial match counts if its first
            event does.
        share: The share of the stream's events that belong to it.
        sizes: For each event of the pattern, the number of candidates in the whole stream.
    """

    owned: Held
    share: float
    sizes: Mapping[CanonicalEvent, float]


@dataclass(frozen=True, slots=True)
class JoinSample:
    """A sample of the partial matches of a set of variables.

    Attributes:
        bound: Their events.
        weight: The number of partial matches that each one stands for.
        variance: The variance of the logarithm of their number, from drawing.
    """

    bound: Bound
    weight: float
    variance: float

    @property
    def size(self) -> int:
        """The number of partial matches in the sample."""
        return len(self.bound.latest)

    @property
    def number(self) -> float:
        """The estimated number of partial matches."""
        return self.size * self.weight


def joined_variables(branch: Branch) -> tuple[str, ...]:
    """Return the variables whose sets are all sampled; none if this branch cannot be sampled.

    Repeated variables take sets, which are not sampled; windows in events need other clocks; and
    for strategies that leave matches out, the number of all matches says little.
    """
    for requirement in req.requirements_of(branch):
        match requirement:
            case req.SideBySide() | req.Unconsumed():
                return ()
            case req.Within():
                if requirement.clock != "time":
                    return ()
            case req.OfType() | req.Before() | req.Distinct() | req.SamePartition() | req.Holds():
                continue
            case req.Size() | req.Absent():
                continue  # the sets of single events say nothing of these
            case _:
                assert_never(requirement)
    repeated = {variable for variable, _, _ in branch.repeated}
    single = tuple(v for v in branch.variables if v not in repeated)
    return single if 1 < len(single) <= MOST_VARIABLES else ()


def sampled_joins(
    columns: EventColumns,
    branch: Branch,
    members: Mapping[str, Rows],
    statistics: Statistics,
    seed: int,
    part: Part | None = None,
) -> dict[frozenset[str], Joined]:
    """Return the sampled joins of sets of two or more variables of a branch.

    Args:
        branch: The branch, without conditions on whole sets.
        members: For each variable of `joined_variables` the rows that pass its own conditions.
        statistics: The other measurements; they decide the order of joins.
        part: The part; None: the whole stream.
    """
    if not members or not all(map(len, members.values())):
        return {}
    return JoinSampling(columns, branch, members, statistics, seed, part=part).joined()


class JoinSampling:
    """Samples all sets of some variables of a branch.

    Args:
        branch: The branch, without conditions on whole sets.
        members: For each of the variables the rows that pass its own conditions, at least one.
        part: The part of the stream; None: the whole stream.
    """

    def __init__(
        self,
        columns: EventColumns,
        branch: Branch,
        members: Mapping[str, Rows],
        statistics: Statistics,
        seed: int,
        sample: int = SAMPLE,
        part: Part | None = None,
    ) -> None:
        self._columns, self._members = columns, members
        self._part = part
        self._sizes = {v: float(len(rows)) for v, rows in members.items()}
        if part is not None:
            self._sizes = {v: part.sizes[canonical_event(branch, v)] for v in members}
        self._sample = min(sample, _ALL >> len(members))
        self._lookups = Lookups(columns, branch, members)
        self._rng = np.random.default_rng([seed, len(members)])
        self._conditions = [
            (variables_of(c), without_not(c)) for c in branch.conditions if len(variables_of(c)) > 1
        ]
        self._order = branch.order
        self._log_shares = {
            names: log(max(share.share, _LEAST))
            for names, share in statistics.selectivities.items()
        }
        self._log_equal = {
            names: log(max(equality.in_window.share, _LEAST))
            for names, equality in statistics.equalities.items()
        }
        self.samples: dict[frozenset[str], JoinSample] = {}
        self._in_scope: dict[frozenset[str], float] = {}

    def joined(self) -> dict[frozenset[str], Joined]:
        """Return the estimates of all sets of two or more, smaller sets first."""
        for variable, rows in self._members.items():
            alone = frozenset((variable,))
            self.samples[alone] = self._thinned({variable: rows}, 1.0, 0.0)
            self._in_scope[alone] = float(len(rows))
        estimates = {}
        for size in range(2, len(self._members) + 1):
            for names in map(frozenset, combinations(self._members, size)):
                estimate = self._join(names)
                if estimate is not None:
                    estimates[names] = estimate
        return estimates

    def _join(self, names: frozenset[str]) -> Joined | None:
        """Return the estimate of a set; None if no subset has a sampled partial match."""
        candidates = [v for v in sorted(names) if names - {v} in self.samples]
        candidates = [v for v in candidates if self.samples[names - {v}].size]
        if not candidates:
            return None
        # Choosing the fewest pairs of the samples themselves would let chance decide.
        new = min(candidates, key=lambda variable: self._log_pairs(variable, names))
        sample = self.samples[names - {new}]
        drawn, weight, in_scope, owned = self._drawn(
            sample, self._lookups.of(new, sample.bound), names
        )
        exact = not sample.variance and weight == sample.weight and self._part is None
        variance = 0.0 if exact else sample.variance + 1 / max(len(drawn[new]), 1)
        self.samples[names] = self._thinned(drawn, weight, variance)
        # A combination in scope and a partial match get the same number of draws.
        self._in_scope[names] = self._in_scope[names - {new}] * in_scope / sample.number
        events = prod(self._sizes[v] for v in names) * (self._part.share if self._part else 1.0)
        hits = self._owned(drawn)
        # Hits that stem from few earlier hits count as that few.
        worth = min(1 / variance, hits) if hits and variance else float(hits)
        each = weight / events * (hits / worth if hits else 1.0)
        return Joined(self._in_scope[names] * owned / events, worth, each, exact)

    def _owned(self, drawn: Mapping[str, Rows]) -> int:
        """Return the number of combinations that begin with an event of the sampled part."""
        rows = [*drawn.values()]
        if self._part is None or not len(rows[0]):
            return len(rows[0])
        # Rows are in time order.
        return int(np.count_nonzero(self._part.owned[np.minimum.reduce(rows)]))

    def _drawn(
        self, sample: JoinSample, scope: Scope, names: frozenset[str]
    ) -> tuple[dict[str, Rows], float, float, float]:
        """Return partial matches of a set from draws.

        Returns:
            Their events, the number of partial matches that each stands for, the number of pairs
            in scope, and the share of these pairs in the sampled part.
        """
        size, most = scope.size, self._sample
        if most * exp(self._log_kept(scope.variable, names)) < _FEW:
            most *= _MORE
        drawn = scope.draw(self._rng, most)
        weight = sample.weight * max(1.0, size / most)
        held = np.ones(min(size, most), np.bool_)
        for variable, keys in scope.others:
            own = keys[scope.variable][drawn[scope.variable]]
            held &= (own >= 0) & (own == keys[variable][drawn[variable]])
        in_scope = float(held.sum()) * weight if scope.others else size * sample.weight
        candidates = {v: rows[held] for v, rows in drawn.items()} if scope.others else drawn
        owned = self._owned(candidates) / max(1, len(candidates[scope.variable]))
        for variable in scope.bound:
            pair = (variable, scope.variable)
            if pair not in self._order and pair[::-1] not in self._order:
                held &= drawn[variable] != drawn[scope.variable]
        for condition in self._due(names, scope.variable):
            held &= truth(condition, reader(self._columns, drawn), len(held))
        return {v: rows[held] for v, rows in drawn.items()}, weight, in_scope, owned

    def _log_pairs(self, new: str, names: frozenset[str]) -> float:
        """Return the logarithm of the number of pairs to examine if this variable comes last.

        Terms that are the same for all variables of the set are left out.
        """
        before = (share for about, share in self._log_shares.items() if about <= names - {new})
        equal = (s for about, s in self._log_equal.items() if new in about and about <= names)
        return fsum((*before, *equal)) - 1e-9 * len(self._members[new])

    def _log_kept(self, new: str, names: frozenset[str]) -> float:
        """Return the logarithm of the expected share of these pairs that satisfy the conditions."""
        due = (
            share - self._log_equal.get(about, 0.0)
            for about, share in self._log_shares.items()
            if new in about and about <= names
        )
        return min(0.0, fsum(due))

    def _due(self, names: frozenset[str], new: str) -> Iterable[Expression]:
        """Yield the conditions that can be checked only once the set is complete."""
        return (c for about, c in self._conditions if new in about and about <= names)

    def _thinned(self, rows: Mapping[str, Rows], weight: float, variance: float) -> JoinSample:
        """Return a sample of at most the size of each set's sample."""
        size = len(next(iter(rows.values())))
        if size <= self._sample:
            return JoinSample(self._lookups.bound(rows), weight, variance)
        places = (np.arange(self._sample) + self._rng.random(self._sample)) * (size / self._sample)
        chosen = np.minimum(places.astype(np.int64), size - 1)
        return JoinSample(
            self._lookups.bound({v: events[chosen] for v, events in rows.items()}),
            weight * size / self._sample,
            variance + 1 / self._sample,
        )
