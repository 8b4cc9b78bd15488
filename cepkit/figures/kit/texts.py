"""Texts from data for figures: escaped, cut, wrapped and measured.

Plotly interprets a small subset of HTML in every text, and TeX between dollars if the page has
MathJax: data must not be interpreted like that.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from html import escape
from itertools import accumulate

from cepkit.printing import cut as cut
from cepkit.printing import plain

# Widths of characters in ems of a sans-serif face, a little too wide rather than too narrow.
_NARROW = frozenset("iljtf.,:;'|!()[]{} I-")
_BROAD = frozenset("mwMW@%—→")


def shown(text: object) -> str:
    """Return a text as plotly shows it literally."""
    # A numeric entity: plotly looks for TeX before it decodes entities.
    return escape(plain(text), quote=False).replace("$", "&#36;")


def width_of(text: str, size: float) -> float:
    """Return about how many pixels a line of text takes in a font of `size` pixels."""
    return size * sum(map(_ems, text))


def fitted(text: object, size: float, width: float) -> str:
    """Return the text on one line of at most `width` pixels, with an ellipsis for the rest."""
    full = plain(text)
    if width_of(full, size) <= width:
        return full
    room = width - width_of("…", size)
    ends = accumulate(width_of(character, size) for character in full)
    return full[: sum(end <= room for end in ends)].rstrip() + "…"


def wrapped(text: object, size: float, width: float, most: int) -> list[str]:
    """Return the text broken into at most `most` lines of at most `width` pixels.

    Lines break at spaces; a word too long for a line is cut, and so is the last line if more would
    follow.
    """
    words = plain(text).split(" ")
    lines: list[str] = []
    while words and len(lines) < most:
        line = words.pop(0)
        while words and width_of(f"{line} {words[0]}", size) <= width:
            line = f"{line} {words.pop(0)}"
        lines.append(fitted(line, size, width))
    if words:
        lines[-1] = fitted(f"{lines[-1]} {' '.join(words)}", size, width)
    return lines


@lru_cache(maxsize=4096)
def _ems(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in _NARROW:
        return 0.40
    if character in _BROAD or character.isupper():
        return 0.95 if character in _BROAD else 0.74
    return 0.62
