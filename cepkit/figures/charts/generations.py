"""The player of a mechanism that changed its plan: old and new automaton side by side."""

from __future__ import annotations

from collections.abc import Sequence

from cepkit.figures.player import DEFAULT_STEPS, Player
from cepkit.tracing import AdaptedTrace


def draw_generations(
    trace: AdaptedTrace,
    *,
    steps: int = DEFAULT_STEPS,
    start: int = 0,
    attributes: Sequence[str] | None = None,
    redact: Sequence[str] = (),
) -> Player:
    """Return a player with a card for each plan, headed by the matches that the plan owns.

    Args:
        trace: From `simulate(..., adapt=...)`.
        steps: The most steps to show.
        start: The position where it begins.
        attributes: The attributes of events that the page contains; None for all.
        redact: Attributes whose values the page replaces by numbers.
    """
    return Player(trace.traces, steps=steps, start=start, attributes=attributes, redact=redact)
