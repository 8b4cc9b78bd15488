"""Combinations with whole sets that fulfil all requirements, or all but some.

The search of partial matches binds Kleene variables to single events. Here the engine finds whole
sets, for the requirements that are about them: their size, functions and neighbours of their
members, events that a run leaves out, events that must not be there beside them. The work is
bounded; `SetsBoundError` says that the bound was too small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import assert_never

import numpy as np

from cepkit.columnar.compile.program import Program, counters_for
from cepkit.columnar.compile.query import compile_branch
from cepkit.columnar.kleene.limits import TooManySets, Tries
from cepkit.columnar.kleene.sets import Offers
from cepkit.columnar.run import Run
from cepkit.columnar.slices.binding import Binder, BoundProgram
from cepkit.diagnosis.event_table import EventTable
from cepkit.diagnosis.findings import Binding
from cepkit.errors import LimitError, UnsupportedError
from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import (
    Aggregate,
    Attribute,
    Comparison,
    Expression,
    InList,
    Literal,
    set_of_members,
    variables_of,
)
from cepkit.pattern.normal_form import Branch, next_in
from cepkit.pattern.policies import Strategy
from cepkit.stream.columns import Column

TOGETHER = 1 << 20
"""The number of sets that are tried at a time."""
TRIED = 10_000_000
"""The most sets that are tried in all."""
_ROWS = 4_000_000
"""The most choices of the other events that are counted."""
_EVENT = "\0event"
"""The name of an attribute that holds the number of each event."""


class SetsBoundError(Exception):
    """There are too many sets to try, or the engine cannot decide the conditions about them."""


@contextmanager
def _bounded() -> Iterator[None]:
    """Raise a `SetsBoundError` in place of each error that says the engine cannot decide it."""
    try:
        yield
    except (TooManySets, LimitError, UnsupportedError):
        raise SetsBoundError from None


def demands_of(branch: Branch) -> tuple[req.Requirement, ...]:
    """Return the requirements of a branch that are about whole sets, in the order of counting."""
    demands = [r for r in req.requirements_of(branch) if req.about_sets(r, branch)]
    return tuple(sorted(demands, key=_turn))


def _turn(requirement: req.Requirement) -> int:
    """Return the place of a requirement in the order of counting."""
    match requirement:
        case req.SideBySide():
            return 0
        case req.Holds(condition):
            of_members = set_of_members(condition) is not None or next_in(condition) is not None
            return 2 if of_members else 5
        case req.Size():
            return 4
        case req.Absent():
            return {"run": 1, "until": 3, "greedy": 3}.get(req.kind_of(requirement), 6)
        case req.OfType() | req.Before() | req.Distinct() | req.SamePartition() | req.Within():
            raise AssertionError("not about sets")
        case req.Unconsumed():
            raise AssertionError("not about sets")
        case _:
            assert_never(requirement)


class SetSearch:
    """Finds the combinations of a branch with sets.

    Args:
        branch: The branch, with its runs as absences.
        bound: The given events, of Kleene variables their whole sets.
    """

    def __init__(self, table: EventTable, branch: Branch, bound: Binding | None = None) -> None:
        self._table, self._branch = table, branch
        self._bound: Binding = {} if bound is None else bound

    def choices(self, demanded: Collection[req.Requirement]) -> int:
        """Return how many choices of the other events have a set that fulfils some demands.

        If there are no other events, the first members of such sets are counted.

        Args:
            demanded: Some of `demands_of`; contiguity is always demanded.

        Raises:
            SetsBoundError: That takes too long.
        """
        program = self._program(demanded)
        sets = {one.repeated.variable for one in program.sets}
        names = [v for v in self._branch.variables if v not in sets]
        if not names:
            leading = self._branch.repeated[0][0]
            firsts = {one.repeated.variable: one.repeated.first for one in program.sets}
            names = [firsts[leading] or ""]
        seen = np.empty((0, len(names)), dtype=np.int64)
        with _bounded():
            bound, run = self._run(program)
            for rows, _ in run.fitting(Tries(TRIED, TOGETHER, alone=True)):
                events = [bound.candidates[v].rows[rows[v]] for v in names]
                new = np.stack(events, axis=1).astype(np.int64)
                seen = np.unique(np.concatenate((seen, new)), axis=0)
                if len(seen) > _ROWS:
                    raise TooManySets
        return len(seen)

    def found(self, without: Collection[req.Requirement] = (), most: int = 1) -> list[Binding]:
        """Return some combinations that fulfil all demands but those in `without`.

        Raises:
            SetsBoundError: That takes too long.
        """
        program = self._program([r for r in demands_of(self._branch) if r not in {*without}])
        bindings: list[Binding] = []
        for offers in self._offers(program, most):
            sets = {v: lists.largest() for v, lists in offers.lists.items()}
            for at in range(min(offers.size, most - len(bindings))):
                own: dict[str, tuple[int, ...]] = {
                    v: (int(offers.rows[v][at]),) for v in self._branch.variables if v not in sets
                }
                for variable, members in sets.items():
                    begin, end = members.starts[at : at + 2]
                    own[variable] = tuple(sorted(map(int, members.rows[begin:end])))
                # A run is bound by its ends only, and another set may have the same ends.
                if all(sorted(own[v]) == sorted(self._bound[v]) for v in self._bound):
                    bindings.append({v: own[v] for v in self._branch.variables})
            if len(bindings) >= most:
                break
        return bindings

    def nearly(
        self, most: int, demands: Sequence[req.Requirement] = ()
    ) -> Iterator[tuple[req.Requirement, list[Binding] | None]]:
        """Yield demands with combinations that fulfil all others; None: that takes too long.

        Args:
            most: The most combinations for each.
            demands: The demands that may fail, each in turn; empty: all of them.
        """
        for demand in demands or demands_of(self._branch):
            if not isinstance(demand, req.SideBySide):
                try:
                    yield demand, self.found({demand}, most)
                except SetsBoundError:
                    yield demand, None

    def _offers(self, program: Program, most: int) -> Iterator[Offers]:
        """Yield the rows that have sets to make combinations with, and such sets."""
        arrival = None if self._table.came_in_order else self._table.arrival
        tries = Tries(TRIED, TOGETHER, alone=True)
        with _bounded():
            _, run = self._run(program)
            for rows, size in run.fitting(tries):
                for begin in range(0, size, most):
                    part = {v: column[begin : begin + most] for v, column in rows.items()}
                    some = [(part, min(most, size - begin))]
                    yield from run.offers(tries, arrival, some)

    def _run(self, program: Program) -> tuple[BoundProgram, Run]:
        columns = self._table.columns
        if self._bound:
            numbers = Column("integer", np.arange(len(columns)))
            columns = replace(columns, attributes={**columns.attributes, _EVENT: numbers})
        bound = Binder(program, columns).bound()
        return bound, Run(bound, counters_for([program])[0])

    def _program(self, demanded: Collection[req.Requirement]) -> Program:
        branch = demanding(self._branch, demanded)
        known = tuple(self._given_events(branch))
        repeated = {variable for variable, _, _ in branch.repeated}
        order = sorted(
            branch.variables,
            key=lambda v: (
                v in repeated,
                v not in self._bound,
                len(self._table.of_types(branch.event(v).types)),
            ),
        )
        return compile_branch(replace(branch, conditions=(*branch.conditions, *known)), order)

    def _given_events(self, branch: Branch) -> Iterator[Expression]:
        """Yield conditions that only the given events fulfil; of a run they fix size and ends."""
        repeated = {variable for variable, _, _ in branch.repeated}
        for variable, events in self._bound.items():
            if variable in repeated:
                size = Aggregate("count", variable)
                yield Comparison("=", size, Literal(len({*events})))
            if variable in branch.runs:
                for function, event in (("first", min(events)), ("last", max(events))):
                    yield Comparison("=", Aggregate(function, variable, _EVENT), Literal(event))
            else:
                yield InList(Attribute(variable, _EVENT), tuple(map(Literal, events)))


def demanding(branch: Branch, demanded: Collection[req.Requirement]) -> Branch:
    """Return a branch with only some of its demands and NOTs, in the form that the engine takes."""
    absent = {e for r in demanded if isinstance(r, req.Absent) for e in r.events}
    runs = {e.beside.variable for e in absent if e.beside and e.beside.place == "between"}
    negated = {e.variable for e in absent if e.beside is None or e.beside.place != "between"}
    others = {e.variable for e in branch.negated} - negated
    sizes = {r.variable for r in demanded if isinstance(r, req.Size)}
    strategy = branch.strategy
    if strategy is Strategy.SKIP_TILL_NEXT_MATCH:
        strategy = Strategy.SKIP_TILL_ANY_MATCH
    return replace(
        branch,
        negated=tuple(e for e in branch.negated if e.variable in negated),
        repeated=tuple(one if one[0] in sizes else (one[0], 1, None) for one in branch.repeated),
        order=frozenset(pair for pair in branch.order if not others.intersection(pair)),
        conditions=tuple(
            c
            for c in branch.conditions
            if not variables_of(c) & others
            and (
                variables_of(c) & negated
                or not req.about_sets(req.Holds(c), branch)
                or req.Holds(c) in demanded
            )
        ),
        strategy=strategy,
        runs=branch.runs & runs,
    )


def counted(
    search: SetSearch, demands: Sequence[req.Requirement], before: int | None
) -> Iterator[tuple[req.Requirement, int, int]]:
    """Yield each demand with how many choices of the other events come to it, and pass it.

    The demands are added one after the other, those of one GREEDY together. If that takes too long,
    the last ones are left out.

    Args:
        before: How many come to the first.
    """
    demanded: list[req.Requirement] = []
    try:
        for _, together in groupby(demands, req.text_of):
            new = [*together]
            demanded += new
            after = before and search.choices(demanded)
            yield new[0], before or 0, after or 0
            before = after
    except SetsBoundError:
        return
