"""Kinds of values, and which can be compared with each other.

A comparison is of two values of one kind, or of a time with a text that says one. So `b.ts - a.ts`
means the same whatever the time column holds and counts. NULL goes with everything, and so does
what a user's function returns ("any"): that is known only when it is called.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal as OneOf
from typing import TypeAlias, assert_never, get_args

from cepkit.errors import PatternError
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.conditions import (
    Aggregate,
    Between,
    Comparison,
    Constant,
    InList,
    place_of,
    plain_function,
)
from cepkit.pattern.duration_hints import with_units
from cepkit.stream.columns import Kind

ValueKind: TypeAlias = Kind | OneOf["any"]
"""What an expression gives, as far as that is known."""

WHOLE: tuple[ValueKind, ...] = ("integer", "timestamp", "duration")
"""The kinds that are held, and computed with, as 64-bit integers."""

Class: TypeAlias = OneOf["number", "timestamp", "duration", "text", "boolean", "array"]
"""What a function takes: integers and floats are numbers."""

_CLASSES: tuple[Class, ...] = get_args(Class)
_COMPUTED: tuple[Class, ...] = ("number", "timestamp", "duration")
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
    """Return the name of a value of a kind, with its article."""
    return _WORDS[kind]


def column_kind(kind: ValueKind) -> Kind:
    """Return the kind of a column, which is always known."""
    assert kind != "any"
    return kind


def constant_kind(constant: Constant) -> Kind:
    """Return the kind of a constant."""
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
        case datetime():
            return "timestamp"
        case _:
            assert_never(constant)


def set_function_kind(node: Aggregate, kind: ValueKind) -> ValueKind:
    """Return the kind of a set function's value, given the kind of the members' attribute.

    Raises:
        PatternError: It cannot take them.
    """
    if place_of(node.function) is not None or node.function.startswith("prev"):
        return kind
    definition = AGGREGATES[plain_function(node.function)]
    match definition.takes:
        case "amounts" if not classes(kind) & {"number", "duration"}:
            raise _refused(node, kind, "numbers or durations")
        case "numbers" if "number" not in classes(kind):
            raise _refused(node, kind, "numbers")
        case "ordered" if kind in ("array", "boolean"):
            raise _refused(node, kind, "numbers, texts, times or durations")
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


def classes(kind: ValueKind) -> frozenset[Class]:
    """Return the operand classes that a value of a kind may have."""
    match kind:
        case "integer" | "float":
            return frozenset(("number",))
        case "null":
            return frozenset(_CLASSES)
        case "any":
            return frozenset(_COMPUTED)
        case _:
            return frozenset((kind,))


def _refused(node: Aggregate, kind: ValueKind, expected: str) -> PatternError:
    return PatternError(
        f"{plain_function(node.function)} of {word(kind)}", expected=expected, span=node.span
    )
