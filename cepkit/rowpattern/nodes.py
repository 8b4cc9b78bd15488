"""A row pattern and the query around it, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, assert_never

from cepkit.errors import Span
from cepkit.rowpattern.expressions import Constant, Expression


@dataclass(frozen=True, slots=True)
class Variable:
    """One row."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One part after the other; of no parts: no row."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of the parts; an earlier one is preferred."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Permutation:
    """The parts in any order; orders are preferred as they stand in a dictionary of the list."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repetition:
    """A part `least` to `most` times (None: any number); greedy ones prefer more."""

    part: RowPattern
    least: int
    most: int | None
    greedy: bool
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A part whose rows ALL ROWS PER MATCH leaves out."""

    part: RowPattern
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start or the end of the partition."""

    at: Literal["start", "end"]
    span: Span | None = field(default=None, compare=False, repr=False)


RowPattern = Variable | Concatenation | Alternation | Permutation | Repetition | Exclusion | Anchor


@dataclass(frozen=True, slots=True)
class Key:
    """A column of ORDER BY.

    Attributes:
        nulls: Where they go, as it is written.
    """

    column: str
    descending: bool = False
    nulls: Literal["first", "last"] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """An expression with the name that it has in the result."""

    name: str
    expression: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Skip:
    """Where the search goes on after a match.

    Attributes:
        variable: Of `first` and `last`, whose row.
    """

    to: Literal["past last row", "next row", "first", "last"] = "past last row"
    variable: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """Which rows come out.

    Attributes:
        empty: Whether empty matches give a row.
        unmatched: Whether rows that no match covers come out too.
    """

    all_rows: bool = False
    empty: bool = True
    unmatched: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A query with MATCH_RECOGNIZE, as it was written.

    Attributes:
        selected: What SELECT lists; None is all columns.
        subsets: The variables of each SUBSET.
        defined: The condition of each variable that has one.
        names: How each variable is written in CLASSIFIER.
        span: The place of PATTERN.
    """

    text: str
    table: str
    pattern: RowPattern
    partition: tuple[Key, ...] = ()
    order: tuple[Key, ...] = ()
    measures: tuple[Named, ...] = ()
    output: Output = Output()
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
        """The variables of the pattern, in the order in which they first stand there."""
        names = (part.name for part in walk(self.pattern) if isinstance(part, Variable))
        return tuple(dict.fromkeys(names))


def children(pattern: RowPattern) -> tuple[RowPattern, ...]:
    """Return the patterns directly below one."""
    match pattern:
        case Variable() | Anchor():
            return ()
        case Concatenation(parts) | Alternation(parts) | Permutation(parts):
            return parts
        case Repetition(part) | Exclusion(part):
            return (part,)
        case _:
            assert_never(pattern)


def walk(pattern: RowPattern) -> Iterator[RowPattern]:
    """Yield a pattern and all below it."""
    yield pattern
    for child in children(pattern):
        yield from walk(child)
