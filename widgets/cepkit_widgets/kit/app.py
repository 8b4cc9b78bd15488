"""An app: a widget that shows what a state looks like, and hands on what its reader does."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from threading import RLock
from typing import Any

import anywidget
import traitlets

from cepkit.printing import html_output
from cepkit_widgets.kit.parts import error_note

NARROW, WIDE = 320, 1600
"""Between these widths, in pixels, apps are laid out."""

_NEEDS_KERNEL = (
    '<p class="note">This is the app as it was when the page was saved. '
    "Its controls need a running notebook.</p>"
)


def _read(name: str) -> str:
    return files("cepkit_widgets.kit").joinpath(name).read_text(encoding="utf-8")


@cache
def style() -> str:
    """Return the style sheet of all apps."""
    return _read("style.css")


@cache
def script() -> str:
    """Return the module that shows apps: no imports, `{ render }` as its default."""
    return f"const STYLE = {json.dumps(style())};\n{_read('editor.js')}\n{_read('app.js')}"


class App(anywidget.AnyWidget):
    """The base of all apps: it shows `body()`, and calls `act` when the reader does something.

    An app raises nothing into the notebook: an error becomes a text in the app.
    """

    _esm = script()

    html = traitlets.Unicode().tag(sync=True)
    """What is shown."""

    def __init__(self) -> None:
        """Show the app; subclasses have set all that `body()` needs."""
        # JupyterLab hands what its reader does to a thread of its own.
        self.moving = RLock()
        self.width = 760
        self.error: Exception | None = None
        self._answered = 0
        super().__init__()
        self.on_msg(self._asked)
        self.refresh()

    def body(self) -> str:
        """Return what is shown, as HTML in which all texts are escaped."""
        raise NotImplementedError

    def act(self, name: str, value: Any) -> None:
        """Do what the reader asks for.

        Args:
            name: Of the control.
            value: Its value; None for a plain button.
        """
        raise NotImplementedError

    def refresh(self) -> None:
        """Show the state as it is now."""
        with self.moving:
            error = "" if self.error is None else error_note(self.error)
            try:
                body = self.body()
            except Exception as reason:  # noqa: BLE001 - an app never raises into the notebook
                body = error_note(reason)
            # What comes and goes has a place of its own: what stands behind it stays where it is.
            self.html = f'<div data-answered="{self._answered}"><div>{error}</div>{body}</div>'

    def to_html(self) -> str:
        """Return the app as it is now, for pages without a kernel: nothing in it moves."""
        return html_output(
            f'<div class="cepkit-app"><style>{style()}</style>{_NEEDS_KERNEL}'
            f"<fieldset disabled>{self.html}</fieldset></div>"
        )

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        with self.moving:
            try:
                name = content.get("set") or content["do"]
                if name == "width":
                    self.width = max(NARROW, min(WIDE, int(content["value"])))
                else:
                    self.error = None
                    self.act(name, content.get("value"))
            except Exception as error:  # noqa: BLE001 - it becomes a text in the app
                self.error = error
            self._answered = int(content.get("n", 0))
            self.refresh()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Add what is seen where there are no widgets, as in an exported notebook."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        told = {"text/plain": repr(self), "text/html": self.to_html()}
        return {**data, **told}, metadata
