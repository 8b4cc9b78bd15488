"""A program bound to the events of one slice: what each inner loop needs, as arrays.

Bounds become tables: for each candidate of a bound variable the first candidate of the new one
in scope, made by merging, so that a partial match finds its range by look-ups. Bands become
columns of numbers. Cost: O(candidates of all variables).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.columnar.backend import Kernels
from cepkit.columnar.candidates import EVERYTHING, Candidates, Owned, gather
from cepkit.columnar.numbers import as_exact_floats, stays_exact
from cepkit.columnar.program import Absence, Band, Bound, Clock, Program, Step
from cepkit.pattern.conditions import (
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    variables_of,
    walk,
)
from cepkit.pattern.evaluation import Read, truth, value
from cepkit.pattern.functions import BUILTINS
from cepkit.pattern.operations import common_codes
from cepkit.stream.columns import EventColumns

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Table:
    """For each candidate of a bound variable, the first candidate of the new one in scope."""

    variable: str
    first: Ints


@dataclass(frozen=True, slots=True)
class Search:
    """A bound to be searched for each partial match: one variable has the key, another the time.

    Attributes:
        partner: The bound variable that has the key; None where there is no key.
        key_class: The class of the key.
        limit: The variable that has the time.
    """

    partner: str | None
    key_class: int | None
    limit: Bound


@dataclass(frozen=True, slots=True)
class Side:
    """What a band's column is compared with: the bound side of one comparison.

    Attributes:
        variable: The one bound variable it is about; None where there are several.
        least: For each candidate of that variable the least value allowed; None: any.
        most: The greatest; None: any.
        band: Where there are several, the comparison, evaluated for each partial match.
    """

    variable: str | None
    least: Floats | None
    most: Floats | None
    band: Band | None


@dataclass(frozen=True, slots=True)
class BoundBand:
    """A number for each new candidate, and all it is compared with in the inner loop."""

    column: Floats
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class BoundStep:
    """A step with everything that its inner loop needs.

    Attributes:
        step: What the program says.
        candidates: Of the new variable.
        lower: A range begins at the greatest of these; empty: at the first candidate.
        upper: A range ends before the least of these; empty: after the last candidate.
        bands: Compared in the inner loop.
        residues: Checked on what the inner loop lets through.
    """

    step: Step
    candidates: Candidates
    lower: tuple[Table | Search, ...]
    upper: tuple[Table | Search, ...]
    bands: tuple[BoundBand, ...]
    residues: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class BoundAbsence:
    """A negated variable, and what of it depends on the members of sets."""

    bound: BoundStep
    absence: Absence


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """A program bound to the events of one slice.

    Attributes:
        program: The program.
        steps: In the order of the plan.
        candidates: Of each variable.
        sets: The steps that list the members of sets.
        absences: For each step, the negated variables that are looked for after it.
        late: Those that are looked for when sets are chosen.
        otherwise: For each earlier branch that binds the same variables, its negated variables.
        possible: False where a condition without variables, or the window, rules out all matches.
        owned: The matches that are wanted.
        in_order: Whether the events arrived in the order of time.
    """

    program: Program
    steps: tuple[BoundStep, ...]
    sets: tuple[BoundStep, ...]
    absences: tuple[tuple[BoundStep, ...], ...]
    late: tuple[BoundAbsence, ...]
    otherwise: tuple[tuple[BoundAbsence, ...], ...]
    candidates: Mapping[str, Candidates]
    possible: bool
    owned: Owned
    in_order: bool


def bind(
    program: Program, columns: EventColumns, kernels: Kernels, owned: Owned = EVERYTHING
) -> BoundProgram:
    """Return `program` bound to `columns`.

    Args:
        program: What to evaluate.
        columns: The events of the slice.
        kernels: The inner loops to use.
        owned: The matches that are wanted.

    Raises:
        PatternError: A condition does not fit the kinds of the columns.
    """
    candidates, key_counts = gather(program, columns, kernels, owned)
    for step in (*program.steps, *program.listed, *program.negated):
        for condition in (*step.residues, *map(_comparison, step.bands)):
            _check_kinds(condition, candidates)
    possible = all(length >= 0 for length, _ in program.windows) and all(
        truth(condition, candidates[program.steps[0].variable].read, 1)[0]
        for condition in program.constants
    )
    order = [step.variable for step in program.steps]
    binder = _Binder(program, columns, candidates, key_counts, kernels)
    steps = tuple(binder.bind(step, order[:i]) for i, step in enumerate(program.steps))
    sets = tuple(binder.bind(step, order) for step in program.listed)
    sought = {
        absence.step.variable: BoundAbsence(
            binder.bind(absence.step, order[: absence.after + 1]), absence
        )
        for group in (program.absences, *program.otherwise)
        for absence in group
    }
    absences = tuple(
        tuple(sought[a.step.variable].bound for a in program.absences if a.after == i)
        for i in range(len(order))
    )
    late = tuple(sought[a.step.variable] for a in program.absences if a.after == len(order))
    otherwise = tuple(tuple(sought[a.step.variable] for a in group) for group in program.otherwise)
    return BoundProgram(
        program,
        steps,
        sets,
        absences,
        late,
        otherwise,
        candidates,
        possible,
        owned,
        binder.in_order,
    )


def _comparison(band: Band) -> Comparison:
    return Comparison(band.operator, band.own, band.other, band.own.span)


def _check_kinds(condition: Expression, candidates: Mapping[str, Candidates]) -> None:
    """Let evaluation refuse what does not fit, before there is a row to evaluate."""
    # What a user's function returns is known only when it is called.
    if any(isinstance(node, Call) and node.function not in BUILTINS for node in walk(condition)):
        return
    nothing = np.empty(0, dtype=np.int32)
    truth(condition, lambda v, a: candidates[v].column(a).take(nothing), 0)


class _Binder:
    """Binds the steps of one program, in the order of the plan: each sorts its own candidates."""

    def __init__(
        self,
        program: Program,
        columns: EventColumns,
        candidates: Mapping[str, Candidates],
        key_counts: tuple[int, ...],
        kernels: Kernels,
    ) -> None:
        self._candidates = candidates
        self._key_counts = key_counts
        self._kernels = kernels
        # Inside a partition arrival numbers ascend with time, across partitions they do not.
        partitions = (
            number
            for number, members in enumerate(program.classes[: program.linked])
            if any(attribute is None for _, attribute in members)
        )
        self._partition = next(partitions, None)
        rows = columns.rows
        self.in_order = rows is None or bool((rows[1:] > rows[:-1]).all())

    def bind(self, step: Step, bound: Sequence[str]) -> BoundStep:
        """Return `step` bound, the variables in `bound` being so before it."""
        new = self._candidates[step.variable]
        partners = {
            number: next(v for v in bound if number in self._candidates[v].keys)
            for number in step.classes
        }
        key = max(step.classes, key=self._key_counts.__getitem__, default=None)
        if any(clock == "place" for _, clock in step.windows) and self._partition in step.classes:
            key = self._partition
        if key is not None:
            new.sort_by_key(key, self._key_counts[key], self._kernels)
        bands: dict[object, BoundBand] = {}
        for number, partner in partners.items():
            if number != key:
                codes = self._candidates[partner].keys[number].astype(np.float64)
                own = new.keys[number].astype(np.float64)
                bands[number] = BoundBand(own, (Side(partner, codes, codes, None),))
        lower, upper = step.lower, step.upper
        if not self.in_order:
            for length, clock in step.windows:
                if clock != "time":
                    bands[clock] = self._arrival_band(new, bound, length, clock)
            lower, upper = (
                tuple(limit for limit in limits if limit.clock == "time")
                for limits in (lower, upper)
            )
        residues = list(step.residues)
        for band in step.bands:
            made = _bind_band(band, new, self._candidates)
            if made is None:
                residues.append(_comparison(band))
            else:
                same, column, side = made
                sides = bands[same].sides if same in bands else ()
                bands[same] = BoundBand(column, (*sides, side))
        low, high = (
            self._limits(limits, end, new, partners) for end, limits in enumerate((lower, upper))
        )
        return BoundStep(step, new, low, high, tuple(bands.values()), tuple(residues))

    def _arrival_band(
        self, new: Candidates, bound: Sequence[str], length: int, clock: Clock
    ) -> BoundBand:
        """Return the window in arrival numbers as a band, for streams that came out of order."""
        sides = []
        for variable in bound:
            numbers = self._candidates[variable].clock(clock).astype(np.float64)
            sides.append(Side(variable, numbers - length, numbers + length, None))
        return BoundBand(new.clock(clock).astype(np.float64), tuple(sides))

    def _limits(
        self, limits: tuple[Bound, ...], end: int, new: Candidates, partners: Mapping[int, str]
    ) -> tuple[Table | Search, ...]:
        """Return the lower (`end` 0) or upper (1) bounds of the ranges."""
        key, starts = new.key_class, new.starts
        partner = None if key is None else partners[key]
        if not limits and partner is not None and starts is not None and key is not None:
            codes = self._candidates[partner].keys[key]
            return (Table(partner, starts[codes + end].astype(np.int32)),)
        return tuple(self._limit(limit, new, partner) for limit in limits)

    def _limit(self, limit: Bound, new: Candidates, partner: str | None) -> Table | Search:
        key, starts = new.key_class, new.starts
        x = self._candidates[limit.variable]
        if x.key_class not in (None, key) or (key is not None and key not in x.keys):
            return Search(partner, key, limit)
        first = np.empty(len(x), dtype=np.int32)
        times, others = x.clock(limit.clock), new.clock(limit.clock)
        if key is None or starts is None:
            self._kernels.bounds(times, others, limit.delta, first)
        else:
            self._kernels.keyed_bounds(times, x.keys[key], others, starts, limit.delta, first)
        return Table(limit.variable, first)


def _bind_band(
    band: Band, new: Candidates, candidates: Mapping[str, Candidates]
) -> tuple[object, Floats, Side] | None:
    """Return what tells the band's column from others, the column, and the bound side.

    None where the inner loop cannot compare them exactly.
    """
    others = variables_of(band.other)
    own = value(band.own, new.read)
    if len(others) > 1:
        column = as_exact_floats(own)
        if column is None or own.kind == "text" or not stays_exact(band.other, _reader(candidates)):
            return None
        return band.own, _spread(column, new), Side(None, None, None, band)
    (variable,) = others
    x = candidates[variable]
    other = value(band.other, x.read)
    if own.kind == other.kind == "text":
        own, other = common_codes(own, other)
    elif "text" in (own.kind, other.kind):
        return None
    column, limit = as_exact_floats(own), as_exact_floats(other)
    if column is None or limit is None:
        return None
    least, most = band_limits(band.operator, _spread(limit, x))
    return (band.own, id(own.dictionary)), _spread(column, new), Side(variable, least, most, None)


def _reader(candidates: Mapping[str, Candidates]) -> Read:
    return lambda variable, attribute: candidates[variable].column(attribute)


def _spread(values: Floats, candidates: Candidates) -> Floats:
    """Return a value for each candidate, where a constant came as a single one."""
    return values if len(values) == len(candidates) else np.repeat(values, len(candidates))


def band_limits(operator: ComparisonOperator, limit: Floats) -> tuple[Floats | None, Floats | None]:
    """Return the least and the greatest value that is `operator` to `limit`; None: no bound.

    Both are NaN where there is no such value, as nothing is between NaN and anything.
    """
    match operator:
        case "<":
            return None, np.where(limit > -np.inf, np.nextafter(limit, -np.inf), np.nan)
        case "<=":
            return None, limit
        case ">":
            return np.where(limit < np.inf, np.nextafter(limit, np.inf), np.nan), None
        case ">=":
            return limit, None
        case _:
            return limit, limit
