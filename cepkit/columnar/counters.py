"""What each step of a run did: the actual side of "expected against actual"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class StepCounters:
    """The work of one step.

    Attributes:
        variable: The variable that the step added.
        candidates: Pairs of a partial match and an event that were looked at (for the first step,
            events).
        survivors: Partial matches that came out.
        removed: Partial matches that an event which must not be there ruled out.
        peak_rows: The most partial matches of this step held at once.
        seconds: Time spent in the step, without the steps after it.
    """

    variable: str
    candidates: int = 0
    survivors: int = 0
    removed: int = 0
    peak_rows: int = 0
    seconds: float = 0.0

    def add(self, other: StepCounters) -> None:
        """Add the work of the same step on another slice."""
        self.candidates += other.candidates
        self.survivors += other.survivors
        self.removed += other.removed
        self.peak_rows = max(self.peak_rows, other.peak_rows)
        self.seconds += other.seconds
