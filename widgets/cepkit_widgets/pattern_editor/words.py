"""Suggested words at a place in a pattern's text: the grammar tells which kinds may follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.evaluation.functions import USAGE
from cepkit.pattern.limits import MAX_CHARACTERS
from cepkit.pattern.names import (
    BEHIND_SETS,
    BETWEEN_VALUES,
    RESERVED,
    attribute_text,
    name_text,
    type_text,
    unquoted,
)
from cepkit.pattern.parsing.parser import read_so_far
from cepkit.pattern.policies import Strategy
from cepkit.stream.durations import MICROSECONDS
from cepkit_widgets.kit.parts import Suggestion, Suggestions

MOST = 40
"""The most words to suggest."""

_OF_TIME = "a unit of time"
_WORD = re.compile(r"[\w-]*\Z|\"[^\"\n]*\Z")
_REST = re.compile(r"\w*")
_COMMENT = re.compile(r"(--|#)[^\n]*\Z")
_KEYWORDS = (
    *(*RESERVED, *BETWEEN_VALUES, *BEHIND_SETS, "FIRST", "NEXT", "OPT", "TIMESTAMP", "DISTINCT"),
    *("CALENDAR", "DEFINE", "AT TIME ZONE"),
)
_OPENING = frozenset({"SEQ", "KL", "OPT"})
"""Keywords that a bracket always follows."""
_CLAUSES = frozenset({"WHERE", "WITHIN", "STRATEGY", "PARTITION", "AGG", "GROUP", "DEFINE"})


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names in a stream.

    Attributes:
        types: The event types, each with a description; the most frequent first.
        columns: The columns, each with a description.
    """

    types: Mapping[str, str]
    columns: Mapping[str, str]


def completion(
    text: str, caret: int, vocabulary: Vocabulary, *, asked: bool = False
) -> Suggestions:
    """Return the words that may follow at the caret, and the part of the text they replace.

    Args:
        text: The whole text; the part after the caret is ignored.
        caret: The number of characters before it.
        vocabulary: The names of the stream.
        asked: Whether the user asked for them.
    """
    before = _WORD.search(text, 0, caret)
    rest = _REST.match(text, caret)
    assert before is not None
    assert rest is not None
    begin, end = before.start(), rest.end()
    typed = text[begin:caret]
    # Only names of strategies contain a minus.
    if "-" in typed and not typed.startswith('"') and not _names_strategy(text[:begin]):
        begin += typed.rindex("-") + 1
        typed = text[begin:caret]
    nothing = Suggestions((), begin, end, caret)
    if begin > MAX_CHARACTERS:
        return nothing
    tokens, kinds = read_so_far(text[:begin])
    last = tokens[-1].end_pos if tokens else 0
    if _COMMENT.search(text[last:begin]):
        return nothing
    folded = typed.removeprefix('"').casefold()
    found = [w for w in _words(kinds, tokens, vocabulary) if folded in w.text.casefold()]
    # Words with this prefix before words that contain it; otherwise the order of the kinds.
    found.sort(key=lambda word: not word.text.casefold().lstrip('"').startswith(folded))
    # Suggest nothing after a complete word, unless the user asks.
    whole = [word.insert.strip() for word in found]
    # "minute" is a unit as well.
    whole += [word.text.removesuffix("s") for word in found if word.detail == _OF_TIME]
    if not asked and text[begin:end] in whole:
        return nothing
    return Suggestions(tuple(found[:MOST]), begin, end, caret, asked)


def _names_strategy(text: str) -> bool:
    return "STRATEGY_NAME" in read_so_far(text)[1]


