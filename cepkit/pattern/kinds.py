"""Which kinds of values go together: a time is no number, and neither is a duration.

| | gives |
|---|---|
| time - time | a duration |
| time + duration, duration + time, time - duration | a time |
| duration + duration, duration - duration, duration % duration | a duration |
| duration * number, number * duration, duration / number | a duration |
| duration / duration | a number |

A comparison is of two values of one kind, or of a time with a text that says one. So `b.ts - a.ts`
means the same whatever the time column holds and counts. NULL goes with everything, and so does
what a user's function returns ("any"): that is known only when it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import product
from typing import Literal as OneOf
from typing import TypeAlias, assert_never

from cepkit.errors import PatternError
from cepkit.pattern import functions
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.conditions import (
    Aggregate,
    Arithmetic,
    ArithmeticOperator,
    Between,
    Call,
    Comparison,
    Constant,
    InList,
    Negative,
)
from cepkit.pattern.duration_hints import with_units
from cepkit.stream.columns import Kind

ValueKind: TypeAlias = Kind | OneOf["any"]
"""What an expression gives, as far as that is known."""

WHOLE: tuple[ValueKind, ...] = ("integer", "timestamp", "duration")
"""The kinds that are held, and computed with, as 64-bit integers."""

_Class: TypeAlias = OneOf["number", "timestamp", "duration"]
_CLASSES: tuple[_Class, ...] = ("number", "timestamp", "duration")
_OPERANDS: dict[ArithmeticOperator, str] = {
    "+": "two numbers, two durations, or a time and a duration",
    "-": "two numbers, two durations, two times, or a time and a duration",
    "*": "two numbers, or a duration and a number",
    "/": "two numbers, two durations, or a duration and a number",
    "%": "two numbers or two durations",
}
_RESULTS: dict[tuple[ArithmeticOperator, _Class, _Class], _Class] = {
    **{(operator, "number", "number"): "number" for operator in _OPERANDS},
    ("-", "timestamp", "timestamp"): "duration",
    ("+", "timestamp", "duration"): "timestamp",
    ("+", "duration", "timestamp"): "timestamp",
    ("-", "timestamp", "duration"): "timestamp",
    ("+", "duration", "duration"): "duration",
    ("-", "duration", "duration"): "duration",
    ("%", "duration", "duration"): "duration",
    ("*", "duration", "number"): "duration",
    ("*", "number", "duration"): "duration",
    ("/", "duration", "number"): "duration",
    ("/", "duration", "duration"): "number",
}
_WORDS: dict[ValueKind, str] = {
    "integer": "a number",
    "float": "a number",
    "timestamp": "a time",
    "duration": "a duration",
    "text": "a text",
    "boolean": "a truth value",
    "array": "an array",
    "null": "NULL",
    "any": "a value",
}


def word(kind: ValueKind) -> str:
    """Return what a value of a kind is called, with its article."""
    return _WORDS[kind]


def column_kind(kind: ValueKind) -> Kind:
    """Return the kind of a column, which is always known."""
    assert kind != "any"
    return kind


def constant_kind(constant: Constant) -> Kind:
    """Return what a constant is."""
    match constant:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer" if abs(constant) < 2**63 else "float"
        case float():
            return "float"
        case str():
            return "text"
        case timedelta():
            return "duration"
        case _:
            assert_never(constant)


def negative_kind(node: Negative, kind: ValueKind) -> ValueKind:
    """Return what minus applied to a kind gives.

    Raises:
        PatternError: It cannot be applied.
    """
    if not _classes(kind) - {"timestamp"}:
        raise PatternError(
            f"minus is applied to {word(kind)}", expected="a number or a duration", span=node.span
        )
    return kind


def arithmetic_kind(node: Arithmetic, left: ValueKind, right: ValueKind) -> ValueKind:
    """Return what two kinds give, computed by the operator of `node`.

    Raises:
        PatternError: They do not go together.
    """
    given = ((node.operator, x, y) for x, y in product(_classes(left), _classes(right)))
    results = {_RESULTS[each] for each in given if each in _RESULTS}
    if not results:
        raise PatternError(
            f"'{node.operator}' is applied to {word(left)} and {word(right)}",
            expected=_OPERANDS[node.operator],
            hint=_arithmetic_hint(node, left, right),
            span=node.span,
        )
    if "null" in (left, right):
        return "null"
    whole = left == right == "integer" and node.operator != "/"
    return _one_of(results, whole=whole)


def call_kind(node: Call, given: Sequence[ValueKind]) -> ValueKind:
    """Return what a function gives, called with values of some kinds.

    Raises:
        PatternError: It cannot take them.
    """
    match node.function:
        case "corr":
            if any(kind not in ("array", "null", "any") for kind in given):
                raise _refused(node, given, "two arrays")
            return "null" if "null" in given else "float"
        case "sqrt" | "log":
            if "number" not in _classes(given[0]):
                raise _refused(node, given, "a number")
            return "null" if "null" in given else "float"
        case "abs" if not _classes(given[0]) - {"timestamp"}:
            raise _refused(node, given, "a number or a duration")
        case "abs" | "least" | "greatest":
            common = set(_CLASSES).intersection(*map(_classes, given))
            if not common:
                raise _refused(node, given, "values of one kind: numbers, times or durations")
            if "null" in given:
                return "null"
            return _one_of(common, whole=all(kind == "integer" for kind in given))
        case _:
            assert node.function not in functions.BUILTINS
            return "any"


def set_function_kind(node: Aggregate, kind: ValueKind) -> ValueKind:
    """Return what a function of a set gives, of members whose attribute is of a kind.

    Raises:
        PatternError: It cannot take them.
    """
    if node.function in ("first", "last"):
        return kind
    definition = AGGREGATES[node.function]
    match definition.takes:
        case "amounts" if not _classes(kind) - {"timestamp"}:
            raise _refused(node, [kind], "numbers or durations")
        case "numbers" if "number" not in _classes(kind):
            raise _refused(node, [kind], "numbers")
        case "ordered" if kind in ("array", "boolean"):
            raise _refused(node, [kind], "numbers, texts, times or durations")
    match definition.gives:
        case "integer":
            return "integer"
        case "float" if kind == "integer":
            return "float"
        case "float" | "same":
            return kind
        case _:
            assert_never(definition.gives)


def are_comparable(left: ValueKind, right: ValueKind) -> bool:
    """Whether two values can be compared: of one kind, or a time and a text."""
    known = {left, right} - {"null", "any"}
    if "array" in known:
        return False
    return len(known) < 2 or known in ({"integer", "float"}, {"timestamp", "text"})


def check_comparable(
    place: Comparison | InList | Between, left: ValueKind, right: ValueKind
) -> None:
    """Check that two values can be compared.

    Raises:
        PatternError: They cannot; it points at `place`.
    """
    if are_comparable(left, right):
        return
    words = {word(left), word(right)}
    hint = None
    if "a duration" in words and words & {"a number", "a text"}:
        hint = with_units(place)
    elif words == {"a time", "a number"}:
        hint = "a time is written as a text: a.ts > '2024-05-01 09:30:00'"
    elif words == {"a time", "a duration"}:
        hint = "the difference of two times is a duration: b.ts - a.ts < 5 seconds"
    raise PatternError(
        f"{word(left)} is compared with {word(right)}",
        expected="two numbers, two texts, two truth values, two times or two durations",
        hint=hint,
        span=place.span,
    )


def _classes(kind: ValueKind) -> set[_Class]:
    """Return what a kind may be in arithmetic."""
    match kind:
        case "integer" | "float":
            return {"number"}
        case "timestamp" | "duration":
            return {kind}
        case "null" | "any":
            return set(_CLASSES)
        case _:
            return set()


def _one_of(classes: set[_Class], *, whole: bool) -> ValueKind:
    if len(classes) > 1:
        return "any"
    (only,) = classes
    if only == "number":
        return "integer" if whole else "float"
    return only


def _refused(node: Call | Aggregate, given: Sequence[ValueKind], expected: str) -> PatternError:
    hint = None
    if node.function in ("sqrt", "log") and {"timestamp", "duration"} & {*given}:
        hint = "a duration divided by a duration is a number: (b.ts - a.ts) / 1 second"
    elif isinstance(node, Call) and set(map(word, given)) == {"a duration", "a number"}:
        hint = with_units(node)
    return PatternError(
        f"{node.function} of {' and '.join(dict.fromkeys(map(word, given)))}",
        expected=expected,
        hint=hint,
        span=node.span,
    )


def _arithmetic_hint(node: Arithmetic, left: ValueKind, right: ValueKind) -> str | None:
    if left == right == "timestamp" and node.operator == "+":
        return "two times have a difference: b.ts - a.ts"
    # Would it do if the number, or the text, were a duration?
    meant: list[set[_Class]] = [
        {"duration"} if kind in ("integer", "float", "text") else _classes(kind)
        for kind in (left, right)
    ]
    fits = any((node.operator, x, y) in _RESULTS for x, y in product(*meant))
    return with_units(node) if fits and {"timestamp", "duration"} & {left, right} else None
