"""Findings in words: durations, values, lists, and conditions with their values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepkit.columnar.results.shown import moment_text
from cepkit.diagnosis.event_table import set_function_of
from cepkit.diagnosis.measures import gaps
from cepkit.pattern.conditions import Aggregate, Attribute, Comparison, Expression, InList, walk
from cepkit.pattern.evaluation.columns import Read, value
from cepkit.pattern.names import attribute_text, string_text, variable_text
from cepkit.pattern.printer import expression_text
from cepkit.stream.columns import Column

_UNITS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000))


def duration_text(microseconds: int) -> str:
    """Return a duration in its two largest units: `4 h 12 min`, `2.5 s`, `3 ms`."""
    left = abs(microseconds)
    if left < 1_000:
        return f"{left} us" if left else "0 s"
    if left < 1_000_000:
        return f"{left / 1_000:.6g} ms"
    parts: list[str] = []
    for name, size in _UNITS:
        if name == "s" and not parts:
            return f"{left / size:.6g} s"
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {name}" if count else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part)


def value_text(column: Column) -> str:
    """Return the first value of a column as it would stand in a condition."""
    if column.missing().flat[0]:
        return "NULL"
    first = column.values[0]
    match column.kind:
        case "text":
            return string_text(str(column.dictionary[int(first)]))
        case "boolean":
            return "TRUE" if first else "FALSE"
        case "timestamp":
            return moment_text(np.datetime64(int(first), "us"))
        case "duration":
            return f"{'-' if first < 0 else ''}{duration_text(int(first))}"
        case "array":
            return f"an array of {int(np.count_nonzero(~np.isnan(first)))}"
        case "integer":
            return str(int(first))
        case _:
            return _number_text(float(first))


def list_text(names: Sequence[str], most: int = 6) -> str:
    """Return names as one would say them: `a, b and c`."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def variables_text(names: Sequence[str]) -> str:
    """Return variables as a list in a sentence."""
    return list_text(list(map(variable_text, names)))


def with_values(condition: Expression, read: Read) -> str:
    """Return a condition with the values of one combination in it."""
    match condition:
        case Comparison(operator, left, right):
            return f"{value_text(value(left, read))} {operator} {value_text(value(right, read))}"
        case InList(operand, choices, negated):
            values = ", ".join(value_text(value(choice, read)) for choice in choices)
            word = "NOT IN" if negated else "IN"
            return f"{value_text(value(operand, read))} {word} ({values})"
        case _:
            attributes = {
                _attribute_text(node): node
                for node in walk(condition)
                if isinstance(node, Attribute)
            }
            texts = [f"{text} = {value_text(value(a, read))}" for text, a in attributes.items()]
            return ", ".join(texts) or expression_text(condition)


def failure(leaf: Expression, read: Read) -> tuple[str, float | None, str]:
    """Return how a part of a condition fails, in words, by how much, and in which unit."""
    for node in walk(leaf):
        if isinstance(node, Attribute) and value(node, read).missing().any():
            return f"{_attribute_text(node)} is missing", None, ""
    text = f"{with_values(leaf, read)} fails"
    if not isinstance(leaf, Comparison | InList):
        return text, None, ""
    by = min((abs(float(gap.flat[0])) for gap in gaps(leaf, read)), default=None)
    if not by or not np.isfinite(by):
        return (f"{text}: equal" if by == 0 else text), (by if by == 0 else None), ""
    if isinstance(leaf, Comparison) and value(leaf.left, read).kind in ("timestamp", "duration"):
        return f"{text} by {duration_text(int(by))}", by / 1e6, "s"
    return f"{text} by {_amount_text(by)}", by, ""


def _attribute_text(node: Attribute) -> str:
    """Return an attribute as it is written, or as its set function."""
    function = set_function_of(node.name)
    if function is None:
        return f"{variable_text(node.variable)}.{attribute_text(node.name)}"
    name, attribute = function
    return expression_text(Aggregate(name, node.variable, attribute))


def _number_text(value: float) -> str:
    """Return a number as it was written, without the last digits of its binary fraction."""
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.10g}"


def _amount_text(value: float) -> str:
    """Return by how much something is missed: four digits are enough."""
    return f"{value:,.4g}" if abs(value) < 1e7 else f"{value:.4g}"
