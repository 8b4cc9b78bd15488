"""The result of learning: proposed patterns, and what they score on later events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from cepkit.calibration.result import CalibratedRow
from cepkit.lazy import pd
from cepkit.pattern.query import Query
from cepkit.printing import Printed, html_lines, html_output
from cepkit.stream.durations import duration_text
from cepkit.tables import count_text, html_table, number

_HEAD = ("", "pattern", "precision", "recall", "F1", "false a day", "support")
_CHANCE = 0.05 / 20
"""The chance that random alarms do as well: twenty candidates are judged at most."""


@dataclass(frozen=True, slots=True, repr=False)
class Proposal(Printed):
    """A proposed pattern, with its scores on events later than those it was learned from.

    Attributes:
        pattern: The pattern.
        row: The counts: its alarms are the matches there.
    """

    pattern: Query
    row: CalibratedRow

    @property
    def text(self) -> str:
        """The pattern as `parse` reads it."""
        return str(self.pattern)

    @property
    def precision(self) -> float:
        """The share of alarms that an incident follows."""
        return self.row.precision

    @property
    def recall(self) -> float:
        """The share of incidents with an alarm before them."""
        return self.row.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 without a hit."""
        return self.row.f1

    @property
    def false_alarms_per_day(self) -> float:
        """The alarms without an incident, per day of the later events."""
        return self.row.per_day or 0.0

    @property
    def support(self) -> int:
        """The number of later incidents with an alarm before them."""
        return self.row.hits or 0

    def __str__(self) -> str:
        row = self.row
        incidents = count_text(self.support + (row.misses or 0), "later incident")
        return (
            f"{self.text}\n{self.support} of {incidents}, {count_text(row.matches, 'alarm')},"
            f" {number(self.false_alarms_per_day)} false a day: precision {_share(self.precision)},"
            f" recall {_share(self.recall)}, F1 {self.f1:.3f}"
        )


@dataclass(frozen=True, slots=True)
class Chance:
    """The score of alarms at random times on the later events.

    Attributes:
        share: The share of time before incidents: the precision of such alarms.
        within: The time before an incident in which an alarm hits it, as a share of all time.
    """

    share: float
    within: float

    @property
    def f1(self) -> float:
        """The F1 of an alarm at all times."""
        return 2 * self.share / (1 + self.share)

    def is_exceeded(self, row: CalibratedRow) -> bool:
        """Return whether as many alarms at random times would hardly hit as many incidents."""
        hits, incidents = row.hits or 0, (row.hits or 0) + (row.misses or 0)
        if not hits or row.f1 <= self.f1 or row.precision <= self.share:
            return False
        p = -math.expm1(-row.matches * self.within)
        as_many = sum(
            math.comb(incidents, k) * p**k * (1 - p) ** (incidents - k)
            for k in range(hits, incidents + 1)
        )
        return as_many < _CHANCE


@dataclass(frozen=True, slots=True, repr=False)
class Learned(Printed):
    """Patterns that announce incidents, best first by the events that they were learned from.

    All scores are those on later events, which the search did not see.

    Attributes:
        proposals: The patterns, at most ten.
        chance: What alarms at random times would score.
        split: The time before which it was learned, and from which it was judged.
        incidents: The number of incidents before the split, and from it.
        within: How long before an incident an alarm may be, in microseconds.
        tried: How many candidates the search looked at.
        finished: Whether the search came to its end; False after an interrupt.
    """

    proposals: tuple[Proposal, ...]
    chance: Chance
    split: datetime
    incidents: tuple[int, int]
    within: int
    tried: int
    finished: bool = True

    @property
    def best(self) -> Proposal | None:
        """The first proposal; None if nothing is better than chance."""
        return self.proposals[0] if self.proposals else None

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each proposal, best first.

        Columns: pattern (its text), precision, recall, f1, false_alarms_per_day, support, alarms.
        """
        names = ("precision", "recall", "f1", "false_alarms_per_day", "support")
        columns: dict[str, list[object]] = {"pattern": [each.text for each in self.proposals]}
        columns |= {name: [getattr(each, name) for each in self.proposals] for name in names}
        columns["alarms"] = [each.row.matches for each in self.proposals]
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        if not self.proposals:
            return "\n".join(self.remarks())
        parts = [f"{at}. {each}" for at, each in enumerate(self.proposals, 1)]
        return "\n\n".join([*parts, "\n".join(self.remarks())])

    def _repr_html_(self) -> str:
        remarks = html_lines("\n".join(self.remarks()))
        if not self.proposals:
            return html_output(remarks)
        cells = [
            [
                str(at),
                each.text,
                _share(each.precision),
                _share(each.recall),
                f"{each.f1:.3f}",
                number(each.false_alarms_per_day),
                f"{each.support} of {each.support + (each.row.misses or 0)}",
            ]
            for at, each in enumerate(self.proposals, 1)
        ]
        return html_output(html_table(_HEAD, cells, left=2), remarks)

    def remarks(self) -> list[str]:
        """Return remarks on the scores: the split, the base rate, an interrupt."""
        before, later = self.incidents
        remarks = []
        if not self.proposals:
            few = f": {before + later} incidents are few" if before + later < 30 else ""
            remarks.append(f"no pattern does better than the base rate{few}")
        remarks.append(
            f"learned from {count_text(before, 'incident')} before"
            f" {self.split:%Y-%m-%d %H:%M:%S} UTC, judged on {later} later"
        )
        remarks.append(
            f"base rate: {number(self.chance.share)} of the time is at most"
            f" {duration_text(self.within)} before an incident"
        )
        if not self.finished:
            remarks.append(f"interrupted after {count_text(self.tried, 'candidate')}")
        return remarks


def _share(value: float) -> str:
    return "" if value != value else f"{value:.3f}"
