"""The table that the SQL of a pattern reads: its name, its columns, and how it counts time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import ClassVar

from sqlglot import Dialect, exp, tokens

from cepkit.errors import UnsupportedError
from cepkit.pattern.conditions import TIME

UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_PARTS = (("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000))


class _Flink(Dialect):
    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of events.

    Attributes:
        name: Its name, with dots between catalogue, schema and table.
        time: The column of the time, without missing values.
        type: The column of the type; None: all rows have every type.
        id: A column that differs between all rows and orders those of equal time; None: there is
            none.
        unit: The unit of times that are numbers: s, ms or us; None for timestamps.
        dialect: The name of the system, as sqlglot has it.
    """

    name: str
    time: str
    type: str | None
    id: str | None
    unit: str | None
    dialect: str

    def text(self, tree: exp.Expr) -> str:
        """Return a tree as a text of the system."""
        # Flink has no dialect in sqlglot; its words are the standard's, in backquotes.
        if self.dialect == "flink":
            return tree.sql(dialect=_Flink, pretty=True)
        return tree.sql(dialect=self.dialect, pretty=True)

    def source(self, variable: str | None = None) -> exp.Expr:
        """Return the table, under the name of a variable's row."""
        parts = [exp.to_identifier(part, quoted=True) for part in self.name.split(".")]
        table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
        return table if variable is None else exp.alias_(table, row_of(variable), table=True)

    def column(self, variable: str, name: str) -> exp.Expr:
        """Return a column of the row of a variable."""
        column = self.time if name == TIME else name
        return exp.column(exp.to_identifier(column, quoted=True), row_of(variable))

    def moment(self, variable: str) -> exp.Expr:
        """Return the time of a variable's row."""
        return self.column(variable, self.time)

    def number(self, variable: str, why: str) -> exp.Expr:
        """Return the expression that identifies a variable's row.

        Raises:
            UnsupportedError: The table has no such column.
        """
        if self.id is None:
            raise UnsupportedError(
                why,
                expected="a column that differs between all rows",
                hint="id='order_id' names it; in DuckDB each table has id='rowid'",
            )
        return self.column(variable, self.id)

    def shifted(self, moment: exp.Expr, by: timedelta) -> exp.Expr:
        """Return a time moved by a duration."""
        microseconds = by // timedelta(microseconds=1)
        if not microseconds:
            return moment
        operation = exp.Sub if microseconds < 0 else exp.Add
        for part in self._parts(abs(microseconds)):
            moment = operation(this=moment, expression=part)
        return moment

    def _parts(self, microseconds: int) -> Iterator[exp.Expr]:
        if self.unit is not None:
            yield exp.Literal.number(_decimal(microseconds, UNITS[self.unit]))
            return
        parts: tuple[tuple[str, int], ...] = _PARTS
        if self.dialect == "flink":  # a number of an interval has two digits there
            parts = (("DAY", 24 * _PARTS[0][1]), *_PARTS)
        else:  # a day is not always 24 hours
            whole = next((p for p in _PARTS if microseconds % p[1] == 0), None)
            parts = _PARTS[-1:] if whole is None else (whole,)
        for unit, length in parts:
            number, microseconds = divmod(microseconds, length)
            if unit == "SECOND" and microseconds and self.dialect == "snowflake":
                yield _interval(str(number * 1_000_000 + microseconds), "MICROSECOND")
            elif unit == "SECOND" and microseconds:
                yield _interval(_decimal(number * length + microseconds, length), unit)
            elif number:
                yield _interval(str(number), unit)


def row_of(variable: str) -> exp.Identifier:
    """Return the name of a variable's row: `a.x` could also be the field x of a column a."""
    return exp.to_identifier(f"event_{variable}", quoted=True)


def _decimal(number: int, divisor: int) -> str:
    return f"{(Decimal(number) / divisor).normalize():f}"


def _interval(number: str, unit: str) -> exp.Expr:
    return exp.Interval(this=exp.Literal.string(number), unit=exp.var(unit))
