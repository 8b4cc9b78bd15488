"""Conditions with the values of one combination in them: what they come to, and by how much."""

from __future__ import annotations

import numpy as np

from cepkit.diagnosis.measures import gaps
from cepkit.diagnosis.words import amount_text, duration_text, value_text
from cepkit.pattern.conditions import Attribute, Comparison, Expression, InList, walk
from cepkit.pattern.evaluation import Read, value
from cepkit.pattern.names import attribute_text, name_text
from cepkit.pattern.printer import expression_text


def inserted(condition: Expression, read: Read) -> str:
    """Return a condition with the values of one combination in it."""
    match condition:
        case Comparison(operator, left, right):
            return f"{value_text(value(left, read))} {operator} {value_text(value(right, read))}"
        case InList(operand, choices, negated):
            listed_choices = ", ".join(value_text(value(choice, read)) for choice in choices)
            word = "NOT IN" if negated else "IN"
            return f"{value_text(value(operand, read))} {word} ({listed_choices})"
        case _:
            known = {
                f"{name_text(node.variable)}.{attribute_text(node.name)}": node
                for node in walk(condition)
                if isinstance(node, Attribute)
            }
            texts = [
                f"{_plain(text)} = {value_text(value(node, read))}" for text, node in known.items()
            ]
            return ", ".join(texts) or expression_text(condition)


def failure(leaf: Expression, read: Read) -> tuple[str, float | None, str]:
    """Return what a broken part of a condition comes to, by how much, and in which unit."""
    for node in walk(leaf):
        if isinstance(node, Attribute) and value(node, read).missing().any():
            name = f"{name_text(node.variable)}.{attribute_text(node.name)}"
            return f"{_plain(name)} is missing", None, ""
    text = f"{inserted(leaf, read)} fails"
    if not isinstance(leaf, Comparison | InList):
        return text, None, ""
    by = min((abs(float(gap.flat[0])) for gap in gaps(leaf, read)), default=None)
    if not by or not np.isfinite(by):
        return (f"{text}: equal" if by == 0 else text), (by if by == 0 else None), ""
    if isinstance(leaf, Comparison) and value(leaf.left, read).kind == "timestamp":
        return f"{text} by {duration_text(int(by))}", by / 1e6, "s"
    return f"{text} by {amount_text(by)}", by, ""


def _plain(name: str) -> str:
    """Return the name of an attribute; that of a set function (sets.py) as it is written."""
    if "\0" not in name:
        return name
    variable, _, rest = name.partition(".")
    _, function, attribute = rest.strip('"').split("\0")
    return f"{function}({variable}{'.' + attribute if attribute else ''})"
