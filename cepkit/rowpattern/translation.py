"""The translation of a row pattern query to an equivalent cepkit pattern, if there is one.

cepkit finds all matches, SQL one for each start. A pattern with a fixed number of rows has at most
one for each start; so a sequence of variables becomes the same sequence under contiguity, with the
same skip. Everything else is refused by name and place. SELECT and MEASURES are not part of the
pattern: `detect` returns a column for each variable and attribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from cepkit.errors import Span, UnsupportedError
from cepkit.pattern.names import attribute_text, name_text, string_text
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from cepkit.printing import Printed
from cepkit.rowpattern.binding import BoundQuery, bind
from cepkit.rowpattern.expressions import (
    AllRows,
    Call,
    Cast,
    Column,
    Constant,
    Expression,
    Fold,
    Here,
    Label,
    MatchNumber,
    RowValue,
)
from cepkit.rowpattern.nodes import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    RowQuery,
    Variable,
)

_SIGNS = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "mod": "%",
    "and": "AND",
    "or": "OR",
}
_FUNCTIONS = {
    "abs": "abs",
    "sqrt": "sqrt",
    "exp": "exp",
    "ln": "log",
    "floor": "floor",
    "ceil": "ceil",
    "least": "least",
    "greatest": "greatest",
    "lower": "lower",
    "upper": "upper",
    "trim": "trim",
    "length": "length",
    "concat": "concat",
}
_MOST_ROWS = 100


class Translatable:
    """The base of objects with a bound query, for its translation."""

    __slots__ = ()

    def _bound(self) -> BoundQuery:
        raise NotImplementedError

    def pattern_text(self) -> str:
        """Return the text of the cepkit pattern that finds the same matches.

        SELECT and MEASURES are not part of it: `ck.detect` returns a column for each attribute.

        Raises:
            UnsupportedError: There is none; the message names the obstacle and its place.
        """
        return _pattern_text(self._bound())

    def as_pattern(self) -> Query:
        """Return that pattern, parsed.

        Raises:
            UnsupportedError: There is none; the message names the obstacle and its place.
        """
        return parse(self.pattern_text())


@dataclass(frozen=True, slots=True, repr=False)
class RowPatternQuery(Translatable, Printed):
    """A parsed query with MATCH_RECOGNIZE, without a table.

    Attributes:
        query: The parsed query.
    """

    query: RowQuery

    def _bound(self) -> BoundQuery:
        return bind(self.query)

    def __str__(self) -> str:
        return self.query.text


def _pattern_text(bound: BoundQuery) -> str:
    query = bound.query
    rows = list(_rows(query.pattern))
    if not rows:
        raise _refused("a pattern of no row", query.span)
    _check_order(bound)
    names = _names(rows)
    skip = _skip(bound, rows, names)
    conditions = [
        _Row(bound, rows, names, place).text(part, 1)
        for place, variable in enumerate(rows)
        for part in (*bound.filters[variable], *bound.conditions[variable])
        if query.within is None or part.span != query.within.span
    ]
    events = ", ".join(f"ANY {name}" for name in names)
    parts = [f"PATTERN SEQ({events})" if len(names) > 1 else f"PATTERN {events}"]
    if conditions:
        parts.append(f"WHERE {' AND '.join(conditions)}")
    if query.within is not None:
        assert isinstance(query.within.value, timedelta)
        parts.append(f"WITHIN {_duration(query.within.value)} EXCLUSIVE")
    if bound.partition:
        parts.append(f"PARTITION BY {', '.join(map(name_text, bound.partition))}")
    parts.append(f"STRATEGY {'partition' if bound.partition else 'strict'}-contiguity")
    if skip is not None:
        parts.append(f"AFTER MATCH SKIP {skip}")
    return "\n".join(parts)


def _rows(pattern: RowPattern) -> Iterator[str]:
    """Yield the variable of each row of a pattern of a fixed number of rows."""
    match pattern:
        case Variable(name):
            yield name
        case Concatenation(parts):
            for part in parts:
                yield from _rows(part)
        case Repetition(part, least, most) if least == most:
            if least > _MOST_ROWS:
                raise _refused(f"a part {least:,} times", pattern.span)
            for _ in range(least):
                yield from _rows(part)
        case Repetition():
            raise _refused("a part that repeats without a limit", pattern.span)
        case Alternation():
            raise _refused("'|', where SQL prefers the left part,", pattern.span)
        case Permutation():
            raise _refused("PERMUTE, whose orders SQL prefers one after the other,", pattern.span)
        case Exclusion():
            raise _refused("{- -}", pattern.span)
        case Anchor():
            raise _refused("an end of the partition", pattern.span)
        case _:
            assert_never(pattern)


def _refused(what: str, span: Span | None) -> UnsupportedError:
    return UnsupportedError(
        f"{what} has no equivalent in cepkit's patterns",
        hint="ck.from_match_recognize(sql, table) runs the query as it is",
        span=span,
    )


def _skip(bound: BoundQuery, rows: list[str], names: list[str]) -> str | None:
    """Return the translation of AFTER MATCH SKIP; None if matches may overlap."""
    skip, query = bound.query.skip, bound.query
    if query.output.unmatched:
        raise _refused("WITH UNMATCHED ROWS", query.output.span)
    if (len(rows) == 1 and skip.variable is None) or skip.to == "next row":
        return None
    if skip.to == "past last row":
        return "PAST LAST EVENT"
    members = bound.members[skip.variable or ""]
    places = [place for place, variable in enumerate(rows) if variable in members]
    place = places[0 if skip.to == "first" else -1]
    if not place:
        raise _refused("SKIP TO the first row of the match, an error in SQL,", skip.span)
    return f"TO LAST {names[place]}"


def _check_order(bound: BoundQuery) -> None:
    if len(bound.order) != 1 or bound.order[0].descending or bound.order[0].column is None:
        raise _refused(
            "an order of other than one ascending column",
            bound.order[0].span if bound.order else bound.query.span,
        )


def _names(rows: list[str]) -> list[str]:
    """Return a name for each row; numbered if a variable has several rows."""
    names: list[str] = []
    for place, variable in enumerate(rows):
        name = variable.lower()
        if rows.count(variable) > 1:
            name += f"_{rows[: place + 1].count(variable)}"
        while name in names or (rows.count(variable) > 1 and name.upper() in rows):
            name += "_"
        names.append(name)
    return [name_text(name) for name in names]


class _Row:
    """Writes the conditions of one row of a match with a fixed number of rows."""

    def __init__(self, bound: BoundQuery, rows: list[str], names: list[str], place: int) -> None:
        self._bound = bound
        self._rows = rows
        self._names = names
        self._place = place

    def text(self, expression: Expression, level: int) -> str:
        """Return an expression in the pattern language.

        Args:
            expression: The bound expression.
            level: The binding strength of the surrounding expression.
        """
        match expression:
            case Constant(value, span):
                return _constant(value, span)
            case Call(name, (left, right)) if name in _SIGNS:
                own = _LEVELS[name]
                # Adjacent comparisons would parse as a chain.
                texts = self.text(left, own + (own == 3)), self.text(right, own + (own > 1))
                inside = f" {_SIGNS[name]} ".join(texts)
                return f"({inside})" if own < level else inside
            case Call("not", (value,)):
                return f"NOT ({self.text(value, 0)})"
            case Call("negate", (value,)):
                return f"-({self.text(value, 0)})"
            case Call("is null", (value,)):
                inside = f"{self.text(value, 4)} IS NULL"
                return f"({inside})" if level > 2 else inside
            case Call(name, arguments) if name in _FUNCTIONS:
                return f"{_FUNCTIONS[name]}({', '.join(self.text(a, 0) for a in arguments)})"
            case Call(name):
                raise _refused(f"the function {name.upper()}", expression.span)
            case Cast(_, kind, span):
                raise _refused(f"CAST to {kind}", span)
            case RowValue():
                return self._read(expression)
            case Fold(function, span=span):
                raise _refused(f"{function.upper()} in DEFINE", span)
            case MatchNumber(span):
                raise _refused("MATCH_NUMBER in DEFINE", span)
            case Here() | Label() | Column() | AllRows():
                raise AssertionError(expression)
            case _:
                assert_never(expression)

    def _read(self, leaf: RowValue) -> str:
        variables = leaf.variables
        candidates = [
            place
            for place, name in enumerate(self._rows[: self._place + 1])
            if variables is None or name in variables
        ]
        if leaf.skipped >= len(candidates):
            raise _refused("a row that is not mapped yet, a null in SQL,", leaf.span)
        row = candidates[-1 - leaf.skipped if leaf.end == "last" else leaf.skipped] + leaf.shift
        if isinstance(leaf.value, Label):
            if row > self._place or row < 0:
                raise _refused("CLASSIFIER of a row that is not mapped", leaf.span)
            return string_text(self._rows[row])
        if not 0 <= row < len(self._rows):
            raise _refused("PREV or NEXT that leaves the match", leaf.span)
        return self._there(leaf.value, row)

    def _there(self, value: Expression, row: int) -> str:
        match value:
            case Here(name):
                return f"{self._names[row]}.{attribute_text(name)}"
            case _:
                at = _Row(self._bound, self._rows, self._names, row)
                return f"({at.text(_bound_here(value), 0)})"


def _bound_here(value: Expression) -> Expression:
    """Return an expression with the columns of a row as values of the row itself."""
    match value:
        case Here(span=span):
            return RowValue(None, "last", 0, 0, value, span=span)
        case Call(name, arguments, span=span):
            return Call(name, tuple(map(_bound_here, arguments)), span=span)
        case Cast(inner, kind, span):
            return Cast(_bound_here(inner), kind, span)
        case _:
            return value


_LEVELS = {
    "or": 0,
    "and": 1,
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), 3),
    **dict.fromkeys(("add", "subtract"), 4),
    **dict.fromkeys(("multiply", "divide", "mod"), 5),
}


def _constant(value: object, span: Span | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | float():
            return repr(value)
        case str():
            return string_text(value)
        case timedelta():
            return _duration(value)
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case _:
            raise _refused("this constant", span)


def _duration(value: timedelta) -> str:
    microseconds = value // timedelta(microseconds=1)
    for size, unit in ((60_000_000, "minutes"), (1_000_000, "seconds"), (1_000, "ms")):
        if microseconds % size == 0:
            return f"{microseconds // size} {unit}"
    return f"{microseconds} us"
