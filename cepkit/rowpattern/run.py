"""The run of a bound query over a table: preparation without rows, then the result in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from cepkit.errors import PatternError
from cepkit.rowpattern.binding import BoundQuery, bind
from cepkit.rowpattern.columns import as_array, evaluate, kind_text
from cepkit.rowpattern.expressions import (
    Column,
    Constant,
    Expression,
    Fold,
    Here,
    Label,
    Leaf,
    place_text,
)  # fmt: skip
from cepkit.rowpattern.names import NameBinder, Names
from cepkit.rowpattern.nodes import Key, Named, RowQuery
from cepkit.rowpattern.operations import comparable
from cepkit.rowpattern.output import leaf_kind, result_table
from cepkit.rowpattern.program import Instructions, compile_pattern
from cepkit.rowpattern.rows import PartitionedRows, ranks, rows_of
from cepkit.rowpattern.search import MatchedRows, PreferredSearch, as_truth, check_truth
from cepkit.tables import count_text


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query ready to run over tables of one schema; it can be pickled.

    Attributes:
        selected: The SELECT list, bound to the columns of the result; None for all.
        sorted_by: The keys of ORDER BY around MATCH_RECOGNIZE.
        schema: The columns of the result.
    """

    bound: BoundQuery
    program: Instructions
    selected: tuple[Named, ...] | None
    where: Expression | None
    sorted_by: tuple[Key, ...]
    schema: pa.Schema

    def batches(self, rows: PartitionedRows) -> Iterator[pa.Table]:
        """Yield the result in batches, without ORDER BY and LIMIT."""
        search = PreferredSearch(self.bound, self.program, rows)
        for matches in search.matches():
            table = result_table(self.bound, self.program, rows, matches)
            yield around(table, self.selected, self.where)

    def explained(self) -> list[str]:
        """Return how the query runs, in lines."""
        bound, query = self.bound, self.bound.query
        pattern = "" if query.span is None else place_text(query.span)
        lines = [f"{pattern}: {count_text(self.program.size, 'step')}"]
        for name in query.variables:
            ways = [
                *_conditions_text("for all rows at once", bound.filters[name]),
                *_conditions_text("of each row that is tried", bound.conditions[name]),
            ]
            lines.append(f"  {name}: {'; '.join(ways) or 'any row'}")
        if any(bound.conditions.values()):
            lines.append("searched row by row: the preferred way, and back where a condition fails")
        else:
            lines.append("searched by compiled loops, in one pass: rows x steps")
        skip = " ".join(filter(None, (query.skip.to.upper(), query.skip.variable)))
        lines.append(f"after a match: {skip}")
        return lines


def _conditions_text(when: str, parts: Iterable[Expression]) -> list[str]:
    texts = " AND ".join(place_text(part.span) for part in parts)
    return [f"{texts} ({when})"] if texts else []


def prepare(query: RowQuery, empty: pa.Table) -> Prepared:
    """Return a query ready for tables with the schema of `empty`; checks all kinds.

    Raises:
        PatternError: An unknown name, or kinds that do not fit.
        UnsupportedError: An unsupported part of SQL.
    """
    bound = bind(query, empty.column_names)
    program = compile_pattern(query.pattern, query.variables)
    rows = rows_of(empty, bound)
    for name in query.variables:
        for part in (*bound.filters[name], *bound.conditions[name]):
            check_truth(part, evaluate(part, lambda leaf: _of_no_row(leaf, rows)).type)
    for measure in bound.measures:
        evaluate(measure.expression, lambda leaf: _of_no_row(leaf, rows))
    inside = result_table(bound, program, rows, MatchedRows.none())
    binder = NameBinder(Names(tuple(inside.column_names)), {}, "SELECT")
    selected = query.selected and tuple(
        replace(each, expression=binder.here(each.expression)) for each in query.selected
    )
    where = None if query.where is None else binder.here(query.where)
    schema = around(inside, selected, where).schema
    outside = Names(tuple(schema.names))
    names = [each.name for each in selected or ()]
    for number, each in enumerate(selected or ()):
        if each.name in names[:number]:
            raise PatternError(
                f"two columns of the result are called '{each.name}'",
                hint="name one of them by AS",
                span=each.span,
            )
    sorting = NameBinder(outside, {}, "ORDER BY")
    keys = tuple(replace(key, value=sorting.key(_place(key, schema))) for key in query.sorted_by)
    for table, ordered in ((empty, bound.order), (schema.empty_table(), keys)):
        for key in ordered:
            ranks(table, key)
    return Prepared(bound, program, selected, where, keys, schema)


def _place(key: Key, schema: pa.Schema) -> Expression:
    """Return the value of a key of the result; a number is the place of a column, from 1."""
    match key.value:
        case Constant(int(place), span) if type(place) is int and 0 < place <= len(schema):
            return Column(None, schema.names[place - 1], span)
        case _:
            return key.value


def around(
    table: pa.Table, selected: tuple[Named, ...] | None, where: Expression | None
) -> pa.Table:
    """Apply the outer WHERE and SELECT to the rows of matches."""
    if where is not None:
        true = _of_table(where, table)
        check_truth(where, true.type)
        table = table.filter(as_truth(true))
    if selected is None:
        return table
    return pa.table({each.name: _of_table(each.expression, table) for each in selected})


def _of_table(expression: Expression, table: pa.Table) -> pa.Array:
    def column(here: Here) -> pa.Array:
        return as_array(table.column(here.name), table.num_rows)

    if isinstance(expression, Here):
        return column(expression)
    return as_array(evaluate(expression, lambda here: comparable(column(here))), table.num_rows)


def _of_no_row(leaf: Leaf, rows: PartitionedRows) -> pa.Array:
    try:
        return pa.array([], leaf_kind(leaf, rows))
    except pa.ArrowNotImplementedError:
        assert isinstance(leaf, Fold)
        last = leaf.arguments[-1]
        kind = pa.string() if isinstance(last, Label) else rows.column(last).type
        if leaf.distinct or leaf.function in ("min", "max", "min_by", "max_by"):
            expected = "values that can be ordered"
        else:
            truth = leaf.function in ("bool_and", "bool_or")
            expected = "truth values" if truth else "numbers or durations"
        raise PatternError(
            f"{leaf.function.upper()} of {kind_text(kind)}", expected=expected, span=leaf.span
        ) from None
