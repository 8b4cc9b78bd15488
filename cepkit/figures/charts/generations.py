"""The player of a mechanism that changed its plan, old and new automaton side by side."""

from __future__ import annotations

from cepkit.adaptation.generations import AdaptedTrace
from cepkit.figures.player import DEFAULT_STEPS, Player


def draw_generations(trace: AdaptedTrace, *, steps: int = DEFAULT_STEPS, start: int = 0) -> Player:
    """Return a player with a card for each plan; what each owns stands above it.

    Args:
        trace: From `simulate(..., adapt=...)`.
        steps: How many steps at most.
        start: The position where it begins.
    """
    return Player(trace.traces, steps=steps, start=start)
