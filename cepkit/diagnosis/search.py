"""The search for combinations that violate few requirements, in bounded work.

A partial match is kept while it violates no more requirements than allowed. One that violates as
many as allowed is extended only by events in its scope, as an engine would do. If only the nearest
combinations are wanted, partial matches that are already worse than the best are dropped. So the
search for near misses costs little more than one for matches.
Cost: the pairs of a partial match and an event in its (wider) scope, each counted once for each of
its variables; at most the budget of the work.
Kleene variables are bound to one event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

import numpy as np

from cepkit.budget import Work, WorkBoundError
from cepkit.diagnosis.event_table import BLOCK, Ints, pairs
from cepkit.diagnosis.measures import Mask, Measures, forbidden_together
from cepkit.diagnosis.partials import STRETCH, Key, KeyIndex, Partials, SearchScopes, join_key
from cepkit.indexing import bin_counts
from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import has_set_functions

_FIRST_CHUNK = 4
"""The number of events of the first variable that are extended at a time, to begin with."""
_MOST_CHUNK = 1 << 15
"""The most events of the first variable that are extended at a time."""
_LEAST_BLOCK = 1 << 10
"""The number of pairs at a time where the budget is small."""


Counts = dict[tuple[str, req.Requirement | None], tuple[int, int]]
"""Partial matches before and after, by step (empty: when all are bound) and requirement.

Those of the scope of a step's variable (order and window) are under None.
"""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a stream a search has seen.

    Attributes:
        variable: The variable that it began with; empty where its events were given.
        done: For how many events of this variable all combinations were looked at.
        total: The number of its events.
    """

    variable: str
    done: int
    total: int

    @property
    def complete(self) -> bool:
        """Whether all was searched."""
        return self.done >= self.total

    @property
    def end(self) -> str:
        """Where it stopped, in words."""
        place = f"after {self.done:,}" if self.done else "at the first"
        return f"{place} of {self.total:,} events of {self.variable}"


