"""The parser of SQL to a frozen query, by a Lark grammar."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken, VisitError

from cepkit.errors import PatternError, PatternSyntaxError, Span, UnsupportedError, nearest
from cepkit.rowpattern.nodes import RowQuery
from cepkit.rowpattern.transformer import QueryBuilder

_MOST_CHARACTERS = 100_000
_MOST_DEEP = 100
_MOST_EXPECTED = 12
_WORD = re.compile(r"--[^\n]*|'(?:[^']|'')*'?|\"[^\"]*\"?|\d+|\w+|::|\|\||\{-|-\}|[^\s\w]")

# Unsupported parts of SQL by the word at which parsing stops: the part, and a hint.
_REFUSED = {
    "WITH": ("WITH before SELECT", "make the table first and hand it in as the table"),
    "JOIN": ("a JOIN around MATCH_RECOGNIZE", "join first, or join the result"),
    "GROUP": ("GROUP BY around MATCH_RECOGNIZE", "group the result: .to_pandas().groupby(...)"),
    "HAVING": ("HAVING around MATCH_RECOGNIZE", "filter the result"),
    "UNION": ("UNION around MATCH_RECOGNIZE", "run each query by itself"),
    "OPTIONS": ("OPTIONS of a vendor", "leave it out if the query means the same without it"),
    "INITIAL": ("INITIAL", "it belongs to patterns of window frames; leave it out"),
    "SEEK": ("SEEK", "it belongs to patterns of window frames; leave it out"),
    "OVER": ("a window function", "compute its column first"),
    "EXISTS": ("a subquery", "compute its column first"),
    "::": ("a cast by '::'", "write CAST(value AS type)"),
}
_TITLES = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text",
    "STAR": "'*'",
    "PLUS": "'+'",
    "QUESTION": "'?'",
    "CARET": "'^'",
    "DOLLAR": "'$'",
    "UNIT": "DAY, HOUR, MINUTE, SECOND",
    "_LPAR": "'('",
    "_RPAR": "')'",
    "_LBRACE": "'{'",
    "_RBRACE": "'}'",
    "_LEAVE_OUT": "'{-'",
    "_LEFT_OUT": "'-}'",
    "_COMMA": "','",
    "_DOT": "'.'",
    "_BAR": "'|'",
    "_LAST_ROW": "LAST ROW",
    "_NEXT_ROW": "NEXT ROW",
    "$END": "the end",
}
_SIGNS = frozenset((
    "MINUS", "SLASH", "PERCENT", "CONCAT", "AT_MOST", "UNEQUAL", "AT_LEAST", "EQUAL", "LESS",
    "MORE", "SCOPE", "QUOTED", "_SEMICOLON", "_FIRST_OF", "_LAST_OF", "TIMESTAMP", "DATE",
))  # fmt: skip
_VALUES = frozenset((
    "NUMBER", "STRING", "TRUE", "FALSE", "NULL", "_CASE", "_CAST", "_EXTRACT", "_INTERVAL", "NAME",
    "PLUS", "STAR", "NOT", "_LPAR",
))  # fmt: skip


def parse_row_query(text: str) -> RowQuery:
    """Parse a query.

    Args:
        text: ``SELECT ... FROM table MATCH_RECOGNIZE (... PATTERN (...) DEFINE ...)``.

    Raises:
        PatternSyntaxError: The text does not follow the grammar.
        PatternError: The query is invalid: a clause twice, a range from more to less.
        UnsupportedError: The query uses an unsupported part of SQL.
    """
    if len(text) > _MOST_CHARACTERS:
        raise PatternError(
            f"a text of {len(text):,} characters instead of a query",
            expected=f"at most {_MOST_CHARACTERS:,}",
        )
    _check_characters(text)
    try:
        tree = _lark().parse(text)
        _check_depth(tree, text)
        query: RowQuery = QueryBuilder(text).transform(tree)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    except VisitError as error:
        raise error.orig_exc from None
    return query


def _check_characters(text: str) -> None:
    """Refuse half of a pair of UTF-16, which no column of texts can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PatternSyntaxError(
            f"the character U+{ord(text[error.start]):04X}",
            expected="characters of Unicode; this is half of a pair, as of a text cut in two",
            span=Span(text, error.start, error.start + 1),
        ) from None


