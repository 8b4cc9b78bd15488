# The methods are the rules of grammar.lark, all with the same arguments.
# ruff: noqa: D102, ARG002
"""The transformer of conditions and values, with places in the text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from cepkit.errors import PatternSyntaxError, Span
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.registered import SET_FUNCTIONS
from cepkit.pattern.moments import read_time
from cepkit.pattern.names import name_text, unquoted
from cepkit.pattern.parameters import Occurrence
from cepkit.pattern.policies import read_duration
from cepkit.pattern.zones import BY_CALENDAR, OF_CLOCKS, by_calendar, known_zone

Children = list[Any]
OPERATORS = {"==": "=", "<>": "!="}


class _Chain(tuple[c.Comparison, ...]):
    """The comparisons of `a < b < c`: part of the AND around them, or an AND of their own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _UpTo:
    """`b[..i].price`, `b[..i-1].price`: members of a set; only a function may take them."""

    variable: str
    which: str
    attribute: str | None
    span: Span


# Not recursive, so that no depth of a text exceeds Python's limit. Untyped, as lark's trees are.
@v_args(meta=True)
class ConditionBuilder(Transformer_NonRecursive):  # type: ignore[type-arg]
    """Turns conditions and values of grammar.lark, leaves first, into nodes.

    Args:
        text: The text of the tree, for the places of the nodes.
        occurrences: The places of its parameters, where the tree has stand-ins.
    """

    def __init__(self, text: str, occurrences: tuple[Occurrence, ...] = ()) -> None:
        super().__init__(visit_tokens=False)
        self._text = text
        self._parameters = {each.span.start: each.name for each in occurrences}

    def span_of(self, place: Meta | Token) -> Span:
        start, end = place.start_pos, place.end_pos
        assert start is not None
        assert end is not None
        return Span(self._text, start, end)

    def name(self, meta: Meta, children: Children) -> str:
        # str: lark's tokens of two kinds differ even where their letters agree.
        return unquoted(str(children[0]))

    type = variable = name

    def column(self, meta: Meta, children: Children) -> str:
        return ".".join(unquoted(str(part)) for part in children)

    attribute = column

    def condition(self, meta: Meta, children: Children) -> c.Expression:
        return self._sealed(children[0])

    parenthesised = condition

    def any_of(self, meta: Meta, children: Children) -> c.Expression:
        return c.AnyOf(tuple(map(self._sealed, children[::2])), self.span_of(meta))

    def all_of(self, meta: Meta, children: Children) -> c.Expression:
        items: list[c.Expression] = []
        for child in children[::2]:
            items.extend(child if isinstance(child, _Chain) else (child,))
        return c.AllOf(tuple(items), self.span_of(meta))

    def complement(self, meta: Meta, children: Children) -> c.Expression:
        return c.Complement(self._sealed(children[1]), self.span_of(meta))

    def comparisons(self, meta: Meta, children: Children) -> c.Comparison | _Chain:
        # Each comparison of a chain is underlined alone, from its left to its right operand.
        operands, operators = children[::2], children[1::2]
        conditions = []
        for operator, left, right in zip(operators, operands, operands[1:], strict=False):
            span = self.span_of(meta)
            if len(operators) > 1:
                span = Span(self._text, left.span.start, right.span.end)
            sign: Any = OPERATORS.get(str(operator), str(operator))
            conditions.append(c.Comparison(sign, left, right, span))
        return conditions[0] if len(conditions) == 1 else _Chain(conditions)

    def in_list(self, meta: Meta, children: Children) -> c.Expression:
        operand, choices = children[0], children[-1]
        return c.InList(operand, choices, len(children) > 2, self.span_of(meta))

    def between(self, meta: Meta, children: Children) -> c.Expression:
        # operand [NOT] low AND high
        negated = len(children) > 4
        return c.Between(children[0], children[-3], children[-1], negated, self.span_of(meta))

    def is_null(self, meta: Meta, children: Children) -> c.Expression:
        # operand [NOT] NULL
        return c.IsNull(children[0], len(children) > 2, self.span_of(meta))

    def test(self, meta: Meta, children: Children) -> c.Expression:
        # text [NOT] LIKE pattern
        span = self.span_of(meta)
        call = c.Call(children[-2].lower(), (children[0], children[-1]), span)
        return call if len(children) == 3 else c.Complement(call, span)

    def arithmetic(self, meta: Meta, children: Children) -> c.Expression:
        left, operator, right = children
        return c.Arithmetic(str(operator), left, right, self.span_of(meta))  # type: ignore[arg-type]

    def negative(self, meta: Meta, children: Children) -> c.Expression:
        return c.Negative(children[1], self.span_of(meta))

    def number(self, meta: Meta, children: Children) -> c.Expression:
        (token,) = children
        name = self._parameters.get(token.start_pos)
        if name is not None:
            return c.Parameter(1, self.span_of(meta), name=name)
        return c.Literal(self.number_of(token), self.span_of(meta))

    def negative_number(self, meta: Meta, children: Children) -> c.Expression:
        _, token = children
        if token.start_pos in self._parameters:
            return c.Negative(self.number(meta, [token]), self.span_of(meta))
        return c.Literal(-self.number_of(token), self.span_of(meta))

    def duration(self, meta: Meta, children: Children) -> c.Expression:
        number, unit = children
        if number.start_pos in self._parameters:
            one = c.Literal(read_duration(Token("NUMBER", "1"), unit, self.span_of(number)))
            return c.Arithmetic("*", self.number(meta, [number]), one, self.span_of(meta))
        return c.Literal(read_duration(number, unit, self.span_of(number)), self.span_of(meta))

    def negative_duration(self, meta: Meta, children: Children) -> c.Expression:
        _, *positive = children
        duration = self.duration(meta, positive)
        match duration:
            case c.Literal(timedelta() as value, span):
                return c.Literal(-value, span)
            case _:
                return c.Negative(duration, self.span_of(meta))

    def string(self, meta: Meta, children: Children) -> c.Expression:
        return c.Literal(unquoted(str(children[0])), self.span_of(meta))

    def timestamp(self, meta: Meta, children: Children) -> c.Expression:
        return read_time(unquoted(str(children[0])), self.span_of(meta))

    def true(self, meta: Meta, children: Children) -> c.Expression:
        return c.Literal(True, self.span_of(meta))

    def false(self, meta: Meta, children: Children) -> c.Expression:
        return c.Literal(False, self.span_of(meta))

    def null(self, meta: Meta, children: Children) -> c.Expression:
        return c.Literal(None, self.span_of(meta))

    def reference(self, meta: Meta, children: Children) -> c.Attribute:
        return c.Attribute(children[0], children[1], self.span_of(meta))

    def attribute_of_member(self, meta: Meta, children: Children) -> c.Expression:
        name, function, attribute = children
        if not function:
            return c.Attribute(name, attribute, self.span_of(meta))
        return c.Aggregate(function, name, attribute, self.span_of(meta))

    def numbered_member(self, meta: Meta, children: Children) -> str:
        return c.member_function(self._place(children[0]))

    def last_member(self, meta: Meta, children: Children) -> str:
        return c.member_function(-1 - self._place(children[-1]) if children else -1)

    def any_member(self, meta: Meta, children: Children) -> str:
        if children[0].lower() != "i":
            raise PatternSyntaxError(
                f"'{children[0]}' is not a member of a set",
                expected="b[i].price of each member, b[i-1].price of the one before it, b[1].price "
                "of the first, b[2].price of the second or b[last].price of the last",
                span=self.span_of(children[0]),
            )
        return ""

    def member_before(self, meta: Meta, children: Children) -> str:
        self.any_member(meta, children)
        return c.prev_function(self._place(children[-1]))

    def _place(self, token: Token) -> int:
        """Return the number of a member, from 1 on."""
        number = self.number_of(token)
        if not isinstance(number, int) or not 1 <= number <= c.FARTHEST:
            raise PatternSyntaxError(
                f"{token} as the number of a member",
                expected=f"a whole number from 1 to {c.FARTHEST:,}",
                hint="the first member of a set is b[1], the last one b[last]",
                span=self.span_of(token),
            )
        return number

    def members_up_to(self, meta: Meta, children: Children) -> _UpTo:
        name, end, *attribute = children
        if c.distance_of(end) > 1:
            raise PatternSyntaxError(
                f"the members up to {c.distance_of(end)} before another",
                expected="b[..i], those up to each member, or b[..i-1], those before it",
                span=self.span_of(meta),
            )
        prefix = c.EARLIER if end else c.RUNNING
        return _UpTo(name, prefix, attribute[0] if attribute else None, self.span_of(meta))

    def lone_name(self, meta: Meta, children: Children) -> c.Attribute:
        # A column in DEFINE, a variable in a function of a set; checks refuse it elsewhere.
        return c.Attribute("", children[0], self.span_of(meta))

    def call(self, meta: Meta, children: Children) -> c.Expression:
        function, *given = children
        arguments, zone = given[0] if given else (), given[1] if len(given) > 1 else None
        if function.lower() in BY_CALENDAR:
            return by_calendar(function.lower(), arguments, self.span_of(meta), zone)
        if zone is not None and function.lower() not in OF_CLOCKS:
            raise PatternSyntaxError(
                f"{function} AT TIME ZONE",
                expected=f"a function that reads the clock: {', '.join(sorted(OF_CLOCKS))}",
                span=self.span_of(meta),
            )
        if function.lower() in SET_FUNCTIONS:
            return self._set_function(meta, function.lower(), arguments)
        for argument in arguments:
            self.check_is_value(argument)
        if function.lower() in FUNCTIONS:
            function = function.lower()
        return c.Call(function, arguments, self.span_of(meta), zone=zone)

    def distinct(self, meta: Meta, children: Children) -> c.Aggregate:
        function, argument = children
        span = self.span_of(meta)
        match argument:
            case c.Attribute(variable, name) if variable and function.lower() == "count":
                return c.Aggregate(c.DISTINCT, variable, name, span)
            case _UpTo(variable, which, str(name)) if function.lower() == "count":
                return c.Aggregate(which + c.DISTINCT, variable, name, span)
        raise PatternSyntaxError(
            f"{function}(DISTINCT ...) of something else than an attribute of a set",
            expected="count(DISTINCT b.user), where b is a variable under KL",
            span=span,
        )

    def zone(self, meta: Meta, children: Children) -> str:
        return known_zone(unquoted(str(children[0])), self.span_of(children[0]))

    def check_is_value(self, value: c.Expression | _UpTo) -> None:
        if isinstance(value, _UpTo):
            raise PatternSyntaxError(
                "members of a set are not a value",
                expected=f"a function of them, as in sum({name_text(value.variable)}[..i].price)",
                span=value.span,
            )

    def _set_function(self, meta: Meta, function: str, arguments: tuple[Any, ...]) -> c.Aggregate:
        span = self.span_of(meta)
        match arguments:
            case (c.Attribute("", variable),):
                return c.Aggregate(function, variable, None, span)
            case (c.Attribute(variable, name),):
                return c.Aggregate(function, variable, name, span)
            case (c.Attribute(variable, name), c.Literal(far)) if (
                function == "prev" and type(far) is int and 1 <= far <= c.FARTHEST
            ):
                return c.Aggregate(c.prev_function(far), variable, name, span)
            case (_UpTo(variable, which, name),) if function != "prev":
                return c.Aggregate(which + function, variable, name, span)
        other = {"min": "least", "max": "greatest"}.get(function)
        hint = f"of several values: {other}(...)" if other and len(arguments) > 1 else None
        if function == "prev" and len(arguments) > 1:
            hint = "the second before each is prev(b.price, 2): whole numbers from 1 on"
        raise PatternSyntaxError(
            f"{function} of something that is not a set of events",
            expected=f"{function}(b{'' if function == 'count' else '.price'}), "
            "where b is a variable under KL",
            hint=hint,
            span=span,
        )

    def _sealed(self, expression: c.Expression | _Chain) -> c.Expression:
        """Return a chain as an AND of its own; any other expression as it is."""
        if not isinstance(expression, _Chain):
            return expression
        first, last = expression[0].span, expression[-1].span
        assert first is not None
        assert last is not None
        return c.AllOf(tuple(expression), Span(self._text, first.start, last.end))

    def number_of(self, token: Token) -> int | float:
        try:
            value: int | float = int(token)
        except ValueError:
            # Python reads no integer of so many digits, and no float holds it.
            value = float("inf") if token.replace("_", "").isdigit() else float(token)
        if value == float("inf"):
            raise PatternSyntaxError(
                f"the number {token[:20]}{'...' if len(token) > 20 else ''} is too large",
                expected="a number below 1.8e308",
                span=self.span_of(token),
            )
        return value
