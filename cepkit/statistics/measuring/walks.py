"""Random walks through the joins of a branch: matches, drawn with known probabilities.

A walk draws a pair of events of the first two variables, then one event of each further variable
among those in scope. Where all conditions hold and no event breaks a NOT it has met a match. The
product of the numbers of events to draw from is its weight: matches with a weight w are met with
the probability 1 / w. So the mean weight of walks, zero for those that meet none, is an unbiased
estimate of the number of matches; and of met matches, those kept with the probability w / bound are
a uniform sample. O(log events) for each step and walk.
Source: *Wander Join* (SIGMOD 2016) for the walks, *Random Sampling over Joins Revisited* (SIGMOD
2018) for bounds of weights; windows, order and NOT are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from math import prod

import numpy as np
import numpy.typing as npt

from cepkit.errors import LimitError, UnsupportedError
from cepkit.indexing import repeated
from cepkit.pattern.canonical import canonical_event
from cepkit.pattern.conditions import Expression, variables_of
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.nodes import Event, Kleene, Next, Not, Opt, walk
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.printer import structure_text
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import without_not
from cepkit.statistics.measuring.lookups import Lookups, Scope
from cepkit.statistics.slice_events import Events, Held, Rows, reader
from cepkit.stream.columns import EventColumns

Weights = npt.NDArray[np.float64]

_ALL_ORDERS = 5
"""More variables have too many orders to try all."""
_PAIRS = 1 << 20
"""Pairs of a match and an event that may break a NOT, looked at together."""


def check_walks(query: Query, what: str) -> None:
    """Check that walks can meet all matches of a query.

    Args:
        query: The query.
        what: The option that needs walks.

    Raises:
        UnsupportedError: They cannot.
    """
    for node in walk(query.written):
        problem = ""
        if isinstance(node, Kleene):
            problem = f"a set of events, {structure_text(node)}"
        elif isinstance(node, Next) or (isinstance(node, Opt) and node.greedy):
            problem = f"the order of arrival, {structure_text(node)}"
        elif isinstance(node, Not) and not isinstance(node.item, Event):
            problem = f"several events that are absent together, {structure_text(node)}"
        if problem:
            raise UnsupportedError(f"{what} with {problem}", hint=f"leave {what} out")
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH or query.after_match is not None:
        chosen = "AFTER MATCH SKIP" if query.after_match else f"STRATEGY {query.strategy}"
        raise UnsupportedError(f"{what} with {chosen}", hint="leave one of the two out")
    if isinstance(query.window, CountWindow):
        raise UnsupportedError(f"{what} with a window in events", hint="WITHIN 5 minutes, say")
    branches = normal_form(query)
    if len({frozenset(branch.variables) for branch in branches}) < len(branches):
        raise UnsupportedError(
            f"{what} with an OR whose choices have the same events",
            hint="one pattern for each choice",
        )


def members_of(events: Events, branch: Branch) -> dict[str, Rows]:
    """Return for each variable of a branch, those under NOT as well, the rows that it may bind."""
    return {
        event.variable: events.rows(canonical_event(branch, event.variable))
        for event in (*branch.positive, *branch.negated)
    }


class Walks:
    """Walks through the joins of a branch.

    Args:
        events: The events.
        branch: A branch of a query that passed `check_walks`.
        among: The rows that count; None: all.

    Attributes:
        order: The order in which variables are drawn: of all, that with the least `bound`.
        bound: The greatest weight that a walk may have.
    """

    def __init__(self, events: Events, branch: Branch, among: Held | None = None) -> None:
        columns = events.columns
        if len(columns) and int(columns.ts[-1]) - int(columns.ts[0]) >= 1 << 61:
            raise LimitError("a stream of more than 70,000 years", hint="a part of it")
        self._columns, self._branch = columns, branch
        every = members_of(events, branch)
        if among is not None:
            every = {v: rows[among[rows]] for v, rows in every.items()}
        self._members = {v: every[v] for v in branch.variables}
        self._conditions = [
            (variables_of(c), without_not(c)) for c in branch.conditions if len(variables_of(c)) > 1
        ]
        self._lookups = Lookups(columns, branch, self._members)
        self._absent = [Breaking(events, branch, e.variable, every) for e in branch.negated]
        self.order = self._best_order()
        first = self._members[self.order[0]]
        self._first: Scope | None = None
        self._size = len(first)
        if len(self.order) > 1:
            self._first = self._lookups.of(
                self.order[1], self._lookups.bound({self.order[0]: first})
            )
            self._ends = np.cumsum(self._first.widths, dtype=np.int64)
            self._size = self._first.size
        # What no event can change: conditions about no variable, and an empty variable.
        constants = [without_not(c) for c in branch.conditions if not variables_of(c)]
        # Where the window holds no event at all, no scope of a pair says so of a single event.
        nothing = isinstance(branch.window, TimeWindow) and branch.window.most < 0
        if nothing or not all(bool(truth(c, reader(columns, {}), 1)[0]) for c in constants):
            self._size = 0
        further = enumerate(self.order[2:], start=2)
        most = [float(self._lookups.most(v, self.order[:at])) for at, v in further]
        self.bound = float(self._size) * prod(most)

    def draw(self, rng: np.random.Generator, number: int) -> tuple[dict[str, Rows], Weights]:
        """Return the matches that some walks meet, and their weights.

        Args:
            rng: The generator.
            number: The number of walks.
        """
        if not self._size:
            return {v: np.empty(0, np.int64) for v in self.order}, np.empty(0)
        numbers = rng.integers(self._size, size=number)
        weights = np.full(number, float(self._size))
        first = self._members[self.order[0]]
        if self._first is None:
            rows = {self.order[0]: first[numbers]}
        else:
            scope = self._first
            owners = np.searchsorted(self._ends, numbers, side="right")
            places = numbers - (self._ends - scope.widths)[owners] + scope.begins[owners]
            rows = {self.order[0]: first[owners], self.order[1]: scope.rows[places]}
            held = self._held(rows, self.order[1], scope)
            rows, weights = {v: each[held] for v, each in rows.items()}, weights[held]
        for variable in self.order[2:]:
            scope = self._lookups.of(variable, self._lookups.bound(rows))
            some = np.flatnonzero(scope.widths)
            rows = {v: each[some] for v, each in rows.items()}
            widths = scope.widths[some]
            steps = (rng.random(len(some)) * widths).astype(np.int64)
            rows[variable] = scope.rows[scope.begins[some] + np.minimum(steps, widths - 1)]
            weights = weights[some] * widths
            held = self._held(rows, variable, scope)
            rows, weights = {v: each[held] for v, each in rows.items()}, weights[held]
        for absent in self._absent:
            if not len(weights):
                break
            left = ~absent.breaks(rows)
            rows, weights = {v: each[left] for v, each in rows.items()}, weights[left]
        return rows, weights

    def uniform(self, rng: np.random.Generator, number: int) -> dict[str, Rows]:
        """Return the met matches of some walks that a uniform sample keeps."""
        rows, weights = self.draw(rng, number)
        kept = rng.random(len(weights)) * self.bound < weights
        return {v: each[kept] for v, each in rows.items()}

    def _held(self, rows: Mapping[str, Rows], new: str, scope: Scope) -> Held:
        """Return which rows pass the conditions that can be checked once `new` is bound."""
        due = [c for about, c in self._conditions if new in about and about <= rows.keys()]
        return _fit(self._columns, rows, scope, due)

    def _best_order(self) -> tuple[str, ...]:
        """Return the order of variables with the least bound of weights."""
        names = self._branch.variables
        orders: Iterable[tuple[str, ...]] = [names, names[::-1]]
        if len(names) <= _ALL_ORDERS:
            orders = permutations(names)
        known: dict[tuple[str, frozenset[str]], float] = {}

        def bound(order: tuple[str, ...]) -> float:
            product = 1.0
            for at, variable in enumerate(order):
                key = variable, frozenset(order[:at])
                if key not in known:
                    known[key] = float(self._lookups.most(variable, order[:at]))
                product *= known[key]
            return product

        return min(orders, key=bound)


class Breaking:
    """Looks for events that break a NOT of matches.

    Args:
        events: The events.
        branch: The branch.
        variable: The variable under NOT.
        members: For each variable the rows that pass its own conditions.
    """

    def __init__(
        self, events: Events, branch: Branch, variable: str, members: Mapping[str, Rows]
    ) -> None:
        others = {event.variable for event in branch.negated} - {variable}
        alone = replace(
            branch,
            positive=(*branch.positive, branch.event(variable)),
            negated=(),
            order=frozenset(pair for pair in branch.order if not others & {*pair}),
            conditions=tuple(c for c in branch.conditions if not others & variables_of(c)),
        )
        self._variable, self._columns = variable, events.columns
        self._conditions = [
            without_not(c)
            for c in alone.conditions
            if variable in variables_of(c) and len(variables_of(c)) > 1
        ]
        own = {v: members[v] for v in (*branch.variables, variable)}
        self._lookups = Lookups(events.columns, alone, own)

    def breaks(self, rows: Mapping[str, Rows]) -> Held:
        """Return which matches have such an event."""
        broken = np.zeros(len(next(iter(rows.values()))), np.bool_)
        for owners, _ in self.pairs(rows):
            broken[owners] = True
        return broken

    def pairs(self, rows: Mapping[str, Rows]) -> Iterator[tuple[Rows, Rows]]:
        """Yield the numbers of matches, each with an event that breaks its NOT."""
        scope = self._lookups.of(self._variable, self._lookups.bound(rows))
        ends = np.cumsum(scope.widths, dtype=np.int64)
        begin = 0
        while begin < len(ends):
            done = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
            widths = scope.widths[begin:end]
            owners = repeated(np.arange(begin, begin + len(widths)), widths)
            within = np.arange(len(owners)) - repeated(np.cumsum(widths) - widths, widths)
            new = scope.rows[scope.begins[owners] + within]
            pairs = {**{v: each[owners] for v, each in rows.items()}, self._variable: new}
            held = _fit(self._columns, pairs, scope, self._conditions)
            yield owners[held], new[held]
            begin = end


def _fit(
    columns: EventColumns,
    rows: Mapping[str, Rows],
    scope: Scope,
    conditions: Iterable[Expression],
) -> Held:
    """Return which rows agree in all keys, are different events, and fulfil conditions."""
    new = rows[scope.variable]
    held = np.ones(len(new), np.bool_)
    for variable, keys in scope.others:
        own = keys[scope.variable][new]
        held &= (own >= 0) & (own == keys[variable][rows[variable]])
    for variable, other in rows.items():
        if variable != scope.variable:
            held &= other != new
    for condition in conditions:
        held &= truth(condition, reader(columns, rows), len(held))
    return held
