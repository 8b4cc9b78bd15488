"""Walks: how to find the first match that an event completes, flattened for one compiled loop.

A walk binds the last variable of a branch to an event and then the others in pattern order, each
in the range that tables, searches and bands leave. A branch has one walk for each variable that
can be last. All walks of a query lie in a few flat arrays, so that one loop, compiled once, serves
every query: rows, tables and key codes in `ints`, times in `times`, columns and limits in `floats`.

Cost: O(candidates of all variables), once for each walk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.columnar.binding import BoundProgram
from cepkit.columnar.bound import BoundStep, Search, Side, Table
from cepkit.columnar.candidates import Candidates
from cepkit.columnar.compiler import compile_branch
from cepkit.columnar.condition_parts import parts_of
from cepkit.columnar.program import Program, Step
from cepkit.pattern.conditions import Comparison, Expression, variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.rewrite import MIRRORED

# Columns of `nodes`: a node is a step of a walk, or a negated variable that is looked for there.
ROWS = 0  # where the rows of its candidates begin in `ints`
SIZE = 1  # how many candidates there are
LIMITS, LIMITS_END = 2, 3  # its part of `limits`
CHECKS, FIXED_END, CHECKS_END = 4, 5, 6  # its part of `checks`, first those about the last event
ABSENT, ABSENT_END = 7, 8  # the nodes of what must not be there once it is bound
DISTINCT = 9  # whether it could be the same event as one that is bound
POSITION = 10  # its place in the pattern, among the variables of the branch
JUMP = 11  # the step to go on with where its range is empty: the ones between cannot fill it
CHAIN = 12  # the step below whose candidates can only narrow the range; 0: there is no such step
STRICT = 13  # whether it is before the last event in time; otherwise in stream order
FINAL = 14  # of what must not be there: whether it rules out all later candidates of its step too
WAKES = 15  # where what is remembered of its candidates begins
MEMORY = 16  # whether anything is: nothing between it and the last event decides what comes after
NODE_FIELDS = 17

# Columns of `limits`.
UPPER = 0  # 1 where the range ends there, 0 where it begins
DEPTH = 1  # the step whose candidate is looked up
TABLE = 2  # where its table begins in `ints`; -1: it is searched for
PARTNER, CODES, STARTS = 3, 4, 5  # the step that has the key (-1: no key), its codes, the groups
WANTED, OWN = 6, 7  # the time looked for, by candidate; the times of the node's own candidates
LIMIT_FIELDS = 8

# Columns of `checks`: least <= column <= most.
COLUMN, SIDE, LEAST, MOST = 0, 1, 2, 3  # the step on the other side; -1: no limit on that end
CHECK_FIELDS = 4


class Walks(NamedTuple):
    """All walks of a query over one slice.

    Attributes:
        begins: The node of each walk's first step, and the end of the last walk.
        nodes: One row of fields for each step of each walk, then one for each negated variable.
        limits: One row of fields for each bound of a range.
        checks: One row of fields for each comparison.
        ints: Rows, tables and key codes.
        times: Times, arrival numbers, and where the groups of keys begin.
        floats: Columns and what they are compared with.
        window: One number: how far apart the events of a match can be in time.
    """

    begins: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]
    checks: npt.NDArray[np.int64]
    ints: npt.NDArray[np.int32]
    times: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float64]
    window: npt.NDArray[np.int64]


def walk_programs(branches: Sequence[Branch]) -> tuple[tuple[int, Program], ...] | None:
    """Return branch number and program of each walk, or None where walks cannot decide.

    They cannot where there are sets, or a condition is more than filters, keys and bands. Whether
    columns of numbers are exact is known only when the programs are bound: see `flatten`.
    """
    if any(branch.repeated for branch in branches):
        return None
    made = []
    for number, given in enumerate(branches):
        branch = replace(given, conditions=(*given.conditions, *_implied(given)))
        last = [v for v in branch.variables if not branch.after(v) & set(branch.variables)]
        for variable in last:
            others = [other for other in branch.variables if other != variable]
            program = _trimmed(branch, compile_branch(branch, (variable, *others)))
            for step in (*program.single, *program.negated):
                several = any(len(variables_of(band.other)) > 1 for band in step.bands)
                if step.residues or several:
                    return None
            made.append((number, program))
    return tuple(made)


def _implied(branch: Branch) -> tuple[Comparison, ...]:
    """Return the comparisons that follow from two or more: with `x < y` and `y < z`, `x < z`.

    They refuse a candidate before what stands between it and the last event is looked for.
    """
    given: dict[tuple[Expression, Expression], Comparison] = {}
    for part in parts_of(branch.conditions):
        if not isinstance(part, Comparison) or part.operator not in ("<", "<=", ">", ">="):
            continue
        left, right, operator = part.left, part.right, part.operator
        if operator in (">", ">="):
            left, right, operator = right, left, MIRRORED[operator]
        both = variables_of(left), variables_of(right)
        if both[0] != both[1] and all(len(v) == 1 and v <= {*branch.variables} for v in both):
            given.setdefault((left, right), Comparison(operator, left, right, part.span))
    known = dict(given)
    sides = dict.fromkeys(side for pair in given for side in pair)
    for middle, low, high in product(sides, repeat=3):
        if (low, middle) in known and (middle, high) in known:
            first, second = known[low, middle], known[middle, high]
            strict = "<" in (first.operator, second.operator)
            made = Comparison("<" if strict else "<=", low, high, first.span)
            known.setdefault((low, high), made)
    return tuple(
        part
        for pair, part in known.items()
        if pair not in given and variables_of(part.left) != variables_of(part.right)
    )


def _trimmed(branch: Branch, program: Program) -> Program:
    """Return the program without the bounds that follow from which event is last.

    Nothing is later than that, which ends every range; so the window asks only that nothing is too
    early for it. Of what is after a variable only the last one is bound before it is.
    """
    last = program.single[0].variable

    def trimmed(step: Step) -> Step:
        known = {last} | branch.before(step.variable)
        lower = tuple(bound for bound in step.lower if bound.variable in known)
        return replace(step, lower=lower, upper=())

    return replace(program, steps=tuple(map(trimmed, program.single)))


def flatten(
    branches: Sequence[Branch],
    walks: Sequence[tuple[int, Program]],
    bound: Sequence[BoundProgram],
) -> Walks | None:
    """Return the walks of bound programs; None where some comparison is no band of exact numbers.

    Args:
        branches: The normal form of the query.
        walks: Branch number and program of each walk, from `walk_programs`.
        bound: The programs, bound to one slice.
    """
    everything = [
        step
        for walk in bound
        for step in (*_steps(walk), *(a for group in walk.absences for a in group))
    ]
    for step in everything:
        if step.residues or any(s.variable is None for b in step.bands for s in b.sides):
            return None
    return _Flattener([branches[number] for number, _ in walks], bound).walks()


def _steps(walk: BoundProgram) -> tuple[BoundStep, ...]:
    """Return the steps of a walk, none of which joins a subtree."""
    return tuple(step for step in walk.steps if isinstance(step, BoundStep))


def _order(walk: BoundProgram) -> list[str]:
    return [step.variable for step in walk.program.single]


class _Pool:
    """Arrays laid end to end, each once."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = kind
        self._parts: list[npt.NDArray[Any]] = []
        self._offsets: dict[int, int] = {}
        self._size = 0

    def add(self, part: npt.NDArray[Any]) -> int:
        if id(part) not in self._offsets:
            self._offsets[id(part)] = self._size
            self._parts.append(part)  # keeps it alive, so that its id stays its own
            self._size += len(part)
        return self._offsets[id(part)]

    def joined(self) -> npt.NDArray[Any]:
        if not self._parts:
            return np.empty(0, dtype=self._kind)
        return np.concatenate(self._parts, dtype=self._kind, casting="same_kind")


