"""How much of a stream a search has seen, and what it counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepkit.pattern.requirements import Requirement


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a stream a search has seen.

    Attributes:
        variable: The variable that it began with; empty where its events were given.
        done: For how many events of this variable all combinations were looked at.
        total: The number of its events.
    """

    variable: str
    done: int
    total: int

    @property
    def complete(self) -> bool:
        """Whether all was searched."""
        return self.done >= self.total

    @property
    def end(self) -> str:
        """Where it stopped, in words."""
        place = f"after {self.done:,}" if self.done else "at the first"
        return f"{place} of {self.total:,} events of {self.variable}"


Counts = dict[tuple[str, Requirement | None], tuple[int, int]]
"""Partial matches before and after, by step (empty: when all are bound) and requirement."""


@dataclass(slots=True)
class Tally:
    """The counts of a funnel: partial matches before and after each requirement of each step.

    The counts of the scope of a step's variable (order and window) are under the requirement
    None. Counts of an unfinished chunk are kept apart.
    """

    done: Counts = field(default_factory=dict)
    pending: Counts = field(default_factory=dict)

    def add(self, step: str, requirement: Requirement | None, before: int, after: int) -> None:
        """Count partial matches that came to a requirement and passed it."""
        old = self.pending.get((step, requirement), (0, 0))
        self.pending[step, requirement] = (old[0] + before, old[1] + after)

    def commit(self) -> None:
        """Add the counts since the last time to the final ones."""
        for key, (before, after) in self.pending.items():
            old = self.done.get(key, (0, 0))
            self.done[key] = (old[0] + before, old[1] + after)
        self.pending = {}
