"""Search programs, which find the first match that an event completes.

A search binds the last variable of a branch to an event and then the others in pattern order, each
within the range given by tables, searches and bands. A branch has one search for each variable that
can be last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from cepkit.columnar.compile.branch import compile_branch
from cepkit.columnar.compile.links import parts_of
from cepkit.columnar.compile.program import Program, Step
from cepkit.pattern.conditions import Comparison, Expression, variables_of
from cepkit.pattern.evaluation.source import has_source
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.rewrite import MIRRORED


def search_programs(branches: Sequence[Branch]) -> tuple[tuple[int, Program], ...] | None:
    """Return branch number and program of each search, or None if searches are impossible.

    They are impossible with sets, with several events in one NOT, and with conditions that combine
    events in user functions or in functions of arrays or texts. Whether columns of numbers are
    exact is known only when the programs are bound: see `tables.py`.
    """
    if any(branch.repeated or branch.together for branch in branches):
        return None
    programs = []
    for number, stated in enumerate(branches):
        branch = replace(stated, conditions=(*stated.conditions, *_implied(stated)))
        for variable in branch.latest(branch.variables):
            others = [other for other in branch.variables if other != variable]
            program = _trimmed(branch, compile_branch(branch, (variable, *others)))
            for step in (*program.single, *program.negated):
                if not all(has_source(c, arrays=False) for c in step.residuals):
                    return None
            programs.append((number, program))
    return tuple(programs)


def _implied(branch: Branch) -> tuple[Comparison, ...]:
    """Return the comparisons that follow from two or more: with `x < y` and `y < z`, `x < z`.

    They refuse a candidate before the search for events between it and the last one.
    """
    stated: dict[tuple[Expression, Expression], Comparison] = {}
    for part in parts_of(branch.conditions):
        if not isinstance(part, Comparison) or part.operator in ("=", "!="):
            continue
        operator, left, right = part.operator, part.left, part.right
        if operator in (">", ">="):
            operator, left, right = MIRRORED[operator], right, left
        both = variables_of(left), variables_of(right)
        if both[0] != both[1] and all(len(v) == 1 and v <= {*branch.variables} for v in both):
            stated.setdefault((left, right), Comparison(operator, left, right, part.span))
    known = dict(stated)
    sides = dict.fromkeys(side for pair in stated for side in pair)
    for middle, low, high in product(sides, repeat=3):
        if (low, middle) in known and (middle, high) in known:
            first, second = known[low, middle], known[middle, high]
            strict = "<" in (first.operator, second.operator)
            implied = Comparison("<" if strict else "<=", low, high, first.span)
            known.setdefault((low, high), implied)
    return tuple(
        part
        for pair, part in known.items()
        if pair not in stated and variables_of(part.left) != variables_of(part.right)
    )


def _trimmed(branch: Branch, program: Program) -> Program:
    """Drop the bounds that follow from the choice of the last event.

    Every range ends at the last event, so the window only requires that no event is too early for
    it. Of the variables after another one, only the last variable is bound before it.
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
    """Return a step with bands about one bound variable each; the others are residuals."""
    bands = [band for band in step.bands if len(variables_of(band.other)) == 1]
    others = (
        Comparison(band.operator, band.own, band.other, band.own.span)
        for band in step.bands
        if band not in bands
    )
    return replace(step, bands=tuple(bands), residuals=(*step.residuals, *others))
