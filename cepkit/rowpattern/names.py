"""The binder of names in expressions: columns of the table, variables, navigations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from cepkit.errors import PatternError, Span, UnsupportedError
from cepkit.rowpattern import expressions as e
from cepkit.rowpattern.folding import FOLD_SYNONYMS, FOLDS
from cepkit.rowpattern.operations import OPERATIONS, SYNONYMS, TYPES

_NAVIGATIONS = ("first", "last", "prev", "next")
_OF_MATCHES = (*_NAVIGATIONS, *FOLDS, *FOLD_SYNONYMS, "classifier", "match_number")
"""The functions that read rows of a match."""
_HINTS = {
    "lag": "in MATCH_RECOGNIZE it is PREV(column, n)",
    "lead": "in MATCH_RECOGNIZE it is NEXT(column, n)",
    "row_number": "COUNT(*) numbers the rows of a match",
    "power": "write a product",
}
_WORDS = ("negate", "like", "and", "or", "not", "case")
"""Operations that are written as words or signs, not as functions."""
Place = Literal["DEFINE", "MEASURES", "SELECT", "ORDER BY"]


@dataclass(frozen=True, slots=True)
class Names:
    """The columns of a table, looked up as in SQL: case matters only if it decides.

    Attributes:
        columns: The columns; None without a table, where every name is a column.
    """

    columns: tuple[str, ...] | None

    def of(self, name: str, span: Span | None) -> str:
        """Return the column of a name.

        Raises:
            PatternError: No column or several columns have the name.
        """
        if self.columns is None:
            return name
        if self.columns.count(name) == 1:
            return name
        same = [column for column in self.columns if column.upper() == name.upper()]
        if len(same) == 1:
            return same[0]
        if same:
            raise PatternError(
                f"'{name}' may be {' or '.join(same)}", hint="rename the columns", span=span
            )
        raise PatternError.unknown(f"no column '{name}'", name, self.columns, span=span)


@dataclass(frozen=True, slots=True)
class NameBinder:
    """Binds the expressions of one clause.

    Attributes:
        names: The columns of the table.
        members: For each variable and SUBSET its variables.
        variable: In DEFINE, the variable of the condition.
    """

    names: Names
    members: Mapping[str, tuple[str, ...]]
    place: Place
    variable: str | None = None

    def of(self, expression: e.Expression) -> e.Expression:
        """Return an expression with bound leaves."""
        match expression:
            case e.Constant():
                return expression
            case e.Column(variable, name, span):
                value = e.Here(self.names.of(name, span), span)
                return e.RowValue(self._rows(variable, span), "last", 0, 0, value, span=span)
            case e.Cast(value, kind, span):
                return e.Cast(self.of(value), _cast_type(kind, span), span)
            case e.Call(name) if self.place != "SELECT" and name in _OF_MATCHES:
                return self._read(expression)
            case e.Call(name, arguments, _, scope, span):
                if scope is not None:
                    raise PatternError(
                        f"{scope.upper()} before {name.upper()}",
                        expected="FIRST, LAST or an aggregate",
                        span=span,
                    )
                known = _known(expression, self.place)
                return replace(expression, name=known, arguments=tuple(map(self.of, arguments)))
            case e.AllRows(span=span):
                raise PatternError("'*' may only be in COUNT", span=span)
            case e.Here() | e.Label() | e.RowValue() | e.Fold() | e.MatchNumber():
                return expression

    def _read(self, call: e.Call) -> e.Expression:
        if call.scope == "final" and self.place == "DEFINE":
            raise PatternError(
                "FINAL in DEFINE", hint="a condition knows only the match so far", span=call.span
            )
        match call.name:
            case "match_number":
                if call.arguments:
                    raise PatternError("MATCH_NUMBER takes no arguments", span=call.span)
                return e.MatchNumber(call.span)
            case "classifier":
                return self._navigation(e.Call("last", (call,), scope=call.scope, span=call.span))
            case "prev" | "next":
                return self._shifted(call)
            case "first" | "last":
                return self._navigation(call)
            case _:
                return self._fold(call)

    def _navigation(self, call: e.Call) -> e.RowValue:
        value, skipped = self._counted(call, 0)
        variables, (here,) = self._inside((value,), call)
        return e.RowValue(
            variables,
            "first" if call.name == "first" else "last",
            skipped,
            0,
            here,
            call.scope or "running",
            call.span,
        )

    def _shifted(self, call: e.Call) -> e.RowValue:
        if call.scope is not None:
            raise PatternError(
                f"{call.scope.upper()} {call.name.upper()}",
                hint=f"write {call.name.upper()}({call.scope.upper()} LAST(...))",
                span=call.span,
            )
        value, count = self._counted(call, 1)
        shift = -count if call.name == "prev" else count
        if isinstance(value, e.Call) and value.name in ("first", "last"):
            return replace(self._navigation(value), shift=shift, span=call.span)
        variables, (here,) = self._inside((value,), call)
        return e.RowValue(variables, "last", 0, shift, here, span=call.span)

    def _counted(self, call: e.Call, count: int) -> tuple[e.Expression, int]:
        """Return the argument of a navigation, and its number."""
        title = call.name.upper()
        if not 1 <= len(call.arguments) <= 2:
            raise PatternError(
                f"{title} of {len(call.arguments)} arguments",
                expected=f"{title}(value) or {title}(value, number)",
                span=call.span,
            )
        if len(call.arguments) == 1:
            return call.arguments[0], count
        number = call.arguments[1]
        if not (isinstance(number, e.Constant) and type(number.value) is int and number.value >= 0):
            raise PatternError(
                f"the number of rows of {title}",
                expected="a whole number that is not negative",
                span=number.span,
            )
        return call.arguments[0], min(number.value, 2**31)

    def _fold(self, call: e.Call) -> e.Fold:
        title = call.name.upper()
        name = FOLD_SYNONYMS.get(call.name, call.name)
        count = FOLDS[name].count
        if len(call.arguments) != count:
            raise PatternError(
                f"{title} of {len(call.arguments)} arguments",
                expected="one" if count == 1 else f"two: {title}(value, order)",
                span=call.span,
            )
        scope = call.scope or "running"
        if isinstance(value := call.arguments[0], e.AllRows):
            if name != "count":
                raise PatternError(f"{title} of '*'", hint="COUNT counts rows", span=call.span)
            variables = self._rows(value.variable, value.span)
            return e.Fold("count", variables, (), scope=scope, span=call.span)
        variables, values = self._inside(call.arguments, call)
        return e.Fold(name, variables, values, call.distinct, scope, call.span)

    def _inside(
        self, values: tuple[e.Expression, ...], call: e.Call
    ) -> tuple[tuple[str, ...] | None, tuple[e.Expression, ...]]:
        """Return the variables of arguments, and the expressions they read from each row."""
        title = call.name.upper()
        labels = {value: label for value in values if (label := _label(value)) is not None}
        parts = [part for value in values if value not in labels for part in e.walk(value)]
        variables = {part.variable for part in parts if isinstance(part, e.Column)}
        variables |= {label for (label,) in labels.values()}
        if len(variables) > 1:
            names = " and ".join(sorted(name or "all rows" for name in variables))
            raise PatternError(
                f"{title} of columns of {names}",
                expected="columns of one variable",
                hint=f"a {title} for each, computed with afterwards",
                span=call.span,
            )
        for part in parts:
            if isinstance(part, e.Call) and part.name in _OF_MATCHES:
                raise PatternError(
                    f"{part.name.upper()} inside {title}",
                    expected="a value of one row"
                    + (
                        "; PREV and NEXT take FIRST and LAST too"
                        if title in ("FIRST", "LAST")
                        else ""
                    ),
                    span=part.span,
                )
        variable = next(iter(variables), None)
        here = (e.Label(each.span) if each in labels else self.here(each) for each in values)
        return self._rows(variable, call.span), tuple(here)

    def key(self, value: e.Expression) -> e.Expression:
        """Return a key of ORDER BY."""
        if isinstance(value, e.Constant):
            raise PatternError(
                "ORDER BY a constant",
                expected="a column, or an expression of columns",
                span=value.span,
            )
        return self.here(value)

    def here(self, value: e.Expression) -> e.Expression:
        """Return an expression over the columns of one row."""
        match value:
            case e.Column(_, name, span):
                return e.Here(self.names.of(name, span), span)
            case e.Call(_, arguments):
                return replace(
                    value,
                    name=_known(value, self.place),
                    arguments=tuple(map(self.here, arguments)),
                )
            case e.Cast(inner, kind, span):
                return e.Cast(self.here(inner), _cast_type(kind, span), span)
            case e.AllRows(span=span):
                raise PatternError("'*' may only be in COUNT", span=span)
            case _:
                return value

    def _rows(self, variable: str | None, span: Span | None) -> tuple[str, ...] | None:
        if variable is None:
            return None
        if self.place == "SELECT":
            return None  # the alias of the result
        if variable not in self.members:
            raise PatternError.unknown(f"no variable {variable}", variable, self.members, span=span)
        return self.members[variable]


def _label(value: e.Expression) -> tuple[str | None] | None:
    """Return the variable of CLASSIFIER() or CLASSIFIER(A)."""
    if not (isinstance(value, e.Call) and value.name == "classifier"):
        return None
    match value.arguments:
        case ():
            return (None,)
        case (e.Column(None, name),):
            return (name.upper(),)
        case _:
            raise PatternError("CLASSIFIER of something other than a variable", span=value.span)


def _known(call: e.Call, place: Place) -> str:
    """Return the name of an operation."""
    name = SYNONYMS.get(call.name, call.name)
    operation = OPERATIONS.get(name)
    if operation is None:
        if name in _OF_MATCHES:
            raise UnsupportedError(
                f"{name.upper()} in {place} is not supported",
                hint="aggregate in MEASURES, or the result",
                span=call.span,
            )
        functions = [w for w in OPERATIONS if w.isidentifier() and w not in _WORDS]
        unknown = UnsupportedError.unknown(
            f"the function {call.name.upper()} is not supported",
            call.name.upper(),
            map(str.upper, (*_OF_MATCHES, *functions)),
        )
        unknown.span = call.span
        unknown.hint = _HINTS.get(name, unknown.hint) or "compute its column first"
        raise unknown
    if call.distinct:
        raise PatternError(f"DISTINCT in {name.upper()}", expected="an aggregate", span=call.span)
    count = len(call.arguments)
    if count < operation.least or (operation.most is not None and count > operation.most):
        raise PatternError(
            f"{name.upper()} of {count} arguments", expected=str(operation.least), span=call.span
        )
    return name


def _cast_type(kind: str, span: Span | None) -> str:
    if kind not in TYPES:
        raise UnsupportedError.unknown(f"CAST to {kind} is not supported", kind, TYPES, span=span)
    return kind
