"""Small streams for mechanisms."""

from __future__ import annotations

from typing import Any

import pandas as pd

import cepkit as ck
from cepkit.tracing import MechanismTrace

LAZY = "a3 a5 a8 b7 b13 c9"
"""The stream of LAZY, section 1: types in small letters, and prices."""

EXAMPLE = "PATTERN SEQ(a, b, c) WHERE a.p < b.p AND b.p < c.p WITHIN 1 hour"
"""Its pattern, with types as variables."""


def stream(text: str, times: list[float] | None = None) -> Any:
    """Return the events of a text such as ``a3 b7``: type and price, a second apart."""
    words = text.split()
    frame = pd.DataFrame(
        {
            "ts": [float(i) for i in times or range(len(words))],
            "type": [word[0] for word in words],
            "p": [float(word[1:] or 0) for word in words],
        }
    )
    return ck.events(frame, time="ts", type="type", unit="s")


def run(
    text: str, pattern: str, mechanism: Any, plan: Any = None, **options: Any
) -> MechanismTrace:
    """Return the trace of a mechanism over such a text."""
    return ck.simulate(stream(text), pattern, mechanism, plan, **options)


def named(trace: MechanismTrace) -> set[tuple[tuple[str, Any], ...]]:
    """Return the matches as (variable, events) pairs."""
    return {tuple(sorted(match.events.items())) for match in trace.matches}
