"""Keys of steps: equal steps of different programs have equal keys, under any variable names."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from cepkit.columnar.compile.program import (
    Absence,
    AnyStep,
    Bound,
    GroupStep,
    Member,
    Program,
    Step,
)
from cepkit.pattern.canonical import canonical_conditions
from cepkit.pattern.conditions import Comparison, Expression


def tree_key(program: Program, group: GroupStep) -> Hashable | None:
    """Return the key of a subtree, equal for equal subtrees; None if it cannot be shared."""
    keys = tuple(_step_keys(program, group.steps, group.absences, {}))
    return (keys, _clocks_key(program)) if len(keys) == len(group.steps) else None


def may_share(program: Program) -> bool:
    """Return whether steps are independent of the rest of the pattern; under contiguity not."""
    possible = program.window is None or program.window >= 0
    return possible and not (program.chain or program.side_by_side)


def _clocks_key(program: Program) -> Hashable:
    """Return a key of the windows, except for the length of a window in time."""
    return (
        tuple((clock, length) for length, clock in program.windows if clock != "time"),
        program.window is None,
        program.partition_by if "place" in program.clocks else (),
    )


def keys_of(program: Program) -> list[Hashable]:
    """Return a key for each step: equal steps of different programs have equal keys.

    There are none if steps depend on the rest of the pattern (contiguity), or join subtrees.
    """
    if not may_share(program) or any(isinstance(step, GroupStep) for step in program.steps):
        return []
    clocks = _clocks_key(program)
    return [(key, clocks) for key in _step_keys(program, program.steps, program.absences, {})]


def _step_keys(
    program: Program,
    steps: Sequence[AnyStep],
    absences: Sequence[Absence],
    names: dict[str, str],
) -> Iterator[Hashable]:
    """Yield a key for each step, with the absences after it, up to one that cannot be shared.

    Args:
        steps: All steps of it, or of a subtree.
        absences: The absences that are checked after these.
        names: The numbered names of the variables that are bound before; those of the steps are
            added.
    """
    for number, step in enumerate(steps):
        after = [absence for absence in absences if absence.after == number]
        if any(absence.conditions or absence.apart or absence.then for absence in after):
            return
        key: Hashable
        if isinstance(step, GroupStep):
            inner = tuple(_step_keys(program, step.steps, step.absences, names))
            if len(inner) < len(step.steps):
                return
            scopes = tuple(_step_key(program, scope, names) for scope in step.scopes)
            distinct = frozenset((names[x], names[y]) for x, y in step.distinct)
            links = _classes(program, range(program.linked), names)
            key = inner, scopes, distinct, links, _conditions(step, names)
        elif step.variable in program.ends:
            return  # it may lie beyond what a slice owns
        else:
            names[step.variable] = f"_{len(names)}"
            key = _step_key(program, step, names)
        yield key, frozenset(_absence_key(program, absence, names) for absence in after)


def _step_key(program: Program, step: Step, names: Mapping[str, str]) -> Hashable:
    return (
        step.event.types,
        _conditions(step, names),
        _classes(program, range(program.linked), names),
        frozenset((names[b.variable], b.clock, b.delta > 0) for b in step.lower),
        frozenset((names[b.variable], b.clock, b.delta > 0) for b in step.upper),
        frozenset(names[v] for v in step.distinct_from),
        frozenset((names[v], apart) for v, apart in step.follows),
        frozenset((names[v], apart) for v, apart in step.precedes),
    )


def _absence_key(program: Program, absence: Absence, names: Mapping[str, str]) -> Hashable:
    """Return a key of an absence, with the length of the window if the window bounds it."""
    step = absence.step
    names = {**names, step.variable: "_absent"}

    def bounds(limits: Sequence[Bound]) -> Hashable:
        return frozenset((names[b.variable], b.clock, b.delta) for b in limits)

    return (
        step.event.types,
        _conditions(step, names),
        _classes(program, step.classes, names),
        bounds(step.lower),
        bounds(step.upper),
        frozenset(names[v] for v in step.distinct_from),
    )


def _conditions(step: AnyStep, names: Mapping[str, str]) -> tuple[Expression, ...]:
    filters = step.filters if isinstance(step, Step) else ()
    bands = (Comparison(band.operator, band.own, band.other) for band in step.bands)
    return canonical_conditions((*filters, *bands, *step.residuals), names)


def _classes(program: Program, numbers: Sequence[int], names: Mapping[str, str]) -> Hashable:
    """Return which members are equal, among the variables that have names."""
    known: set[Hashable] = set()
    for number in numbers:
        members = [member for member in program.classes[number] if member[0] in names]
        if len(members) > 1:
            known.add(frozenset(_member(program, member, names) for member in members))
    return frozenset(known)


def _member(program: Program, member: Member, names: Mapping[str, str]) -> Hashable:
    variable, attribute = member
    return names[variable], program.partition_by if attribute is None else attribute