class _Flattener:
    def __init__(self, branches: Sequence[Branch], bound: Sequence[BoundProgram]) -> None:
        self._branches = branches
        self._bound = bound
        self._ints = _Pool(np.int32)
        self._times = _Pool(np.int64)
        self._floats = _Pool(np.float64)
        self._nodes: list[list[int]] = []
        self._limits: list[list[int]] = []
        self._checks: list[list[int]] = []

    def walks(self) -> Walks:
        begins = np.cumsum([0, *(len(walk.steps) for walk in self._bound)])
        for branch, walk in zip(self._branches, self._bound, strict=True):
            order = _order(walk)
            for depth, step in enumerate(_steps(walk)):
                node = self._node(walk.candidates, order, step)
                node[STRICT] = order[0] in branch.after(order[depth])
                node[POSITION] = walk.program.variables.index(order[depth])
                if depth:
                    node[JUMP], node[CHAIN] = _after_emptiness(walk, order, step)
                self._nodes.append(node)
        remembered = 0
        for node in self._nodes:
            node[WAKES] = remembered
            remembered += node[SIZE]
        steps = iter(self._nodes[: begins[-1]])
        for walk in self._bound:
            order = _order(walk)
            for depth, group in enumerate(walk.absences):
                node = next(steps)
                node[ABSENT] = len(self._nodes)
                for absent in group:
                    self._nodes.append(self._node(walk.candidates, order, absent))
                    self._nodes[-1][FINAL] = self._is_final(walk, order, absent, depth)
                node[ABSENT_END] = len(self._nodes)
        for begin, walk in zip(begins.tolist(), self._bound, strict=False):
            for depth in range(1, len(walk.steps) - 1):
                self._nodes[begin + depth][MEMORY] = self._is_remembered(walk, begin, depth)
        window = self._bound[0].program.window
        return Walks(
            begins.astype(np.int64),
            _fields(self._nodes, NODE_FIELDS),
            _fields(self._limits, LIMIT_FIELDS),
            _fields(self._checks, CHECK_FIELDS),
            self._ints.joined(),
            self._times.joined(),
            self._floats.joined(),
            np.array([1 << 62 if window is None else window], dtype=np.int64),
        )

    def _node(
        self, candidates: Mapping[str, Candidates], order: Sequence[str], step: BoundStep
    ) -> list[int]:
        node = [0] * NODE_FIELDS
        (variable,) = step.step.variables
        node[ROWS] = self._ints.add(candidates[variable].rows)
        node[SIZE] = len(step.candidates)
        node[DISTINCT] = bool(step.step.distinct)
        node[LIMITS] = len(self._limits)
        for upper, limits in enumerate((step.lower, step.upper)):
            for limit in limits:
                self._limits.append(self._limit(candidates, order, step, limit, upper))
        node[LIMITS_END] = len(self._limits)
        node[CHECKS] = len(self._checks)
        checks = [self._check(order, b.column, side) for b in step.bands for side in b.sides]
        fixed = [check for check in checks if check[SIDE] == 0]
        self._checks += fixed
        node[FIXED_END] = len(self._checks)
        self._checks += [check for check in checks if check[SIDE] != 0]
        node[CHECKS_END] = len(self._checks)
        return node

    def _is_final(
        self, walk: BoundProgram, order: Sequence[str], absent: BoundStep, depth: int
    ) -> bool:
        """Whether what rules out a candidate of the step at `depth` rules out all later ones.

        It does where a later candidate only ends the range later, and is asked for nothing else.
        """
        fields, made = self._nodes[-1], []
        for limit in self._limits[fields[LIMITS] : fields[LIMITS_END]]:
            looked_up = {limit[DEPTH], *([] if limit[TABLE] >= 0 else [limit[PARTNER]])}
            made.append(depth not in looked_up or (limit[UPPER] == 1 and limit[TABLE] >= 0))
        asked = {check[SIDE] for check in self._checks[fields[CHECKS] : fields[CHECKS_END]]}
        key = walk.candidates[order[depth]].key_class
        ascending = absent.candidates.key_class in (None, key)
        return all(made) and ascending and depth not in asked and not fields[DISTINCT]

    def _is_remembered(self, walk: BoundProgram, begin: int, depth: int) -> bool:
        """Whether a search below a candidate of `depth` fails whatever the steps before it have.

        What the last event refuses shows in the search. Beside that it may only end the ranges,
        or begin them: it gets later, and where they begin does so too.
        """
        order = _order(walk)
        keys = walk.candidates[order[depth]].keys
        for below, step in enumerate(_steps(walk)[depth + 1 :], start=depth + 1):
            fields = self._nodes[begin + below]
            key = step.candidates.key_class
            same_key = key is None or key in keys
            for limit in self._limits[fields[LIMITS] : fields[LIMITS_END]]:
                by_key = limit[DEPTH] if limit[TABLE] >= 0 else max(limit[PARTNER], 0)
                if by_key == 0 and not same_key:
                    return False
                if any(0 < other < depth for other in (limit[DEPTH], limit[PARTNER])):
                    return False
            checks = self._checks[fields[FIXED_END] : fields[CHECKS_END]]
            if any(check[SIDE] < depth for check in checks):
                return False
            if fields[DISTINCT] and depth > 1:
                return False
            for absent in self._nodes[fields[ABSENT] : fields[ABSENT_END]]:
                if absent[DISTINCT] or self._least_depth(absent) < depth:
                    return False
        return True

    def _least_depth(self, node: Sequence[int]) -> int:
        """Return the first step that anything of a node is looked up or compared by."""
        limits = self._limits[node[LIMITS] : node[LIMITS_END]]
        found = [limit[DEPTH] for limit in limits]
        found += [limit[PARTNER] for limit in limits if limit[TABLE] < 0 <= limit[PARTNER]]
        found += [check[SIDE] for check in self._checks[node[CHECKS] : node[CHECKS_END]]]
        return min(found, default=0)

    def _limit(
        self,
        candidates: Mapping[str, Candidates],
        order: Sequence[str],
        step: BoundStep,
        limit: Table | Search,
        upper: int,
    ) -> list[int]:
        made = [0] * LIMIT_FIELDS
        made[UPPER] = upper
        if isinstance(limit, Table):
            made[DEPTH] = order.index(limit.variable)
            made[TABLE] = self._ints.add(limit.first)
            return made
        made[DEPTH] = order.index(limit.limit.variable)
        made[TABLE] = made[PARTNER] = -1
        clock, new = limit.limit.clock, step.candidates
        moments = candidates[limit.limit.variable].clock(clock) + limit.limit.delta
        made[WANTED], made[OWN] = self._times.add(moments), self._times.add(new.clock(clock))
        if limit.partner is not None and limit.key_class is not None and new.starts is not None:
            made[PARTNER] = order.index(limit.partner)
            made[CODES] = self._ints.add(candidates[limit.partner].keys[limit.key_class])
            made[STARTS] = self._times.add(new.starts)
        return made

    def _check(
        self, order: Sequence[str], column: npt.NDArray[np.float64], side: Side
    ) -> list[int]:
        assert side.variable is not None, "flatten refuses the others"
        return [
            self._floats.add(column),
            order.index(side.variable),
            -1 if side.least is None else self._floats.add(side.least),
            -1 if side.most is None else self._floats.add(side.most),
        ]


