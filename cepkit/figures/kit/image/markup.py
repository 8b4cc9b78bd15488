"""Texts of plotly's figures as SVG: their lines, bold and small runs, entities."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape, unescape

from cepkit.figures.kit.canvas import BOLD, LINE_HEIGHT
from cepkit.figures.kit.texts import width_of

_BREAK = re.compile(r"<br\s*/?>")
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>b|sub|i|span)"
    r'(?: style="(?P<what>color|font-size):(?P<how>[#\w(),.%]+)")?>'
)
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_SMALL = 0.85


@dataclass(frozen=True, slots=True)
class Label:
    """A text as plotly writes it, in one size.

    Attributes:
        text: With plotly's markup.
        size: Of its font.
        colour: Of its letters.
    """

    text: str
    size: float
    colour: str

    @property
    def width(self) -> float:
        """The foreseen width of its longest line."""
        return max(
            width_of(plain_text(line), self.size * (BOLD if "<b>" in line else 1.0))
            for line in _BREAK.split(self.text)
        )

    @property
    def height(self) -> float:
        """The height of its lines."""
        return len(_BREAK.split(self.text)) * self.size * LINE_HEIGHT

    def at(self, x: float, top: float, align: str = "left", turn: float = 0) -> str:
        """Return it as an SVG element.

        Args:
            x: Of its left, middle or right, as `align` says.
            top: Of its first line.
            align: "left", "center" or "right".
            turn: In degrees, about the place of its first line.
        """
        step = self.size * LINE_HEIGHT
        lines = "".join(
            f'<tspan x="{x:.1f}" y="{top + (number + 0.77) * step:.1f}">{_runs(line)}</tspan>'
            for number, line in enumerate(_BREAK.split(self.text))
        )
        turned = f' transform="rotate({turn:g} {x:.1f} {top:.1f})"' if turn else ""
        return (
            f'<text xml:space="preserve" text-anchor="{_ANCHORS[align]}" font-size="{self.size:g}" '
            f'fill="{escape(self.colour)}"{turned}>{lines}</text>'
        )


def plain_text(text: str) -> str:
    """Return a text without its markup, its lines side by side."""
    return unescape(_TAG.sub("", _BREAK.sub(" ", text)))


def _runs(line: str) -> str:
    """Return a line of plotly's markup as SVG; anything else that looks like a tag is text."""
    parts: list[str] = []
    opened: list[str] = []
    at = 0
    for tag in _TAG.finditer(line):
        parts.append(escape(unescape(line[at : tag.start()])))
        at = tag.end()
        name = tag["name"]
        if not tag["end"]:
            opened.append(name)
            parts.append(f"<tspan{_look(name, tag['what'], tag['how'])}>")
        elif opened and opened[-1] == name:
            opened.pop()
            parts.append("</tspan>")
    parts.append(escape(unescape(line[at:])))
    return "".join(parts) + "</tspan>" * len(opened)


def _look(name: str, what: str | None, how: str | None) -> str:
    if what is None or how is None:
        return _LOOKS.get(name, "")
    return f' {"fill" if what == "color" else what}="{escape(how)}"'


_LOOKS = {
    "b": ' font-weight="600"',
    "i": ' font-style="italic"',
    "sub": f' font-size="{_SMALL}em"',
}
