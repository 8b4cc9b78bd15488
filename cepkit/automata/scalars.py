"""Conditions as functions of one binding: closures over Python values, None for what is missing.

The columnar evaluation does the same for many rows at once; one row at a time it would cost some
hundred times as much. Kinds are known before anything runs, so that an integer beside a float is
taken as a float, and nothing is looked up twice. O(nodes of the condition) for each evaluation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias, assert_never

import numpy as np

from cepkit.automata.events import Binding, Event
from cepkit.automata.scalar_functions import FLOAT, WHOLE, correlation, held, known, logarithm, root
from cepkit.pattern import functions
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
    walk,
)
from cepkit.pattern.operations import call as call_columns
from cepkit.pattern.rewrite import without_not
from cepkit.stream.columns import MISSING_INTEGER, Column, Kind

Value: TypeAlias = Callable[[Sequence[Any]], Any]
"""The value of an expression for a binding, None where it is missing."""

Truth: TypeAlias = Callable[[Binding], bool]
"""Whether a condition is true for a binding."""

_INTEGERS = ("integer", "timestamp")
_COMPARE: dict[ComparisonOperator, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a condition finds what it reads.

    Attributes:
        slots: For each variable its place in a binding.
        width: How many places a binding has.
        sets: The variables that are bound to sets.
        attributes: For each attribute its place in an event's values.
        kinds: For each attribute what its values are.
    """

    slots: Mapping[str, int]
    width: int
    sets: frozenset[str]
    attributes: Mapping[str, int]
    kinds: Mapping[str, Kind]


def truth(condition: Expression, layout: Layout) -> Truth:
    """Return a function that says of a binding whether `condition` is true.

    A condition on an attribute of a set holds for every member; a set function sees them all.
    """
    plain = without_not(condition)
    each = tuple(
        dict.fromkeys(
            node.variable
            for node in walk(plain)
            if isinstance(node, Attribute) and node.variable in layout.sets
        )
    )
    test = _Compiler(layout, each).truth(plain)
    if not each:
        return test
    slots = tuple(layout.slots[variable] for variable in each)

    def for_each(binding: Binding) -> bool:
        sets: Any = [binding[slot] for slot in slots]
        return all(test((*binding, *members)) for members in product(*sets))

    return for_each


def value(expression: Expression, layout: Layout) -> Value:
    """Return a function that gives the value of `expression`; of sets it reads functions only."""
    return _Compiler(layout, ()).value(expression)[0]


class _Compiler:
    """Closures for one condition; a member of a set stands behind the places of a binding."""

    def __init__(self, layout: Layout, each: tuple[str, ...]) -> None:
        self._layout = layout
        self._member = {variable: layout.width + i for i, variable in enumerate(each)}

    def truth(self, condition: Expression) -> Callable[[Sequence[Any]], bool]:
        match condition:
            case AllOf(items):
                parts = tuple(self.truth(item) for item in items)
                return lambda b: all(part(b) for part in parts)
            case AnyOf(items):
                parts = tuple(self.truth(item) for item in items)
                return lambda b: any(part(b) for part in parts)
            case Comparison(sign, left, right):
                return _comparison(sign, self.value(left), self.value(right))
            case InList(operand, choices, negated):
                given = self.value(operand)
                sign = "!=" if negated else "="
                tests = tuple(_comparison(sign, given, self.value(c)) for c in choices)
                if negated:
                    return lambda b: all(test(b) for test in tests)
                return lambda b: any(test(b) for test in tests)
            case IsNull(operand, negated):
                inner = self.value(operand)[0]
                return lambda b: (inner(b) is None) is not negated
            case Literal(constant):
                return lambda _: constant is True
            case _:
                raise AssertionError("not a condition in the form that rewrite.without_not gives")

    def value(self, expression: Expression) -> tuple[Value, str]:
        """Return the value and its kind; "any" where only a user's function knows."""
        match expression:
            case Literal(constant):
                return _constant(constant)
            case Attribute(variable, name):
                slot = self._member.get(variable, self._layout.slots[variable])
                place = self._layout.attributes[name]
                return (lambda b: b[slot].values[place]), self._layout.kinds[name]
            case Negative(operand):
                return _arithmetic("-", _constant(0), self.value(operand))
            case Arithmetic(sign, left, right):
                return _arithmetic(sign, self.value(left), self.value(right))
            case Call(function, arguments):
                given = [self.value(argument) for argument in arguments]
                return _call(function, given, expression)
            case Aggregate():
                return self._aggregate(expression)
            case _:
                raise AssertionError("checks.py lets no condition stand where a value belongs")

    def _aggregate(self, node: Aggregate) -> tuple[Value, str]:
        assert node.variable is not None
        slot = self._layout.slots[node.variable]
        if node.attribute is None:
            return (lambda b: len(b[slot])), "integer"
        place, kind = self._layout.attributes[node.attribute], self._layout.kinds[node.attribute]
        match node.function:
            case "first":
                return (lambda b: b[slot][0].values[place]), kind
            case "last":
                return (lambda b: b[slot][-1].values[place]), kind
        reduced, result = _reduction(node, kind)

        def over_members(b: Sequence[Any]) -> Any:
            members: tuple[Event, ...] = b[slot]
            present = [v for e in members if (v := e.values[place]) is not None]
            return reduced(present)

        return over_members, result