def _after_emptiness(walk: BoundProgram, order: Sequence[str], step: BoundStep) -> tuple[int, int]:
    """Return the step to go on with where the range of `step` is empty, and its `CHAIN`.

    Candidates are tried in ascending order. A range that begins after the candidate of a step can
    only shrink as that step goes on, so neither it nor any step that the range does not depend on
    can fill it. The last event, step 0, stays as it is.
    """
    shrinking: set[int] = set()
    deciding: set[int] = set()
    key = step.candidates.key_class
    for upper, limits in enumerate((step.lower, step.upper)):
        for limit in limits:
            if isinstance(limit, Search):
                names = [limit.limit.variable, *([limit.partner] if limit.partner else [])]
                deciding.update(map(order.index, names))
                continue
            # By key: inside a group of the same key times ascend, across groups they do not.
            same_group = key in (None, walk.candidates[limit.variable].key_class)
            into = deciding if upper or not same_group else shrinking
            into.add(order.index(limit.variable))
    depends = (shrinking | deciding) - {0}
    deepest = max(depends, default=0)
    if deepest == 0 or deepest in deciding:
        return deepest, 0
    return deepest - 1, deepest if depends == {deepest} else 0


def _fields(rows: Sequence[Sequence[int]], width: int) -> npt.NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, width)
