"""Exercises, their kinds, and the verdict on an answer."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import pandas as pd

from cepkit.printing import Printed, html_lines, html_output, html_text
from cepkit.tables import html_table, text_table
from cepkit.teaching.equivalence import Equivalence


@dataclass(frozen=True, slots=True, repr=False)
class Marked(Printed):
    """The verdict on an answer to an exercise.

    Attributes:
        right: Whether it is right.
        why: What is wrong, or a word on what is right.
        difference: For a pattern that is wrong: the smallest stream found over which its matches
            are not those of the solution, which is the second pattern; None for other answers.
    """

    right: bool
    why: str
    difference: Equivalence | None = None

    def __str__(self) -> str:
        text = f"{'right' if self.right else 'not yet'}: {self.why}"
        return text if self.difference is None else f"{text}\n\n{self._table()}"

    def _repr_html_(self) -> str:
        verdict = f"<p><b>{'Right' if self.right else 'Not yet'}</b>: {html_text(self.why)}</p>"
        return html_output(verdict, "" if self.difference is None else html_lines(self._table()))

    def _table(self) -> str:
        assert self.difference is not None
        head, rows = self.difference.cells()
        words = {"only first": "yours only", "only second": "missing"}
        return text_table([words.get(name, name) for name in head], rows, left=len(head))


@dataclass(frozen=True, slots=True, repr=False)
class Exercise(Printed):
    """A task that checks its answers.

    Attributes:
        name: Its kind and number, as ``"write-3"``.
        task: What to do.
        answers: What an answer looks like.
        solution: A right answer, for the teacher.
        judge: Judges an answer.
        pattern: The pattern that it is about; empty for none.
        data: The events, or numbers, that it is about; None for none.
    """

    name: str
    task: str
    answers: str
    solution: Any
    judge: Callable[[Any], Marked]
    pattern: str = ""
    data: pd.DataFrame | None = None

    def check(self, answer: Any) -> Marked:
        """Return whether an answer is right, and if not, what is wrong.

        Args:
            answer: Also as a text, as in a form: "12", "[(0, 3), (1, 3)]".

        Raises:
            PatternError: The answer is a pattern that means nothing.
        """
        if isinstance(answer, str):
            # Other texts, such as patterns and "c, b, a", are no literals and stay.
            with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                answer = literal_eval(answer.strip())
        return self.judge(answer)

    def __str__(self) -> str:
        parts = [f"{self.name}: {self.task}", self.pattern]
        if self.data is not None:
            parts.append(text_table(*_cells(self.data), left=0))
        return "\n\n".join(part for part in (*parts, f"Answer: {self.answers}") if part)

    def _repr_html_(self) -> str:
        return html_output(
            f"<p>{html_text(self.name)}: <b>{html_text(self.task)}</b></p>",
            html_lines(self.pattern) if self.pattern else "",
            "" if self.data is None else html_table(*_cells(self.data), left=0),
            f"<p>Answer: {html_text(self.answers)}</p>",
        )


def _cells(data: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    rows = [[f"{cell:g}" if isinstance(cell, float) else f"{cell}" for cell in row]
            for row in data.itertuples(index=False)]  # fmt: skip
    return [*map(str, data.columns)], rows


class Kind(Protocol):
    """A kind of exercises.

    Attributes:
        name: Its name, with which those of its exercises begin.
        count: How many exercises there are of it.
    """

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def make(self, number: int, random: Random) -> Exercise:
        """Return an exercise.

        Args:
            number: Which one, from 0.
            random: Draws its names and numbers; equal states give equal exercises.
        """
        ...
