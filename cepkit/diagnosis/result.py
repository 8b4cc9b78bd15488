"""The answer to "why not?" and its tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepkit.diagnosis.findings import Finding
from cepkit.diagnosis.funnel import FunnelRow
from cepkit.diagnosis.words import list_text
from cepkit.lazy import pd
from cepkit.pattern.query import Query
from cepkit.pattern.requirements import kind_of, text_of
from cepkit.printing import Printed, cut, html_output, html_text
from cepkit.tables import count_text, html_table, text_table

_TEXT = 72
"""The most characters of a cell in a text table."""


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """An event of an answer.

    Attributes:
        variable: The variable that it stands for.
        event: Its number in stream order.
        id: Its row in the source, or its value in the column of ids.
        name: Its name: ``row 17``.
        time: Its time in microseconds since 1970 UTC.
        values: The attributes that the pattern reads of it, as texts.
        given: Whether it was named in the question.
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
    """A combination of events that violates few requirements, and by little.

    Attributes:
        branch: The number of the branch, from 1.
        events: Those of each positive variable, in pattern order.
        violated: The findings on the requirements that it violates.
        relative: The sum of the violations, each in units of its scale.
    """

    branch: int
    events: tuple[AnswerEvent, ...]
    violated: tuple[Finding, ...]
    relative: float

    @property
    def detail(self) -> str:
        """The violated requirements, in words."""
        return "; ".join(f"{text_of(f.requirement)}: {f.detail}" for f in self.violated)


def _events_text(events: Sequence[AnswerEvent]) -> str:
    """Return events by variable: ``a = row 3, b = row 5, row 6 and 4 more``."""
    names: dict[str, list[str]] = {}
    for event in events:
        names.setdefault(event.variable, []).append(event.name)
    return ", ".join(f"{variable} = {list_text(each, 4)}" for variable, each in names.items())


class Table(Printed, ABC):
    """A table with a text, an HTML and a pandas form."""

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
        short = [[cut(cell, _TEXT) for cell in row] for row in rows]
        return text_table(head, short, left=self._left)

    def _repr_html_(self) -> str:
        return html_output(html_table(*self._cells(), left=self._left))


