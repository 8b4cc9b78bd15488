"""Kinds of values, and the kinds that can be compared.

A comparison takes two values of one kind, or a time and a text with a time. So `b.ts - a.ts` means
the same in every unit of the time column. NULL compares with everything, and so does the result of
a user's function ("any"), whose kind is known only when it runs.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal as OneOf
from typing import TypeAlias, assert_never, get_args

import numpy as np
import numpy.typing as npt

from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.duration_hints import with_units
from cepkit.stream.columns import MISSING_INTEGER, Column, Kind

ValueKind: TypeAlias = Kind | OneOf["any"]
"""The kind of an expression's value, "any" where it is not known."""

WHOLE: tuple[ValueKind, ...] = ("integer", "timestamp", "duration")
"""The kinds whose values are 64-bit integers."""

Class: TypeAlias = OneOf["number", "timestamp", "duration", "text", "boolean", "array"]
"""The class of an operand: integers and floats are numbers."""

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
    """Return the word for a value of a kind, with its article."""
    return _WORDS[kind]


def column_kind(kind: ValueKind) -> Kind:
    """Return a kind as that of a column, which is never "any"."""
    assert kind != "any"
    return kind


def constant_kind(constant: c.Constant) -> Kind:
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


def set_function_kind(node: c.Aggregate, kind: ValueKind) -> ValueKind:
    """Return the kind of a set function's value for an attribute of some kind.

    Raises:
        PatternError: The function does not take the kind.
    """
    function = c.plain_function(node.function)
    if c.place_of(function) is not None or function.startswith("prev"):
        return kind
    if function == c.DISTINCT:
        if kind == "array":
            raise _refused(node, kind, "numbers, texts, times, durations or truth values")
        return "integer"
    definition = AGGREGATES[function]
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
    kinds = {left, right} - {"null", "any"}
    if "array" in kinds:
        return False
    return len(kinds) < 2 or kinds in ({"integer", "float"}, {"timestamp", "text"})


def _columns(place: c.Expression) -> list[str]:
    return [n.name for n in c.walk(place) if isinstance(n, c.Attribute)]


def check_comparable(
    place: c.Comparison | c.InList | c.Between, left: ValueKind, right: ValueKind
) -> None:
    """Check that two values can be compared.

    Raises:
        PatternError: They cannot.
    """
    if are_comparable(left, right):
        return
    words = {word(left), word(right)}
    hint = None
    if "a duration" in words and words & {"a number", "a text"}:
        hint = with_units(place)
    elif words == {"a time", "a number"}:
        hint = "a time is written as a text: a.ts > '2024-05-01 09:30:00'"
    elif words == {"a text", "a number"} and (names := _columns(place)):
        hint = (
            f"if '{names[0]}' should hold numbers, convert the column, or read the CSV file with"
            " decimal=',' or another option that fits"
        )
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


def _refused(node: c.Aggregate, kind: ValueKind, expected: str) -> PatternError:
    return PatternError(
        f"{c.plain_function(node.function)} of {word(kind)}", expected=expected, span=node.span
    )


def as_floats(column: Column) -> npt.NDArray[np.float64]:
    """Return the numbers or truth values of `column` as floats, NaN for missing.

    Raises:
        PatternError: The column holds texts or arrays.
    """
    match column.kind:
        case "float" | "null":
            return column.values  # type: ignore[return-value]
        case "integer" | "timestamp" | "duration" | "boolean":
            floats = column.values.astype(np.float64)
            if column.has_missing:
                floats[column.missing()] = np.nan
            return floats
        case _:
            raise PatternError(f"{word(column.kind)} instead of a number")


def rounded(microseconds: npt.NDArray[np.float64]) -> Column:
    """Return durations of whole microseconds, missing where 64 bits cannot hold them."""
    with np.errstate(invalid="ignore"):
        out_of_range = ~(np.abs(microseconds) < 2.0**63)
    whole = np.rint(np.where(out_of_range, 0.0, microseconds)).astype(np.int64)
    return Column(
        "duration",
        np.where(out_of_range, MISSING_INTEGER, whole),
        has_missing=bool(out_of_range.any()),
    )


EXACT = 2.0**53
"""Floats hold every integer below it; at it they stop: 2^53 + 1 is rounded to 2^53."""


def as_exact_floats(column: Column) -> npt.NDArray[np.float64] | None:
    """Return the numbers of `column`, or codes of texts, as floats; None if that changes one.

    Missing values are NaN.
    """
    if column.kind == "array":
        return None
    if column.kind == "text":
        codes = column.values.astype(np.float64)
        if column.has_missing:
            codes[codes < 0] = np.nan
        return codes
    floats = as_floats(column)
    return floats if magnitude_of(column) < EXACT else None


def magnitude_of(column: Column) -> float:
    """Return the greatest absolute value of whole numbers; 0 of other columns."""
    if column.kind not in WHOLE or not len(column.values):
        return 0.0
    # The marker of missing integers would count as a great number; as floats they are NaN.
    return float(np.nan_to_num(np.abs(as_floats(column)), nan=0.0).max())
