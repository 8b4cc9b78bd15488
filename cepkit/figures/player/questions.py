"""Which steps a quiz asks about, "which instance does this event extend?", and the right answers.

A step has a question if its event does something while a few instances are alive: some extend one
or several of them, some none. O(operations), and the draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from cepkit.errors import TraceError
from cepkit.figures.player.document import Traces
from cepkit.tracing import MechanismTrace
from cepkit.tracing.operations import Create, Discard, Evaluate, Operation, Refuse, Store

MOST_CHOICES = 9
"""Each instance to choose from has a key, 1 to 9."""
MOST_QUESTIONS = 100
"""With more, nobody comes to the end."""


def draw_questions(
    traces: Traces, steps: range, number: int, seed: int | str
) -> list[dict[str, Any]]:
    """Return questions in the order of steps: the step, the trace, the instances it extends.

    Args:
        traces: Of mechanisms.
        steps: The steps to ask about.
        number: How many questions at most.
        seed: The same seed draws the same questions.

    Raises:
        TraceError: The traces are of counters, or no step has a question.
    """
    if not all(isinstance(trace, MechanismTrace) for trace in traces):
        raise TraceError(
            f"a quiz of {traces[0].of}",
            expected="traces of mechanisms, whose events extend instances",
        )
    possible = [one for card, trace in enumerate(traces) for one in _questions(trace, card, steps)]
    if not possible:
        raise TraceError(
            "no step to ask about",
            expected=f"an event that does something while 1 to {MOST_CHOICES} instances are alive",
            hint="draw a trace with a smaller window, an earlier start or more steps",
        )
    start = seed if isinstance(seed, int) else seed.encode(errors="surrogatepass")
    Random(start).shuffle(possible)  # noqa: S311 - not for secrets
    # One instance alone is a question without a choice: those come last.
    possible.sort(key=lambda one: one["alive"] < 2)
    drawn: dict[int, dict[str, Any]] = {}
    for extends, most in ((True, number - number // 3), (False, number), (True, number)):
        for one in possible:
            if len(drawn) < most and bool(one["extends"]) == extends:
                drawn.setdefault(one["step"], one)
    return [
        {name: drawn[step][name] for name in ("step", "trace", "extends")} for step in sorted(drawn)
    ]


def _questions(trace: Any, card: int, steps: range) -> Iterator[dict[str, Any]]:
    """Yield a question for each step that has one."""
    alive: set[int] = set()
    for step, operations in enumerate(trace.operations[: min(steps.stop, len(trace.events))]):
        if step == 0:  # What an automaton begins with is there before the first event.
            alive.update(one.instance for one in operations if _is_initial(one))
        extends = sorted(_extended(operations, alive))
        busy = any(isinstance(one, Evaluate | Refuse | Store | Discard) for one in operations)
        if step in steps and (busy or extends) and 1 <= len(alive) <= MOST_CHOICES:
            yield {"step": step, "trace": card, "extends": extends, "alive": len(alive)}
        for one in operations:
            if isinstance(one, Create):
                alive.add(one.instance)
            elif isinstance(one, Discard):
                alive.discard(one.instance)


def _extended(operations: Sequence[Operation], alive: set[int]) -> set[int]:
    """Return the instances that were alive before a step and are extended in it."""
    parents = {p for one in operations if isinstance(one, Create) for p in one.parents}
    return parents & alive


def _is_initial(operation: Operation) -> bool:
    return isinstance(operation, Create) and not operation.parents and operation.event is None
