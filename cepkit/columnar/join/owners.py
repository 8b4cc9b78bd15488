"""Which rows a slice owns, where any of several events may be the last: one must lie in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from cepkit.columnar.kernels.loops import take
from cepkit.columnar.slices.bound import BoundStep
from cepkit.columnar.slices.candidates import Candidates, Owned

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Owners:
    """The variables of which one must have an event that the slice owns.

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
