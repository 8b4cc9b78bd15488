"""The rows of the result: measures of matches, computed for many matches at once.

The rows of some matches lie in one array, match after match. A *point* is the position of a result
row: a match, and the number of its rows up to there. For each set of variables the places of their
rows are counted once; then `FIRST`, `LAST` and their offsets are look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepkit.errors import StreamError
from cepkit.indexing import repeated
from cepkit.rowpattern import expressions as e
from cepkit.rowpattern.binding import BoundQuery
from cepkit.rowpattern.columns import as_array, evaluate
from cepkit.rowpattern.folding import FOLDS, Running, fold_kind
from cepkit.rowpattern.program import Instructions
from cepkit.rowpattern.rows import PartitionedRows
from cepkit.rowpattern.search import MatchedRows

Members = tuple[str, ...] | None


def leaf_kind(leaf: e.Leaf, rows: PartitionedRows) -> pa.DataType:
    """Return the type of a leaf; raises Arrow's error if there is none."""
    match leaf:
        case e.MatchNumber():
            return pa.int64()
        case e.RowValue(value=e.Label()):
            return pa.string()
        case e.RowValue(value=value):
            return rows.column(value).type
        case e.Fold(function, _, arguments, distinct):
            kinds = [
                pa.string() if isinstance(each, e.Label) else rows.column(each).type
                for each in arguments
            ]
            return fold_kind(function, kinds, distinct=distinct)


def result_table(
    bound: BoundQuery, program: Instructions, rows: PartitionedRows, matches: MatchedRows
) -> pa.Table:
    """Return the result rows of some matches."""
    points = Points.of(bound, program, rows, matches)
    numbers = pa.array(points.rows)
    measures = {
        each.name: _unless_unmatched(points, measured(each.expression, points))
        for each in bound.measures
    }
    columns: dict[str, Any] = {}
    order = [key.column for key in bound.order if bound.query.output.all_rows]
    for name in dict.fromkeys((*bound.partition, *filter(None, order))):
        columns[name] = rows.table.column(name).take(numbers)
    columns |= measures
    if bound.query.output.all_rows:
        for name in rows.table.column_names:
            if name not in columns:
                columns[name] = rows.table.column(name).take(numbers)
    if not columns:
        # A table without columns has no length, but each match is a row.
        columns["match_number"] = pa.array(points.numbers)
    return pa.table(columns)


def _unless_unmatched(points: Points, values: pa.Array) -> pa.Array:
    if points.numbers.all():
        return values
    return pc.if_else(pa.array(points.numbers > 0), values, pa.scalar(None, values.type))


