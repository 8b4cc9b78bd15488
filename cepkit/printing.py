"""Printing of values in terminals and notebooks: printers by type, and safe HTML texts.

A value's module defines only the value. Its printer, a module beside it, registers functions for
text (`text_of.register`) and HTML (`html_of.register`), and the package's `__init__` imports the
printer: the value does not depend on it.

A notebook interprets more than HTML markup: MathJax turns text between dollars into formulas, and
some of these into links. Data must not be interpreted like that.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from functools import singledispatch
from html import escape

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


@singledispatch
def text_of(value: object) -> str:
    """Return a value as a readable text."""
    raise TypeError(f"no printer of {type(value).__name__} is registered")


@singledispatch
def html_of(value: object) -> str:
    """Return a value as escaped HTML; its text if it has no HTML printer."""
    return html_output(html_lines(text_of(value)))


def time_text(microseconds: int) -> str:
    """Return a time since 1970 as ISO 8601 in UTC, also beyond year 9999."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        import numpy as np

        return f"{np.datetime64(microseconds, 'us')}+00:00"


class Printed:
    """Base of dataclasses with `repr=False` whose repr is their readable text.

    IPython prefers the `repr` of a dataclass to that of its base, hence `repr=False`.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class WithPrinter(Printed):
    """Base of values that print by a registered printer."""

    __slots__ = ()

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


def visible(text: object) -> str:
    """Return the text with a space for each invisible or direction-changing character."""
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(" " if unicodedata.category(c) in _UNSEEN else c for c in whole)


def plain(text: object) -> str:
    """Return the text on one line, each run of spaces and invisible characters as one space."""
    return " ".join(visible(text).split())


def cut(text: object, length: int) -> str:
    """Return the text on one line, cut to `length` characters with an ellipsis."""
    whole = plain(text)
    return whole if len(whole) <= length else whole[: max(1, length - 1)].rstrip() + "…"


def html_text(text: object) -> str:
    """Return a text as escaped HTML."""
    return escape(visible(text))


def html_lines(text: str) -> str:
    """Return a text as preformatted HTML that keeps its lines and indentation."""
    return f"<pre>{chr(10).join(map(html_text, text.splitlines()))}</pre>"


def html_output(*parts: str) -> str:
    """Return HTML as one output of a notebook's cell, with dollars protected from MathJax."""
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'
