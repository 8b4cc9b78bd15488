"""Combinations of events drawn from the scopes that order, window and partition leave them.

The first two events are drawn uniformly among all pairs in scope of each other, each further one
uniformly in its scope with the size of the scope as weight.
Cost: O(n log n) to sort an event's scope, O(draws * log n) to draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.pattern.conditions import variables_of
from cepkit.pattern.evaluation import Read, truth
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.pattern.rewrite import without_not
from cepkit.stream.columns import Column, EventColumns

Rows = npt.NDArray[np.int64]
Owned = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Tally:
    """What one slice says about one set of variables.

    Attributes:
        combinations: How many there are in the slice; for three variables or more an estimate.
        drawn: How many were looked at.
        exact: Whether all were looked at, each once.
        weight: The sum of their weights.
        held: The sum of the weights of those that satisfy the conditions.
        squares: The sum of the squares of the weights.
    """

    variables: frozenset[str]
    combinations: float
    drawn: int
    exact: bool
    weight: float
    held: float
    squares: float


def owned_rows(columns: EventColumns, rows: Rows, owned: Owned) -> Rows:
    """Return the rows that a slice owns: all where it is the whole stream."""
    if owned is None:
        return rows
    ts = columns.ts[rows]
    return rows[(ts >= owned[0]) & (ts <= owned[1])]


def reader(columns: EventColumns, rows: Mapping[str, Rows]) -> Read:
    """Return what gives `evaluation` the columns of the events that variables are bound to."""

    def read(variable: str, attribute: str) -> Column:
        return columns.attributes[attribute].take(rows[variable])

    return read


def partition_of(columns: EventColumns, attributes: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """Return the number of the partition of each event; missing agrees with missing."""
    codes = np.zeros(len(columns), dtype=np.int64)
    for name in attributes:
        column = columns.attributes[name]
        missing = column.missing()
        _, one = np.unique(np.where(missing, 0, column.values), return_inverse=True)
        joined = codes * (2 * len(columns) + 2) + 2 * one + missing
        _, codes = np.unique(joined, return_inverse=True)
    return codes


def sampled(
    names: frozenset[str],
    columns: EventColumns,
    branch: Branch,
    members: Mapping[str, Rows],
    keys: npt.NDArray[np.int64],
    rng: np.random.Generator,
    sample: int,
    owned: Owned,
) -> Tally:
    """Return what draws from one slice say about the conditions on a set of variables.

    Args:
        names: Two variables or more.
        columns: The events of the slice and those that complete its combinations.
        branch: Says order, window and conditions.
        members: For each variable the rows that pass its own conditions.
        keys: The partition of each event.
        rng: Of the draws.
        sample: How many, at most.
        owned: The first and the last microsecond of the slice, None for all.
    """
    nothing = Tally(names, 0.0, 0, True, 0.0, 0.0, 0.0)
    # In the order of the pattern in every slice, so that each combination is in one of them.
    order = sorted(names, key=[e.variable for e in branch.positive + branch.negated].index)
    first = owned_rows(columns, members[order[0]], owned)
    scope = _Ranges(columns, branch, keys)
    bound = {order[0]: first}
    low, high, rows = scope.of(order[1], bound, members[order[1]])
    widths = high - low
    ends = np.cumsum(widths)
    combinations = int(ends[-1]) if len(ends) else 0
    if not combinations:
        return nothing
    if combinations <= sample:
        drawn = np.arange(combinations)
    else:
        drawn = np.sort(rng.integers(0, combinations, sample))
    which = np.searchsorted(ends, drawn, side="right")
    bound = {
        order[0]: first[which],
        order[1]: rows[low[which] + drawn - (ends[which] - widths[which])],
    }
    weights = np.ones(len(drawn))
    for name in order[2:]:
        low, high, rows = scope.of(name, bound, members[name])
        widths = np.maximum(high - low, 0)
        weights = weights * widths
        some = widths > 0
        bound = {variable: chosen[some] for variable, chosen in bound.items()}
        weights, low, widths = weights[some], low[some], widths[some]
        bound[name] = rows[low + (rng.random(len(low)) * widths).astype(np.int64)]
    held = np.ones(len(weights), dtype=np.bool_)
    for condition in branch.conditions:
        if variables_of(condition) == names:
            held &= truth(without_not(condition), reader(columns, bound), len(weights))
    # One event cannot be two of a combination.
    apart = np.ones(len(weights), dtype=np.bool_)
    for i, one in enumerate(order):
        for other in order[:i]:
            apart &= bound[one] != bound[other]
    weights = weights * apart
    return Tally(
        names,
        combinations * float(weights.sum()) / len(drawn),
        len(drawn),
        len(order) == 2 and combinations <= sample,
        float(weights.sum()),
        float(weights[held].sum()),
        float((weights * weights).sum()),
    )


class _Ranges:
    """Where, among one variable's events, those in scope of bound events begin and end."""

    def __init__(self, columns: EventColumns, branch: Branch, keys: npt.NDArray[np.int64]) -> None:
        self._ts, self._keys, self._branch = columns.ts, keys, branch
        span = int(columns.ts[-1] - columns.ts[0]) if len(columns) else 0
        match branch.window:
            case TimeWindow(microseconds, exclusive):
                self._window = min(span, microseconds - exclusive)
            case CountWindow(events):
                # As long as so many events of a partition take on average.
                partitions = len(np.unique(keys))
                self._window = min(span, span * events * partitions // max(1, len(columns)))
            case None:
                self._window = span
        # One number orders by (partition, time); a gap between partitions keeps scopes inside.
        self._origin = int(columns.ts[0]) if len(columns) else 0
        self._stride = 2 * span + 4

    def _rank(self, keys: npt.NDArray[np.int64], ts: Rows) -> Rows:
        return keys * self._stride + (ts - self._origin)

    def of(self, name: str, bound: Mapping[str, Rows], rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return begins, ends, and the rows of `name` that they count in."""
        ranks = self._rank(self._keys[rows], self._ts[rows])
        order = np.argsort(ranks, kind="stable")
        times = {v: self._ts[chosen] for v, chosen in bound.items()}
        low = np.maximum.reduce(list(times.values())) - self._window
        high = np.minimum.reduce(list(times.values())) + self._window + 1
        for variable, ts in times.items():
            if variable in self._branch.before(name):
                low = np.maximum(low, ts + 1)
            if variable in self._branch.after(name):
                high = np.minimum(high, ts)
        keys = self._keys[next(iter(bound.values()))]
        limit = self._origin + self._stride - 2
        low = np.clip(low, self._origin, limit)
        high = np.clip(high, self._origin, limit)
        begins = np.searchsorted(ranks[order], self._rank(keys, low))
        ends = np.searchsorted(ranks[order], self._rank(keys, high))
        return begins, np.maximum(begins, ends), rows[order]
