"""From text to queries: a Lark grammar, read once, and a check of the meaning.

A text is data: tables parse it into frozen nodes, and no part of it ever runs as code. Cost:
O(length of the text), about 1 ms for a pattern of three events; the first call also loads the
tables, and the first call on a machine builds them.
"""

from __future__ import annotations

import io
import sys
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

import lark
from lark import Lark, Token
from lark.exceptions import UnexpectedInput, VisitError

from cepkit.caches import cache_folders, keep, kept
from cepkit.errors import PatternError
from cepkit.lazy import loading
from cepkit.pattern.checks import check
from cepkit.pattern.conditions import Expression
from cepkit.pattern.limits import refuse_too_deep, refuse_too_much_text
from cepkit.pattern.parameters import Occurrence, occurrences_in, with_stand_ins
from cepkit.pattern.parsing.syntax_errors import syntax_error
from cepkit.pattern.parsing.transformer import NodeBuilder
from cepkit.pattern.policies import Window
from cepkit.pattern.query import Query

_OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "lexer": "contextual",
    "start": ["query", "condition", "window", "aggregates", "thresholds", "results", "skip"],
    "propagate_positions": True,
    "maybe_placeholders": False,
}


def parse(text: str) -> Query:
    """Return the query of a text (docs/pattern-language.md).

    Args:
        text: ``PATTERN structure [WHERE condition] [WITHIN window] [STRATEGY name]
            [AT TIME ZONE name] [PARTITION BY columns] [AGG aggregates] [GROUP BY columns]
            [HAVING thresholds] [AFTER MATCH SKIP where] [RETURN values]``; the clauses in any
            order, each at most once; keywords in any case.

    Raises:
        PatternSyntaxError: The text does not follow the grammar.
        PatternError: The query means nothing: an unknown variable, a variable named twice.

    Example:
        >>> query = parse("PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 4 hours")
        >>> query.window.microseconds
        14400000000
    """
    query: Query = _read(text, "query")
    return check(query)


def parse_condition(text: str) -> Expression:
    """Return the condition of a text, as after WHERE.

    Raises:
        PatternSyntaxError: The text does not follow the grammar.
    """
    condition: Expression = _read(text, "condition")
    refuse_too_deep(condition)
    return condition


def parse_window(text: str) -> Window:
    """Return the window of a text, as after WITHIN: ``4 hours``, ``100 EVENTS``.

    Raises:
        PatternSyntaxError: The text does not follow the grammar.
    """
    window: Window = _read(text, "window")
    return window


def parse_part(text: str, part: Literal["aggregates", "thresholds", "results", "skip"]) -> Any:
    """Return the items of a clause: the aggregates of AGG, thresholds of HAVING, results of RETURN.

    Args:
        text: The clause without its keywords.
        part: What it holds; "skip" of AFTER MATCH SKIP.

    Raises:
        PatternSyntaxError: The text does not follow the grammar.
    """
    return _read(text, part)


def read_so_far(text: str) -> tuple[list[Token], frozenset[str]]:
    """Return the tokens of the beginning of a query, and the terminals that may follow it.

    Args:
        text: A query up to some place. If it breaks the grammar, no terminal may follow.
    """
    refuse_too_much_text(text)
    plain = with_stand_ins(text, occurrences_in(text))
    parser: Any = _lark().parse_interactive(plain, start="query")
    tokens: list[Token] = []
    try:
        tokens.extend(parser.iter_parse())
    except UnexpectedInput:
        return tokens, frozenset()
    return tokens, frozenset(parser.accepts())


@lru_cache(maxsize=1)
def _lark() -> Lark:
    grammar = resources.files("cepkit.pattern.parsing").joinpath("grammar.lark").read_text("utf-8")
    key = repr((grammar, sys.version, lark.__version__, _OPTIONS)).encode()
    name = f"grammar-{sys.implementation.cache_tag}.lark"
    tables = kept(cache_folders(__file__), name, key)
    if tables is not None:
        with loading():
            return Lark.load(io.BytesIO(tables))
    parser, file = Lark(grammar, **_OPTIONS), io.BytesIO()
    parser.save(file)
    keep(cache_folders(__file__), name, key, file.getvalue())
    return parser


def _read(text: str, start: str) -> Any:
    if not isinstance(text, str):
        raise PatternError(
            f"a pattern of the type {type(text).__name__}", expected="a text, as in 'PATTERN ...'"
        )
    refuse_too_much_text(text)
    try:
        occurrences: tuple[Occurrence, ...] = ()
        plain = text
        if "$" in text:
            occurrences = occurrences_in(text)
            plain = with_stand_ins(text, occurrences)
        tree = _lark().parse(plain, start=start)
        return NodeBuilder(text, occurrences).transform(tree)
    except UnexpectedInput as error:
        raise syntax_error(text, start, error) from None
    except VisitError as error:
        raise error.orig_exc from None
