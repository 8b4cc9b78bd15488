"""Functions of texts; a character is one of Unicode, and the first has the place 1, as in SQL."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cepkit.pattern.evaluation.functions.contract import Function, OnTexts
from cepkit.pattern.evaluation.kinds import Class, ValueKind

_WORDS = ("no text", "a text", "two texts", "three texts")


def of_texts(
    name: str,
    arguments: str,
    gives: Class | ValueKind,
    scalar: Callable[..., Any],
    *,
    folded: bool = False,
) -> Function:
    """Return a function of texts alone."""
    text: Class = "text"
    parameters = (text,) * len(arguments.removesuffix(", ...").split(", "))
    words = "texts" if folded else _WORDS[len(parameters)]
    return Function(name, arguments, words, ((parameters, gives),), OnTexts(scalar), folded=folded)


def _substring(text: str, start: float, count: float = math.inf) -> str | None:
    """Return `count` characters from the place `start` on; places outside the text are empty."""
    end = start + count
    if math.isnan(end):
        return None
    first, stop = (math.ceil(min(max(place, 1), len(text) + 1)) - 1 for place in (start, end))
    return text[first:stop]


def _replaced(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


LOWER = of_texts("lower", "text", "text", str.lower)
UPPER = of_texts("upper", "text", "text", str.upper)
TRIM = of_texts("trim", "text", "text", str.strip)
LENGTH = of_texts("length", "text", "integer", len)
STARTS_WITH = of_texts("starts_with", "text, part", "boolean", str.startswith)
ENDS_WITH = of_texts("ends_with", "text, part", "boolean", str.endswith)
CONTAINS = of_texts("contains", "text, part", "boolean", lambda text, part: part in text)
REPLACE = of_texts("replace", "text, old, new", "text", _replaced)
CONCAT = of_texts("concat", "x, y, ...", "text", lambda x, y: x + y, folded=True)
SUBSTRING = Function(
    "substring",
    "text, start, count",
    "a text and one or two numbers",
    ((("text", "number"), "text"), (("text", "number", "number"), "text")),
    OnTexts(_substring),
)
