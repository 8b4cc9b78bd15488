"""Conditions as data: expressions that can be printed, compared, estimated and compiled.

A value is a number, a text, a truth value, a time, a duration or an array, or it is missing;
evaluation/ says which kinds an operator takes. Null and NaN are both missing. An expression over a
missing value is missing, a comparison with it is neither true nor false (SQL's three-valued logic),
and a condition holds only where it is true.
Missing as well are a division by zero, the root of a negative number, the logarithm of zero or a
negative number, and an integer beyond 64 bits. `+`, `-`, `*` and `%` of integers stay integers;
`/` gives a float; `%` takes the sign of the dividend; an integer beside a float becomes a float.
Times and durations are exact: 64-bit integers of microseconds. A duration times or divided by a
number, and a mean of durations, are rounded to microseconds, half to even.
Set functions leave missing values out, as SQL's do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal as OneOf
from typing import TypeAlias, cast

from cepkit.errors import Span
from cepkit.pattern import trees
from cepkit.stream.columns import TIME as TIME

CLOCK = "\x01clock"
"""The function that gives the reading of the clock; no pattern writes it."""

ArithmeticOperator: TypeAlias = OneOf["+", "-", "*", "/", "%"]
ComparisonOperator: TypeAlias = OneOf["<", "<=", "=", "!=", ">=", ">"]
Constant: TypeAlias = int | float | str | bool | timedelta | datetime | None
"""Times are readings of a clock, without a zone."""


class _Node(trees.Node):
    """The base of all expressions; it caches two frequent answers."""

    __slots__ = ("_has_set_functions", "_variables")

    @property
    def has_set_functions(self) -> bool:
        """Whether the expression contains a function of a set of events."""
        cached: bool | None = getattr(self, "_has_set_functions", None)
        if cached is None:
            below = children(cast("Expression", self))
            cached = isinstance(self, Aggregate) or any(child.has_set_functions for child in below)
            object.__setattr__(self, "_has_set_functions", cached)
        return cached

    @property
    def variables(self) -> frozenset[str]:
        """The variables in attributes and in set functions."""
        cached: frozenset[str] | None = getattr(self, "_variables", None)
        if cached is None:
            if isinstance(self, Attribute | Aggregate):
                cached = frozenset(() if self.variable is None else (self.variable,))
            else:
                below = [child.variables for child in children(cast("Expression", self))]
                cached = frozenset[str]().union(*below)
            object.__setattr__(self, "_variables", cached)  # a cache: the value stays the same
        return cached


class ValueNode(_Node):
    """The base of values."""

    __slots__ = ()


class ConditionNode(_Node):
    """The base of conditions, which are true, false or unknown."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Literal(ValueNode):
    """A constant; None is SQL's NULL, a timedelta a duration.

    A time, and a text that is compared with one, may name its time zone; None is UTC.
    """

    value: Constant
    span: Span | None = field(default=None, compare=False, repr=False)
    zone: str | None = field(default=None, kw_only=True)

    # In Python 1 == 1.0 == True; in a pattern these are three constants.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        same = type(self.value) is type(other.value) and repr(self.value) == repr(other.value)
        return same and self.zone == other.zone

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(Literal):
    """A parameter of a pattern, `$k`: a constant that has no value yet, but a stand-in."""

    name: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Attribute(ValueNode):
    """`variable.name`: an attribute of the event that the variable is bound to."""

    variable: str
    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negative(ValueNode):
    """`-operand`."""

    operand: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic(ValueNode):
    """`left operator right` with one of + - * / %."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call(ValueNode):
    """A function of its arguments: a built-in one or a registered one (functions.py).

    A function of the clock may name its time zone; None is UTC.
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    zone: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Aggregate(ValueNode):
    """A function of a set of events: `count(b)`, `avg(b.price)`; in AGG also of the matches.

    The function is a name from `aggregates.AGGREGATES`, or comes from `member_function` (the value
    of one member of a set) or `prev_function` (the value of an earlier member). With the prefix
    `RUNNING` it covers the members up to the current one, with `EARLIER` those before it.
    `COUNT` of the matches themselves has neither variable nor attribute.
    """

    function: str
    variable: str | None = None
    attribute: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ValueAggregate(Aggregate):
    """An aggregate of a value that each match has: `AVG(b.ts - a.ts)`; only in AGG and HAVING.

    The function is a name from `aggregates.AGGREGATES`, `DISTINCT`, or one of `quantiles.py`;
    "percentile" has its share beside it.
    """

    argument: Expression = field(kw_only=True)
    share: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Comparison(ConditionNode):
    """`left operator right` with one of < <= = != >= >."""

    operator: ComparisonOperator
    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InList(ConditionNode):
    """`operand IN (choices)`: equal to one of the choices."""

    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Between(ConditionNode):
    """`operand BETWEEN low AND high`, both ends included."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IsNull(ConditionNode):
    """`operand IS NULL`: true where the operand is missing (null or NaN), else false."""

    operand: Expression
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllOf(ConditionNode):
    """All of the conditions, joined by AND in a text."""

    items: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnyOf(ConditionNode):
    """At least one of the conditions, joined by OR in a text."""

    items: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Complement(ConditionNode):
    """`NOT item`."""

    item: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


Expression: TypeAlias = (
    Literal
    | Attribute
    | Negative
    | Arithmetic
    | Call
    | Aggregate
    | Comparison
    | InList
    | Between
    | IsNull
    | AllOf
    | AnyOf
    | Complement
)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly below `expression`."""
    return trees.children(expression)