@dataclass
class Search:
    """A search for the combinations of one branch that violate few requirements.

    Attributes:
        order: The positive variables that are to be bound, in this order.
        work: The work budget.
        tolerance: How many requirements may be violated.
        bound: The events of variables that are bound from the start.
        ignored: Requirements that are not looked at.
        grouped: Kleene variables whose events are counted as one; last in the order.
        counting: Whether the partial matches that requirements let through are counted.
        worst: Partial matches of this rank or above are dropped; it may be lowered meanwhile.
        stretch: How many times as long as its window a combination may be.
        coverage: How much was seen, after `blocks`.
        counts: What was counted for the events of `coverage`; if it has none, up to the end.
        filtered: For each variable its own requirements, with how many events come and pass.
    """

    measures: Measures
    order: Sequence[str]
    work: Work
    tolerance: int = 0
    bound: Mapping[str, int] = field(default_factory=dict)
    ignored: frozenset[req.Requirement] = frozenset()
    grouped: frozenset[str] = frozenset()
    counting: bool = False
    worst: float = np.inf
    stretch: float = STRETCH
    coverage: Coverage = field(default=Coverage("", 0, 0))
    counts: Counts = field(default_factory=dict)
    filtered: dict[str, list[tuple[req.Requirement, int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        every = req.requirements_of(self.measures.branch)
        self.active = [r for r in every if r not in self.ignored]
        # Random numbers: the sum of a few of them tells which they are.
        keys = np.random.default_rng(0).integers(1 << 58, size=len(every))
        self.keys = {r: int(key) for r, key in zip(every, keys, strict=True)}
        names = self.measures.branch.variables
        self.bits = {name: 1 << min(i, 62) for i, name in enumerate(names)}
        self.far = [
            r for r in self.active if isinstance(r, req.SamePartition | req.Within | req.SideBySide)
        ]
        self._candidates: dict[str, Partials] = {}
        self._indexes: dict[tuple[str, str | None], KeyIndex] = {}
        self._of_some = [*self._settled()]
        self._scopes = SearchScopes(self.measures, self.active, self.tolerance, self.stretch)

    def blocks(self) -> Iterator[Partials]:
        """Yield combinations of all positive variables, some at a time, in no order."""
        if self.bound:
            rows = {v: np.array([event], dtype=np.int64) for v, event in self.bound.items()}
            start, todo, name = Partials.of(rows, 1), tuple(self.order), ""
        else:
            name, *rest = self.order
            start, todo = self.candidates(name), tuple(rest)
        done, size = 0, _FIRST_CHUNK
        counted = self.counted(name, ()) if self.counting else []
        self.coverage = Coverage(name, 0, len(start))
        self._counts = self.counts
        try:
            while done < len(start):
                before = self.work.done
                end = min(done + size, len(start))
                chunk = start.take(np.arange(done, end))
                yield from self._extend(
                    todo, chunk if self.bound else self._checked(name, chunk, counted)
                )
                done = end
                self.coverage = Coverage(name, done, len(start))
                self.counts = {**self._counts}
                if self.work.done - before < self.work.budget / 50:
                    size = min(2 * size, _MOST_CHUNK)
        except WorkBoundError:
            return

    def candidates(self, variable: str) -> Partials:
        """Return the events that may be bound to a variable, with the violations of each alone."""
        if variable not in self._candidates:
            events = self.measures.table.of_types(self.measures.branch.event(variable).types)
            candidates = Partials.of({variable: events}, len(events))
            passed = self.filtered[variable] = []
            for requirement in (r for r, about in self._of_some if about == {variable}):
                before = len(candidates)
                candidates = self._with(requirement, candidates)
                passed.append((requirement, before, len(candidates)))
            self._candidates[variable] = candidates
        return self._candidates[variable]

    def _extend(self, todo: tuple[str, ...], partials: Partials) -> Iterator[Partials]:
        if not todo:
            complete = self._with_absences(partials)
            if len(complete):
                yield complete
            return
        variable, rest = todo[0], todo[1:]
        grouped = variable in self.grouped
        key = join_key(self.active, variable, partials.rows)
        # The scope and the key are counted with the pairs.
        counted = self.counted(variable, partials.rows) if self.counting else []
        counted = counted[1 if key is None else 2 :]
        for part, parents, at in self._pairs(variable, partials, key):
            self._spend(1 + len(part.rows), len(parents))
            longer = part.joined(parents, self.candidates(variable), at, grouped=grouped)
            longer = self._checked(variable, longer, counted)
            if len(longer):
                yield from self._extend(rest, longer)

    def _pairs(
        self, variable: str, partials: Partials, key: Key | None
    ) -> Iterator[tuple[Partials, Ints, Ints]]:
        """Yield some partial matches, with pairs of one of their rows and a candidate in scope."""
        candidates = self.candidates(variable)
        events = candidates.rows[variable]
        low, high = self._scopes.of(variable, partials)
        begin = np.searchsorted(events, low)
        end = np.maximum(begin, np.searchsorted(events, high))
        self._count_scope(variable, None, partials, len(partials) * len(candidates), end - begin)
        groups = bool(self.grouped)
        # If there are many steps, take few pairs at a time: then some combinations get complete
        # before the budget is spent.
        variables = len(self.measures.branch.variables)
        most = min(BLOCK, max(_LEAST_BLOCK, self.work.budget // (50 * variables**2)))
        keyed = np.zeros(len(partials), dtype=np.bool_)
        if key is not None:
            # Partial matches that may violate nothing more look only at events with their key.
            keyed = partials.violations >= self.tolerance
            if key.name is None:
                keyed = (keyed & (partials.far == 0)) | self._scopes.one_partition
            index = self._index(variable, key.name)
            part = partials.take(keyed)
            first, last = index.ranges(part.rows[key.partner], low[keyed], high[keyed])
            before = int((end - begin)[keyed].sum(dtype=np.int64))
            self._count_scope(variable, key.requirement, part, before, last - first)
            for parents, at in pairs(first, last, part.group if groups else None, most):
                yield part, parents, index.order[at]
        part = partials.take(~keyed)
        for parents, at in pairs(begin[~keyed], end[~keyed], part.group if groups else None, most):
            yield part, parents, at

    def _index(self, variable: str, name: str | None) -> KeyIndex:
        if (variable, name) not in self._indexes:
            events = self.candidates(variable).rows[variable]
            self._indexes[variable, name] = KeyIndex(self.measures.table.codes(name), events)
        return self._indexes[variable, name]

    def _settled(self) -> Iterator[tuple[req.Requirement, frozenset[str]]]:
        """Yield the requirements that no further event can change, with their variables."""
        for requirement in self.active:
            match requirement:
                case req.Distinct():
                    pass
                case req.Before():
                    if not self.tolerance:
                        continue  # the scope ensures it
                case req.Holds(condition):
                    if has_set_functions(condition):
                        continue
                case req.SamePartition() | req.Within() | req.SideBySide():
                    continue  # of all events
                case req.OfType() | req.Size() | req.Absent() | req.Unconsumed():
                    continue
                case _:
                    assert_never(requirement)
            about = req.variables_in(requirement, ())
            if not about and not self.bound:
                about = frozenset(self.order[:1])  # a condition on no variable counts once
            yield requirement, about

    def _due(self, variable: str, bound: Collection[str]) -> list[req.Requirement]:
        """Return the settled requirements of a variable with others that are bound."""
        known = {variable, *bound}
        return [r for r, about in self._of_some if {variable} < about <= known]

    def counted(self, variable: str, bound: Collection[str]) -> list[req.Requirement | None]:
        """Return what is counted where a variable is bound after others; None: its scope."""
        if not bound:
            return [*self.far]
        key = join_key(self.active, variable, bound)
        first = [] if key is None else [key.requirement]
        due = [r for r in (*self.far, *self._due(variable, bound)) if r not in first]
        # The scope contains a window in time already.
        in_time = [r for r in due if isinstance(r, req.Within) and r.clock == "time"]
        return [None, *first, *(r for r in due if r not in in_time)]

    def _checked(
        self, variable: str, partials: Partials, counted: Collection[req.Requirement | None]
    ) -> Partials:
        """Return the partial matches that may stay, now that a variable is bound.

        Args:
            counted: The requirements that are counted here.
        """
        far, distance = np.zeros(len(partials), dtype=np.int64), np.zeros(len(partials))
        for requirement in self.far:
            before = partials
            violation = self.measures.of(requirement, partials.rows, len(partials))
            if self._is_exact:
                partials = partials.take(~violation.broken)
            else:
                far, distance = far + violation.broken, distance + violation.relative
                partials = replace(partials, far=far, distance=distance)
                mask = self._may_stay(partials)
                if isinstance(requirement, req.SamePartition):
                    mask &= ~(violation.broken & self._scopes.one_partition)
                else:
                    limit = self.measures.limit(requirement, len(self.measures.branch.positive))
                    distances = violation.relative * limit.scale + limit.most
                    mask &= distances <= self._scopes.stretched(limit)
                partials, far, distance = partials.take(mask), far[mask], distance[mask]
            if requirement in counted:
                self._count(variable, requirement, before.groups, partials.groups)
        for due in self._due(variable, partials.rows):
            before, partials = partials, self._with(due, partials)
            if due in counted:
                self._count(variable, due, before.groups, partials.groups)
        return partials

    def _with(self, requirement: req.Requirement, partials: Partials) -> Partials:
        violation = self.measures.of(requirement, partials.rows, len(partials))
        if isinstance(requirement, req.Distinct):
            return partials.take(~violation.broken)  # one event twice is no near miss
        if self._is_exact:
            return partials.take(~violation.broken)
        bits = sum(self.bits[name] for name in req.variables_in(requirement, ()))
        key = self.keys[requirement]
        partials = partials.violating(key, violation.broken, violation.relative, bits)
        return partials.take(self._may_stay(partials))

    @property
    def _is_exact(self) -> bool:
        """Whether partial matches are dropped that violate anything, and no others."""
        return not self.tolerance and bool(np.isinf(self.worst))

    def _may_stay(self, partials: Partials) -> Mask:
        mask: Mask = partials.violations <= self.tolerance
        return mask & (partials.rank() < self.worst) if np.isfinite(self.worst) else mask

    def _with_absences(self, partials: Partials) -> Partials:
        """Return the combinations with each NOT taken into account."""
        for requirement in self.active:
            if not isinstance(requirement, req.Absent) or not len(partials):
                continue
            before, size = partials, len(partials)
            counts = np.zeros(size, dtype=np.int64)
            spend = partial(self._spend, 1 + len(partials.rows))
            for parents, _ in forbidden_together(
                self.measures, requirement.events, partials.rows, size, spend=spend
            ):
                counts += bin_counts(parents, minlength=size)
            key, bits = self.keys[requirement], self._beside(requirement.event.variable)
            partials = partials.violating(key, counts > 0, counts.astype(np.float64), bits)
            partials = partials.take(self._may_stay(partials))
            if self.counting:
                self._count("", requirement, before.groups, partials.groups)
        return partials

    def _spend(self, variables: int, combinations: int) -> None:
        self.work.take(variables * combinations)

    def _beside(self, absent: str) -> int:
        """Return, as bits, the variables between which an event must not be."""
        branch = self.measures.branch
        latest, soonest = branch.neighbours(absent, branch.variables)
        names = [*latest, *soonest]
        return sum(bit for name, bit in self.bits.items() if name in names or not names)

    def _count_scope(
        self,
        variable: str,
        requirement: req.Requirement | None,
        partials: Partials,
        before: int,
        after: Ints,
    ) -> None:
        if self.counting and variable in self.grouped:
            groups = len(np.unique(partials.group[after > 0]))
            self._count(variable, requirement, partials.groups, groups)
        elif self.counting:
            self._count(variable, requirement, before, int(after.sum(dtype=np.int64)))

    def _count(
        self, step: str, requirement: req.Requirement | None, before: int, after: int
    ) -> None:
        old = self._counts.get((step, requirement), (0, 0))
        self._counts[step, requirement] = (old[0] + before, old[1] + after)
