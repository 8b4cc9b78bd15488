"""Count matches by counters, without finding them; judged by detection."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from random import Random
from typing import Any

from cepkit.teaching.exercises.contract import Exercise, Marked
from cepkit.teaching.exercises.truth import found, stream_of

_EVENTS = 14
_PATTERNS = (
    "PATTERN SEQ(A a, B b, C c)",
    "PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x AND b.x = c.x",
)


@dataclass(frozen=True, slots=True)
class Count:
    """A sequence of three: with one counter for each prefix, and with counters for each key."""

    name: str = "count"
    count: int = len(_PATTERNS)

    def make(self, number: int, random: Random) -> Exercise:
        """Return an exercise (see `contract.Kind`)."""
        pattern = _PATTERNS[number]
        while True:
            data = stream_of(random.choices("ABC", k=_EVENTS), random, most=2)
            count = found(data, pattern).count()
            if count >= 4:
                break
        half = data.iloc[: _EVENTS // 2]
        pairs = found(half, pattern.replace(", C c", "").partition(" AND")[0]).count()
        hint = f"after row {_EVENTS // 2 - 1} the counter of the pairs a, b is {pairs}"
        return Exercise(
            f"{self.name}-{number + 1}",
            "How many matches has the pattern? Do not list them: keep a counter for each prefix "
            "(a; a, b; a, b, c), for each x where x must be equal, and go through the rows once.",
            "a number",
            count,
            lambda answer: _judge(answer, count, hint),
            pattern,
            data,
        )


def _judge(answer: Any, count: int, hint: str) -> Marked:
    right = isinstance(answer, Integral) and answer == count  # one of NumPy, too
    return Marked(right, f"there are {count}" if right else hint)