def walk(expression: Expression | None) -> Iterator[Expression]:
    """Yield `expression` and all expressions below it, in the order of the text."""
    return iter(()) if expression is None else trees.walk(expression)


def functions_in(expression: Expression) -> Iterator[Aggregate]:
    """Yield the functions of sets in `expression`."""
    parts = walk(expression) if expression.has_set_functions else ()
    return (node for node in parts if isinstance(node, Aggregate))


NUMBER = "\x01number"
"""A reserved attribute: the arrival number of an event, in its partition if there is one."""
NUMBER_BEFORE = "\x01number before"
"""A reserved attribute: the arrival number of the event just before."""


def variables_of(expression: Expression) -> frozenset[str]:
    """Return the variables that `expression` mentions, in attributes and in set functions."""
    return expression.variables


def has_set_functions(expression: Expression) -> bool:
    """Return whether `expression` is about a whole set, as `avg(b.x) > 1`."""
    return expression.has_set_functions


FARTHEST = 2**31 - 1
"""The greatest number of a member in `b[n]`."""


def member_function(place: int) -> str:
    """Return the name of the function for one member: 1 is the first, -1 the last."""
    return {1: "first", -1: "last"}.get(place, f"{_MEMBER}{place}")


def place_of(function: str) -> int | None:
    """Return the number of the member that a function reads, None if it reads several."""
    if function.startswith(_MEMBER):
        return int(function.removeprefix(_MEMBER))
    return {"first": 1, "last": -1}.get(function)


def is_member_number(function: str) -> bool:
    """Return whether a function reads one member other than the first and the last."""
    return function.startswith(_MEMBER)


def prev_function(distance: int) -> str:
    """Return the name of the function for the member `distance` before the current one."""
    return _PREV if distance == 1 else f"{_PREV} {distance}"


def distance_of(function: str) -> int:
    """Return the distance of the member that a function reads before the current one."""
    if function.startswith(_PREV):
        return int(function.removeprefix(_PREV) or 1)
    return int(function.startswith(EARLIER))


def reach_back(expression: Expression) -> int:
    """Return the number of members that must precede the current one in `expression`."""
    return max((distance_of(node.function) for node in functions_in(expression)), default=0)


