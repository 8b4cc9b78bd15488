"""The exercises of one student: twenty tasks, drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pandas as pd

from cepkit.arguments import typed
from cepkit.errors import ArgumentError
from cepkit.printing import Printed, html_output
from cepkit.shelf import Shelf
from cepkit.tables import html_table, text_table
from cepkit.teaching.exercises.cheapest import Cheapest
from cepkit.teaching.exercises.contract import Exercise, Kind
from cepkit.teaching.exercises.count import Count
from cepkit.teaching.exercises.lazy import Lazy
from cepkit.teaching.exercises.predict import Predict
from cepkit.teaching.exercises.why import Why
from cepkit.teaching.exercises.write import Write

KINDS: Shelf[Kind] = Shelf(
    "exercise",
    (Write(), "write a pattern for a sentence"),
    (Predict(), "predict the matches of a pattern"),
    (Cheapest(), "predict the cheapest order"),
    (Why(), "find why nothing matched"),
    (Count(), "count matches without finding them"),
    (Lazy(), "order events for a lazy automaton"),
    method="make",
)
"""Every kind of exercises."""

_HEAD = ("exercise", "what it asks for")


@dataclass(frozen=True, slots=True, repr=False)
class Exercises(Printed):
    """The exercises of one student, by name or number.

    Attributes:
        seed: The seed of their names and numbers.
        items: Each of them.
    """

    seed: int | str
    items: tuple[Exercise, ...]

    def __getitem__(self, name: str | int) -> Exercise:
        if isinstance(name, int):
            return self.items[name]
        by_name = {exercise.name: exercise for exercise in self.items}
        if name not in by_name:
            raise ArgumentError.unknown(f"there is no exercise '{name}'", name, by_name)
        return by_name[name]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Exercise]:
        return iter(self.items)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each: name, task, pattern, answers, solution."""
        names = ["name", "task", "pattern", "answers", "solution"]
        return pd.DataFrame([[getattr(one, n) for n in names] for one in self], columns=names)

    def __str__(self) -> str:
        return f"{self._title()}\n{text_table(_HEAD, self._rows(), left=2)}"

    def _repr_html_(self) -> str:
        return html_output(html_table(_HEAD, self._rows(), self._title(), left=2))

    def _title(self) -> str:
        return f"{len(self)} exercises of {self.seed}"

    def _rows(self) -> list[tuple[str, str]]:
        return [(one.name, KINDS.help[one.name.rpartition("-")[0]]) for one in self]


@typed
def exercises(seed: int | str = 0) -> Exercises:
    """Return twenty tasks about event patterns that check their answers.

    Args:
        seed: A number or a name: each has its own names, numbers and events, the same on every
            machine.

    Returns:
        The exercises, by name or number. `check` of one judges an answer: patterns by their matches
        on many streams, not by their text, other answers by what is computed.

    Example:
        >>> import cepkit as ck
        >>> tasks = ck.exercises("Ada")
        >>> len(tasks)
        20
        >>> task = tasks["count-1"]
        >>> task.check(task.solution).right
        True
    """
    return Exercises(
        seed,
        tuple(
            kind.make(number, _random(f"{seed}/{kind.name}-{number + 1}"))
            for kind in KINDS.values()
            for number in range(kind.count)
        ),
    )


def _random(seed: str) -> Random:
    return Random(seed.encode(errors="surrogatepass"))  # noqa: S311 - no secret depends on it
