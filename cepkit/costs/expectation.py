"""Expected numbers of a branch: partial matches in a window, combinations over a stream.

We assume that events arrive independently at constant rates r, and that conditions hold
independently of each other. Then a window of W seconds holds

    PM(S) = W^|S| * product of r * product of selectivities * ord(S)

partial matches of a set S of k variables. Over a stream of D seconds, W <= D, there are

    (k * D * W^(k-1) - (k-1) * W^k) * product of r * product of selectivities * ord(S)

combinations: k uniform times on [0, D] lie within W of each other with probability
k w^(k-1) - (k-1) w^k, w = W/D. Everything is computed as logarithms.

Where joins were sampled, the samples correct both numbers (corrections.py).

PARTITION BY is a condition between all events: same_key^(k-1). Equalities that follow from others
count too (key_classes.py). A repeated variable takes sets, as if they were events (`log_sets`).
Variables under NOT are left out: the numbers are those before the NOT is checked. A variable under
FIRST takes one of the n events that it could otherwise take, if there is any: 1 - e^-n. A variable
under NEXT, or beside another under contiguity, takes one of the events in the window. Equal times,
and one event for two variables, are ignored. O(number of selectivities) for each set.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), sections 4.1 and 6.2; the totals over a stream and ord(S) are ours.

Corrections of expected numbers by sampled joins: bursts and dependent conditions.

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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import assert_never

from cepkit.costs.contract import Factorial, SetFunction, share_factorials
from cepkit.costs.key_classes import KeyClass, key_classes, linked_by_equality
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.normal_form import Branch, next_in
from cepkit.pattern.numbers import set_of_neighbours
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.plan.logarithms import from_log, log, log_sum
from cepkit.plan.negation import depends_on
from cepkit.statistics.model import Statistics
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


TICK_SECONDS = 1e-6
"""Times are whole microseconds: no window and no stream is shorter than one."""


@dataclass(frozen=True)
class Expectation:
    """The expected numbers of one branch, from `Expectation.of`.

    Attributes:
        window_seconds: W; for a window in events, the time in which that many events are expected;
            without a window, the span of the stream.
        span_seconds: The length of the stream of the statistics.
        log_counts: For each positive variable ln(W r), the events or sets that it can take in a
            window.
        log_shares: For each set of positive variables with conditions ln(selectivity).
        log_same_key: ln(share of pairs in one partition), 0 without PARTITION BY.
        classes: Classes of variables whose keys agree, where the pattern does not name every pair.
        log_equal: For each pair that the engine looks up by equal keys ln(share that agrees).
        corrections: Corrections from sampled joins.
        firsts: For each variable under FIRST the set of it and the variables before it that decide
            the first event, and ln(share of its events that are first).
        neighbours: The sets of variables whose events lie side by side.
    """

    branch: Branch
    window_seconds: float
    span_seconds: float
    log_counts: Mapping[str, float]
    log_shares: Mapping[frozenset[str], float]
    log_same_key: float
    classes: tuple[KeyClass, ...] = ()
    log_equal: Mapping[frozenset[str], float] = field(default_factory=dict)
    corrections: Corrections = field(default_factory=Corrections)
    firsts: Mapping[str, tuple[frozenset[str], float]] = field(default_factory=dict)
    neighbours: tuple[frozenset[str], ...] = ()

    @classmethod
    def of(cls, branch: Branch, statistics: Statistics) -> Expectation:
        """Return the expected numbers of `branch` under `statistics`.

        Raises:
            StatisticsError: The statistics lack a variable of the branch.
        """
        return statistics.once(branch, cls._of)

    @classmethod
    def _of(cls, branch: Branch, statistics: Statistics) -> Expectation:
        every = cls._of_every(branch, statistics).with_next(statistics)
        firsts = {}
        repeated = {variable for variable, _, _ in branch.repeated}
        for absent in branch.negated:
            if absent.earlier_than is not None and absent.earlier_than not in repeated:
                before = depends_on(branch, absent.variable) - {absent.earlier_than}
                names = before | {absent.earlier_than}
                number = from_log(every.log_alive(names) - every.log_alive(before))
                if 0 < number < math.inf:
                    share = log(-math.expm1(-number)) - log(number)
                    firsts[absent.earlier_than] = names, share
        return replace(every, firsts=firsts) if firsts else every

    @classmethod
    def _of_every(cls, branch: Branch, statistics: Statistics) -> Expectation:
        window = window_seconds(branch, statistics)
        counts = {v: log(window * statistics.rate(v)) for v in branch.variables}
        firsts = {event.earlier_than for event in branch.negated}
        for variable, minimum, maximum in branch.repeated:
            events = window * statistics.rate(variable)
            counts[variable] = log_sets(events, minimum, maximum)
            if variable in branch.runs or variable in set_of_neighbours(branch.conditions):
                # A run is determined by its two ends; under FIRST by its last one.
                counts[variable] = log(events * (1.0 if variable in firsts else (events + 1) / 2))
        positive = frozenset(branch.variables)
        shares = {s: log(f.share) for s, f in statistics.selectivities.items() if s <= positive}
        equal = {s: e.in_window.share for s, e in statistics.equalities.items()}
        even = cls(
            branch,
            window,
            max(statistics.span_seconds, TICK_SECONDS),
            counts,
            shares,
            log(statistics.same_key) if branch.partition_by else 0.0,
            key_classes(branch, statistics) if branch.equates else (),
            # If the share of equal keys is unknown, take the selectivity of all conditions of the
            # pair: somewhat too small.
            {
                names: log(equal[names]) if names in equal else shares[names]
                for names in (linked_by_equality(branch.as_written) if branch.equates else ())
                if names in shares
            },
        )
        if not statistics.joins:
            return even
        # Expected for single events that come evenly; counts do not matter, as shares are
        # corrected.
        nothing = replace(even, log_counts=dict.fromkeys(branch.variables, math.log(window)))
        stream = math.log(even.span_seconds)
        sampled = {
            names: (
                joined,
                nothing.log_total(names, of=nothing.in_scope) - len(names) * stream,
                nothing.log_total(names) - len(names) * stream,
            )
            for names, joined in statistics.joins.items()
            if names <= positive
        }
        return replace(even, corrections=corrections(sampled))

    def with_next(self, statistics: Statistics) -> Expectation:
        """Return the numbers with the shares of neighbours: under NEXT, and under contiguity."""
        branch = self.branch
        places = {} if branch.as_written is branch else dict(self._next_places())
        if "contiguity" in branch.strategy:
            places |= dict(neighbour_places(branch))
        if not places:
            return self
        together = math.log(self.window_seconds) + log(statistics.events / self.span_seconds)
        if branch.partition_by and branch.strategy is not Strategy.STRICT_CONTIGUITY:
            together += log(statistics.same_key)
        shares, equal = dict(self.log_shares), dict(self.log_equal)
        for names, number in places.items():
            share = min(0.0, math.log(2 * number) - together)
            shares[names] = shares.get(names, 0.0) + share
            if len(names) == 2:  # the engine looks up one event by its number
                equal[names] = equal.get(names, 0.0) + share
        return replace(self, log_shares=shares, log_equal=equal, neighbours=tuple(places))

    def _next_places(self) -> Iterator[tuple[frozenset[str], int]]:
        positive = frozenset(self.branch.variables)
        for condition in self.branch.conditions:
            names = variables_of(condition)
            if next_in(condition) is not None and names <= positive and len(names) > 1:
                yield names, len(names) - 1

    def counting_events(self, variable: str, statistics: Statistics) -> Expectation:
        """Return the numbers with events in place of sets for a repeated variable."""
        events = log(self.window_seconds * statistics.rate(variable))
        return replace(self, log_counts={**self.log_counts, variable: events})

    def mask(self, variables: Iterable[str]) -> int:
        """Return a set of variables as the bit mask that set functions take."""
        return sum(1 << self.branch.variables.index(v) for v in variables)

    @cached_property
    def factorials(self) -> tuple[Factorial, ...]:
        """The share of the orderings that the branch allows: see contract.py."""
        return share_factorials(self.branch.variables, self.branch.order)

    @cached_property
    def alive(self) -> SetFunction:
        """The function PM: partial matches of a set of variables in one window."""
        return self._numbers(self.log_shares, (*self._scopes, *self._dependences))

    @cached_property
    def in_scope(self) -> SetFunction:
        """The combinations of a set of variables in one window, order, partition and equal keys."""
        return self._numbers(self.log_equal, self._scopes)

    @cached_property
    def filters(self) -> SetFunction:
        """The share of `in_scope` that the other conditions keep: `alive` / `in_scope`."""
        shares = tuple(
            (self.mask(names), share - self.log_equal.get(names, 0.0))
            for names, share in self.log_shares.items()
            if min(share, self.log_equal.get(names, 0.0)) > -math.inf or names not in self.log_equal
        )
        nothing = (0.0,) * len(self.branch.variables)
        return SetFunction(nothing, (*shares, *self._dependences))

    def _numbers(
        self, shares: Mapping[frozenset[str], float], further: Iterable[tuple[int, float]]
    ) -> SetFunction:
        return SetFunction(
            tuple(self.log_counts[v] for v in self.branch.variables),
            (*((self.mask(names), share) for names, share in shares.items()), *further),
            self.factorials,
            further=self.log_same_key,
            classes=tuple(
                (self.mask(one.variables), tuple(map(self.mask, one.pairs)), one.log_share)
                for one in self.classes
            ),
        )

    @property
    def _scopes(self) -> Iterable[tuple[int, float]]:
        return ((self.mask(names), value) for names, value in self.corrections.scopes.items())

    @property
    def _dependences(self) -> Iterable[tuple[int, float]]:
        corrected = (*self.corrections.dependences.items(), *self.firsts.values())
        return ((self.mask(names), value) for names, value in corrected)

    def log_end(self, bound: Collection[str], new: str) -> float:
        """Return ln(share of its range that a step examines): under FIRST it stops at the first."""
        names, share = self.firsts.get(new, (frozenset(), 0.0))
        return share if names <= {*bound, new} else 0.0

    def log_share(self, one: str, other: str) -> float | None:
        """Return ln(selectivity) between two variables; None if no condition links them."""
        pair = frozenset((one, other))
        implied = (one.log_share for one in self.classes if pair <= one.variables)
        return self.log_shares.get(pair, next(implied, None))

    def log_alive(self, variables: frozenset[str]) -> float:
        """Return ln PM(S), the partial matches of these variables in one window."""
        return self.alive(self.mask(variables))

    def log_total(self, variables: frozenset[str], of: SetFunction | None = None) -> float:
        """Return ln(number of combinations of these variables over the stream).

        Args:
            variables: The set S, not empty.
            of: The function of a window to scale: `alive` (None) or `in_scope`.
        """
        size, length = self._apart(variables), self.span_seconds
        window = min(self.window_seconds, length)
        placed = (size - 1) * math.log(window) + math.log(size * length - (size - 1) * window)
        in_window = (self.alive if of is None else of)(self.mask(variables))
        return math.fsum((placed, in_window, -size * math.log(self.window_seconds)))

    def _apart(self, variables: frozenset[str]) -> int:
        """Return how many of these variables have a time of their own: neighbours share theirs."""
        groups = [{v} for v in variables]
        for names in self.neighbours:
            if names <= variables:
                joined = [group for group in groups if group & names]
                groups = [group for group in groups if not group & names]
                groups.append(set().union(*joined))
        return len(groups)


def neighbour_places(branch: Branch) -> Iterator[tuple[frozenset[str], int]]:
    """Yield the pairs of variables that contiguity may make neighbours, and how far apart they lie.

    Of the n places in a contiguous match, one in SEQ right after the other has one; two without
    an order may lie up to n - 1 apart.
    Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
    (VLDB 2018), section 6.2: a condition on each pair of potential neighbours.
    """
    order = branch.order
    for one, other in combinations(branch.variables, 2):
        pair = frozenset((one, other))
        first, second = (one, other) if (one, other) in order else (other, one)
        if (first, second) not in order:
            yield pair, len(branch.variables) - 1
        elif not any((first, v) in order and (v, second) in order for v in branch.variables):
            yield pair, 1


def window_seconds(branch: Branch, statistics: Statistics) -> float:
    """Return the length of the branch's window in seconds, at least one tick."""
    return window_in(branch, statistics.span_seconds, statistics.events, statistics.same_key)


