"""Binds a program to the events of one slice: builds the arrays of inner loops.

Bounds become tables: for each candidate of a bound variable the first candidate of the new one in
scope (computed by merging), so that a partial match finds its range by look-ups. Bands become
columns of numbers (binder.py, bands.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepkit.columnar.compile.program import Program
from cepkit.columnar.slices.binder import Binder
from cepkit.columnar.slices.bound import BoundAbsence, BoundStep, Subtree
from cepkit.columnar.slices.candidates import EVERYTHING, Candidates, Owned, Scan, gather
from cepkit.columnar.slices.cutting import numbered, owners_of
from cepkit.errors import UnsupportedError
from cepkit.pattern.evaluation.columns import truth
from cepkit.stream.columns import EventColumns


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """A program bound to the events of one slice.

    Attributes:
        steps: In the order of the plan.
        candidates: Of each variable.
        sets: The steps that list the members of sets.
        absences: For each step, the negated variables to check after it.
        late: The negated variables to check when sets are chosen.
        otherwise: For each earlier branch that binds the same variables, its negated variables.
        possible: False where a condition without variables, or the window, rules out all matches.
        owned: The matches that are wanted.
        owners: The variables whose latest event, by the clock of `owned`, decides who owns a match;
            empty if the slice has only candidates that it owns.
        in_order: Whether the events arrived in the order of time.
        binder: Binds subtrees once their partial matches are known.
    """

    program: Program
    steps: tuple[BoundStep | Subtree, ...]
    sets: tuple[BoundStep, ...]
    absences: tuple[tuple[BoundStep, ...], ...]
    late: tuple[BoundAbsence, ...]
    otherwise: tuple[tuple[BoundAbsence, ...], ...]
    candidates: Mapping[str, Candidates]
    possible: bool
    owned: Owned
    owners: tuple[str, ...]
    in_order: bool
    binder: Binder


def bind(
    program: Program,
    columns: EventColumns,
    owned: Owned = EVERYTHING,
    scan: Scan | None = None,
    *,
    in_time: bool = False,
) -> BoundProgram:
    """Return `program` bound to `columns`.

    Args:
        scan: The look-ups of other programs in `columns`; new ones are added.
        in_time: Whether candidates must be sorted by time, or by a key and time.

    Raises:
        PatternError: A condition does not fit the kinds of the columns.
        UnsupportedError: It has a run in a window of events, and events did not arrive in time
            order.
    """
    columns = numbered(program, columns)
    owners = owners_of(program, columns, owned.clock)
    cut = owners[0] if len(owners) == 1 else None
    scan = Scan() if scan is None else scan
    candidates, key_counts = gather(program, columns, owned, cut, scan)
    possible = all(length >= 0 for length, _ in program.windows) and all(
        truth(condition, candidates[program.bound[0]].read, 1)[0] for condition in program.constants
    )
    in_time |= bool(program.sets)  # lists of members are stretches of time
    binder = Binder(program, columns, candidates, key_counts, scan, in_time=in_time)
    if not binder.in_order:
        _refuse_counted_runs(program)
    steps = binder.bind_all(program.steps, program.absences)
    sets = tuple(
        binder.bind(one.step, [v for v in program.bound if v not in one.shared])
        for one in program.sets
    )
    absences = binder.absences(program.absences, program.steps)
    late, *otherwise = (
        tuple(binder.bind_late(a, program.steps) for a in group)
        for group in (
            [a for a in program.absences if a.after == len(program.steps)],
            *program.otherwise,
        )
    )
    return BoundProgram(
        program=program,
        steps=steps,
        sets=sets,
        absences=absences,
        late=late,
        otherwise=tuple(otherwise),
        candidates=candidates,
        possible=possible,
        owned=owned,
        owners=owners if cut is None else (),
        in_order=binder.in_order,
        binder=binder,
    )


def _refuse_counted_runs(program: Program) -> None:
    """Refuse some runs in a window of events if rows did not arrive in time order.

    These are FIRST runs, and greedy ones that end before an event.
    """
    counted = any(clock != "time" for _, clock in program.windows)
    greedy = [
        absence.further for group in (program.absences, *program.otherwise) for absence in group
    ]
    ended = {each.variable for each in greedy if each is not None and each.end is not None}
    for one in program.sets:
        if counted and (one.repeated.run == "first" or one.repeated.variable in ended):
            raise UnsupportedError(
                f"the run '{one.repeated.variable}' in a window of events, and rows that did not "
                "arrive in the order of time",
                hint="sort the rows by time, or give a window of time",
            )
