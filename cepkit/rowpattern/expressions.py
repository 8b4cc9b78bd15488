"""Expressions of a row pattern query: as written, and bound to columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Literal as Word

from cepkit.errors import Span
from cepkit.pattern import trees

Value = bool | int | float | str | datetime | date | timedelta | None
End = Word["first", "last"]
Scope = Word["running", "final"]


@dataclass(frozen=True, slots=True)
class Constant(trees.Node):
    """A constant."""

    value: Value
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Column(trees.Node):
    """A column of a variable's last row (`A.price`), or of the row itself (`price`)."""

    variable: str | None
    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllRows(trees.Node):
    """The rows of a variable, or all rows, in COUNT(A.*) and COUNT(*)."""

    variable: str | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call(trees.Node):
    """An operator or a function of values, by its name in `operations.OPERATIONS`.

    Before binding also FIRST, LAST, PREV, NEXT, CLASSIFIER, MATCH_NUMBER and aggregates.

    Attributes:
        name: Its name, in lower case.
        arguments: Its operands.
        distinct: Whether DISTINCT is written.
        scope: RUNNING or FINAL, if written.
    """

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    scope: Scope | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast(trees.Node):
    """A value as another type."""

    value: Expression
    type: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Here(trees.Node):
    """A column of the row that a navigation or an aggregate reads."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Label(trees.Node):
    """The variable of the row that a navigation reads: CLASSIFIER."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RowValue(trees.Node):
    """A value of one row: the navigation to it, and the expression there.

    Attributes:
        variables: The variables whose rows count; None: all rows of the match.
        end: The end to count from.
        skipped: The number of rows to skip from that end.
        shift: The offset in the partition from that row; negative for earlier rows.
        value: An expression of `Here` leaves only, or `Label`.
    """

    variables: tuple[str, ...] | None
    end: End
    skipped: int
    shift: int
    value: Expression
    scope: Scope = "running"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fold(trees.Node):
    """An aggregate of rows of the match.

    Attributes:
        function: Its name in `folding.FOLDS`.
        arguments: Expressions of `Here` leaves only, or `Label`; without one it counts rows.
    """

    function: str
    variables: tuple[str, ...] | None
    arguments: tuple[Expression, ...]
    distinct: bool = False
    scope: Scope = "running"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MatchNumber(trees.Node):
    """The number of the match in its partition, from 1."""

    span: Span | None = field(default=None, compare=False, repr=False)


Leaf = RowValue | Fold | MatchNumber
Expression = Constant | Column | AllRows | Call | Cast | Here | Label | Leaf


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all below it."""
    return trees.walk(expression)


def leaves(expression: Expression) -> Iterator[Leaf]:
    """Yield the leaves of a bound expression."""
    for part in walk(expression):
        if isinstance(part, RowValue | Fold | MatchNumber):
            yield part


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Return the parts that AND joins."""
    if isinstance(expression, Call) and expression.name == "and":
        return tuple(part for side in expression.arguments for part in conjuncts(side))
    return (expression,)


def place_text(span: Span | None) -> str:
    """Return the text of a place."""
    return "" if span is None else " ".join(span.text[span.start : span.end].split())
