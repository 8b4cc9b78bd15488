"""Counters of the work of each step, for `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cepkit.columnar.compile.program import Program


@dataclass(slots=True)
class StepCounters:
    """The work of one step.

    Attributes:
        variable: The variable that the step added.
        candidates: Pairs of a partial match and an event that were examined (for the first step,
            events).
        survivors: Partial matches that passed.
        removed: Partial matches that an event under NOT ruled out.
        peak_rows: The most partial matches of this step held at once; where matches are counted
            without being held, about as many as would be.
        seconds: Time spent in the step, without later steps.
        shared_with: The branch (from 1) whose step did this one's work as well; 0 if it did its
            own. A step may be shared in some slices and not in others.
        by_value: Whether it looked candidates up by a value in some slice.
        earlier: The candidates of earlier slices; whether a loop is worth generating depends on it.
    """

    variable: str
    candidates: int = 0
    survivors: int = 0
    removed: int = 0
    peak_rows: int = 0
    seconds: float = 0.0
    shared_with: int = 0
    by_value: bool = False
    earlier: int = field(default=0, compare=False, repr=False)

    def add(self, other: StepCounters) -> None:
        """Add the work of the same step on another slice."""
        self.candidates += other.candidates
        self.survivors += other.survivors
        self.removed += other.removed
        self.peak_rows = max(self.peak_rows, other.peak_rows)
        self.seconds += other.seconds
        self.shared_with = self.shared_with or other.shared_with
        self.by_value = self.by_value or other.by_value


Counters: TypeAlias = tuple[tuple[StepCounters, ...], ...]
"""The counters of the steps of each branch."""


def counters_for(programs: Sequence[Program], earlier: Counters | None = None) -> Counters:
    """Return counters at zero, one for each step of each program.

    Args:
        earlier: Those of the slices before; None: there is none.
    """
    counters = tuple(
        tuple(StepCounters(step.name) for step in (*program.work, *program.listed))
        for program in programs
    )
    for steps, before in zip(counters, earlier or (), strict=False):
        for step, one in zip(steps, before, strict=True):
            step.earlier = one.earlier + one.candidates
    return counters


def add_counters(counters: Counters, more: Counters) -> None:
    """Add the work of the same steps on other slices."""
    for steps, others in zip(counters, more, strict=True):
        for step, other in zip(steps, others, strict=True):
            step.add(other)