@dataclass(frozen=True, slots=True, repr=False)
class Requirements(Table):
    """The findings on the requirements of one combination."""

    rows: tuple[Finding, ...]
    _left = 4

    def to_pandas(self) -> pd.DataFrame:
        """Return columns requirement, kind, holds, detail, by, unit, relative, given, events."""
        return pd.DataFrame(
            [
                (text_of(f.requirement), kind_of(f.requirement), f.holds, f.detail, f.by, f.unit,
                 f.relative, f.given, list(f.events))
                for f in self.rows
            ],
            columns=["requirement", "kind", "holds", "detail", "by", "unit", "relative", "given",
                     "events"],
        )  # fmt: skip

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        word = {True: "holds", False: "fails", None: "unknown"}
        rows = [[word[f.holds], text_of(f.requirement), f.detail] for f in self.rows]
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

        Columns are branch, one of ids for each variable, violated (texts of requirements), detail,
        by (of the first violation), unit, and relative.
        """
        records = []
        for row in self.rows:
            first = row.violated[0]
            records.append(
                {
                    "branch": row.branch,
                    **{event.variable: event.id for event in row.events},
                    "violated": [text_of(f.requirement) for f in row.violated],
                    "detail": row.detail,
                    "by": first.by,
                    "unit": first.unit,
                    "relative": row.relative,
                }
            )
        plain = ["branch", "violated", "detail", "by", "unit", "relative"]
        return pd.DataFrame(records, columns=None if records else plain)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                _events_text(row.events),
                "; ".join(text_of(f.requirement) for f in row.violated),
                "; ".join(f.detail for f in row.violated),
                f"{row.relative:.3g}",
            ]
            for row in self.rows
        ]
        return ["events", "violated", "what was found", "relative"], rows

    def title(self) -> str:
        """Return the heading of the table."""
        return count_text(len(self.rows), "nearest miss", "nearest misses")


_SHOWN = 5
"""The most near misses in a text."""
_HOLDING = 12
"""The most requirements that hold in a text."""


@dataclass(frozen=True, slots=True, repr=False)
class WhyNot(Printed):
    """Why some events, or any at all, are no match; prints as a text, has an HTML repr.

    Attributes:
        found: Whether there is a match; where events were named, whether they are one or part of
            one. None where that could not be decided.
        reason: The answer in a sentence.
        events: The combination that `requirements` is about: the named events and, for other
            variables, those that complete them best. Empty where none were named.
        culprits: Events that are there and must not be (NOT).
        requirements: The findings on that combination.
        funnel: How many partial matches reached each step; empty where events were named.
        near_misses: The combinations that violate least.
        notes: The limits of the answer: bounds, samples and parts not searched.
    """

    query: Query
    found: bool | None
    reason: str
    events: tuple[AnswerEvent, ...] = ()
    culprits: tuple[AnswerEvent, ...] = ()
    requirements: Requirements = field(default_factory=lambda: Requirements(()))
    funnel: Funnel = field(default_factory=lambda: Funnel(()))
    near_misses: NearMisses = field(default_factory=lambda: NearMisses(()))
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text(_SHOWN)

    def text(self, most: int) -> str:
        """Return the answer as a text, with at most so many near misses."""
        parts = [self.reason]
        if self.events:
            parts.append("\n".join(f"  {line}" for line in self._event_lines()))
        if len(self.requirements):
            parts.append(self._requirement_lines())
        if len(self.funnel):
            parts.append(str(self.funnel))
        # Where events were named, the nearest one stands above.
        if len(self.near_misses) > (1 if self.events else 0):
            parts.append("\n".join([f"{self.near_misses.title()}:", *self._miss_lines(most)]))
        if self.notes:
            parts.append("\n".join(f"note: {note}" for note in self.notes))
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html_text(self.reason)}</b></p>"]
        if self.events:
            items = "".join(f"<li>{html_text(line)}</li>" for line in self._event_lines())
            parts.append(f"<ul>{items}</ul>")
        if len(self.requirements):
            parts.append(self._failing_first()._repr_html_())
        if len(self.funnel):
            parts.append(self.funnel._repr_html_())
        if len(self.near_misses) > (1 if self.events else 0):
            parts.append(f"<p>{html_text(self.near_misses.title())}</p>")
            parts.append(self.near_misses._repr_html_())
        parts += [f"<p>note: {html_text(note)}</p>" for note in self.notes]
        return html_output(*parts)

    def _failing_first(self) -> Requirements:
        rank = {False: 0, None: 1, True: 2}
        return Requirements(tuple(sorted(self.requirements, key=lambda f: rank[f.holds])))

    def _requirement_lines(self) -> str:
        ordered = self._failing_first()
        failing = sum(f.holds is not True for f in ordered)
        table = str(Requirements(ordered.rows[: failing + _HOLDING]))
        more = len(ordered) - failing - _HOLDING
        return table if more <= 0 else f"{table}\nand {more} more hold"

    def _event_lines(self) -> list[str]:
        lines = []
        for event in self.events:
            values = "".join(f", {name} = {value}" for name, value in event.values.items())
            remark = "" if event.given else "  (the nearest)" if not self.found else "  (found)"
            lines.append(f"{event.variable} = {event.name}: {event.type}{values}{remark}")
        return lines

    def _miss_lines(self, most: int) -> list[str]:
        lines = []
        for number, miss in enumerate(self.near_misses.rows[:most], start=1):
            lines.append(f"{number:>3}. {_events_text(miss.events)}")
            # What the named events alone violate stands above.
            own = [f for f in miss.violated if not (self.events and f.given)]
            lines += [f"     {text_of(f.requirement)}: {f.detail}" for f in own]
        more = len(self.near_misses) - most
        if more > 0:
            lines.append(f"     and {count_text(more, 'further one')} in .near_misses")
        return lines
