"""The searches of a query over one slice as flat arrays, for a single compiled loop.

One loop, compiled once, serves every query (search.py); records hold the offsets in the arrays
(records.py). They also hold facts known in advance: for an empty range, the step that could fill
it; and for which steps the failure of a candidate can be memoised, independent of the steps before.

Cost: O(candidates of all variables), once for each search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.join.generated import Predicates
from cepkit.columnar.skip_till_next.records import (
    Check,
    Limit,
    Operand,
    Predicate,
    SearchNode,
    Tables,
    records,
)
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.bound import BoundBand, BoundStep, Floats, KeySearch, Side, Table
from cepkit.columnar.slices.candidates import Candidates, reader
from cepkit.pattern.conditions import Expression, variables_of
from cepkit.pattern.evaluation.source import Operand as Written
from cepkit.pattern.evaluation.source import can_be_written
from cepkit.pattern.normal_form import Branch


def tables_of(
    branches: Sequence[Branch], searches: Sequence[BoundProgram]
) -> tuple[Tables, Any] | None:
    """Return the searches of a slice, and the compiled function of their residual predicates.

    None if a condition does not use exact numbers.
    """
    for search in searches:
        for step in (*_steps(search), *(a for group in search.absences for a in group)):
            if not all(can_be_written(c, reader(search.candidates)) for c in step.residuals):
                return None
    return _Builder(branches, searches).built()


def _steps(search: BoundProgram) -> tuple[BoundStep, ...]:
    """Return the steps of a search, none of which joins a subtree."""
    return tuple(step for step in search.steps if isinstance(step, BoundStep))


def _order(search: BoundProgram) -> list[str]:
    return [step.variable for step in search.program.single]


class _Pool:
    """Concatenates arrays, each once."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = kind
        self._parts: list[npt.NDArray[Any]] = []
        self._offsets: dict[int, int] = {}
        self._size = 0

    def add(self, part: npt.NDArray[Any]) -> int:
        """Add an array; return where it begins."""
        if id(part) not in self._offsets:
            self._offsets[id(part)] = self._size
            self._parts.append(part)  # keeps it alive, so that its id stays its own
            self._size += len(part)
        return self._offsets[id(part)]

    def joined(self) -> npt.NDArray[Any]:
        if not self._parts:
            return np.empty(0, dtype=self._kind)
        return np.concatenate(self._parts, dtype=self._kind, casting="same_kind")


