"""Names in patterns: reserved words, and double quotes where a name needs them."""

from __future__ import annotations

import re

# The keywords of grammar.lark; a test compares the two.
RESERVED = (
    "PATTERN", "SEQ", "KL", "ANY", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE",
    "FALSE", "WHERE", "WITHIN", "EXCLUSIVE", "STRATEGY", "PARTITION", "GROUP", "BY", "AGG",
)  # fmt: skip

# Keywords before an event; elsewhere they are names.
BEFORE_EVENTS = ("FIRST", "NEXT")

# Keywords after a type, where they begin a clause; elsewhere they are names.
BEFORE_CLAUSES = ("RETURN", "AFTER", "HAVING", "DEFINE")

# Keywords after a set, where no name may stand.
BEHIND_SETS = ("GREEDY", "UNTIL")

# Keywords between two values, where no name may stand.
BETWEEN_VALUES = ("LIKE", "ILIKE", "MATCHES")

# Keywords inside of clauses, where no name may stand.
INSIDE_CLAUSES = ("AS", "MATCH", "SKIP", "PAST", "FROM", "TO", "LAST", "NEXT", "EVENT")

_WORD = re.compile(r"[^\W\d]\w*")
_REPETITION = re.compile(r"(.+)\[\d+\]", re.DOTALL)
# A regular expression, as in the grammar: upper() and re.IGNORECASE fold different letters.
_KEYWORD = re.compile("|".join(RESERVED), re.IGNORECASE)
_BEFORE_EVENT = re.compile("|".join(BEFORE_EVENTS), re.IGNORECASE)
_BEFORE_CLAUSE = re.compile("|".join(BEFORE_CLAUSES), re.IGNORECASE)


def is_word(name: str) -> bool:
    """Return whether `name` looks like an identifier; it may still be reserved."""
    return _WORD.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    """Return whether `name` is a keyword, in upper or lower case."""
    return _KEYWORD.fullmatch(name) is not None


def name_text(name: str) -> str:
    """Return `name` as the text of a variable, a column or a function, in quotes if needed."""
    return name if is_word(name) and not is_reserved(name) else _in_double_quotes(name)


def type_text(name: str) -> str:
    """Return `name` as the text of a type at the start of an event."""
    return name_text(name) if _BEFORE_EVENT.fullmatch(name) is None else _in_double_quotes(name)


def repetition_name(variable: str, number: int) -> str:
    """Return the name of a variable of a group in one of its repetitions: `a[1]`."""
    return f"{variable}[{number}]"


def is_repetition(name: str) -> bool:
    """Return whether `name` has the form of `repetition_name`; users' names never have it."""
    return _REPETITION.fullmatch(name) is not None


def variable_text(name: str) -> str:
    """Return `name` as the text of a variable, also in one repetition: `a[1]`."""
    repetition = _REPETITION.fullmatch(name)
    plain = repetition is not None and name_text(repetition[1]) == repetition[1]
    return name if plain else name_text(name)


def variable_after_type(name: str) -> str:
    """Return `name` as the text of a variable after a type."""
    clause = _BEFORE_CLAUSE.fullmatch(name) is not None
    return _in_double_quotes(name) if clause else variable_text(name)


def attribute_text(name: str) -> str:
    """Return `name` as the text of an attribute after a dot, where no word is reserved."""
    return name if all(map(is_word, name.split("."))) else _in_double_quotes(name)


def column_text(name: str) -> str:
    """Return `name` as the text of a column in a list of them; only its first word is reserved."""
    first, *rest = name.split(".")
    plain = name_text(first) == first and all(map(is_word, rest))
    return name if plain else _in_double_quotes(name)


def string_text(value: str) -> str:
    """Return a text constant in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def unquoted(token: str) -> str:
    """Return the name or text of a token, without its quotes of either kind."""
    quote = token[:1]
    if quote not in ("'", '"'):
        return token
    return token[1:-1].replace(quote * 2, quote)


def _in_double_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
