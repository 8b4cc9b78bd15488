"""What is shown in terminals and in notebooks: results as texts, and texts from data as HTML.

A notebook reads more than markup in HTML: MathJax makes formulas of what stands between dollars,
and links of some of them. What comes from data must not be read so.
"""

from __future__ import annotations

import unicodedata
from html import escape

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


class Printed:
    """For dataclasses with `repr=False` and a `__str__` that is made to be read.

    IPython prefers the `repr` that a dataclass makes to what its base says, hence `repr=False`.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def visible(text: object) -> str:
    """Return the text with a space for each character that cannot be seen or changes direction."""
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(" " if unicodedata.category(c) in _UNSEEN else c for c in whole)


def plain(text: object) -> str:
    """Return the text on one line, each run of spaces and unseen characters as one space."""
    return " ".join(visible(text).split())


def cut(text: object, length: int) -> str:
    """Return the text on one line, with an ellipsis for what is beyond `length` characters."""
    whole = plain(text)
    return whole if len(whole) <= length else whole[: max(1, length - 1)].rstrip() + "…"


def html_text(text: object) -> str:
    """Return a text as HTML in which nothing of it is markup."""
    return escape(visible(text))


def html_lines(text: str) -> str:
    """Return a text as preformatted HTML, its lines and their indentation kept."""
    return f"<pre>{chr(10).join(map(html_text, text.splitlines()))}</pre>"


def html_output(*parts: str) -> str:
    """Return HTML as one output of a notebook's cell, in which no dollar begins a formula."""
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'
