"""Bound steps: the arrays of one slice for inner loops, and which rows the slice owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Absence, AnyStep, Band, Bound, GroupStep
from cepkit.columnar.slices.candidates import Candidates, SubtreeCandidates
from cepkit.columnar.slices.cutting import Owned
from cepkit.indexing import take
from cepkit.pattern.conditions import Expression

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Table:
    """For each candidate of a bound variable, the first candidate of the new one in scope."""

    variable: str
    first: Ints


@dataclass(frozen=True, slots=True)
class KeySearch:
    """A bound to search for each partial match: one variable has the key, another the time.

    Attributes:
        partner: The bound variable that has the key; None without a key.
    """

    partner: str | None
    key_class: int | None
    limit: Bound


@dataclass(frozen=True, slots=True)
class Side:
    """The bound side of a band's comparison.

    Attributes:
        variable: Its bound variable; None if there are several.
        least: The least allowed value for each candidate of that variable; None for any.
        most: The greatest; None: any.
        band: With several variables, the comparison to evaluate for each partial match.
    """

    variable: str | None
    least: Floats | None
    most: Floats | None
    band: Band | None


@dataclass(frozen=True, slots=True)
class BoundBand:
    """A number for each new candidate, with the sides to compare in the inner loop."""

    column: Floats
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class BoundStep:
    """A step with the arrays of its inner loop; without them if rows of it are found elsewhere.

    Attributes:
        step: The step of the program.
        candidates: Of the new variable, or the partial matches of the subtree.
        lower: A range begins at the greatest of these; if empty, at the first candidate.
        upper: A range ends before the least of these; if empty, after the last candidate.
        bands: Compared in the inner loop.
        residuals: Residual predicates, checked on the output of the inner loop.
        ends: Events that must not come before the new one: its range ends with the first of each.
        by_value: If candidates are sorted by a value: the values and the sides to compare. Then
            there are no bounds.
        then: For a NOT, the next of its events.
    """

    step: AnyStep
    candidates: Candidates | SubtreeCandidates
    lower: tuple[Table | KeySearch, ...] = ()
    upper: tuple[Table | KeySearch, ...] = ()
    bands: tuple[BoundBand, ...] = ()
    residuals: tuple[Expression, ...] = ()
    ends: tuple[BoundStep, ...] = ()
    by_value: BoundBand | None = None
    then: BoundStep | None = None

    def new(self, at: Ints) -> dict[str, Ints]:
        """Return the candidate of each new variable in the rows of some candidates."""
        if isinstance(self.candidates, SubtreeCandidates):
            return {v: members[at] for v, members in self.candidates.members.items()}
        return {self.candidates.step.variable: at}


@dataclass(frozen=True, slots=True)
class Subtree:
    """A subtree whose partial matches are not computed yet.

    Attributes:
        step: The step that will join them.
        steps: The steps that compute them.
        absences: For each of these the negated variables to check after it.
        outside: The variables that are bound before.
    """

    step: GroupStep
    steps: tuple[BoundStep | Subtree, ...]
    absences: tuple[tuple[BoundStep, ...], ...]
    outside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoundAbsence:
    """A negated variable, and its part that depends on the members of sets.

    Attributes:
        bound: The bound step that looks for it.
        absence: The compiled absence.
        end: For an event that a greedy set could also have: where UNTIL ends the set.
    """

    bound: BoundStep
    absence: Absence
    end: BoundAbsence | None = None


@dataclass(frozen=True, slots=True)
class Owners:
    """The variables of which one must have an event that the slice owns: any may be the last.

    Attributes:
        times: For each of them the clock's reading of its candidates.
        since: The first reading that the slice owns.
        is_time: Whether the clock is time.
    """

    times: Mapping[str, npt.NDArray[np.int64]]
    since: int
    is_time: bool

    @classmethod
    def of(
        cls, variables: tuple[str, ...], candidates: Mapping[str, Candidates], owned: Owned
    ) -> Owners | None:
        """Return the owners of a slice; None if it owns all rows."""
        if not variables or owned.since is None:
            return None
        times = {v: candidates[v].clock(owned.clock) for v in variables}
        return cls(times, owned.since, owned.clock == "time")

    def held(self, rows: Mapping[str, Ints]) -> npt.NDArray[np.bool_]:
        """Return which rows the slice owns."""
        latest = reduce(np.maximum, [take(times, rows[v]) for v, times in self.times.items()])
        return np.asarray(latest >= self.since)

    def bounds(self, step: BoundStep) -> bool:
        """Return whether `low` can leave other rows out: the candidates are in time order."""
        new = step.candidates
        in_order = isinstance(new, Candidates) and new.key_class is None and step.by_value is None
        return in_order and self.is_time

    def low(self, step: BoundStep, partials: Mapping[str, Ints], low: Ints) -> Ints:
        """Return where the candidates begin that make rows the slice owns."""
        first = len(step.candidates)
        for variable in step.step.variables:
            if variable in self.times:
                first = int(np.searchsorted(self.times[variable], self.since))
        if first == 0:
            return low
        bound = [take(times, partials[v]) for v, times in self.times.items() if v in partials]
        if not bound:
            return np.maximum(low, np.int32(first))
        others = reduce(np.maximum, bound) < self.since
        return np.maximum(low, np.where(others, np.int32(first), np.int32(0)))