@dataclass(slots=True)
class Points:
    """The points of the result rows in some matches.

    Attributes:
        names: The variables.
        at: The row of each step.
        labels: The variable of each step.
        begins: For each point the first step of its match.
        known: The end of the steps up to the point.
        ends: The end of all steps of its match.
        numbers: The number of its match; 0 without one.
        rows: The table row to show.
    """

    names: tuple[str, ...]
    table: PartitionedRows
    matches: MatchedRows
    at: np.ndarray
    labels: np.ndarray
    begins: np.ndarray
    known: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray
    rows: np.ndarray
    _places: dict[Members, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, bound: BoundQuery, program: Instructions, rows: PartitionedRows, matches: MatchedRows
    ) -> Points:
        """Return the points of a query's result rows."""
        lengths = matches.ends - matches.begins
        match_of_step = repeated(np.arange(len(matches)), lengths)
        offsets = matches.starts - matches.begins
        at = np.arange(len(matches.steps)) + offsets[match_of_step]
        match_of, known = np.arange(len(matches)), matches.ends
        if bound.query.output.all_rows:
            shown = np.flatnonzero(~program.hidden[matches.steps])
            lone = (lengths == 0) & (bound.query.output.empty | (matches.numbers == 0))
            match_of = np.concatenate((match_of_step[shown], np.flatnonzero(lone)))
            known = np.concatenate((shown + 1, matches.begins[lone]))
            order = np.argsort(match_of, kind="stable")
            match_of, known = match_of[order], known[order]
        begins, ends = matches.begins[match_of], matches.ends[match_of]
        beyond = np.where(known > begins, known - 1 - begins, 0)
        shown_rows = matches.starts[match_of] + (beyond if bound.query.output.all_rows else 0)
        labels = program.variables[matches.steps]
        numbers = matches.numbers[match_of]
        return cls(
            bound.query.variables,
            rows,
            matches,
            at,
            labels,
            begins,
            known,
            ends,
            numbers,
            shown_rows,
        )

    def places(self, variables: Members) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps of variables, and their number before each step."""
        if variables not in self._places:
            names = self.names
            members = np.array([variables is None or name in variables for name in names], np.bool_)
            inside = members[self.labels]
            counts = np.concatenate(([0], np.cumsum(inside)))
            self._places[variables] = np.flatnonzero(inside), counts
        return self._places[variables]

    def row_values(self, leaf: e.RowValue, column: pa.Array | None = None) -> pa.Array:
        """Return the value of a navigation at each point."""
        places, counts = self.places(leaf.variables)
        ends = self.ends if leaf.scope == "final" else self.known
        first, behind = counts[self.begins], counts[ends]
        index = behind - 1 - leaf.skipped if leaf.end == "last" else first + leaf.skipped
        valid = (index >= first) & (index < behind)
        steps = np.where(valid, places[np.where(valid, index, 0)] if len(places) else 0, -1)
        if isinstance(leaf.value, e.Label):
            to = steps + leaf.shift
            # PREV and NEXT leave the rows so far, as for columns; no row outside has a variable.
            valid &= (to >= self.begins) & (to < self.ends)
            names = pa.array(self.names, pa.string())
            labels = self.labels[np.where(valid, to, 0)] if len(self.labels) else to
            return names.take(pa.array(labels, mask=~valid))
        rows = np.where(valid, self.at[steps] if len(self.at) else 0, -1)
        column = self.table.column(leaf.value) if column is None else column
        return column.take(self.table.indices(rows, leaf.shift))

    def fold_values(self, leaf: e.Fold) -> pa.Array:
        """Return the value of an aggregate at each point."""
        places, counts = self.places(leaf.variables)
        ends = self.ends if leaf.scope == "final" else self.known
        first, behind = counts[self.begins], counts[ends]
        if not leaf.arguments:
            return pa.array(behind - first)
        states = self._states(leaf, places, counts)
        function = FOLDS[leaf.function]
        values = [
            function.result(states[last] if many else function.first)
            for last, many in zip((behind - 1).tolist(), (behind > first).tolist(), strict=True)
        ]
        try:
            return pa.array(values, leaf_kind(leaf, self.table))
        except (pa.ArrowInvalid, OverflowError) as error:
            raise StreamError(
                f"{e.place_text(leaf.span)}: a result beyond 64 bits",
                hint="CAST the column AS DOUBLE",
            ) from error

    def _states(self, leaf: e.Fold, places: np.ndarray, counts: np.ndarray) -> list[Any]:
        """Return the states of an aggregate after each of its rows."""
        columns = [self._values(argument, places).__getitem__ for argument in leaf.arguments]
        fold = Running.of(leaf.function, columns, distinct=leaf.distinct)
        states: list[Any] = []
        ends = counts[self.matches.ends].tolist()
        for begin, end in zip(counts[self.matches.begins].tolist(), ends, strict=True):
            fold.keep(0)
            states.extend(map(fold.add, range(begin, end)))
        return states

    def _values(self, argument: e.Expression, places: np.ndarray) -> list[Any]:
        """Return the value of an aggregate's argument at some steps."""
        if isinstance(argument, e.Label):
            return [self.names[label] for label in self.labels[places].tolist()]
        # Matches that overlap share rows.
        used, where = np.unique(self.at[places], return_inverse=True)
        values = self.table.column(argument).take(pa.array(used)).to_pylist()
        return [values[index] for index in where.tolist()]


def measured(expression: e.Expression, points: Points) -> pa.Array:
    """Return an expression at each point; a plain column keeps its type."""
    rows, count = points.table, len(points.rows)

    def leaf(part: e.Leaf) -> Any:
        match part:
            case e.MatchNumber():
                return pa.array(points.numbers)
            case e.RowValue():
                return points.row_values(part)
            case e.Fold():
                return points.fold_values(part)

    if isinstance(expression, e.RowValue) and isinstance(expression.value, e.Here):
        column = as_array(rows.table.column(expression.value.name), len(rows))
        return points.row_values(expression, column)
    value = as_array(evaluate(expression, leaf), count)
    if (
        isinstance(expression, e.Fold)
        and FOLDS[expression.function].one_of_them
        and isinstance(value_of := expression.arguments[0], e.Here)
    ):
        kind = rows.table.schema.field(value_of.name).type
        return value if pa.types.is_dictionary(kind) else value.cast(kind)
    return value
