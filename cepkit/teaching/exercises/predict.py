"""Predict the matches of a pattern over a few events; judged by detection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from cepkit.teaching.exercises.contract import Exercise, Marked
from cepkit.teaching.exercises.truth import rows_found, stream_of

_PATTERNS = (
    "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN {n} seconds",
    "PATTERN SEQ(A a, NOT(C x), B b) WITHIN {n} seconds",
    "PATTERN SEQ(A a, FIRST B b, C c) WITHIN {n} seconds",
    "PATTERN SEQ(A a, KL(B b), C c) WITHIN {n} seconds",
)
_EVENTS = 8


@dataclass(frozen=True, slots=True)
class Predict:
    """Patterns of one operator each, over streams in which they have two to five matches."""

    name: str = "predict"
    count: int = len(_PATTERNS)

    def make(self, number: int, random: Random) -> Exercise:
        """Return an exercise (see `contract.Kind`)."""
        while True:
            pattern = _PATTERNS[number].format(n=random.randint(6, 12))
            data = stream_of(random.choices("ABC", k=_EVENTS), random)
            matches = _rows(data, pattern)
            if 2 <= len(matches) <= 5:
                break
        return Exercise(
            f"{self.name}-{number + 1}",
            "Which matches does the pattern have over these events?",
            "the rows of each match, as [(0, 3), (1, 3)]",
            sorted(matches),
            lambda answer: _judge(answer, matches),
            pattern,
            data,
        )


def _rows(data: Any, pattern: str) -> frozenset[tuple[int, ...]]:
    return frozenset(rows_found(data, pattern))


def _judge(answer: Any, matches: frozenset[tuple[int, ...]]) -> Marked:
    rows = answer if isinstance(answer, Iterable) and not isinstance(answer, str) else ()
    try:
        given = {tuple(sorted(row)) for row in rows if isinstance(row, Iterable)}
        wrong, missing = sorted(given - matches), matches - given
    except TypeError:
        return Marked(False, "a match is the numbers of its rows, as in (0, 3)")
    if wrong:
        return Marked(False, f"rows {', '.join(map(str, wrong[0]))} are no match")
    if missing:
        return Marked(False, f"{len(missing)} of {len(matches)} matches missing")
    return Marked(True, f"these are all {len(matches)}")
