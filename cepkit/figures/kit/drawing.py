"""The figures that `draw` returns: plotly figures, with a picture for pages without plotly.

An exported notebook runs no scripts: there the picture replaces the chart. A picture laid out in
pixels - an automaton, a tree, a graph - is shown as SVG everywhere, in the colours of the page and
in the widest layout that fits.

Plotly computes with colours and refuses CSS variables, but passes them on in markup within a text.
So a notebook's theme can colour texts, light or dark. Elsewhere they stay in a grey that is
readable on both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import plotly.graph_objects as go

from cepkit.errors import ArgumentError, MissingPackageError
from cepkit.figures.kit.canvas import Canvas
from cepkit.figures.kit.image.chart import NAMESPACE, chart_svg, summary
from cepkit.figures.kit.image.markup import plain_text
from cepkit.figures.kit.responsive import as_image, as_layouts
from cepkit.files import PNG, SVG, check_target, whole_file

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


_PLOTLY = "application/vnd.plotly.v1+json"
_HTML, _PLAIN = "text/html", "text/plain"
_MOST = 20_000
_THEMES = {"light": ("#1c1e21", "#ffffff"), "dark": ("#e6e7e9", "#111111")}


class Drawing(go.Figure):  # type: ignore[misc]
    """A plotly figure that is also a picture, which needs no browser."""

    _layouts: tuple[Canvas, ...] = ()
    _laid_out: Callable[[float], Drawing] | None = None

    def with_layouts(
        self, layouts: Sequence[Canvas], laid_out: Callable[[float], Drawing] | None = None
    ) -> Drawing:
        """Return itself; notebooks show it in one of several layouts.

        Args:
            layouts: The layouts, the widest first.
            laid_out: Lays the picture out for a width; None if it has one layout only.
        """
        self._layouts, self._laid_out = tuple(layouts), laid_out
        return self

    def to_svg(
        self, *, width: float | None = None, theme: Literal["light", "dark"] | None = None
    ) -> str:
        """Return the figure as an SVG document.

        Args:
            width: In pixels; None for its own, or 900 where it is as wide as there is room.
            theme: The theme of the page; None for grey letters on any page.
        """
        if width is not None and not 100 <= width <= _MOST:
            raise ArgumentError(f"width: {width!r} pixels", expected=f"100 to {_MOST:,}")
        grey = self._grey
        svg = chart_svg(self._at(width), width)
        if theme is None:
            return svg
        ink, paper = _THEMES[theme]
        sheet = f'<rect width="100%" height="100%" fill="{paper}"/>'
        return svg.replace(f'"{grey}"', f'"{ink}"').replace(">", f">{sheet}", 1)

    def to_inline_svg(self, width: float | None = None) -> str:
        """Return the figure as a part of a page: in its colours, with texts where hovering."""
        svg = chart_svg(self._at(width), width, hover=True).replace(NAMESPACE, "", 1)
        return svg.replace(f'"{self._grey}"', '"currentColor"')

    def save_image(
        self,
        path: str | os.PathLike[str],
        *,
        width: float | None = None,
        scale: float = 2.0,
        theme: Literal["light", "dark"] = "light",
        overwrite: bool = False,
    ) -> Path:
        """Write the figure as a picture and return the path; no browser is needed.

        Args:
            path: Where to: `.svg`, or `.png` with `pip install 'cepkit[image]'`.
            width: In pixels; None for its own, or 900 where it is as wide as there is room.
            scale: How many pixels a PNG has for one of the figure.
            theme: The theme of the page.
            overwrite: Whether a file that exists is replaced.

        Raises:
            FileError: The file cannot, or must not, be written.
            MissingPackageError: The package that makes PNG files is not installed.
        """
        if not 0.1 <= scale <= 20:
            raise ArgumentError(f"scale: {scale!r}", expected="0.1 to 20")
        target = check_target(path, SVG, PNG, overwrite=overwrite)
        svg = self.to_svg(width=width, theme=theme)
        content = svg.encode() if target.suffix.casefold() in SVG.endings else _png(svg, scale)
        with whole_file(target, overwrite=overwrite) as file:
            file.write(content)
        return target

    def _at(self, width: float | None) -> Drawing:
        return self if width is None or self._laid_out is None else self._laid_out(width)

    @property
    def _grey(self) -> str:
        return str(self.layout.font.color or "#767676")

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(*args, **kwargs))
        if _PLOTLY not in bundle:
            return bundle  # the session shows figures in a way of its own
        if self._layouts:
            del bundle[_PLOTLY]
        else:
            bundle[_PLOTLY] = in_page_colours(bundle[_PLOTLY], self._grey)
        return {_PLAIN: summary(self), **bundle, _HTML: self._repr_html_()}

    def _repr_html_(self) -> str:
        if self._layouts:
            title = plain_text(self.layout.title.text or "")
            return as_layouts(self._layouts, title, self.to_svg())
        return as_image(self.to_svg(), summary(self))

    def _ipython_display_(self) -> None:
        bundle = self._repr_mimebundle_()
        if _PLAIN not in bundle:
            super()._ipython_display_()
            return
        from IPython.display import display

        display(bundle, raw=True)  # type: ignore[no-untyped-call]


def _png(svg: str, scale: float) -> bytes:
    try:
        import resvg_py
    except ImportError:
        raise MissingPackageError(
            "PNG files need the package resvg-py, which is not installed",
            hint="pip install 'cepkit[image]', or save an .svg file",
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale))
