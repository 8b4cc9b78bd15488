"""Order the events of a pattern for laziness; judged by the instances that each order makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any

import pandas as pd

from cepkit.teaching.exercises.contract import Exercise, Marked
from cepkit.teaching.exercises.truth import found, order_of, stream_of

_EVENTS = 40
_PATTERNS = (
    "PATTERN SEQ(A a, B b, C c) WITHIN 30 seconds",
    "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 30 seconds",
)


@dataclass(frozen=True, slots=True)
class Lazy:
    """A sequence of a frequent, a usual and a rare event, without conditions and with them."""

    name: str = "lazy"
    count: int = len(_PATTERNS)

    def make(self, number: int, random: Random) -> Exercise:
        """Return an exercise (see `contract.Kind`)."""
        pattern = _PATTERNS[number]
        while True:
            weights = random.sample((12, 5, 2), 3)
            data = stream_of(random.choices("ABC", weights, k=_EVENTS), random)
            instances = {order: _instances(data, pattern, order) for order in permutations("abc")}
            least, second, *_ = sorted(instances.values())
            if 0 < least < second and found(data, pattern).count():
                break
        return Exercise(
            f"{self.name}-{number + 1}",
            "A lazy automaton may take the events of a match in any order, and looks up in its "
            "buffer what came before. It makes an instance for each event or combination that it "
            "takes. With which order does it make the fewest over these events?",
            "an order, as 'c, a, b'",
            min(instances, key=instances.__getitem__),
            lambda answer: _judge(answer, instances),
            pattern,
            data,
        )


def _instances(data: pd.DataFrame, pattern: str, order: tuple[str, ...]) -> int:
    return sum(step.survivors for step in found(data, pattern, order).explain().steps)


def _judge(answer: Any, instances: Mapping[tuple[str, ...], int]) -> Marked:
    order = order_of(answer)
    if order not in instances:
        return Marked(False, f"an order names {', '.join(min(instances))}, each once")
    made, least = instances[order], min(instances.values())
    if made == least:
        return Marked(
            True, f"{made:,} instances; the worst order makes {max(instances.values()):,}"
        )
    return Marked(False, f"this order makes {made:,} instances, the best one {least:,}")
