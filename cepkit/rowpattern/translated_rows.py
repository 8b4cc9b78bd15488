"""The conditions of rows of a match, as conditions of the pattern language."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, assert_never

from cepkit.errors import Span, UnsupportedError
from cepkit.pattern import conditions as c
from cepkit.pattern.given_times import time_of
from cepkit.pattern.trees import mapped
from cepkit.rowpattern import expressions as e
from cepkit.rowpattern.binding import BoundQuery

_FUNCTIONS = (
    *("abs", "sqrt", "exp", "ln", "floor", "ceil", "least", "greatest"),
    *("lower", "upper", "trim", "length", "concat"),
)
"""The functions that mean the same in patterns; `ln` is called log there."""


def refused(what: str, span: Span | None) -> UnsupportedError:
    """Return the error of a part that no pattern says."""
    return UnsupportedError(
        f"{what} has no equivalent in cepkit's patterns",
        hint="ck.from_match_recognize(sql, table) runs the query as it is",
        span=span,
    )


class RowWriter:
    """Writes the conditions of one row of a match with a fixed number of rows."""

    def __init__(self, bound: BoundQuery, rows: list[str], names: list[str], place: int) -> None:
        self._bound = bound
        self._rows = rows
        self._names = names
        self._place = place

    def of(self, expression: e.Expression) -> c.Expression:
        """Return a bound expression in the pattern language."""
        match expression:
            case e.Constant(value, span):
                return _constant(value, span)
            case e.Call("and" | "or" as name):
                kind = c.AllOf if name == "and" else c.AnyOf
                sides = map(self.of, expression.arguments)
                flat = (part for s in sides for part in (s.items if isinstance(s, kind) else (s,)))
                return kind(tuple(flat))
            case e.Call("=" | "<>" | "<" | "<=" | ">" | ">=" as sign, (left, right)):
                compared: Any = {"<>": "!="}.get(sign, sign)
                return c.Comparison(compared, self.of(left), self.of(right))
            case e.Call("+" | "-" | "*" | "/" | "mod" as sign, (left, right)):
                computed: Any = {"mod": "%"}.get(sign, sign)
                return c.Arithmetic(computed, self.of(left), self.of(right))
            case e.Call("not", (value,)):
                return c.Complement(self.of(value))
            case e.Call("negate", (value,)):
                return c.Negative(self.of(value))
            case e.Call("is null", (value,)):
                return c.IsNull(self.of(value))
            case e.Call(name, arguments) if name in _FUNCTIONS:
                same = "log" if name == "ln" else name
                return c.Call(same, tuple(map(self.of, arguments)))
            case e.Call(name):
                raise refused(f"the function {name.upper()}", expression.span)
            case e.Cast(_, kind, span):
                raise refused(f"CAST to {kind}", span)
            case e.RowValue():
                return self._read(expression)
            case e.Fold(function, span=span):
                raise refused(f"{function.upper()} in DEFINE", span)
            case e.MatchNumber(span):
                raise refused("MATCH_NUMBER in DEFINE", span)
            case e.Here() | e.Label() | e.Column() | e.AllRows():
                raise AssertionError(expression)
            case _:
                assert_never(expression)

    def _read(self, leaf: e.RowValue) -> c.Expression:
        variables = leaf.variables
        candidates = [
            place
            for place, name in enumerate(self._rows[: self._place + 1])
            if variables is None or name in variables
        ]
        if leaf.skipped >= len(candidates):
            raise refused("a row that is not mapped yet, a null in SQL,", leaf.span)
        row = candidates[-1 - leaf.skipped if leaf.end == "last" else leaf.skipped] + leaf.shift
        if isinstance(leaf.value, e.Label):
            if row > self._place or row < 0:
                raise refused("CLASSIFIER of a row that is not mapped", leaf.span)
            return c.Literal(self._rows[row])
        if not 0 <= row < len(self._rows):
            raise refused("PREV or NEXT that leaves the match", leaf.span)
        return self._there(leaf.value, row)

    def _there(self, value: e.Expression, row: int) -> c.Expression:
        if isinstance(value, e.Here):
            return c.Attribute(self._names[row], value.name)
        return RowWriter(self._bound, self._rows, self._names, row).of(_bound_here(value))


def _bound_here(value: e.Expression) -> e.Expression:
    """Return an expression with the columns of a row as values of the row itself."""
    match value:
        case e.Here(span=span):
            return e.RowValue(None, "last", 0, 0, value, span=span)
        case _:
            return mapped(value, _bound_here)


def _constant(value: object, span: Span | None) -> c.Literal:
    match value:
        case datetime():
            return c.Literal(time_of(value), zone=None if value.tzinfo is None else "UTC")
        case None | bool() | int() | float() | str() | timedelta():
            return c.Literal(value)
        case _:
            raise refused("this constant", span)
