"""Aggregates of matches with an error bound, from random walks.

The walks of a group and a branch are a stratum: the mean of their weighted values estimates its
sums without bias, and its variance comes from the same walks. They double until all intervals are
narrow enough. A mean is the ratio of two sums; its interval is that of the linear approximation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.aggregation.rows.result import Aggregates
from cepkit.aggregation.rows.tables import column_of
from cepkit.columnar.results.reports import report
from cepkit.errors import LimitError, UnsupportedError
from cepkit.pattern.conditions import Aggregate
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.routes.detected import groups_of, without_aggregates
from cepkit.statistics.measuring.walks import Walks, check_walks
from cepkit.statistics.slice_events import Events, Rows
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_wide_interval

_FIRST, _MOST = 1 << 13, 1 << 22
"""The walks of a stratum before its first and after its last check."""
_AT_ONCE = 1 << 17
_MORE = 1.5
"""How many more walks are made than a first sample asks for."""
_HITS = 300
"""With fewer met matches, an interval is not trusted."""
_GROUPS = 100
_FUNCTIONS = ("count", "sum", "avg")

Sums = npt.NDArray[np.float64]


@dataclass(slots=True)
class _Stratum:
    """The walks of a group and a branch: the sums of their values, and of products of two."""

    walks: Walks
    number: int = 0
    hits: int = 0
    sums: Sums | float = 0.0
    squares: Sums | float = 0.0

    def clear(self) -> None:
        """Forget all walks."""
        self.number, self.hits, self.sums, self.squares = 0, 0, 0.0, 0.0

    def add(self, number: int, values: Sums) -> None:
        """Add the weighted values of the matches that some walks have met."""
        self.number += number
        self.hits += len(values)
        self.sums = self.sums + values.sum(axis=0)
        self.squares = self.squares + values.T @ values

    def total(self) -> tuple[Sums, Sums]:
        """Return the estimated sums, and their covariances."""
        mean = np.asarray(self.sums) / self.number
        spread = np.asarray(self.squares) / self.number - np.outer(mean, mean)
        return mean, spread / (self.number - 1)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The value of an aggregate, None if it has none, and the half width of its interval."""

    value: float | None
    half: float = 0.0

    def within(self, error: float) -> bool:
        """Return whether the interval is narrow enough."""
        return self.value is None or self.half <= error * abs(self.value)


def estimate_aggregates(
    stream: Stream, query: Query, error: float, confidence: float, seed: int
) -> Aggregates:
    """Return the aggregates of all matches, with the ends of their intervals.

    Args:
        stream: A local stream.
        query: The query.
        error: The greatest half width of an interval, as a share of its estimate.
        confidence: The probability that an interval has the exact value.
        seed: The seed of the walks.

    Raises:
        UnsupportedError: Walks cannot estimate it.
        LimitError: There are too many groups, or too few walks meet a match.
    """
    _check(query)
    bare = without_aggregates(query)
    read = {*attributes_read(bare), *(a.attribute for a in query.aggregates if a.attribute)}
    columns = stream.columns(sorted(read))
    check_kinds(query, columns.kinds)
    report(columns, bare)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rng = np.random.default_rng(seed)
    events = Events(columns, bare.partition_by)
    rows: list[tuple[int, list[_Estimate]]] = []
    total = 0
    groups, firsts = groups_of(columns, query.group_by)
    if len(firsts) > _GROUPS:
        raise LimitError(
            f"{len(firsts):,} groups with error=",
            expected=f"at most {_GROUPS}",
            hint="leave error= out, or GROUP BY an attribute with fewer values",
        )
    for number, first in enumerate(firsts.tolist()):
        among = None if not query.group_by else groups == number
        strata = [_Stratum(Walks(events, branch, among)) for branch in normal_form(bare)]
        group = _Group(query.aggregates, columns, strata, z)
        estimates = group.estimates(rng, error)
        if not estimates:
            raise LimitError(
                f"{sum(s.hits for s in strata)} of {sum(s.number for s in strata):,} random walks"
                " met a match: too few for an interval",
                hint="leave error= out: few matches are counted exactly",
            )
        total += group.number
        if not query.group_by or any(s.hits for s in strata):
            rows.append((first, estimates))
    wide = [e for _, each in rows for e in each if not e.within(error)]
    if wide:
        warn_of_wide_interval(error, query)
    reason = f"{total:,} random walks, intervals at {100 * confidence:g} %"
    return Aggregates(query, "total", "sampling", reason, _columns(query, columns, rows))


def _check(query: Query) -> None:
    check_walks(query, "error=")
    if query.having:
        raise UnsupportedError("error= with HAVING", hint="filter the rows of the result")
    for aggregate in query.aggregates:
        if aggregate.function not in _FUNCTIONS:
            raise UnsupportedError(
                f"error= with AGG {aggregate.function.upper()}, which no sample bounds",
                expected="COUNT, SUM or AVG",
                hint="leave error= out",
            )


