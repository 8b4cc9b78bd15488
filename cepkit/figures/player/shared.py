"""What documents of all kinds of traces have in common: limits, types, exact numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SCHEMA = "cepkit.player/1"

DEFAULT_STEPS = 2_000
"""As many steps as a notebook keeps without growing heavy: some 0.3 MB for each trace."""
MOST_STEPS = 20_000
"""Beyond that a step takes too long, and the document too much."""
MOST_OPERATIONS = 400_000
"""Of all traces: an eager automaton may do thousands in a step."""

_LARGEST = 2**53
"""The integers up to here are numbers of JavaScript."""


def affordable(traces: Sequence[Sequence[Sequence[Any]]], steps: int) -> int:
    """Return how many of the first `steps` steps hold no more operations than a page can.

    Args:
        traces: For each trace its steps, for each step its operations.
        steps: How many to look at.
    """
    total = 0
    for step in range(steps):
        total += sum(len(trace[step]) for trace in traces if step < len(trace))
        if total > MOST_OPERATIONS:
            return max(1, step)
    return steps


def types_of(clauses: Sequence[Mapping[str, Any]], types: Sequence[str]) -> list[str]:
    """Return the types that the pattern names, in its order: they get colours.

    Args:
        clauses: Of the pattern.
        types: Those of the events.
    """
    present = dict.fromkeys(types)
    found: dict[str, None] = {}
    for clause in clauses:
        if clause["kind"] in ("event", "absence"):
            words = set(re.findall(r'"(?:[^"]|"")*"|\w+', clause["text"]))
            quoted = {word[1:-1].replace('""', '"') for word in words if word.startswith('"')}
            found.update(dict.fromkeys(kind for kind in present if kind in words | quoted))
    return list(found)


def exact(value: Any) -> Any:
    """Return a value that a browser reads as it is: large integers as texts."""
    return str(value) if isinstance(value, int) and abs(value) > _LARGEST else value


def cut_in_words(kept: int, whole: int, recorded: int, asked: int) -> str | None:
    """Say what is not shown, and how to see it; None where everything is.

    Args:
        kept: How many steps are shown.
        whole: How many there are.
        recorded: How many of them the traces hold.
        asked: How many were asked for.
    """
    if kept >= whole:
        return None
    told = f"These are the first {kept:,} of {whole:,} steps."
    if kept < min(asked, recorded):
        return f"{told} They hold as many operations as the player can show."
    if kept < recorded and kept < MOST_STEPS:
        return f"{told} draw(trace, steps={min(recorded, MOST_STEPS)}) shows more."
    return f"{told} The totals of the trace count all of them."