class _Builder:
    def __init__(self, branches: Sequence[Branch], searches: Sequence[BoundProgram]) -> None:
        self._branches = branches
        self._searches = searches
        self._ints = _Pool(np.int32)
        self._times = _Pool(np.int64)
        self._floats = _Pool(np.float64)
        self._nodes: list[SearchNode] = []
        self._limits: list[Limit] = []
        self._checks: list[Check] = []
        self._predicates: list[Predicate] = []
        self._operands: list[Operand] = []
        self._shapes = Predicates()
        self._known: dict[tuple[int, Written], int] = {}
        self._absent = max(len(search.steps) for search in searches)

    def built(self) -> tuple[Tables, Any]:
        begins = np.cumsum([0, *(len(search.steps) for search in self._searches)])
        for branch, search in zip(self._branches, self._searches, strict=True):
            order = _order(search)
            for depth, step in enumerate(_steps(search)):
                node = self._node(search.candidates, order, step)
                node.strict = order[0] in branch.after(order[depth])
                node.position = search.program.variables.index(order[depth])
                if depth:
                    node.jump, node.chain = _after_emptiness(search, order, step)
                self._nodes.append(node)
        remembered = 0
        for node in self._nodes:
            node.wakes = remembered
            remembered += node.count
        steps = iter(self._nodes[: begins[-1]])
        for search in self._searches:
            order = _order(search)
            for depth, group in enumerate(search.absences):
                node = next(steps)
                node.absent = len(self._nodes)
                for absent in group:
                    self._nodes.append(self._node(search.candidates, order, absent))
                    self._nodes[-1].final = self._is_final(search, order, absent, depth)
                node.absent_end = len(self._nodes)
        for begin, search in zip(begins.tolist(), self._searches, strict=False):
            for depth in range(1, len(search.steps) - 1):
                self._nodes[begin + depth].memory = self._is_remembered(search, begin, depth)
        window = self._searches[0].program.window
        tables = Tables(
            begins.astype(np.int64),
            records(SearchNode, self._nodes),
            records(Limit, self._limits),
            records(Check, self._checks),
            records(Predicate, self._predicates),
            records(Operand, self._operands),
            self._ints.joined(),
            self._times.joined(),
            self._floats.joined(),
            1 << 62 if window is None else window,
        )
        return tables, self._shapes.compiled()

    def _node(
        self, candidates: Mapping[str, Candidates], order: Sequence[str], step: BoundStep
    ) -> SearchNode:
        (variable,) = step.step.variables
        node = SearchNode(self._ints.add(candidates[variable].rows), len(step.candidates))
        node.distinct = bool(step.step.distinct)
        node.limits = len(self._limits)
        for upper, limits in enumerate((step.lower, step.upper)):
            for limit in limits:
                self._limits.append(self._limit(candidates, order, step, limit, upper))
        node.limits_end = len(self._limits)
        node.checks = len(self._checks)
        checks = [self._check(order, b.column, side) for b in step.bands for side in _merged(b)]
        fixed = [check for check in checks if check.side == 0]
        self._checks += fixed
        node.fixed_end = len(self._checks)
        self._checks += [check for check in checks if check.side != 0]
        node.checks_end = len(self._checks)
        about_last = [c for c in step.residuals if order[0] in variables_of(c)]
        others = [c for c in step.residuals if c not in about_last]
        node.predicate = self._predicate(candidates, order, others)
        node.last_predicate = self._predicate(candidates, order, about_last)
        return node

    def _predicate(
        self,
        candidates: Mapping[str, Candidates],
        order: Sequence[str],
        conditions: Sequence[Expression],
    ) -> int:
        """Return the number of a residual predicate; -1 without conditions."""
        if not conditions:
            return -1
        shape, operands = self._shapes.add(conditions, candidates)
        begin = len(self._operands)
        for operand in operands:
            variable = next(iter(operand.variables), None)
            if variable is None:
                size, depth = 1, self._absent + 1
            else:
                size = len(candidates[variable])
                depth = order.index(variable) if variable in order else self._absent
            known = (id(candidates), operand)
            if known not in self._known:
                numbers = operand.numbers(reader(candidates), size)
                self._known[known] = self._floats.add(numbers)
            self._operands.append(Operand(self._known[known], depth))
        self._predicates.append(Predicate(shape, begin, len(self._operands)))
        return len(self._predicates) - 1

    def _operands_of(self, predicate: int) -> list[Operand]:
        if predicate < 0:
            return []
        record = self._predicates[predicate]
        return self._operands[record.operands : record.operands_end]

    def _is_final(
        self, search: BoundProgram, order: Sequence[str], absent: BoundStep, depth: int
    ) -> bool:
        """Whether an absent event that rules out a candidate at `depth` rules out all later ones.

        It does if a later candidate only ends the range later and matters for nothing else.
        """
        node = self._nodes[-1]
        for limit in self._limits[node.limits : node.limits_end]:
            looked_up = {limit.depth, *([] if limit.table >= 0 else [limit.partner])}
            if depth in looked_up and not (limit.upper and limit.table >= 0):
                return False
        compared = {check.side for check in self._checks[node.checks : node.checks_end]}
        compared |= {operand.depth for operand in self._operands_of(node.predicate)}
        compared |= {operand.depth for operand in self._operands_of(node.last_predicate)}
        key = search.candidates[order[depth]].key_class
        ascending = absent.candidates.key_class in (None, key)
        return ascending and depth not in compared and not node.distinct

    def _is_remembered(self, search: BoundProgram, begin: int, depth: int) -> bool:
        """Whether the failure of a candidate of `depth` is independent of the steps before it.

        The search itself notices refusals by the last event. Apart from that the last event may
        only end ranges, or begin them: it gets later, and so do the beginnings.
        """
        keys = search.candidates[_order(search)[depth]].keys
        for below, step in enumerate(_steps(search)[depth + 1 :], start=depth + 1):
            node = self._nodes[begin + below]
            key = step.candidates.key_class
            same_key = key is None or key in keys
            for limit in self._limits[node.limits : node.limits_end]:
                by_key = limit.depth if limit.table >= 0 else max(limit.partner, 0)
                if by_key == 0 and not same_key:
                    return False
                if any(0 < other < depth for other in (limit.depth, limit.partner)):
                    return False
            checks = self._checks[node.fixed_end : node.checks_end]
            if any(check.side < depth for check in checks):
                return False
            if any(operand.depth < depth for operand in self._operands_of(node.predicate)):
                return False
            if node.distinct and depth > 1:
                return False
            for absent in self._nodes[node.absent : node.absent_end]:
                if absent.distinct or self._least_depth(absent) < depth:
                    return False
        return True

    def _least_depth(self, node: SearchNode) -> int:
        """Return the first step that a node's limits or comparisons depend on."""
        limits = self._limits[node.limits : node.limits_end]
        depths = [limit.depth for limit in limits]
        depths += [limit.partner for limit in limits if limit.table < 0 <= limit.partner]
        depths += [check.side for check in self._checks[node.checks : node.checks_end]]
        for predicate in (node.predicate, node.last_predicate):
            depths += [operand.depth for operand in self._operands_of(predicate)]
        return min(depths, default=0)

    def _limit(
        self,
        candidates: Mapping[str, Candidates],
        order: Sequence[str],
        step: BoundStep,
        limit: Table | KeySearch,
        upper: int,
    ) -> Limit:
        if isinstance(limit, Table):
            return Limit(upper, order.index(limit.variable), self._ints.add(limit.first))
        clock, new = limit.limit.clock, step.candidates
        moments = candidates[limit.limit.variable].clock(clock) + limit.limit.delta
        searched = Limit(upper, order.index(limit.limit.variable))
        searched.wanted, searched.own = self._times.add(moments), self._times.add(new.clock(clock))
        if limit.partner is not None and limit.key_class is not None and new.starts is not None:
            searched.partner = order.index(limit.partner)
            searched.codes = self._ints.add(candidates[limit.partner].keys[limit.key_class])
            searched.starts = self._times.add(new.starts)
        return searched

    def _check(self, order: Sequence[str], column: Floats, side: Side) -> Check:
        assert side.variable is not None, "search_programs makes residuals of the others"
        return Check(
            self._floats.add(column),
            order.index(side.variable),
            -1 if side.least is None else self._floats.add(side.least),
            -1 if side.most is None else self._floats.add(side.most),
        )


