"""The branches of a query on one slice: what several of them begin with is run once.

AND(A a, B b, OR(C c, D d)) has two branches; where both bind a and b first and in one order, the
pairs of a and b are found once and each branch goes on with them. Two beginnings are one where
they look up the same candidates under the same conditions, which is compared when the steps are
bound. Canonical sub-patterns are not asked: the branches of one query have their names in common,
and what a slice owns, and how a plan looks its candidates up, no pattern tells.
Cost: comparing the candidates of what may be shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cepkit.columnar.compile.program import Member, Program, Step
from cepkit.columnar.kleene.limits import SetChoice
from cepkit.columnar.run import Run
from cepkit.columnar.slices.binding import BoundProgram, bind
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.bound import BoundStep
from cepkit.columnar.slices.candidates import EVERYTHING, Owned, RowsOfTypes
from cepkit.columnar.slices.counters import StepCounters
from cepkit.stream.columns import EventColumns

LEAST = 2
"""Steps that are worth sharing: the first alone only names its candidates."""


def run_branches(
    bound: Sequence[BoundProgram],
    counters: Sequence[Sequence[StepCounters]],
    choice: SetChoice = "every",
) -> Iterator[tuple[int, Block]]:
    """Yield the number of a branch and some of its matches.

    Args:
        bound: The branches, bound to the slice.
        counters: For each branch those of its steps; the work is added to them, that of shared
            steps to those of the first branch that has them.
        choice: Which sets of each Kleene variable are wanted.
    """
    runs = [Run(b, c, choice) for b, c in zip(bound, counters, strict=True)]
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


def bind_branches(
    programs: Sequence[Program], columns: EventColumns, owned: Owned = EVERYTHING
) -> list[BoundProgram]:
    """Return the branches bound to a slice.

    What a slice owns is cut out of the candidates of a variable, but not where another branch may
    go on with the same step: to that branch they are all candidates.

    Args:
        programs: The branches.
        columns: The events of the slice.
        owned: The matches that are wanted.
    """
    known: RowsOfTypes = {}
    bound = []
    begins = [_beginning(program) for program in programs]
    for number, program in enumerate(programs):
        others = (other for i, other in enumerate(begins) if i != number)
        length = max((_alike(begins[number], other) for other in others), default=0)
        shared = program.steps[:length] if length >= LEAST else ()
        uncut = frozenset(step.name for step in shared)
        bound.append(bind(program, columns, owned, known, uncut))
    return bound


def _beginning(program: Program) -> list[tuple[Step, set[frozenset[Member]]]]:
    """Return the steps that another branch could begin with too, and the classes of each.

    The last step is never shared, and what is looked for may be linked to what comes later.
    """
    beginning = []
    variables: set[str] = set()
    for number, step in enumerate(program.steps[:-1]):
        if not isinstance(step, Step) or any(a.after == number for a in program.absences):
            break
        variables.add(step.variable)
        # Classes are numbered anew in each branch: what they say of these variables tells.
        classes = (program.classes[n] for n in step.classes)
        linked = {frozenset(m for m in members if m[0] in variables) for members in classes}
        beginning.append((replace(step, classes=()), linked))
    return beginning


def _alike(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many things two lists begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(one), len(other)))


def common_steps(one: BoundProgram, other: BoundProgram) -> int:
    """Return how many steps two branches begin with that do the same."""
    if not (_goes_on(one) and _goes_on(other)):
        return 0
    length = _alike(_beginning(one.program), _beginning(other.program))
    for number, step in enumerate(one.program.steps[:length]):
        rows, others = one.candidates[step.name].rows, other.candidates[step.name].rows
        if not np.array_equal(rows, others):
            return number
    return length


def _goes_on(bound: BoundProgram) -> bool:
    """Whether the steps are those of an order, and there may be matches."""
    return bound.possible and all(
        isinstance(step, BoundStep) and len(step.candidates) for step in bound.steps
    )