def _reduction(node: Aggregate, kind: str) -> tuple[Callable[[list[Any]], Any], str]:
    match node.function:
        case "count":
            return len, "integer"
        case "sum" if kind in _INTEGERS:
            return (lambda given: held(sum(given)) if given else None), "integer"
        case "sum":
            return (lambda given: known(sum(given)) if given else None), "float"
        case "avg":
            return (lambda given: known(float(sum(given)) / len(given)) if given else None), "float"
        case "min":
            return (lambda given: min(given, default=None)), kind
        case "max":
            return (lambda given: max(given, default=None)), kind
        case "first" | "last":
            raise AssertionError("the ends of a set are looked at alone")
        case _:
            assert_never(node.function)


def _comparison(
    sign: ComparisonOperator, left: tuple[Value, str], right: tuple[Value, str]
) -> Callable[[Sequence[Any]], bool]:
    compare = _COMPARE[sign]
    kinds = (left[1], right[1])
    if "null" in kinds:
        return lambda _: False
    x, y = left[0], right[0]
    if set(kinds) == {"timestamp", "text"}:
        x, y = (_moments(f) if kind == "text" else f for f, kind in (left, right))
    elif not all(kind in _INTEGERS for kind in kinds):
        # An integer beside a float is taken as a float, also where Python would know better.
        x, y = (_as_float(f) if kind in _INTEGERS else f for f, kind in (left, right))

    def compared(b: Sequence[Any]) -> bool:
        one, two = x(b), y(b)
        return one is not None and two is not None and compare(one, two)

    return compared


def _arithmetic(sign: str, left: tuple[Value, str], right: tuple[Value, str]) -> tuple[Value, str]:
    x, y = left[0], right[0]
    whole = sign != "/" and all(kind in _INTEGERS for kind in (left[1], right[1]))
    compute = (WHOLE if whole else FLOAT)[sign]

    def computed(b: Sequence[Any]) -> Any:
        one, two = x(b), y(b)
        return None if one is None or two is None else compute(one, two)

    return computed, "integer" if whole else "float"


def _call(function: str, given: list[tuple[Value, str]], place: Call) -> tuple[Value, str]:
    if function not in functions.BUILTINS:
        return _registered(given, place), "any"
    arguments = [argument for argument, _ in given]
    whole = all(kind in _INTEGERS for _, kind in given)
    if function == "corr":
        compute: Callable[..., Any] = correlation
    elif function in ("least", "greatest"):
        pick = min if function == "least" else max
        compute = (lambda *v: pick(v)) if whole else (lambda *v: pick(map(float, v)))
    elif function == "abs":
        compute = abs
    elif function == "sqrt":
        compute = root
    else:
        compute = logarithm

    def called(b: Sequence[Any]) -> Any:
        values = [argument(b) for argument in arguments]
        return None if any(v is None for v in values) else compute(*values)

    kept = whole and function in ("abs", "least", "greatest")
    return called, "integer" if kept else "float"


def _registered(given: list[tuple[Value, str]], place: Call) -> Value:
    """Return a call of a user's function, which takes columns: of one row here."""

    def called(b: Sequence[Any]) -> Any:
        columns = [_column(argument(b), kind) for argument, kind in given]
        answer = call_columns(place.function, columns, place)
        found = answer.values[0]
        return bool(found) if answer.kind == "boolean" else known(float(found))

    return called


def _column(item: Any, kind: str) -> Column:
    """Return a column of one row with a value, or with what stands for a missing one."""
    match kind:
        case "text":
            if item is None:
                return Column("text", np.array([-1], dtype=np.int32), has_missing=True)
            texts = np.array([item], dtype=object)
            return Column("text", np.zeros(1, dtype=np.int32), texts)
        case "array":
            row = np.array([np.nan]) if item is None else item.values
            return Column("array", row[None, :], has_missing=item is None)
        case "integer" | "timestamp":
            whole = np.array([MISSING_INTEGER if item is None else item], dtype=np.int64)
            return Column("integer", whole, has_missing=item is None)
        case _:
            number = math.nan if item is None else float(item)
            return Column("float", np.array([number]), has_missing=True)


def _constant(constant: int | float | str | bool | None) -> tuple[Value, str]:
    found: Any = constant
    match constant:
        case None:
            kind = "null"
        case bool():
            kind = "boolean"
        case int() if abs(constant) >= 2**63:
            kind, found = "float", float(constant)
        case int():
            kind = "integer"
        case float():
            kind, found = "float", known(constant)
        case str():
            kind = "text"
        case _:
            assert_never(constant)
    return (lambda _: found), kind


def _as_float(inner: Value) -> Value:
    def as_float(b: Sequence[Any]) -> Any:
        found = inner(b)
        return None if found is None else float(found)

    return as_float


def _moments(inner: Value) -> Value:
    """Return the time in microseconds that a text says."""

    def moment(b: Sequence[Any]) -> Any:
        found = inner(b)
        if found is None:
            return None
        time = np.datetime64(found, "us")
        return None if np.isnat(time) else int(time.astype(np.int64))

    return moment
