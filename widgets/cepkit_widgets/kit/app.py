"""An app: a widget that shows a state and forwards the user's actions."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from threading import RLock
from typing import Any

import anywidget
import traitlets

from cepkit.printing import html_output
from cepkit_widgets.kit.parts import CLOSE, ERROR_PLACE, error_note, error_over

NARROW, WIDE = 320, 1600
"""The range of widths of apps, in pixels."""

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
    """The base of all apps: it shows `body()` and calls `act` when the user does something.

    An app raises no errors into the notebook: it shows them as text.
    """

    _esm = script()

    html = traitlets.Unicode().tag(sync=True)
    """The HTML to show."""

    def __init__(self) -> None:
        """Show the app; subclasses must first set everything that `body()` needs."""
        # JupyterLab delivers the user's actions in another thread.
        self.moving = RLock()
        self.width = 760
        self.error: Exception | None = None
        self._answered = 0
        super().__init__()
        self.on_msg(self._asked)
        self.refresh()

    def body(self) -> str:
        """Return the HTML of the app, with all texts escaped; errors stand in `ERROR_PLACE`."""
        raise NotImplementedError

    def act(self, name: str, value: Any) -> None:
        """Handle an action of the user.

        Args:
            name: The name of the control.
            value: Its value; None for a plain button.
        """
        raise NotImplementedError

    def refresh(self) -> None:
        """Show the current state."""
        with self.moving:
            try:
                body = self.body()
            except Exception as reason:  # noqa: BLE001 - an app never raises into the notebook
                body = error_note(reason)
            if self.error is not None and ERROR_PLACE in body:
                body = body.replace(ERROR_PLACE, error_over(self.error))
            elif self.error is not None:
                body = error_note(self.error) + body
            self.html = f'<div data-answered="{self._answered}">{body}</div>'

    def to_html(self) -> str:
        """Return a static copy of the app, for pages without a kernel."""
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
                    if name != CLOSE:
                        self.act(name, content.get("value"))
            except Exception as error:  # noqa: BLE001 - it becomes a text in the app
                self.error = error
            self._answered = int(content.get("n", 0))
            self.refresh()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Add a static copy for pages without widgets, as an exported notebook."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        told = {"text/plain": repr(self), "text/html": self.to_html()}
        return {**data, **told}, metadata
