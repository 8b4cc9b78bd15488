"""Binds a program to the events of one slice: builds the arrays of inner loops.

Bounds become tables: for each candidate of a bound variable the first candidate of the new one in
scope (computed by merging), so that a partial match finds its range by look-ups. Bands become
columns of numbers (bands.py). Cost: O(candidates of all variables).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepkit.columnar.compile.program import (
    Absence,
    AnyStep,
    Bound,
    BoundClock,
    GroupStep,
    Program,
    Step,
)
from cepkit.columnar.kernels.loops import bounds, keyed_bounds
from cepkit.columnar.slices.bands import ValueOrder, bind_band, shifted, value_order
from cepkit.columnar.slices.bound import (
    BoundAbsence,
    BoundBand,
    BoundStep,
    Ints,
    KeySearch,
    Side,
    Subtree,
    Table,
)
from cepkit.columnar.slices.candidates import Candidates, Scan, SubtreeCandidates, Times, gather
from cepkit.columnar.slices.cutting import (
    EVERYTHING,
    Owned,
    came_in_order,
    numbered,
    owners_of,
    refuse_counted_runs,
)
from cepkit.pattern.conditions import Comparison, Expression
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.policies import Clock
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
    binder: Binder


def _bound(steps: Sequence[AnyStep], number: int) -> tuple[str, ...]:
    """Return the variables bound after step `number`."""
    return tuple(variable for step in steps[: number + 1] for variable in step.variables)


class Binder:
    """Binds the steps of one program in plan order; each step sorts its own candidates.

    Attributes:
        can_match: Whether conditions without variables, the window and the numbers of candidates
            leave any matches possible.
        in_order: Whether the events arrived in the order of time.

    Args:
        scan: The look-ups of other programs in `columns`; new ones are added.
        in_time: Whether candidates must be sorted by time, or by a key and time.

    Raises:
        PatternError: A condition does not fit the kinds of the columns.
        UnsupportedError: It has a run in a window of events, and events did not arrive in time
            order.
    """

    def __init__(
        self,
        program: Program,
        columns: EventColumns,
        owned: Owned = EVERYTHING,
        scan: Scan | None = None,
        *,
        in_time: bool = False,
    ) -> None:
        columns = numbered(program, columns)
        self.in_order = came_in_order(program, columns)
        owners = owners_of(program, owned.clock, in_order=self.in_order)
        self._program, self._owned, self._scan = program, owned, scan or Scan()
        self._owners = owners if len(owners) > 1 else ()
        gathered = gather(program, columns, owned, owners, self._scan, in_order=self.in_order)
        self._candidates, self._key_counts = gathered
        self._possible = all(length >= 0 for length, _ in program.windows) and all(
            truth(condition, self._candidates[program.bound[0]].read, 1)[0]
            for condition in program.constants
        )
        self.can_match = self._possible and all(
            len(self._candidates[step.variable]) for step in program.single
        )
        self._in_time = in_time or bool(program.sets)  # lists of members are stretches of time
        self._since = int(columns.ts[0]) if len(columns) else 0
        self._columns = columns
        self._times: dict[str, bool] = {}
        # Inside a partition arrival numbers ascend with time, across partitions they do not.
        partitions = (
            number
            for number, members in enumerate(program.classes[: program.linked])
            if any(attribute is None for _, attribute in members)
        )
        self._partition = next(partitions, None)
        if not self.in_order:
            refuse_counted_runs(program)

    def bound(self, found: int = 0) -> BoundProgram:
        """Return the program bound; call it once.

        Args:
            found: How many first steps need no arrays, because their rows are found elsewhere.
        """
        program = self._program
        steps = self.bind_all(program.steps, program.absences, found)
        sets = tuple(
            self.bind(one.step, [v for v in program.bound if v not in one.shared])
            for one in program.sets
        )
        absences = self.absences(program.absences, program.steps, found)
        late, *otherwise = (
            tuple(self.bind_late(a, program.steps) for a in group)
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
            candidates=self._candidates,
            possible=self._possible,
            owned=self._owned,
            owners=self._owners,
            binder=self,
        )

    def bind_all(
        self, steps: Sequence[AnyStep], absences: Sequence[Absence], found: int = 0
    ) -> tuple[BoundStep | Subtree, ...]:
        """Bind steps, the first ones to no arrays; steps that join subtrees as far as possible."""
        bound: list[BoundStep | Subtree] = []
        for number, step in enumerate(steps):
            outside = _bound(steps, number - 1)
            if isinstance(step, GroupStep):
                inner = self.bind_all(step.steps, step.absences)
                looked_for = self.absences(step.absences, step.steps)
                bound.append(Subtree(step, inner, looked_for, outside))
            elif number < found:
                bound.append(BoundStep(step, self._candidates[step.variable]))
            else:
                ends = tuple(
                    self.bind(replace(absence.step, upper=()), outside)
                    for absence in absences
                    if absence.ends and absence.after == number
                )
                by_value = not ends and not self._in_time
                bound.append(replace(self.bind(step, outside, by_value=by_value), ends=ends))
        return tuple(bound)

    def absences(
        self, absences: Sequence[Absence], steps: Sequence[AnyStep], found: int = 0
    ) -> tuple[tuple[BoundStep, ...], ...]:
        """Return the absences to check after each step, for the first ones none."""
        return tuple(
            tuple(
                self.bind_absence(absence, _bound(steps, number), by_value=not self._in_time)
                for absence in absences
                if absence.after == number >= found and not absence.ends
            )
            for number in range(len(steps))
        )

    def bind_absence(
        self, absence: Absence, bound: Sequence[str], *, by_value: bool = False
    ) -> BoundStep:
        """Return an absence bound to the slice, with the events absent together with it."""
        step = self.bind(absence.step, bound, by_value=by_value)
        if absence.then is None:
            return step
        found = (*bound, absence.step.variable)
        return replace(step, then=self.bind_absence(absence.then, found, by_value=by_value))

    def bind_late(self, absence: Absence, steps: Sequence[AnyStep]) -> BoundAbsence:
        """Return an absence that is looked for when sets are chosen."""
        end = None if absence.further is None else absence.further.end
        return BoundAbsence(
            self.bind_absence(absence, _bound(steps, absence.after)),
            absence,
            None if end is None else self.bind_late(replace(end, after=len(steps)), steps),
        )

    def join(self, subtree: Subtree, members: Mapping[str, Ints]) -> BoundStep:
        """Return the step that joins the partial matches of a subtree with the variables outside.

        The look-up uses the time of the variable with the most bounds; bounds of the others become
        bands.

        Args:
            members: For each of its variables the candidate in each of its partial matches.
        """
        step, outside = subtree.step, subtree.outside
        scopes = {scope.variable: scope for scope in step.scopes}
        anchor = max(step.variables, key=lambda v: (bool(scopes[v].lower), bool(scopes[v].upper)))
        new = SubtreeCandidates(members, anchor, self._candidates)
        partners = {
            number: next(v for v in outside if number in self._candidates[v].keys)
            for number in step.classes
        }
        key = max(step.classes, key=self._key_counts.__getitem__, default=None)
        if key is not None:
            new.sort_by_key(key, self._key_counts[key])
        bands = self._key_bands(new, partners, key)
        for variable, scope in scopes.items():
            numbers = self._candidates[variable]
            if not self.in_order:
                for length, clock in scope.windows:
                    if clock != "time":
                        own = numbers.clock(clock)[new.members[variable]]
                        band = self._arrival_band(own, outside, length, clock)
                        bands[variable, clock] = band
            if variable == anchor:
                continue
            for measure in dict.fromkeys(map(self._clock, (*scope.lower, *scope.upper))):
                if measure in ("time", "order") or self.in_order:
                    own = numbers.clock(measure)[new.members[variable]]
                    bands[variable, measure] = self._scope_band(own, scope, measure)
        residuals = self._value_bands(step, new, bands)
        low, high = (
            self._limits(self._usable(limits), end, new, partners)
            for end, limits in enumerate((scopes[anchor].lower, scopes[anchor].upper))
        )
        return BoundStep(step, new, low, high, tuple(bands.values()), tuple(residuals))

    def _scope_band(self, own: Times, scope: Step, clock: BoundClock) -> BoundBand:
        """Return bounds as a band: times as floats, since the first event of the slice."""
        since = self._since if clock == "time" else 0
        sides = []
        for limits, lowest in ((scope.lower, True), (scope.upper, False)):
            for limit in limits:
                if self._clock(limit) == clock:
                    others = self._candidates[limit.variable].clock(clock) - since + limit.delta
                    least = others.astype(np.float64) if lowest else None
                    most = None if lowest else (others - 1).astype(np.float64)
                    sides.append(Side(limit.variable, least, most, None))
        return BoundBand((own - since).astype(np.float64), tuple(sides))

    def _clock(self, limit: Bound) -> BoundClock:
        """Return the clock of a bound; that of order is time where time is all that orders."""
        is_time = limit.clock == "order" and not self._columns.by_arrival
        return "time" if is_time else limit.clock

    def _usable(self, limits: tuple[Bound, ...]) -> tuple[Bound, ...]:
        """Return the bounds usable for ranges: arrival numbers only if they ascend."""
        if self.in_order:
            return limits
        return tuple(limit for limit in limits if limit.clock in ("time", "order"))

    def _key_bands(
        self, new: Candidates | SubtreeCandidates, partners: Mapping[int, str], key: int | None
    ) -> dict[object, BoundBand]:
        """Return the equality classes that are not used for look-ups, as bands."""
        bands: dict[object, BoundBand] = {}
        for number, partner in partners.items():
            if number != key:
                codes = self._candidates[partner].keys[number].astype(np.float64)
                own = new.keys[number].astype(np.float64)
                bands[number] = BoundBand(own, (Side(partner, codes, codes, None),))
        return bands

    def _value_bands(
        self, step: AnyStep, new: Candidates | SubtreeCandidates, bands: dict[object, BoundBand]
    ) -> list[Expression]:
        """Add the bands of the step; return its residuals, with bands that are impossible here."""
        residuals = list(step.residuals)
        for band in step.bands:
            bound = bind_band(band, new, self._candidates)
            if bound is None:
                residuals.append(Comparison(band.operator, band.own, band.other, band.own.span))
            else:
                same, column, side = bound
                sides = bands[same].sides if same in bands else ()
                bands[same] = BoundBand(column, (*sides, side))
        return residuals

    def bind(self, step: Step, bound: Sequence[str], *, by_value: bool = False) -> BoundStep:
        """Bind `step` after the variables in `bound`.

        Args:
            by_value: Whether its candidates may be sorted by a value.
        """
        new = self._candidates[step.variable]
        partners = {
            number: next(v for v in bound if number in self._candidates[v].keys)
            for number in step.classes
        }
        key = max(step.classes, key=self._key_counts.__getitem__, default=None)
        if any(clock == "place" for _, clock in step.windows) and self._partition in step.classes:
            key = self._partition
        if key is not None:
            new.sort_by_key(key, self._key_counts[key])
        bands = self._key_bands(new, partners, key)
        if not self.in_order:
            for length, clock in step.windows:
                if clock != "time":
                    bands[clock] = self._arrival_band(new.clock(clock), bound, length, clock)
        bounded = self._bounded(step)
        residuals = self._value_bands(bounded, new, bands)
        if by_value and key is None and bound:
            order = value_order(bounded, new, self._candidates, bands, residuals)
            if order is not None:
                return self._by_value(step, bounded, new, order, bands, residuals)
        low, high = (
            self._limits(self._usable(limits), end, new, partners)
            for end, limits in enumerate((bounded.lower, bounded.upper))
        )
        return BoundStep(step, new, low, high, tuple(bands.values()), tuple(residuals))

    def _bounded(self, step: Step) -> Step:
        """Turn bands between the times of two events into bounds of the step's range."""
        lower, upper, rest = list(step.lower), list(step.upper), []
        for band in step.bands:
            limit = shifted(band)
            if limit is None or not all(map(self._is_time, (limit.own, limit.other.name))):
                rest.append(band)
                continue
            name = limit.other.variable
            if band.operator in (">", ">=", "="):
                lower.append(Bound(name, limit.delta + (band.operator == ">")))
            if band.operator in ("<", "<=", "="):
                upper.append(Bound(name, limit.delta + (band.operator != "<")))
        if len(rest) == len(step.bands):
            return step
        return replace(step, lower=tuple(lower), upper=tuple(upper), bands=tuple(rest))

    def _is_time(self, name: str) -> bool:
        """Return whether an attribute is the time of its event."""
        if name not in self._times:
            column = self._columns.attributes[name]
            same = column.kind == "timestamp" and np.array_equal(column.values, self._columns.ts)
            self._times[name] = bool(same)
        return self._times[name]

    def _by_value(
        self,
        step: Step,
        scope: Step,
        new: Candidates,
        order: ValueOrder,
        bands: dict[object, BoundBand],
        residuals: list[Expression],
    ) -> BoundStep:
        """Return a step with candidates sorted by a value, and bounds as bands."""
        new.sort_by_value(order.order)
        others = {
            name: BoundBand(band.column[order.order], band.sides)
            for name, band in bands.items()
            if name != order.exact
        }
        for clock in dict.fromkeys(map(self._clock, self._usable((*scope.lower, *scope.upper)))):
            others["bounds", clock] = self._scope_band(new.clock(clock), scope, clock)
        return BoundStep(
            step, new, (), (), tuple(others.values()), tuple(residuals), by_value=order.band
        )

    def _arrival_band(
        self, own: Times, bound: Sequence[str], length: int, clock: Clock
    ) -> BoundBand:
        """Return the window in arrival numbers as a band, for streams out of order."""
        sides = []
        for variable in bound:
            numbers = self._candidates[variable].clock(clock).astype(np.float64)
            sides.append(Side(variable, numbers - length, numbers + length, None))
        return BoundBand(own.astype(np.float64), tuple(sides))

    def _limits(
        self,
        limits: tuple[Bound, ...],
        end: int,
        new: Candidates | SubtreeCandidates,
        partners: Mapping[int, str],
    ) -> tuple[Table | KeySearch, ...]:
        """Return the lower (`end` 0) or upper (1) bounds of the ranges."""
        key, starts = new.key_class, new.starts
        partner = None if key is None else partners[key]
        if not limits and partner is not None and starts is not None and key is not None:
            codes = self._candidates[partner].keys[key]
            return (Table(partner, starts[codes + end].astype(np.int32)),)
        return tuple(self._limit(limit, new, partner) for limit in limits)

    def _limit(
        self, limit: Bound, new: Candidates | SubtreeCandidates, partner: str | None
    ) -> Table | KeySearch:
        key, starts = new.key_class, new.starts
        x = self._candidates[limit.variable]
        if x.key_class not in (None, key) or (key is not None and key not in x.keys):
            return KeySearch(partner, key, limit)
        times, others = x.clock(limit.clock), new.clock(limit.clock)
        common = isinstance(new, Candidates) and x.common and new.common
        common &= self._clock(limit) == "time"
        known = (id(times), id(others), limit.delta)
        if common and known in self._scan.tables:
            return Table(limit.variable, self._scan.tables[known])
        first = np.empty(len(x), dtype=np.int32)
        if key is None or starts is None:
            bounds(times, others, limit.delta, first)
            if common:
                self._scan.tables[known] = first
        else:
            keyed_bounds(times, x.keys[key], others, starts, limit.delta, first)
        return Table(limit.variable, first)