DISTINCT = "count distinct"
"""The function of a set that counts its different values, `count(DISTINCT b.x)`."""

_MEMBER = "member "
_PREV = "prev"


def set_of_prev(expression: Expression) -> str | None:
    """Return the variable of the set whose members `expression` compares with earlier ones."""
    functions = functions_in(expression)
    return next((node.variable for node in functions if distance_of(node.function)), None)


RUNNING = "running "
"""A prefix of a function's name: it covers the members up to the current one."""
EARLIER = "earlier "
"""A prefix of a function's name: it covers the members before the current one."""


def plain_function(function: str) -> str:
    """Return the name of a function without `RUNNING` or `EARLIER`."""
    return function.removeprefix(RUNNING).removeprefix(EARLIER)


def set_of_running(expression: Expression) -> str | None:
    """Return the variable of the set that a running function reads, as in sum(b[..i].x)."""
    running = (n for n in functions_in(expression) if n.function.startswith((RUNNING, EARLIER)))
    return next((node.variable for node in running), None)


def set_of_members(expression: Expression) -> str | None:
    """Return the variable of the set whose single members `expression` reads."""
    return set_of_prev(expression) or set_of_running(expression)


def has_functions_of(expression: Expression, variable: str) -> bool:
    """Return whether `expression` reads a function of the set `variable`."""
    return any(node.variable == variable for node in functions_in(expression))


def reads_ahead(expression: Expression, variable: str) -> bool:
    """Return whether `expression` reads members of a set that may come after the current one."""
    return any(
        node.variable == variable
        and not distance_of(node.function)
        and not node.function.startswith(RUNNING)
        and (place_of(node.function) or -1) < 0
        for node in functions_in(expression)
    )


def of_neighbours(expression: Expression, variable: str) -> bool:
    """Return whether `expression` reads a member of a set and the one right before it, no more."""
    running = set_of_running(expression) is not None
    return set_of_prev(expression) == variable and not running and reach_back(expression) == 1


def is_filter(expression: Expression) -> bool:
    """Return whether `expression` is about one event alone, no set."""
    return len(variables_of(expression)) == 1 and not has_set_functions(expression)


def attributes_of(expression: Expression | None) -> frozenset[tuple[str, str]]:
    """Return the (variable, attribute) pairs that `expression` reads, besides the time."""
    return frozenset(
        (node.variable, name)
        for node in walk(expression)
        if isinstance(node, Attribute | Aggregate)
        and node.variable is not None
        and (name := node.name if isinstance(node, Attribute) else node.attribute) is not None
        and name != TIME
    )


def member_attributes_of(expression: Expression) -> frozenset[tuple[str, str]]:
    """Return the (variable, attribute) pairs that `expression` reads outside set functions."""
    nodes = (node for node in walk(expression) if isinstance(node, Attribute))
    return frozenset((node.variable, node.name) for node in nodes)


def ordered_attributes(expression: Expression | None) -> tuple[str, ...]:
    """Return the attributes whose order decides in a condition, as in `a.price < b.price`."""
    names = []
    for node in walk(expression):
        match node:
            case Comparison("<" | "<=" | ">" | ">=", left, right):
                sides: tuple[Expression, ...] = (left, right)
            case Between(operand, low, high):
                sides = (operand, low, high)
            case _:
                continue
        names += [side.name for side in sides if isinstance(side, Attribute)]
    return tuple(dict.fromkeys(names))


def all_of(conditions: Iterable[Expression]) -> Expression | None:
    """Return the condition that all of some hold: one alone as it is, None for none."""
    items = tuple(conditions)
    return AllOf(items) if len(items) > 1 else items[0] if items else None


def conjuncts(expression: Expression | None) -> tuple[Expression, ...]:
    """Return the conjuncts of a condition: nested ANDs flattened, none for None."""
    match expression:
        case None:
            return ()
        case AllOf(items):
            return tuple(part for item in items for part in conjuncts(item))
        case _:
            return (expression,)
