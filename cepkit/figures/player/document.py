"""What the player shows, as one JSON document: several traces of one stream, `cepkit.player/1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from cepkit.aggregation.tracing.trace import CounterTrace
from cepkit.automata.trace import Trace
from cepkit.errors import TraceError
from cepkit.figures.player.counter_document import counter_document
from cepkit.figures.player.mechanism_document import mechanism_document
from cepkit.figures.player.shared import DEFAULT_STEPS, MOST_STEPS

Traces: TypeAlias = Sequence[Trace] | Sequence[CounterTrace]
"""Of one kind: they are played together."""


def player_document(traces: Traces, steps: int = DEFAULT_STEPS) -> dict[str, Any]:
    """Return the document for traces of the same pattern over the same stream.

    Args:
        traces: One for each card, in the order in which they are shown.
        steps: How many steps at most.

    Raises:
        TraceError: There is no trace, they are not of one kind, pattern and stream, or the number
            of steps is none that the player can show.
    """
    if not 1 <= steps <= MOST_STEPS:
        raise TraceError(f"a player of {steps:,} steps", expected=f"1 to {MOST_STEPS:,}")
    counted = [trace for trace in traces if isinstance(trace, CounterTrace)]
    run = [trace for trace in traces if isinstance(trace, Trace)]
    if not counted and not run:
        raise TraceError("no trace to show", expected="one trace or several of the same stream")
    if counted and run:
        raise TraceError(
            f"traces of mechanisms ('{run[0].name}') and of counters ('{counted[0].name}')",
            expected="traces of one kind",
            hint="draw each kind by itself",
        )
    return counter_document(counted, steps) if counted else mechanism_document(run, steps)
