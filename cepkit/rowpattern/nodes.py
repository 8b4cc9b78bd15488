"""A row pattern and the query around it, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cepkit.errors import Span
from cepkit.pattern import trees
from cepkit.rowpattern.expressions import Column, Constant, Expression, Here


@dataclass(frozen=True, slots=True)
class Variable(trees.Node):
    """One row."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Concatenation(trees.Node):
    """One part after the other; without parts, no row."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternation(trees.Node):
    """One of the parts; an earlier one is preferred."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Permutation(trees.Node):
    """The parts in any order; orders are preferred lexicographically."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repetition(trees.Node):
    """A part `least` to `most` times (None: any number); greedy ones prefer more."""

    part: RowPattern
    least: int
    most: int | None
    greedy: bool
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exclusion(trees.Node):
    """A part whose rows ALL ROWS PER MATCH leaves out."""

    part: RowPattern
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Anchor(trees.Node):
    """The start or the end of the partition."""

    at: Literal["start", "end"]
    span: Span | None = field(default=None, compare=False, repr=False)


RowPattern = Variable | Concatenation | Alternation | Permutation | Repetition | Exclusion | Anchor


@dataclass(frozen=True, slots=True)
class Key:
    """A key of ORDER BY or PARTITION BY.

    Attributes:
        value: A column, or an expression of columns.
        nulls: The position of nulls, if written.
    """

    value: Expression
    descending: bool = False
    nulls: Literal["first", "last"] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def column(self) -> str | None:
        """The name of the column; None for another expression."""
        return self.value.name if isinstance(self.value, Column | Here) else None


@dataclass(frozen=True, slots=True)
class Named:
    """An expression with its name in the result."""

    name: str
    expression: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Skip:
    """The place where the search continues after a match.

    Attributes:
        to: The place.
        variable: For `first` and `last`, the variable of the row.
    """

    to: Literal["past last row", "next row", "first", "last"] = "past last row"
    variable: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OutputRows:
    """The rows of the output.

    Attributes:
        all_rows: Whether each row of a match has a row; else each match has one.
        empty: Whether empty matches have a row.
        unmatched: Whether to include rows that no match covers.
    """

    all_rows: bool = False
    empty: bool = True
    unmatched: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query with MATCH_RECOGNIZE, as written.

    Attributes:
        selected: The SELECT list; None for all columns.
        subsets: The variables of each SUBSET.
        defined: The condition of each variable that has one.
        names: The spelling of each variable in CLASSIFIER.
        span: The place of PATTERN.
    """

    text: str
    table: str
    pattern: RowPattern
    partition: tuple[Key, ...] = ()
    order: tuple[Key, ...] = ()
    measures: tuple[Named, ...] = ()
    output: OutputRows = OutputRows()
    skip: Skip = Skip()
    within: Constant | None = None
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    defined: tuple[tuple[str, Expression], ...] = ()
    selected: tuple[Named, ...] | None = None
    where: Expression | None = None
    sorted_by: tuple[Key, ...] = ()
    limit: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern, by first occurrence."""
        names = (part.name for part in walk(self.pattern) if isinstance(part, Variable))
        return tuple(dict.fromkeys(names))


def walk(pattern: RowPattern) -> Iterator[RowPattern]:
    """Yield a pattern and all below it."""
    return trees.walk(pattern)
