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
from datetime import timedelta
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from cepkit.automata.events import Binding, Event
from cepkit.automata.scalar_functions import (
    FLOAT_SIGNS,
    WHOLE_SIGNS,
    correlation,
    held,
    known,
    logarithm,
    root,
    rounded,
)
from cepkit.pattern import functions
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    InList,
    IsNull,
    Literal,
    Negative,
    walk,
)
from cepkit.pattern.durations import in_microseconds
from cepkit.pattern.kinds import (
    WHOLE,
    ValueKind,
    arithmetic_kind,
    call_kind,
    constant_kind,
    negative_kind,
    set_function_kind,
)
from cepkit.pattern.moments import moment
from cepkit.pattern.operations import call as call_columns
from cepkit.pattern.rewrite import without_not
from cepkit.stream.columns import MISSING_INTEGER, Column, Kind

Value: TypeAlias = Callable[[Sequence[Any]], Any]
"""The value of an expression for a binding, None where it is missing."""

Truth: TypeAlias = Callable[[Binding], bool]
"""Whether a condition is true for a binding."""

Kinded: TypeAlias = tuple[Value, ValueKind]
"""A value and what it is; "any" where only a user's function knows."""

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

    def value(self, expression: Expression) -> Kinded:
        match expression:
            case Literal(constant):
                return _constant(constant)
            case Attribute(variable, name):
                slot = self._member.get(variable, self._layout.slots[variable])
                place = self._layout.attributes[name]
                return (lambda b: b[slot].values[place]), self._layout.kinds[name]
            case Negative(operand):
                return _negative(expression, self.value(operand))
            case Arithmetic(_, left, right):
                return _arithmetic(expression, self.value(left), self.value(right))
            case Call(_, arguments):
                return _call(expression, [self.value(argument) for argument in arguments])
            case Aggregate():
                return self._aggregate(expression)
            case _:
                raise AssertionError("checks.py lets no condition stand where a value belongs")

    def _aggregate(self, node: Aggregate) -> Kinded:
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
        reduced, result = _reduction(node, kind), set_function_kind(node, kind)

        def over_members(b: Sequence[Any]) -> Any:
            members: tuple[Event, ...] = b[slot]
            present = [v for e in members if (v := e.values[place]) is not None]
            return reduced(present)

        return over_members, result


def _reduction(node: Aggregate, kind: ValueKind) -> Callable[[list[Any]], Any]:
    match node.function:
        case "count":
            return len
        case "sum" if kind in WHOLE:
            return lambda given: held(sum(given)) if given else None
        case "sum":
            return lambda given: known(sum(given)) if given else None
        case "avg":
            made = rounded if kind == "duration" else known
            return lambda given: made(float(sum(given)) / len(given)) if given else None
        case "min":
            return lambda given: min(given, default=None)
        case "max":
            return lambda given: max(given, default=None)
        case function:  # first and last are looked at alone
            of = AGGREGATES[function].of
            return lambda given: None if (result := of(given)) is None else known(result)


def _comparison(
    sign: ComparisonOperator, left: Kinded, right: Kinded
) -> Callable[[Sequence[Any]], bool]:
    compare = _COMPARE[sign]
    kinds = (left[1], right[1])
    if "null" in kinds:
        return lambda _: False
    x, y = left[0], right[0]
    if set(kinds) == {"timestamp", "text"}:
        x, y = (_moments(f) if kind == "text" else f for f, kind in (left, right))
    elif kinds[0] != kinds[1]:
        # An integer beside a float is taken as a float, also where Python would know better.
        x, y = (_as_float(f) if kind == "integer" else f for f, kind in (left, right))

    def compared(b: Sequence[Any]) -> bool:
        one, two = x(b), y(b)
        return one is not None and two is not None and compare(one, two)

    return compared


def _negative(node: Negative, operand: Kinded) -> Kinded:
    inner, kind = operand

    def negated(b: Sequence[Any]) -> Any:
        found = inner(b)
        return None if found is None else held(-found) if isinstance(found, int) else -found

    return negated, negative_kind(node, kind)


def _arithmetic(node: Arithmetic, left: Kinded, right: Kinded) -> Kinded:
    x, y = left[0], right[0]
    kind = arithmetic_kind(node, left[1], right[1])
    whole = node.operator != "/" and left[1] in WHOLE and right[1] in WHOLE
    plain = (WHOLE_SIGNS if whole else FLOAT_SIGNS)[node.operator]
    compute = plain if whole or kind != "duration" else lambda one, two: rounded(plain(one, two))

    def computed(b: Sequence[Any]) -> Any:
        one, two = x(b), y(b)
        return None if one is None or two is None else compute(one, two)

    return computed, kind


def _call(node: Call, given: list[Kinded]) -> Kinded:
    function = node.function
    if function not in functions.BUILTINS:
        return _registered(given, node), "any"
    arguments = [argument for argument, _ in given]
    result = call_kind(node, [kind for _, kind in given])
    whole = result in WHOLE
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

    return called, result


def _registered(given: list[Kinded], place: Call) -> Value:
    """Return a call of a user's function, which takes columns: of one row here."""

    def called(b: Sequence[Any]) -> Any:
        columns = [_column(argument(b), kind) for argument, kind in given]
        answer = call_columns(place, columns)
        found = answer.values[0]
        return bool(found) if answer.kind == "boolean" else known(float(found))

    return called


def _column(item: Any, kind: ValueKind) -> Column:
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
        case "integer" | "timestamp" | "duration":
            whole = np.array([MISSING_INTEGER if item is None else item], dtype=np.int64)
            return Column(kind, whole, has_missing=item is None)
        case _:
            number = math.nan if item is None else float(item)
            return Column("float", np.array([number]), has_missing=True)


def _constant(constant: Constant) -> Kinded:
    kind = constant_kind(constant)
    found: Any = constant
    match constant:
        case int() if kind == "float":
            found = float(constant)
        case float():
            found = known(constant)
        case timedelta():
            found = in_microseconds(constant)
    return (lambda _: found), kind


def _as_float(inner: Value) -> Value:
    def as_float(b: Sequence[Any]) -> Any:
        found = inner(b)
        return None if found is None else float(found)

    return as_float


def _moments(inner: Value) -> Value:
    """Return the time in microseconds that a text says."""

    def of_text(b: Sequence[Any]) -> Any:
        found = inner(b)
        return None if found is None else moment(found)

    return of_text
