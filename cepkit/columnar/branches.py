"""The branches of a query on one slice: what several of them begin with is run once.

AND(A a, B b, OR(C c, D d)) has two branches; where both bind a and b first and in one order, the
pairs of a and b are found once and each branch goes on with them. Two beginnings are one where
they look up the same candidates under the same conditions, which is compared when the steps are
bound. Cost: comparing the candidates of what may be shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cepkit.columnar.compile.program import Step
from cepkit.columnar.kernels.backend import Loops
from cepkit.columnar.kleene.limits import SetChoice
from cepkit.columnar.run import Run
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.bound import BoundStep
from cepkit.columnar.slices.counters import StepCounters

LEAST = 2
"""Steps that are worth sharing: the first alone only names its candidates."""


def run_branches(
    bound: Sequence[BoundProgram],
    loops: Loops,
    counters: Sequence[Sequence[StepCounters]],
    choice: SetChoice = "every",
) -> Iterator[tuple[int, Block]]:
    """Yield the number of a branch and some of its matches.

    Args:
        bound: The branches, bound to the slice.
        loops: The inner loops to use.
        counters: For each branch those of its steps; the work is added to them, that of shared
            steps to those of the first branch that has them.
        choice: Which sets of each Kleene variable are wanted.
    """
    runs = [Run(b, loops, c, choice) for b, c in zip(bound, counters, strict=True)]
    left = list(range(len(bound)))
    while left:
        lead = left.pop(0)
        lengths = {other: common_steps(bound[lead], bound[other]) for other in left}
        together = [other for other, length in lengths.items() if length >= LEAST]
        if not together:
            for block in runs[lead].blocks():
                yield lead, block
            continue
        length = min(lengths[other] for other in together)
        left = [other for other in left if other not in together]
        for other in together:
            for counted in counters[other][:length]:
                counted.shared_with = lead + 1
        for rows, size in runs[lead].begun(length):
            for number in (lead, *together):
                for block in runs[number].continued(length, rows, size):
                    yield number, block


def common_steps(one: BoundProgram, other: BoundProgram) -> int:
    """Return how many steps two branches begin with that do the same; the last is never shared."""
    if not (_goes_on(one) and _goes_on(other)):
        return 0
    number = 0
    most = min(len(one.steps), len(other.steps)) - 1
    while number < most and _same(one, other, number):
        number += 1
    return number


def _goes_on(bound: BoundProgram) -> bool:
    """Whether the steps are those of an order, and there may be matches."""
    return bound.possible and all(
        isinstance(step, BoundStep) and len(step.candidates) for step in bound.steps
    )


def _same(one: BoundProgram, other: BoundProgram, number: int) -> bool:
    first, second = one.program.steps[number], other.program.steps[number]
    if not isinstance(first, Step) or not isinstance(second, Step):
        return False
    bound = {step.name for step in one.program.steps[: number + 1]}
    # Classes are numbered anew in each branch: what they say of these variables tells.
    if replace(first, classes=()) != replace(second, classes=()):
        return False
    if _classes(one, first, bound) != _classes(other, second, bound):
        return False
    absent, absent_too = (
        [a for a in b.program.absences if a.after == number] for b in (one, other)
    )
    if absent or absent_too:
        return False  # what is looked for may be linked to what comes later
    variable = first.variable
    rows, others = one.candidates[variable].rows, other.candidates[variable].rows
    return np.array_equal(rows, others)


def _classes(
    bound: BoundProgram, step: Step, variables: set[str]
) -> set[frozenset[tuple[str, str | None]]]:
    return {
        frozenset(member for member in bound.program.classes[number] if member[0] in variables)
        for number in step.classes
    }