def _words(
    kinds: frozenset[str], tokens: list[Any], vocabulary: Vocabulary
) -> Iterator[Suggestion]:
    """Yield the words of all kinds that may follow the tokens, the likeliest kind first."""
    if "TYPE" in kinds:
        yield from (Suggestion(name, "a kind", type_text(name)) for name in _defined(tokens))
        yield from (
            Suggestion(name, said, type_text(name)) for name, said in vocabulary.types.items()
        )
    if "ATTRIBUTE" in kinds:
        columns = vocabulary.columns.items()
        yield from (Suggestion(name, said, attribute_text(name)) for name, said in columns)
    variables = _variables(tokens)
    if "VARIABLE" in kinds:
        new = next((c for c in "abcdefghijklmnopqrstuvwxyz" if c not in variables), "")
        yield from [Suggestion(new, "a new variable", new)] if new else []
    defining = _clause(tokens) == "_DEFINE"
    if "NAME" in kinds and defining and tokens[-1].type not in ("_DEFINE", "_COMMA"):
        columns = vocabulary.columns.items()
        yield from (Suggestion(name, said, name_text(name)) for name, said in columns)
        yield from _functions()
    elif "NAME" in kinds and not defining:
        yield from (Suggestion(v, said, f"{name_text(v)}.") for v, said in variables.items())
        yield from _functions()
    if "FUNCTION" in kinds:
        yield from (Suggestion(n.upper(), AGGREGATES.help[n], f"{n.upper()}(") for n in AGGREGATES)
    if "COLUMN" in kinds:
        columns = vocabulary.columns.items()
        yield from (Suggestion(name, said, name_text(name)) for name, said in columns)
    if "STRATEGY_NAME" in kinds:
        yield from (Suggestion(name, "a strategy", name) for name in map(str, Strategy))
    if "UNIT" in kinds:
        yield from (Suggestion(f"{unit}s", _OF_TIME, f"{unit}s") for unit in MICROSECONDS)
        yield Suggestion("EVENTS", "arrival numbers", "EVENTS")
    yield from _keywords(kinds, {str(token).upper() for token in tokens})
    if "DURATION_UNIT" in kinds:
        yield from (Suggestion(f"{unit}s", _OF_TIME, f"{unit}s") for unit in MICROSECONDS)


def _clause(tokens: list[Any]) -> str:
    """Return the last of the keywords that tell a definition from other conditions."""
    ends = ("_DEFINE", "_PATTERN", *(f"_{clause}" for clause in _CLAUSES if clause != "WHERE"))
    return next((token.type for token in reversed(tokens) if token.type in ends), "")


def _defined(tokens: list[Any]) -> list[str]:
    """Return the names of the kinds that the tokens define."""
    return [unquoted(str(name)) for name, behind in pairwise(tokens) if behind.type == "_AS"]


def _functions() -> Iterator[Suggestion]:
    for name, usage in AGGREGATES.help.items():
        yield Suggestion(name, f"of a KL variable: {usage}", f"{name}(")
    for usage, said in USAGE.items():
        name = usage.partition("(")[0]
        yield Suggestion(usage, said, f"{name}(")


def _keywords(kinds: frozenset[str], used: Iterable[str]) -> Iterator[Suggestion]:
    of_events = "_SEQ" in kinds
    for keyword in _KEYWORDS:
        terminal = keyword.replace(" ", "_")
        if not {terminal, f"_{terminal}"} & kinds or (keyword in _CLAUSES and keyword in used):
            continue
        opens = keyword in _OPENING or (of_events and keyword in ("AND", "OR", "NOT"))
        yield Suggestion(keyword, "keyword", f"{keyword}(" if opens else f"{keyword} ")


def _variables(tokens: list[Any]) -> dict[str, str]:
    """Return the variables that the tokens name, with the type of each."""
    variables: dict[str, str] = {}
    last = ""
    for before, token in zip([None, *tokens], tokens, strict=False):
        quoted = token.type == "QUOTED" and before is not None
        if token.type == "VARIABLE" or (quoted and before.type in ("TYPE", "STRING", "QUOTED")):
            variables[unquoted(str(token))] = last
        elif token.type in ("TYPE", "STRING", "QUOTED"):
            last = unquoted(str(token))
        elif token.type == "_WHERE":
            break
    return variables