def _check_depth(tree: Tree[Token], text: str) -> None:
    """Refuse a query that is nested too deeply for recursive functions."""
    level = [tree]
    for _ in range(_MOST_DEEP):
        level = [part for one in level for part in one.children if isinstance(part, Tree)]
        if not level:
            return
    meta = level[0].meta
    raise PatternError(
        f"nested more than {_MOST_DEEP} levels deep",
        expected=f"at most {_MOST_DEEP} levels of operators and groups inside each other",
        hint="a long sum or product counts one level for each of its operators",
        span=Span(text, meta.start_pos, meta.end_pos),
    )


@lru_cache(maxsize=1)
def _lark() -> Lark:
    grammar = resources.files("cepkit.rowpattern").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start="query",
        propagate_positions=True,
        maybe_placeholders=False,
    )


def _syntax_error(text: str, error: UnexpectedInput) -> PatternError | UnsupportedError:
    """Return the error for the user from a parser error."""
    ends = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    position: Any = error.pos_in_stream
    place = len(text.rstrip()) if ends else int(position)
    word = _WORD.match(text, place)
    span = Span(text, place, word.end() if word else place + 1)
    shown = word[0] if word and not ends else ""
    before = [w[0].upper() for w in _WORD.finditer(text, 0, place) if not w[0].startswith("--")]
    if "MATCH_RECOGNIZE" not in re.sub(r"\W", " ", text.upper()).split():
        return PatternSyntaxError(
            "the query has no MATCH_RECOGNIZE",
            expected="SELECT * FROM table MATCH_RECOGNIZE (ORDER BY ... PATTERN (A B+) DEFINE ...)",
            hint="patterns of cepkit are read by ck.parse",
            span=span,
        )
    refused = _refused(shown.upper(), before)
    if refused is not None:
        part, hint = refused
        return UnsupportedError(f"{part} is not supported", hint=hint, span=span)
    parser: Any = getattr(error, "interactive_parser", None)
    accepts = frozenset(parser.accepts() if parser else ())
    if shown[:1] in ("'", '"') and (len(shown) == 1 or shown[-1] != shown[0]):
        problem = f"the quote {shown[0]} is never closed"
    else:
        problem = f"'{shown}' is not expected here" if shown else "the text ends too early"
    return PatternSyntaxError(
        problem, expected=_expected(accepts), hint=_hint(shown, accepts, before), span=span
    )


def _refused(word: str, before: list[str]) -> tuple[str, str] | None:
    if word == "SELECT" and before:
        return "a subquery", "compute its column or table first, and hand that in"
    if word == "(" and before[-1:] == ["FROM"]:
        return "a subquery in FROM", "make the table first and hand it in as the table"
    if word == "DISTINCT" and before[-1:] == ["SELECT"]:
        return "SELECT DISTINCT", "drop duplicates from the result"
    if word == "(" and before[-1:] in (["WITHIN"], ["FILTER"]):
        return f"{before[-1]} (...)", "compute its column first"
    return _REFUSED.get(word)


def _expected(accepts: frozenset[str]) -> str | None:
    names = {
        "a value" if {"NUMBER", "STRING"} <= accepts and t in _VALUES else _title(t)
        for t in accepts - _SIGNS
    }
    if accepts & _SIGNS & {"LESS", "MINUS"} and "LESS" in accepts:
        names.add("an operator")
        names -= {"'+'", "'*'"}
    words = sorted(names, key=lambda name: (not name.startswith("a "), name))
    if not words:
        return None
    listed = words[:_MOST_EXPECTED]
    return ", ".join(listed) + (" ..." if len(words) > _MOST_EXPECTED else "")


def _title(terminal: str) -> str:
    return _TITLES.get(terminal, terminal.strip("_").replace("_", " "))


def _hint(word: str, accepts: frozenset[str], before: list[str]) -> str | None:
    scope = next((word for word in before[-2:] if word in ("FINAL", "RUNNING")), None)
    if scope is not None:
        return f"{scope} stands before FIRST, LAST or an aggregate"
    if {word.upper(), *before[-1:]} & {"YEAR", "MONTH"}:
        return "months and years have no fixed length: write DAY"
    if word == "$":
        return 'a name that ends in $ needs quotes, as "v$"; A$ is A at the end of the partition'
    return nearest(word, [_title(t) for t in accepts]) if len(word) > 2 else None
