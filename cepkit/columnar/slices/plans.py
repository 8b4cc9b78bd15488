"""Plans of slices: the protocol that chooses one for each, and the record of their work.

A slice depends only on events, so it may run with any plan, whatever ran before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from cepkit.columnar.compile.program import Counters, StepCounters, add_counters, counters_for
from cepkit.columnar.compile.query import CompiledQuery
from cepkit.plan.nodes import BranchPlan
from cepkit.stream.columns import EventColumns

Branches: TypeAlias = tuple[BranchPlan, ...]
"""The plan of a query: one for each of its branches."""


@dataclass(frozen=True, eq=False, slots=True)
class SlicePlan:
    """The plan of one slice.

    Attributes:
        query: The query compiled with it; None for the detector's own.
        rates: The rates of the variables that it was chosen by.
        why: Why it was planned again, in words; "" if by these rates.
    """

    query: CompiledQuery | None
    branches: Branches
    rates: Mapping[str, float]
    why: str = ""


class SlicePlans(Protocol):
    """Chooses the plan of each slice of a stream: by itself, unless a class says otherwise."""

    def least_rows(self, columns: EventColumns) -> int:
        """Return the least number of events of slices of this stream, or of this part of it."""
        ...

    def __call__(self, columns: EventColumns, first: int, end: int) -> SlicePlan:
        """Return the plan of the slice that owns these rows; repeated calls give the same plan."""
        ...

    def why(self, run: SliceRun) -> str:
        """Return why a slice ran its plan, in words; "" if the plan did not change."""
        return run.why

    @property
    def memory(self) -> str:
        """The state that decides the plan of the next slice, as a text for another process.

        "" if slices do not depend on each other.
        """
        return ""

    def resumed(self, _memory: str, /) -> SlicePlans:
        """Return the same, continued from another's memory; "" for the beginning."""
        return self


@dataclass(frozen=True, slots=True)
class SliceRun:
    """The work of one slice.

    Attributes:
        first: The time of its first event, in microseconds.
        events: How many it owns.
        branches: The plan that it ran.
        rates: The rates by which that was chosen.
        why: Why it was replanned; see `SlicePlan`.
        candidates: Pairs of a partial match and an event that it examined.
        partial_matches: The partial matches that its steps kept, matches included.
    """

    first: int
    last: int
    events: int
    branches: Branches
    rates: Mapping[str, float]
    why: str
    candidates: int
    partial_matches: int


@dataclass(slots=True)
class SliceWork:
    """The work of a run whose slices have their own plans.

    Attributes:
        counters: For each plan those of its steps.
        slices: The run of each slice, in the order in which they ran.
    """

    counters: dict[Branches, Counters] = field(default_factory=dict)
    slices: list[SliceRun] = field(default_factory=list)

    def of(self, branches: Branches, query: CompiledQuery) -> Counters:
        """Return the counters of a plan; zero if it has not run yet."""
        if branches not in self.counters:
            self.counters[branches] = counters_for(query.programs)
        return self.counters[branches]

    def add(self, other: SliceWork) -> None:
        """Add the work of other slices."""
        for branches, counters in other.counters.items():
            if branches not in self.counters:
                self.counters[branches] = tuple(
                    tuple(StepCounters(step.variable) for step in steps) for steps in counters
                )
            add_counters(self.counters[branches], counters)
        self.slices += other.slices

    @property
    def matches(self) -> int:
        """The number of matches."""
        return sum(steps[-1].survivors for each in self.counters.values() for steps in each)


Work: TypeAlias = Counters | SliceWork
"""The work of a run: of one plan, or of the plans of its slices."""


def total(counters: Counters) -> tuple[int, int]:
    """Return the candidates and the partial matches of all steps."""
    steps = [step for branch in counters for step in branch]
    return sum(s.candidates for s in steps), sum(s.survivors for s in steps)
