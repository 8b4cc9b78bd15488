"""The walks of a query as a few flat arrays, and what of a search can be known beforehand.

Where a range is empty it is known which step could fill it; of some steps it can be remembered
that nothing comes of a candidate, whatever stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.skip_till_next.tapes import TAPE_FIELDS, Tape
from cepkit.columnar.skip_till_next.walks import (
    ABSENT,
    ABSENT_END,
    CHAIN,
    CHECK_FIELDS,
    CHECKS,
    CHECKS_END,
    CODES,
    DEPTH,
    DISTINCT,
    FINAL,
    FIXED_END,
    JUMP,
    LIMIT_FIELDS,
    LIMITS,
    LIMITS_END,
    MEMORY,
    NODE_FIELDS,
    OWN,
    PARTNER,
    POSITION,
    ROWS,
    SIDE,
    SIZE,
    STARTS,
    STRICT,
    TABLE,
    TAPE,
    TAPE_END,
    TAPE_LAST,
    UPPER,
    WAKES,
    WANTED,
    Walks,
)
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.bound import BoundBand, BoundStep, Floats, Search, Side, Table
from cepkit.columnar.slices.candidates import Candidates
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.normal_form import Branch


def flatten(
    branches: Sequence[Branch],
    walks: Sequence[tuple[int, Program]],
    bound: Sequence[BoundProgram],
) -> Walks | None:
    """Return the walks of bound programs; None where some condition is not about exact numbers.

    Args:
        branches: The normal form of the query.
        walks: Branch number and program of each walk, from `walk_programs`.
        bound: The programs, bound to one slice.
    """
    flattener = _Flattener([branches[number] for number, _ in walks], bound)
    return flattener.walks() if flattener.is_exact() else None


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
        absent = max(len(walk.steps) for walk in bound)
        self._tapes = [
            Tape(
                walk.candidates,
                {step.variable: absent for step in walk.program.negated}
                | {variable: depth for depth, variable in enumerate(_order(walk))},
                self._floats.add,
            )
            for walk in bound
        ]
        self._tape: list[tuple[int, int, int]] = []

    def is_exact(self) -> bool:
        """Whether floats can stand for all numbers that are compared."""
        return all(
            tape.fits(condition)
            for tape, walk in zip(self._tapes, self._bound, strict=True)
            for step in (*_steps(walk), *(a for group in walk.absences for a in group))
            for condition in step.residues
        )

    def walks(self) -> Walks:
        begins = np.cumsum([0, *(len(walk.steps) for walk in self._bound)])
        for branch, walk, tape in zip(self._branches, self._bound, self._tapes, strict=True):
            order = _order(walk)
            for depth, step in enumerate(_steps(walk)):
                node = self._node(walk.candidates, order, step, tape)
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
        for walk, tape in zip(self._bound, self._tapes, strict=True):
            order = _order(walk)
            for depth, group in enumerate(walk.absences):
                node = next(steps)
                node[ABSENT] = len(self._nodes)
                for absent in group:
                    self._nodes.append(self._node(walk.candidates, order, absent, tape))
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
            _fields(self._tape, TAPE_FIELDS),
            self._ints.joined(),
            self._times.joined(),
            self._floats.joined(),
            np.array([1 << 62 if window is None else window], dtype=np.int64),
        )

    def _node(
        self,
        candidates: Mapping[str, Candidates],
        order: Sequence[str],
        step: BoundStep,
        tape: Tape,
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
        checks = [self._check(order, b.column, side) for b in step.bands for side in _merged(b)]
        fixed = [check for check in checks if check[SIDE] == 0]
        self._checks += fixed
        node[FIXED_END] = len(self._checks)
        self._checks += [check for check in checks if check[SIDE] != 0]
        node[CHECKS_END] = len(self._checks)
        node[TAPE] = len(self._tape)
        last = [order[0] in variables_of(condition) for condition in step.residues]
        for about_last in (False, True):
            node[TAPE_LAST] = len(self._tape) if about_last else node[TAPE]
            for condition, is_about_last in zip(step.residues, last, strict=True):
                if is_about_last == about_last:
                    self._tape += tape.condition(condition)
        node[TAPE_END] = len(self._tape)
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
        asked |= {of for _, _, of in self._tape[fields[TAPE] : fields[TAPE_END]]}
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
            tape = self._tape[fields[TAPE] : fields[TAPE_LAST]]
            if any(0 <= of < depth for _, _, of in tape):
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
        found += [of for _, _, of in self._tape[node[TAPE] : node[TAPE_END]] if of >= 0]
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
        assert side.variable is not None, "walk_programs makes residues of the others"
        return [
            self._floats.add(column),
            order.index(side.variable),
            -1 if side.least is None else self._floats.add(side.least),
            -1 if side.most is None else self._floats.add(side.most),
        ]


def _merged(band: BoundBand) -> list[Side]:
    """Return the sides of a band, those of one variable as a single one."""
    merged: dict[str | None, Side] = {}
    for side in band.sides:
        known = merged.get(side.variable, side)
        # A NaN on either side stays: no value is in such a band.
        least = _both(np.maximum, known.least, side.least)
        most = _both(np.minimum, known.most, side.most)
        merged[side.variable] = Side(side.variable, least, most, None)
    return list(merged.values())


def _both(combine: np.ufunc, x: Floats | None, y: Floats | None) -> Floats | None:
    if x is None or y is None or x is y:
        return y if x is None else x
    made: Floats = combine(x, y)
    return made


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
