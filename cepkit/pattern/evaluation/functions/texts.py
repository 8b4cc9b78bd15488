"""Functions of texts; a character is one of Unicode, and the first has the place 1, as in SQL.

LIKE, ILIKE and MATCHES are RE2's: their time grows with the text alone, whatever the pattern.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from cepkit.lazy import pa, pc
from cepkit.pattern.evaluation.functions.contract import Function, OnTexts, Signature
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


def regex_problem(pattern: str) -> str | None:
    """Return what is wrong with a regular expression, None if it is valid."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


def _testing(name: str, test: Callable[[pa.Array, str], pa.Array]) -> Function:
    """Return a test of texts by a pattern; an invalid pattern gives a missing result."""

    def many(pairs: Sequence[tuple[str, str]]) -> Sequence[bool | None]:
        texts: dict[str, list[str]] = {}
        for text, pattern in pairs:
            texts.setdefault(pattern, []).append(text)
        truths: dict[tuple[str, str], bool | None] = {}
        for pattern, some in texts.items():
            try:
                answers: Sequence[bool | None] = test(pa.array(some), pattern).to_pylist()
            except (pa.ArrowInvalid, UnicodeEncodeError):
                answers = [None] * len(some)
            truths.update(zip(((text, pattern) for text in some), answers, strict=True))
        return [truths[pair] for pair in pairs]

    @lru_cache(maxsize=4096)
    def one(text: str, pattern: str) -> bool | None:
        return many([(text, pattern)])[0]

    signature: Signature = ("text", "text"), "boolean"
    return Function(name, "text, pattern", "two texts", (signature,), OnTexts(one, many))


def _found(texts: pa.Array, regex: str) -> pa.Array:
    return pc.match_substring_regex(texts, regex)


def _like(texts: pa.Array, pattern: str, *, ignore_case: bool = False) -> pa.Array:
    # Arrow's own match_like takes a backslash for an escape; in SQL it is one only with ESCAPE.
    words = {"%": ".*", "_": "."}
    regex = "".join(words.get(c) or (c if c.isalnum() else f"\\x{{{ord(c):x}}}") for c in pattern)
    return pc.match_substring_regex(texts, rf"(?s)\A{regex}\z", ignore_case=ignore_case)


LIKE = _testing("like", _like)
ILIKE = _testing("ilike", partial(_like, ignore_case=True))
MATCHES = _testing("matches", _found)
