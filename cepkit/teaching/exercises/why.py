"""Find the requirement for which nothing matched; judged by detection without each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pandas as pd

from cepkit.teaching.exercises.contract import Exercise, Marked
from cepkit.teaching.exercises.truth import found, stream_of

_EVENTS = 24


@dataclass(frozen=True, slots=True)
class Why:
    """A constant too high, keys that never meet, and a window too short."""

    name: str = "why"
    count: int = 3

    def make(self, number: int, random: Random) -> Exercise:
        """Return an exercise (see `contract.Kind`)."""
        while True:
            data, requirements = _drawn(number, random)
            if _only_one_fails(data, requirements):
                break
        pattern = _pattern(requirements)
        listed = "; ".join(f"{i + 1}: {text}" for i, text in enumerate(requirements))
        return Exercise(
            f"{self.name}-{number + 1}",
            "The pattern has no match over these events. Which of its requirements is to blame: "
            f"without which one, and that one alone, are there matches? {listed}.",
            "the number of the requirement, or its text",
            requirements[_FAULTS[number]],
            lambda answer: _judge(answer, data, requirements),
            pattern,
            data,
        )


_FAULTS = (1, 2, 3)
"""The place of the requirement that fails, for each exercise."""


def _drawn(number: int, random: Random) -> tuple[pd.DataFrame, tuple[str, ...]]:
    types = random.choices("ABX", k=_EVENTS)
    gap = 3
    if number == 2:
        # The B's come much later than the A's.
        types = random.choices("AX", k=_EVENTS // 2) + ["X"] * 4 + random.choices("BX", k=8)
        gap = 6
    data = stream_of(types, random, gap=gap)
    data["k"] = [random.randint(1, 3) for _ in types]
    if number == 1:
        data["k"] += 3 * (data["type"] == "B")
    most = int(data.loc[data["type"] == "B", "x"].max()) if "B" in types else 9
    least = most if number == 0 else random.randint(1, max(1, most - 4))
    seconds = random.randint(4, 8) if number == 2 else 40
    return data, ("a.x < b.x", f"b.x > {least}", "a.k = b.k", f"WITHIN {seconds} seconds")


def _pattern(requirements: Sequence[str]) -> str:
    conditions = " AND ".join(text for text in requirements if not text.startswith("WITHIN"))
    window = next((text for text in requirements if text.startswith("WITHIN")), "")
    return f"PATTERN SEQ(A a, B b)\nWHERE {conditions}\n{window}".rstrip()


def _without(data: pd.DataFrame, requirements: Sequence[str], place: int) -> int:
    return found(data, _pattern([*requirements[:place], *requirements[place + 1 :]])).count()


def _only_one_fails(data: pd.DataFrame, requirements: Sequence[str]) -> bool:
    if found(data, _pattern(requirements)).count():
        return False
    return sum(bool(_without(data, requirements, i)) for i in range(len(requirements))) == 1


def _judge(answer: Any, data: pd.DataFrame, requirements: Sequence[str]) -> Marked:
    names = {str(i + 1): i for i in range(len(requirements))}
    names |= {text.replace(" ", "").casefold(): i for i, text in enumerate(requirements)}
    place = names.get(str(answer).replace(" ", "").casefold())
    if place is None:
        return Marked(False, f"there is no requirement {answer!r}: a number from 1 to 4")
    count = _without(data, requirements, place)
    if count:
        return Marked(True, f"without it there are {count:,} matches")
    return Marked(False, "without it there is still no match")
