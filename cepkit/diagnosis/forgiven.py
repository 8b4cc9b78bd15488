"""Near misses by the engine: the matches without one requirement that violate it.

The engine runs once for each requirement: its keys, windows and conditions leave out most
combinations before they are made, and slices run side by side. Where that is too much work, it ends
after some events of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from cepkit.budget import Work, WorkBoundError
from cepkit.columnar.compile.program import Program, StepCounters
from cepkit.columnar.compile.query import compile_branch
from cepkit.columnar.parts import Part, parts_of
from cepkit.columnar.run import Run
from cepkit.columnar.slices.binding import Binder
from cepkit.columnar.slices.cutting import Owned
from cepkit.diagnosis.event_table import Combinations, Ints
from cepkit.diagnosis.measures import Floats, Measures, forbidden_together
from cepkit.diagnosis.nearest import MIX
from cepkit.diagnosis.partials import STRETCH, join_key
from cepkit.diagnosis.sets import demanding
from cepkit.indexing import bin_counts
from cepkit.pattern import requirements as req
from cepkit.pattern.normal_form import Branch, next_in
from cepkit.pattern.policies import Strategy, TimeWindow
from cepkit.stream.columns import EventColumns
from cepkit.threads import in_order, number_of_threads

_FIRST_ROWS, _FIRST_PART = 128, 256
"""The least events of the first slice, which foretells the work, and its part of the stream."""
_SLICES, _SLICE = 16, 1 << 20
"""The most slices of the rest, and the least work for each."""
_MATCH = 8
"""The work for a match that is looked at, in candidates."""

_CANDIDATES = 4
"""The candidates that the engine, which is faster, may look at for each event in a budget."""

T = TypeVar("T")

Near = dict[int, tuple[Any, ...]]
"""The size and the events of near misses, by a number for the events that violate a requirement."""


def can_be_forgiven(branch: Branch) -> bool:
    """Return whether the engine can find the near misses of a branch."""
    return (
        isinstance(branch.window, TimeWindow)
        and branch.strategy in (Strategy.SKIP_TILL_ANY_MATCH, Strategy.SKIP_TILL_NEXT_MATCH)
        and all(next_in(condition) is None for condition in branch.conditions)
    )


def nearest_by_engine(
    measures: Measures,
    order: Sequence[str],
    most: int,
    budget: int,
    ignored: Collection[req.Requirement],
) -> tuple[list[dict[str, int]], dict[req.Requirement, int], dict[req.Requirement, int]]:
    """Return the combinations of single events that violate one requirement, the nearest first.

    Args:
        measures: Of a branch that `can_be_forgiven`.
        order: Its variables, the rarest first.
        most: The most combinations.
        budget: The most work for each requirement.
        ignored: Requirements that are not looked at.

    Returns:
        The combinations; how many there are for each condition and NOT, where all were seen; of
        how many events they were looked for, where that are not all.
    """
    branch, columns = measures.branch, measures.table.columns
    alone, cut = dict[req.Requirement, int](), dict[req.Requirement, int]()
    near: Near = {}
    active = [r for r in req.requirements_of(branch) if r not in ignored]
    for number, requirement in enumerate(active):
        relaxed = _without(branch, requirement, active)
        if relaxed is None:
            continue
        limit = max(near.values())[:2] if len(near) == most else (np.inf, np.inf)
        missing = _Missing(measures, requirement, number, most, limit)
        end, number_of_all = 0, 0
        program = compile_branch(relaxed, by_keys(relaxed, order))
        for done, (some, count) in in_slices([program], columns, missing.nearest, budget):
            near, number_of_all, end = _nearest(most, near, some), number_of_all + count, done
        if end < len(columns):
            cut[requirement] = end
        elif isinstance(requirement, req.Holds | req.Absent):
            alone[requirement] = number_of_all
    found = (events for _, *events in sorted(near.values()))
    return [dict(zip(branch.variables, events, strict=True)) for events in found], alone, cut


def _nearest(most: int, near: Near, more: Near) -> Near:
    """Return the nearest misses of both, for each violation the first by size and events."""
    best = {**near, **{k: min(miss, near.get(k, miss)) for k, miss in more.items()}}
    return dict(sorted(best.items(), key=lambda item: item[1])[:most])


def _without(
    branch: Branch, requirement: req.Requirement, active: Sequence[req.Requirement]
) -> Branch | None:
    """Return a branch of single events without a requirement; None if that adds no combination.

    NOTs are left out as well where their places depend on the requirement.
    """
    local = isinstance(requirement, req.Holds | req.Absent)
    absent = [r for r in active if local and isinstance(r, req.Absent) and r != requirement]
    relaxed = replace(demanding(branch, absent), repeated=())
    match requirement:
        case req.Absent():
            return relaxed
        case req.Holds(condition):
            others = tuple(c for c in relaxed.conditions if c != condition)
            return replace(relaxed, conditions=others)
        case req.Before(first, second):
            between = branch.after(first) & branch.before(second) & {*branch.variables}
            order = relaxed.order - {(first, second)}
            return None if between else replace(relaxed, order=order)
        case req.SamePartition():
            return replace(relaxed, partition_by=())
        case req.Within(window):
            longest = min(STRETCH * max(window.most, 1), 2.0**60)
            return replace(relaxed, window=TimeWindow(int(longest)))
        case _:
            return None


def by_keys(branch: Branch, order: Sequence[str]) -> list[str]:
    """Return variables in the order that finds most by a key, as early as may be."""
    requirements = req.requirements_of(branch)
    plans = []
    for first in order:
        plan, keyed = [first], list[bool]()
        while left := [v for v in order if v not in plan]:
            linked = [v for v in left if join_key(requirements, v, plan)]
            plan.append((linked or left)[0])
            keyed.append(bool(linked))
        plans.append((keyed, plan))
    return max(plans, key=lambda plan: plan[0])[1]


@dataclass(slots=True)
class _Spending(StepCounters):
    """Counters that spend a budget for each candidate."""

    work: Work = field(default_factory=Work)

    def look_at(self, candidates: int) -> None:
        """Count candidates that are looked at next; raise where the budget is spent."""
        self.candidates += candidates
        self.work.take(candidates)


def in_slices(
    programs: Sequence[Program],
    columns: EventColumns,
    make: Callable[[Sequence[Run], Part, Work], T],
    budget: int,
    *,
    counts: bool = False,
) -> Iterator[tuple[int, T]]:
    """Yield the end of each slice with the result of `make`, until the budget is spent.

    Args:
        make: Turns a run of each program into a result; called by several threads.
        budget: The most work; about what all slices may need, and never much more.
        counts: Whether only the numbers of matches are wanted, and only those of all slices.
    """
    ts, total, done, spent = columns.ts, len(columns), 0, 0
    budget *= _CANDIDATES

    def job(part: Part, most: int) -> Iterator[tuple[int, T, int]]:
        work = Work(most)
        runs = []
        for program in programs:
            bound = Binder(program, part.columns, part.owned).bound()
            steps = (*program.work, *program.listed)
            counters = [_Spending(step.name, work=work) for step in steps]
            runs.append(Run(bound, counters, "count" if counts else "every"))
        yield part.end, make(runs, part, work), work.done

    until, slices = min(total, max(_FIRST_ROWS, total // _FIRST_PART)), 1
    try:
        for is_first in (True, False):
            if done == until:
                return
            until = int(np.searchsorted(ts, ts[until - 1], side="right"))
            since = int(ts[done]) if done else None
            owned = Owned(since, int(ts[until]) if until < total else None)
            parts = parts_of(programs, columns, owned, -(-(until - done) // slices), 0)
            jobs = (partial(job, part, 4 * budget // slices) for part in parts)
            for done, made, work in in_order(jobs, number_of_threads()):
                spent += work
                yield done, made
            if is_first:
                until = min(total, done + done * budget // max(1, spent))
                if counts and until < total:
                    return
                slices = min(_SLICES, 1 + spent * (until - done) // (done * _SLICE))
    except WorkBoundError:
        return


@dataclass(frozen=True, slots=True)
class _Missing:
    """Measures the matches without a requirement.

    Attributes:
        number: That of the requirement.
        most: The most near misses of a slice.
        limit: Those of this size that begin with a later event, and larger ones, are left out.
    """

    measures: Measures
    requirement: req.Requirement
    number: int
    most: int
    limit: tuple[float, float]

    def nearest(self, runs: Sequence[Run], part: Part, work: Work) -> tuple[Near, int]:
        """Return the nearest misses among the matches of a slice, and how many violate it."""
        branch, near, count, limit = self.measures.branch, Near(), 0, self.limit
        by_engine = isinstance(self.requirement, req.Holds | req.Absent) or branch.repeated
        about = req.variables_in(self.requirement, branch.variables)
        for block in map(part.placed, runs[0].blocks()):
            work.take(_MATCH * block.size)
            if isinstance(self.requirement, req.Absent):
                rows = {v: block.events(v).astype(np.int64) for v in branch.variables}
                sizes = self._forbidden(self.requirement.events, rows, work).astype(np.float64)
                at = np.flatnonzero(sizes)
            else:
                rows = {v: block.events(v).astype(np.int64, copy=False) for v in about}
                violation = self.measures.of(self.requirement, rows, block.size)
                sizes, at = violation.relative, np.flatnonzero(violation.broken)
            count += len(at)
            for events in () if by_engine else branch.absences:
                rows = {v: block.events(v)[at].astype(np.int64) for v in branch.variables}
                at = at[self._forbidden(events, rows, work) == 0]
            firsts = block.events(branch.variables[0])[at]
            at = at[(sizes[at] < limit[0]) | ((sizes[at] == limit[0]) & (firsts <= limit[1]))]
            if len(at):
                rows = {v: block.events(v)[at].astype(np.int64) for v in branch.variables}
                near = _nearest(self.most, near, self._first(rows, sizes[at]))
                if len(near) == self.most:
                    limit = min(limit, max(near.values())[:2])
        return near, count

    def _forbidden(self, events: Any, rows: Combinations, work: Work) -> Ints:
        """Return how many events, or combinations of them, break a NOT of each combination."""
        size = len(next(iter(rows.values())))
        counts = np.zeros(size, dtype=np.int64)
        for parents, _ in forbidden_together(self.measures, events, rows, size, spend=work.take):
            counts += bin_counts(parents, minlength=size)
        return counts

    def _first(self, rows: dict[str, Ints], sizes: Floats) -> Near:
        """Return for each violation the first combination by size and events."""
        match self.requirement:
            case req.Within() | req.SamePartition():
                ends = np.stack([*rows.values()])
                violating = [ends.min(axis=0), ends.max(axis=0)]
            case req.Absent(event):
                latest, soonest = self.measures.branch.neighbours(event.variable, [*rows])
                violating = [rows[v] for v in [*latest, *soonest] or rows]
            case _:
                about = sorted(req.variables_in(self.requirement, ()))
                violating = [rows[v] for v in about]
        identity = np.full(len(sizes), self.number + 1, dtype=np.uint64)
        for events in violating:
            identity = identity * MIX + events.astype(np.uint64)
        order = np.lexsort((*reversed([*rows.values()]), sizes))
        _, firsts = np.unique(identity[order], return_index=True)
        at = order[np.sort(firsts)][: self.most]
        misses = zip(sizes[at].tolist(), *(e[at].tolist() for e in rows.values()), strict=True)
        return dict(zip(identity[at].tolist(), misses, strict=True))
