"""The position of a player, and the positions it can go to."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class PlayerState:
    """A position in traces that are played in lockstep.

    Attributes:
        steps: How many steps there are.
        matches: The numbers of steps after which matches were complete, ascending.
        step: How many steps have been taken, 0 to `steps`.

    Example:
        >>> from cepkit_widgets import PlayerState
        >>> PlayerState(steps=4, matches=(2, 3)).next_match().step
        2
    """

    steps: int
    matches: tuple[int, ...] = ()
    step: int = 0

    @classmethod
    def of(cls, document: str) -> PlayerState:
        """Return the initial state of a player document (`cepkit.player/1`)."""
        traces = json.loads(document)["traces"]
        found = {match["step"] + 1 for trace in traces for match in trace["matches"]}
        return cls(max(len(trace["steps"]) for trace in traces), tuple(sorted(found)))

    def at(self, step: int) -> PlayerState:
        """Return the state after so many steps, or at the nearest end."""
        return replace(self, step=max(0, min(self.steps, step)))

    def next_match(self) -> PlayerState:
        """Return the state at the next match; the same state if there is none."""
        place = bisect_right(self.matches, self.step)
        return self.at(self.matches[place]) if place < len(self.matches) else self

    def previous_match(self) -> PlayerState:
        """Return the state at the previous match; the same state if there is none."""
        place = bisect_left(self.matches, self.step)
        return self.at(self.matches[place - 1]) if place else self
