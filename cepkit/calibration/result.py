"""The result of a calibration: for each value of the parameters the matches, hits and alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepkit.errors import PatternError
from cepkit.lazy import pd
from cepkit.pattern.query import Query
from cepkit.printing import Printed, html_lines, html_output
from cepkit.tables import count_text, html_table, number, text_table

_SHOWN = 15


@dataclass(frozen=True, slots=True)
class CalibratedRow:
    """The counts for one choice of values.

    Attributes:
        values: A value for each parameter.
        matches: The number of matches.
        hits: The incidents with a match near; None without labels.
        misses: The incidents without one; None without labels.
        false_alarms: The matches without an incident near; None without labels.
        per_day: The false alarms per day of the stream; None without labels.
    """

    values: tuple[Any, ...]
    matches: int
    hits: int | None = None
    misses: int | None = None
    false_alarms: int | None = None
    per_day: float | None = None

    @property
    def precision(self) -> float:
        """The share of matches that are near an incident; NaN without matches or labels."""
        if self.false_alarms is None or not self.matches:
            return float("nan")
        return 1.0 - self.false_alarms / self.matches

    @property
    def recall(self) -> float:
        """The share of incidents with a match near; NaN without incidents or labels."""
        if self.hits is None or self.misses is None or not self.hits + self.misses:
            return float("nan")
        return self.hits / (self.hits + self.misses)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 without a hit, NaN without labels."""
        if self.hits is None:
            return float("nan")
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if self.hits and both else 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Calibration(Printed):
    """How many matches a pattern has for many values of its parameters.

    Attributes:
        query: The pattern with parameters.
        rows: One for each choice of values.
        labelled: Whether incidents were given.
        miss: The cost of a missed incident.
        false_alarm: The cost of a false alarm.
        runs: How many detections it took: 1, or one for each row.
        reason: Why it took one for each; empty where it took one.
    """

    query: Query
    rows: tuple[CalibratedRow, ...]
    labelled: bool
    miss: float = 1.0
    false_alarm: float = 1.0
    runs: int = 1
    reason: str = ""

    @property
    def best(self) -> CalibratedRow | None:
        """The row of least cost, the first of equals; None without labels."""
        return min(self.rows, key=self.cost) if self.labelled and self.rows else None

    def cost(self, row: CalibratedRow) -> float:
        """Return the cost of a row's misses and false alarms; NaN without labels."""
        if row.misses is None or row.false_alarms is None:
            return float("nan")
        return self.miss * row.misses + self.false_alarm * row.false_alarms

    def bind(self, **values: object) -> Query:
        """Return the pattern with values for its parameters; without any the best ones.

        Raises:
            PatternError: There are no values, and no labels to find the best ones.
        """
        if not values:
            if self.best is None:
                raise PatternError(
                    "no values for the parameters",
                    expected=", ".join(f"{name}=..." for name in self.query.parameters),
                    hint="with labels= the best ones are chosen; or pass values",
                )
            values = dict(zip(self.query.parameters, self.best.values, strict=True))
        return self.query.bind(**values)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each choice of values.

        Columns: the parameters and matches; with labels also hits, misses, false_alarms,
        false_alarms_per_day, precision, recall, f1, cost.
        """
        columns: dict[str, list[Any]] = {
            name: [row.values[place] for row in self.rows]
            for place, name in enumerate(self.query.parameters)
        }
        columns["matches"] = [row.matches for row in self.rows]
        if self.labelled:
            columns["hits"] = [row.hits for row in self.rows]
            columns["misses"] = [row.misses for row in self.rows]
            columns["false_alarms"] = [row.false_alarms for row in self.rows]
            columns["false_alarms_per_day"] = [row.per_day for row in self.rows]
            columns["precision"] = [row.precision for row in self.rows]
            columns["recall"] = [row.recall for row in self.rows]
            columns["f1"] = [row.f1 for row in self.rows]
            columns["cost"] = [self.cost(row) for row in self.rows]
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        head, cells = self._cells()
        lines = [self._title(), "", text_table(head, cells, left=0), *self._remarks()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        remarks = html_lines("\n".join(self._remarks()))
        return html_output(html_lines(self._title()), html_table(*self._cells(), left=0), remarks)

    def _title(self) -> str:
        names = ", ".join(f"${name}" for name in self.query.parameters)
        runs = count_text(self.runs, "detection")
        return f"matches for {count_text(len(self.rows), 'value')} of {names}, by {runs}"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        head = [f"${name}" for name in self.query.parameters] + ["matches"]
        if self.labelled:
            head += ["hits", "misses", "false alarms", "a day", "precision", "recall", "F1", "cost"]
        return head, [self._row(row) for row in self._shown()]

    def _shown(self) -> list[CalibratedRow]:
        """Return some of the rows, evenly spread, the best one among them."""
        step = -(-len(self.rows) // _SHOWN)
        best = self.best
        return [row for i, row in enumerate(self.rows) if i % max(step, 1) == 0 or row is best]

    def _row(self, row: CalibratedRow) -> list[str]:
        cells = [number(v) if isinstance(v, int | float) else f"{v}" for v in row.values]
        cells.append(f"{row.matches:,}")
        if self.labelled:
            assert row.per_day is not None
            cells += [f"{row.hits:,}", f"{row.misses:,}", f"{row.false_alarms:,}"]
            cells += [number(row.per_day), _share(row.precision), _share(row.recall)]
            cells += [_share(row.f1), number(self.cost(row)) + (" ★" if row is self.best else "")]
        return cells

    def _remarks(self) -> list[str]:
        remarks = []
        if len(self._shown()) < len(self.rows):
            remarks.append(f"{len(self._shown())} of {len(self.rows):,} rows; to_pandas() has all")
        if self.best is not None:
            costs = f"{number(self.miss)} a miss, {number(self.false_alarm)} a false alarm"
            remarks.append(f"★ least cost: {costs}")
        if self.reason:
            remarks.append(f"a detection for each value: {self.reason}")
        return remarks


def _share(value: float) -> str:
    return "" if value != value else f"{value:.3f}"