def _merged(band: BoundBand) -> list[Side]:
    """Return the sides of a band, merged by variable."""
    merged: dict[str | None, Side] = {}
    for side in band.sides:
        known = merged.get(side.variable, side)
        # A NaN on either side stays: such a band is empty.
        least = _both(np.maximum, known.least, side.least)
        most = _both(np.minimum, known.most, side.most)
        merged[side.variable] = Side(side.variable, least, most, None)
    return list(merged.values())


def _both(combine: np.ufunc, x: Floats | None, y: Floats | None) -> Floats | None:
    if x is None or y is None or x is y:
        return y if x is None else x
    tightest: Floats = combine(x, y)
    return tightest


def _after_emptiness(
    search: BoundProgram, order: Sequence[str], step: BoundStep
) -> tuple[int, int]:
    """Return the step to continue with if the range of `step` is empty, and its `chain`.

    Candidates are tried in ascending order. A range that begins after a step's candidate can only
    shrink as that step advances, so neither this step nor steps that the range does not depend on
    can fill it. The last event, step 0, does not change.
    """
    shrinking: set[int] = set()
    deciding: set[int] = set()
    key = step.candidates.key_class
    for upper, limits in enumerate((step.lower, step.upper)):
        for limit in limits:
            if isinstance(limit, KeySearch):
                names = [limit.limit.variable, *([limit.partner] if limit.partner else [])]
                deciding.update(map(order.index, names))
                continue
            # By key: inside a group of the same key times ascend, across groups they do not.
            same_group = key in (None, search.candidates[limit.variable].key_class)
            into = deciding if upper or not same_group else shrinking
            into.add(order.index(limit.variable))
    depends = (shrinking | deciding) - {0}
    deepest = max(depends, default=0)
    if deepest == 0 or deepest in deciding:
        return deepest, 0
    return deepest - 1, deepest if depends == {deepest} else 0