def window_in(branch: Branch, span_seconds: float, events: int, same_key: float) -> float:
    """Return the length of the branch's window for a stream of some length and events."""
    span = max(span_seconds, TICK_SECONDS)
    match branch.window:
        case None:
            return span
        case TimeWindow(microseconds):
            return max(microseconds / 1e6, TICK_SECONDS)
        case CountWindow() as window:
            per_second = events / span
            if branch.partition_by:
                # The window counts the events of one partition, which gets this share of all
                # arrivals.
                per_second *= same_key
            size = window.most + 1
            return max(size / per_second, TICK_SECONDS) if per_second > 0 else span
        case _:
            assert_never(branch.window)


def log_sets(events: float, minimum: int, maximum: int | None) -> float:
    """Return the logarithm of the number of sets that a repeated variable takes, for planning.

    N expected events in a window have 2^N - 1 subsets that are not empty; of sizes from m to n, the
    sum of the binomials C(N, k) for k from m to n, O(min(n, N)). A bound that no set exceeds is
    none: KL(b){1,n} is KL(b) once n exceeds N. KL(b){1,1} is b. This is C of the expectation, not
    the expectation of C, which is greater.
    Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
    (VLDB 2018), section 5.2, which counts the empty set too.

    Args:
        events: The number of events expected in a window; need not be whole.
        minimum: The least size of a set.
        maximum: The greatest, None for no bound.
    """
    if events == 0:
        return -math.inf
    if maximum == 1:
        return log(events)
    if minimum == 1 and (maximum is None or maximum > events):
        return events * math.log(2) + math.log(-math.expm1(-events * math.log(2)))
    if minimum > events:
        # Fewer events than needed are expected: at most the probability that enough come (Poisson).
        return min(0.0, minimum * log(events) - math.lgamma(minimum + 1))
    most = math.floor(events) if maximum is None else min(maximum, math.floor(events))
    return log_sum(
        math.lgamma(events + 1) - math.lgamma(k + 1) - math.lgamma(events - k + 1)
        for k in range(minimum, most + 1)
    )


def alive(branch: Branch, statistics: Statistics) -> SetFunction:
    """Return the expected partial matches under the strategy of the branch."""
    expected = Expectation.of(branch, statistics)
    if branch.strategy is Strategy.SKIP_TILL_ANY_MATCH:
        return expected.alive
    # A repeated variable takes all events that it can: one set, for which at least one event must
    # come.
    counts = (log(expected.window_seconds * statistics.rate(v)) for v in branch.variables)
    shares = expected.alive
    return replace(shares, members=tuple(counts), factorials=(), least=True)
