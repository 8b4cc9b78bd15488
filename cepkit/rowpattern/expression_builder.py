# Methods have the names of grammar rules.
# ruff: noqa: D102
"""The builder of expressions from syntax trees; it folds variable names as SQL does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from lark import Token, Tree, v_args
from lark.visitors import Transformer

from cepkit.errors import PatternError, Span
from cepkit.pattern.names import unquoted
from cepkit.rowpattern import expressions as e
from cepkit.rowpattern.operations import UNITS

_PARTS = ("year", "month", "day", "hour", "minute")
"""The parts of a time that all databases compute alike."""

_OPERATORS = {"!=": "<>", "%": "mod", "||": "concat", "AND": "and", "OR": "or"}
"""The names of operators that are not called as they are written."""


class Word(str):
    """A name; `quoted` ones keep their case."""

    __slots__ = ("quoted", "span")
    quoted: bool
    span: Span

    @property
    def variable(self) -> str:
        """The name of a variable, folded."""
        return str(self) if self.quoted else self.upper()


@v_args(meta=True)
class ExpressionBuilder(Transformer[Token, Any]):
    """Builds frozen expressions and names bottom-up."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def span_of(self, place: Any) -> Span:
        return Span(self._text, place.start_pos, place.end_pos)

    def name(self, meta: Any, parts: list[Token]) -> Word:
        quoted = parts[0].type == "QUOTED"
        word = Word(unquoted(str(parts[0])))
        word.quoted, word.span = quoted, self.span_of(meta)
        return word

    def _whole(self, token: Token) -> int:
        if not token.isdigit() or len(token) > 18:
            raise PatternError(
                f"{token} is not a number of rows",
                expected="a whole number",
                span=self.span_of(token),
            )
        return int(token)

    def operator(self, meta: Any, parts: list[Any]) -> e.Call:
        left, sign, right = parts
        word = str(sign.children[0] if isinstance(sign, Tree) else sign)
        return e.Call(_OPERATORS.get(word, word), (left, right), span=self.span_of(meta))

    def chain(self, meta: Any, parts: list[Any]) -> e.Expression:
        sign = _OPERATORS[parts[1].upper()]
        return self._joined(sign, parts[::2], self.span_of(meta))

    def _joined(self, sign: str, parts: Sequence[e.Expression], span: Span) -> e.Expression:
        """Return AND or OR of parts as a balanced tree: its depth is the logarithm."""
        if len(parts) == 1:
            return parts[0]
        half = (len(parts) + 1) // 2
        sides = (self._joined(sign, side, span) for side in (parts[:half], parts[half:]))
        return e.Call(sign, tuple(sides), span=span)

    def complement(self, meta: Any, parts: list[Any]) -> e.Call:
        return e.Call("not", (parts[-1],), span=self.span_of(meta))

    def between(self, meta: Any, parts: list[Any]) -> e.Expression:
        value, least, most = (part for part in parts if not isinstance(part, Token))
        span = self.span_of(meta)
        inside = e.Call(
            "and",
            (e.Call(">=", (value, least), span=span), e.Call("<=", (value, most), span=span)),
            span=span,
        )
        return self._unless(parts, inside)

    def in_list(self, meta: Any, parts: list[Any]) -> e.Expression:
        value, *choices = (part for part in parts if not isinstance(part, Token))
        span = self.span_of(meta)
        equal = [e.Call("=", (value, choice), span=span) for choice in choices]
        return self._unless(parts, self._joined("or", equal, span))

    def like(self, meta: Any, parts: list[Any]) -> e.Expression:
        value, pattern = (part for part in parts if not isinstance(part, Token))
        if not (isinstance(pattern, e.Constant) and isinstance(pattern.value, str)):
            raise PatternError(
                "LIKE with something other than a constant", expected="a text", span=pattern.span
            )
        return self._unless(parts, e.Call("like", (value, pattern), span=self.span_of(meta)))

    def is_value(self, meta: Any, parts: list[Any]) -> e.Expression:
        word = parts[-1].type.lower()
        return self._unless(parts[:-1], e.Call(f"is {word}", (parts[0],), span=self.span_of(meta)))

    @staticmethod
    def _unless(parts: Sequence[Any], call: e.Expression) -> e.Expression:
        negated = any(isinstance(part, Token) and part.type == "NOT" for part in parts)
        return e.Call("not", (call,), span=call.span) if negated else call

    def negative(self, meta: Any, parts: list[Any]) -> e.Expression:
        value = parts[-1]
        if isinstance(value, e.Constant) and type(value.value) in (int, float):
            return e.Constant(-value.value, self.span_of(meta))  # type: ignore[operator]
        return e.Call("negate", (value,), span=self.span_of(meta))

    def positive(self, _: Any, parts: list[Any]) -> e.Expression:
        value: e.Expression = parts[-1]
        return value

    def number(self, meta: Any, parts: list[Token]) -> e.Constant:
        text = str(parts[0])
        if text.isdigit() and len(text) < 20 and int(text) < 2**63:
            return e.Constant(int(text), self.span_of(meta))
        return e.Constant(float(text), self.span_of(meta))

    def string(self, meta: Any, parts: list[Token]) -> e.Constant:
        return e.Constant(unquoted(str(parts[0])), self.span_of(meta))

    def truth(self, meta: Any, parts: list[Token]) -> e.Constant:
        return e.Constant(parts[0].type == "TRUE", self.span_of(meta))

    def null(self, meta: Any, _: list[Token]) -> e.Constant:
        return e.Constant(None, self.span_of(meta))

    def timestamp(self, meta: Any, parts: list[Token]) -> e.Constant:
        return e.Constant(self._time(parts[1]), self.span_of(meta))

    date = timestamp

    def _time(self, token: Token) -> datetime:
        try:
            return datetime.fromisoformat(unquoted(str(token)))
        except ValueError:
            raise PatternError(
                f"{token} is no time",
                expected="as '2024-03-04 15:00:00'",
                span=self.span_of(token),
            ) from None

    def interval(self, meta: Any, parts: list[Token]) -> e.Constant:
        *signs, number, unit = parts
        text = unquoted(str(number)) if number.type == "STRING" else str(number)
        try:
            duration = timedelta(**{unit.lower().rstrip("s") + "s": float(text)})
        except (ValueError, OverflowError):
            raise PatternError(
                f"{number} is not a number of {unit.upper()}S", span=self.span_of(number)
            ) from None
        return e.Constant(-duration if signs else duration, self.span_of(meta))

    def case(self, meta: Any, parts: list[Any]) -> e.Call:
        span = self.span_of(meta)
        pairs = [part for part in parts if isinstance(part, tuple)]
        first = parts.index(pairs[0])
        if first:
            pairs = [(e.Call("=", (parts[0], when), span=span), then) for when, then in pairs]
        otherwise = parts[-1] if not isinstance(parts[-1], tuple) else e.Constant(None, span)
        return e.Call("case", (*(part for pair in pairs for part in pair), otherwise), span=span)

    def when(self, _: Any, parts: list[Any]) -> tuple[e.Expression, e.Expression]:
        return parts[0], parts[1]

    def cast(self, meta: Any, parts: list[Any]) -> e.Cast:
        return e.Cast(parts[0], parts[1], self.span_of(meta))

    def extract(self, meta: Any, parts: list[Any]) -> e.Call:
        part, value = parts
        span = self.span_of(meta)
        if part.lower() not in _PARTS:
            raise PatternError(
                f"EXTRACT of {part}",
                expected=f"one of {', '.join(map(str.upper, _PARTS))}",
                hint="databases differ in the first day of a week and in fractions of seconds",
                span=span,
            )
        return e.Call(part.lower(), (value,), span=span)

    def typename(self, _: Any, parts: list[Any]) -> str:
        return str(parts[0]).upper()

    def reference(self, meta: Any, parts: list[Word]) -> e.Column:
        variable = parts[0].variable if len(parts) == 2 else None
        return e.Column(variable, str(parts[-1]), self.span_of(meta))

    def call(self, meta: Any, parts: list[Any]) -> e.Call:
        name, *rest = parts
        arguments = tuple(part for part in rest if not isinstance(part, Token))
        distinct, span = len(arguments) < len(rest), self.span_of(meta)
        match name.lower():
            case "count" if not arguments:
                arguments = (e.AllRows(None, span),)
            case "if":
                if len(arguments) not in (2, 3):
                    raise PatternError(
                        f"IF of {len(arguments)} arguments",
                        expected="IF(condition, value) or IF(condition, value, otherwise)",
                        span=span,
                    )
                return e.Call("case", (*arguments, e.Constant(None, span))[:3], distinct, span=span)
            case "timestampdiff" | "datediff" | "date_diff":
                arguments = _with_unit(name, arguments, span)
        return e.Call(name.lower(), arguments, distinct, span=span)

    def call_of_all(self, meta: Any, parts: list[Any]) -> e.Call:
        span = self.span_of(meta)
        variable = parts[1].variable if isinstance(parts[1], Word) else None
        return e.Call(parts[0].lower(), (e.AllRows(variable, span),), span=span)

    def scoped(self, meta: Any, parts: list[Any]) -> e.Call:
        scope: e.Scope = "final" if parts[0].upper() == "FINAL" else "running"
        call: e.Call = parts[1]
        return e.Call(call.name, call.arguments, call.distinct, scope, self.span_of(meta))


def _with_unit(
    name: str, arguments: tuple[e.Expression, ...], span: Span
) -> tuple[e.Expression, ...]:
    """Return the arguments of a difference of times, the unit as a constant."""
    if name.lower() == "datediff" and len(arguments) == 2:  # days, the later one first
        return e.Constant("day", span), arguments[1], arguments[0]
    match arguments:
        case (e.Column(None, str(unit)) | e.Constant(str(unit)), start, end) if (
            unit.lower().removesuffix("s") in UNITS
        ):
            return e.Constant(unit.lower().removesuffix("s"), span), start, end
    unit_text = "'day'" if name.lower() == "date_diff" else "DAY"
    raise PatternError(
        f"{name.upper()} of these arguments",
        expected=f"{name.upper()}({unit_text}, start, end), with {', '.join(UNITS)} for the unit",
        hint="weeks, months and years begin differently in databases",
        span=span,
    )
