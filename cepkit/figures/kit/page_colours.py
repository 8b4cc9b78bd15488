"""Texts of plotly's figures in the text colour of the page around them, if it has one.

Plotly computes with colours and refuses CSS variables, but passes them on in markup within a text.
So a notebook's theme can colour texts, light or dark. Elsewhere they stay in a grey that is
readable on both.
"""

from __future__ import annotations

import re
from typing import Any

_PAGE = "var(--jp-content-font-color1,var(--vscode-editor-foreground,{}))"
_END = "</span>"
_AXIS = re.compile(r"[xy]axis\d*")


def in_page_colours(figure: dict[str, Any], grey: str) -> dict[str, Any]:
    """Return a figure of plotly, as JSON has it, with its grey texts in the colour of the page.

    Args:
        figure: With the keys `data` and `layout`; it is not changed.
        grey: The colour of texts that have none of their own, and on other pages.
    """
    ink = _Ink(grey)
    layout = dict(figure.get("layout", {}))
    if "title" in layout:
        layout["title"] = ink.of_thing(layout["title"])
    if "annotations" in layout:
        layout["annotations"] = [*map(ink.of_thing, layout["annotations"])]
    for name in filter(_AXIS.fullmatch, list(layout)):
        layout[name] = ink.of_axis(layout[name])
    return {**figure, "layout": layout, "data": [*map(ink.of_trace, figure.get("data", ()))]}


class _Ink:
    """Gives texts the colour of the page.

    Args:
        grey: That of texts without a colour of their own, and on other pages.
    """

    def __init__(self, grey: str) -> None:
        self._grey = grey
        self._begin = f'<span style="color:{_PAGE.format(grey)}">'

    def of_axis(self, axis: dict[str, Any]) -> dict[str, Any]:
        axis = dict(axis)
        if "title" in axis:
            axis["title"] = self.of_thing(axis["title"])
        if axis.get("ticktext") is not None:
            axis["ticktext"] = [*map(self._of_text, axis["ticktext"])]
        else:
            # A prefix and a suffix of all ticks may hold the two ends of the markup.
            axis["tickprefix"] = self._begin + axis.get("tickprefix", "")
            axis["ticksuffix"] = axis.get("ticksuffix", "") + _END
        return axis

    def of_trace(self, trace: dict[str, Any]) -> dict[str, Any]:
        trace = dict(trace)
        if trace.get("name"):
            trace["name"] = self._of_text(trace["name"])
        if trace.get("text") is not None and self._is_grey(trace.get("textfont")):
            text = trace["text"]
            several = not isinstance(text, str)
            trace["text"] = [*map(self._of_text, text)] if several else self._of_text(text)
        return trace

    def of_thing(self, thing: dict[str, Any]) -> dict[str, Any]:
        if not thing.get("text") or not self._is_grey(thing.get("font")):
            return thing
        return {**thing, "text": self._of_text(thing["text"])}

    def _is_grey(self, font: dict[str, Any] | None) -> bool:
        colour = (font or {}).get("color", self._grey)
        return isinstance(colour, str) and colour == self._grey

    def _of_text(self, text: Any) -> Any:
        return f"{self._begin}{text}{_END}" if text else text
