"""Walks: how to find the first match that an event completes, flattened for one compiled loop.

A walk binds the last variable of a branch to an event and then the others in pattern order, each
in the range that tables, searches and bands leave. A branch has one walk for each variable that
can be last. All walks of a query lie in a few flat arrays (flatten.py), so that one
loop, compiled once, serves every query: rows, tables and key codes in `ints`, times in `times`,
columns and limits in `floats`. What is no band is followed on a tape (tapes.py).

Cost: O(candidates of all variables), once for each walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.branch import compile_branch
from cepkit.columnar.compile.links import parts_of
from cepkit.columnar.compile.program import Program, Step
from cepkit.columnar.skip_till_next.tapes import can_be_taped
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
TAPE, TAPE_LAST, TAPE_END = 17, 18, 19  # its part of `tape`, at its end those about the last event
NODE_FIELDS = 20

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
        tape: One row of fields for each instruction: see tapes.py. What must not be
            there is looked up as the candidate of a step after the last one.
        ints: Rows, tables and key codes.
        times: Times, arrival numbers, and where the groups of keys begin.
        floats: Columns and what they are compared with.
        window: One number: how far apart the events of a match can be in time.
    """

    begins: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]
    checks: npt.NDArray[np.int64]
    tape: npt.NDArray[np.int64]
    ints: npt.NDArray[np.int32]
    times: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float64]
    window: npt.NDArray[np.int64]


def walk_programs(branches: Sequence[Branch]) -> tuple[tuple[int, Program], ...] | None:
    """Return branch number and program of each walk, or None where walks cannot decide.

    They cannot where there are sets, or where events meet in a function that no tape has. Whether
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
            program = _walked(branch, compile_branch(branch, (variable, *others)))
            for step in (*program.single, *program.negated):
                if not all(map(can_be_taped, step.residues)):
                    return None
            made.append((number, program))
    return tuple(made)


def _implied(branch: Branch) -> tuple[Comparison, ...]:
    """Return the comparisons that follow from two or more: with `x < y` and `y < z`, `x < z`.

    They refuse a candidate before what stands between it and the last event is looked for.
    """
    given: dict[tuple[Expression, Expression], Comparison] = {}
    for part in parts_of(branch.conditions):
        if not isinstance(part, Comparison) or part.operator in ("=", "!="):
            continue
        operator, left, right = part.operator, part.left, part.right
        if operator in (">", ">="):
            operator, left, right = MIRRORED[operator], right, left
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


def _walked(branch: Branch, program: Program) -> Program:
    """Return the program without the bounds that follow from which event is last.

    Nothing is later than that, which ends every range; so the window asks only that nothing is too
    early for it. Of what is after a variable only the last one is bound before it is.
    """
    last = program.single[0].variable

    def trimmed(step: Step) -> Step:
        known = {last} | branch.before(step.variable)
        lower = tuple(bound for bound in step.lower if bound.variable in known)
        return _with_single_sides(replace(step, lower=lower, upper=()))

    return replace(
        program,
        steps=tuple(map(trimmed, program.single)),
        absences=tuple(replace(a, step=_with_single_sides(a.step)) for a in program.absences),
    )


def _with_single_sides(step: Step) -> Step:
    """Return a step whose bands are about one bound variable each; the others are residues."""
    bands = [band for band in step.bands if len(variables_of(band.other)) == 1]
    others = (
        Comparison(band.operator, band.own, band.other, band.own.span)
        for band in step.bands
        if band not in bands
    )
    return replace(step, bands=tuple(bands), residues=(*step.residues, *others))
