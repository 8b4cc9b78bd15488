"""The tables of an answer: requirements, funnel, near misses; each in text, HTML and pandas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cepkit.diagnosis.findings import Finding
from cepkit.diagnosis.funnel import FunnelRow
from cepkit.diagnosis.requirements import kind_of, text_of
from cepkit.diagnosis.words import counted
from cepkit.printing import Printed, html_output
from cepkit.statistics.tables import html_table, text_table

_TEXT = 72


@dataclass(frozen=True, slots=True)
class Seen:
    """An event of an answer.

    Attributes:
        variable: What it stands for.
        event: Its number in stream order.
        id: Its row in the source, or its value in the column of ids.
        name: What it is called: ``row 17``.
        type: Its type.
        time: Its time in microseconds since 1970 UTC.
        values: What the pattern reads of it, as texts.
        given: Whether it was named by who asked.
    """

    variable: str
    event: int
    id: object
    name: str
    type: str
    time: int
    values: Mapping[str, str]
    given: bool = False


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A combination that violates little.

    Attributes:
        branch: The number of the branch, from 1.
        events: One for each positive variable, in pattern order.
        violated: What it violates.
        relative: The sum of the violations, each in units of its scale.
    """

    branch: int
    events: tuple[Seen, ...]
    violated: tuple[Finding, ...]
    relative: float

    @property
    def told(self) -> str:
        """What is violated, in words."""
        return "; ".join(f"{text_of(f.requirement)}: {f.told}" for f in self.violated)


class Table(Printed, ABC):
    """Rows that can be shown as a text, as HTML, and as a DataFrame."""

    __slots__ = ()
    rows: tuple[Any, ...]
    _left = 1

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    @abstractmethod
    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each row of the table."""

    @abstractmethod
    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the head and the cells as texts."""

    def __str__(self) -> str:
        head, rows = self._cells()
        short = [[_cut(cell) for cell in row] for row in rows]
        return text_table(head, short, left=self._left)

    def _repr_html_(self) -> str:
        return html_output(html_table(*self._cells(), left=self._left))


@dataclass(frozen=True, slots=True, repr=False)
class Requirements(Table):
    """What came of each requirement of one combination."""

    rows: tuple[Finding, ...]
    _left = 4

    def to_pandas(self) -> pd.DataFrame:
        """Return columns requirement, kind, holds, told, by, unit, relative, given, events."""
        return pd.DataFrame(
            [
                (text_of(f.requirement), kind_of(f.requirement), f.holds, f.told, f.by, f.unit,
                 f.relative, f.given, list(f.events))
                for f in self.rows
            ],
            columns=["requirement", "kind", "holds", "told", "by", "unit", "relative", "given",
                     "events"],
        )  # fmt: skip

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        word = {True: "holds", False: "fails", None: "unknown"}
        rows = [[word[f.holds], text_of(f.requirement), f.told] for f in self.rows]
        return ["", "requirement", "what was found"], rows


@dataclass(frozen=True, slots=True, repr=False)
class Funnel(Table):
    """How many events and partial matches came to each requirement, and how many passed."""

    rows: tuple[FunnelRow, ...]
    _left = 2

    def to_pandas(self) -> pd.DataFrame:
        """Return columns branch, step, kind, requirement, before, after, removed, alone."""
        return pd.DataFrame(
            [
                (r.branch, r.variable, r.kind, r.text, r.before, r.after, r.removed, r.alone)
                for r in self.rows
            ],
            columns=["branch", "step", "kind", "requirement", "before", "after", "removed",
                     "alone"],
        )  # fmt: skip

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        several = len({r.branch for r in self.rows}) > 1
        alone = any(r.alone is not None for r in self.rows)
        rows = []
        for row in self.rows:
            step = row.variable or "NOT"
            cells = [f"{row.branch}: {step}" if several else step, row.text]
            cells += [f"{row.before:,}", f"{row.after:,}", f"{row.removed:,}"]
            if alone:
                cells.append("" if row.alone is None else f"{row.alone:,}")
            rows.append(cells)
        head = ["step", "requirement", "before", "after", "removed"]
        return [*head, *(["by this alone"] if alone else [])], rows


@dataclass(frozen=True, slots=True, repr=False)
class NearMisses(Table):
    """The combinations that come nearest to a match, the nearest first."""

    rows: tuple[NearMiss, ...]
    _left = 3

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each near miss.

        Columns are branch, one of ids for each variable, violated (texts of requirements), told,
        by (of the first violation), unit, and relative.
        """
        made = []
        for row in self.rows:
            first = row.violated[0]
            made.append(
                {
                    "branch": row.branch,
                    **{seen.variable: seen.id for seen in row.events},
                    "violated": [text_of(f.requirement) for f in row.violated],
                    "told": row.told,
                    "by": first.by,
                    "unit": first.unit,
                    "relative": row.relative,
                }
            )
        return pd.DataFrame(made)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                ", ".join(f"{s.variable} = {s.name}" for s in row.events),
                "; ".join(text_of(f.requirement) for f in row.violated),
                "; ".join(f.told for f in row.violated),
                f"{row.relative:.3g}",
            ]
            for row in self.rows
        ]
        return ["events", "violated", "what was found", "relative"], rows

    def title(self) -> str:
        """Return what the table is, as a heading."""
        return counted(len(self.rows), "nearest miss").replace("misss", "misses")


def _cut(cell: str) -> str:
    return cell if len(cell) <= _TEXT else cell[: _TEXT - 1] + "…"
