"""The conditions of rows of a match, in the pattern language."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_never

from cepkit.errors import Span, UnsupportedError
from cepkit.pattern.names import attribute_text, column_text, string_text
from cepkit.pattern.trees import mapped
from cepkit.rowpattern.binding import BoundQuery
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
                raise refused(f"the function {name.upper()}", expression.span)
            case Cast(_, kind, span):
                raise refused(f"CAST to {kind}", span)
            case RowValue():
                return self._read(expression)
            case Fold(function, span=span):
                raise refused(f"{function.upper()} in DEFINE", span)
            case MatchNumber(span):
                raise refused("MATCH_NUMBER in DEFINE", span)
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
            raise refused("a row that is not mapped yet, a null in SQL,", leaf.span)
        row = candidates[-1 - leaf.skipped if leaf.end == "last" else leaf.skipped] + leaf.shift
        if isinstance(leaf.value, Label):
            if row > self._place or row < 0:
                raise refused("CLASSIFIER of a row that is not mapped", leaf.span)
            return string_text(self._rows[row])
        if not 0 <= row < len(self._rows):
            raise refused("PREV or NEXT that leaves the match", leaf.span)
        return self._there(leaf.value, row)

    def _there(self, value: Expression, row: int) -> str:
        match value:
            case Here(name):
                variable = self._names[row]
                return f"{variable}.{attribute_text(name)}" if variable else column_text(name)
            case _:
                at = RowWriter(self._bound, self._rows, self._names, row)
                return f"({at.text(_bound_here(value), 0)})"


def _bound_here(value: Expression) -> Expression:
    """Return an expression with the columns of a row as values of the row itself."""
    match value:
        case Here(span=span):
            return RowValue(None, "last", 0, 0, value, span=span)
        case _:
            return mapped(value, _bound_here)


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
            return duration_text(value)
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case _:
            raise refused("this constant", span)


def duration_text(value: timedelta) -> str:
    """Return a duration as patterns write it."""
    microseconds = value // timedelta(microseconds=1)
    for size, unit in ((60_000_000, "minutes"), (1_000_000, "seconds"), (1_000, "ms")):
        if microseconds % size == 0:
            return f"{microseconds // size} {unit}"
    return f"{microseconds} us"