class _Group:
    """Estimates the aggregates of a group."""

    def __init__(
        self,
        aggregates: Sequence[Aggregate],
        columns: EventColumns,
        strata: Sequence[_Stratum],
        z: float,
    ) -> None:
        self._aggregates, self._columns = aggregates, columns
        self._strata, self._z = strata, z
        self._decided = False
        self.number = 0
        self._targets = list(dict.fromkeys(t for a in aggregates for t in _targets(a)))

    def estimates(self, rng: np.random.Generator, error: float) -> list[_Estimate]:
        """Return the value of each aggregate; none if too few walks meet a match.

        A first sample tells how many walks are needed. These are new ones: to stop where a sample
        happens to be narrow would favour intervals that miss.
        """
        goal = _FIRST
        while True:
            estimates = self._walk(rng, goal)
            hits = sum(stratum.hits for stratum in self._strata)
            # Nothing to draw from: there is no match, and that is exact.
            if all(stratum.walks.bound == 0 for stratum in self._strata):
                return estimates
            if goal >= _MOST:
                return estimates if hits >= _HITS else []
            if hits < _HITS:
                goal *= 4
                continue
            if self._decided and all(each.within(error) for each in estimates):
                return estimates
            times = max((e.half / abs(error * e.value) for e in estimates if e.value), default=1.0)
            self._decided = True
            goal = int(min(_MOST, max(_FIRST, _MORE * goal * times**2)))

    def _walk(self, rng: np.random.Generator, goal: int) -> list[_Estimate]:
        """Return the estimates of `goal` new walks of each stratum."""
        for stratum in self._strata:
            stratum.clear()
            while stratum.number < goal:
                number = min(goal - stratum.number, _AT_ONCE)
                rows, weights = stratum.walks.draw(rng, number)
                stratum.add(number, self._values(rows) * weights[:, None])
        self.number += goal * len(self._strata)
        return self._now()

    def _values(self, rows: Mapping[str, Rows]) -> Sums:
        """Return the summands of each match, one column for each sum."""
        size = len(next(iter(rows.values())))
        values = np.zeros((size, len(self._targets)))
        for place, (function, variable, name) in enumerate(self._targets):
            if variable is None:
                values[:, place] = 1.0
            elif variable in rows:
                if name is None:
                    values[:, place] = 1.0
                    continue
                column = self._columns.attributes[name].take(rows[variable])
                there = ~column.missing()
                own = column.values if function == "sum" else np.ones(size)
                values[there, place] = np.asarray(own, np.float64)[there]
        return values

    def _now(self) -> list[_Estimate]:
        totals = [stratum.total() for stratum in self._strata]
        sums = np.sum([total for total, _ in totals], axis=0)
        spread = np.sum([own for _, own in totals], axis=0)
        estimates = []
        for aggregate in self._aggregates:
            at = [self._targets.index(target) for target in _targets(aggregate)]
            direction = np.zeros(len(sums))
            if aggregate.function == "count":
                value, direction[at[0]] = sums[at[0]], 1.0
            else:  # a sum, and the number of its values: of none the result is missing
                number = sums[at[1]]
                if not number:
                    estimates.append(_Estimate(None))
                    continue
                value, direction[at[0]] = sums[at[0]], 1.0
                if aggregate.function == "avg":
                    value = value / number
                    direction[at[0]], direction[at[1]] = 1 / number, -value / number
            variance = max(0.0, float(direction @ spread @ direction))
            estimates.append(_Estimate(float(value), self._z * variance**0.5))
        return estimates


def _targets(aggregate: Aggregate) -> list[tuple[str, str | None, str | None]]:
    """Return the sums that an aggregate is made of: of values, and of their number."""
    variable, name = aggregate.variable, aggregate.attribute
    number = ("count", variable, name)
    return [number] if aggregate.function == "count" else [("sum", variable, name), number]


def _columns(
    query: Query,
    columns: EventColumns,
    rows: Sequence[tuple[int, list[_Estimate]]],
) -> dict[str, Any]:
    """Return the columns: groups, and each aggregate with the ends of its interval."""
    at = columns.source_rows(np.array([first for first, _ in rows], np.int64))
    made: dict[str, Any] = {}
    for name in query.group_by:
        made[name] = columns.source.column(name).take(pa.array(at)).combine_chunks()
    for place, aggregate in enumerate(query.aggregates):
        name = column_of(aggregate)
        own = [each[place] for _, each in rows]
        for word, sign in (("", 0), (" low", -1), (" high", 1)):
            values = [None if e.value is None else e.value + sign * e.half for e in own]
            made[name + word] = pa.array(values, pa.float64())
    return made
