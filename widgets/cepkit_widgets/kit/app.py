"""An app: a widget that shows a state and forwards the user's actions."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Any, Self

import anywidget
import traitlets

from cepkit.printing import html_output
from cepkit_widgets.kit.parts import CLOSE, ERROR_PLACE, error_note, error_over, read_part, style

NARROW, WIDE = 320, 1600
"""The range of widths of apps, in pixels."""

_NEEDS_KERNEL = (
    '<p class="note">This is the app as it was when the page was saved. '
    "Its controls need a running notebook.</p>"
)


@cache
def script() -> str:
    """Return the module that shows apps: no imports, `{ render }` as its default."""
    parts = (read_part(name) for name in ("editor.js", "app.js"))
    return "\n".join((f"const STYLE = {json.dumps(style())};", *parts))


class App(anywidget.AnyWidget):
    """The base of all apps: it shows `body()` and calls `act` when the user does something.

    An app raises no errors into the notebook: it shows them as text.
    """

    _esm = script()

    html = traitlets.Unicode().tag(sync=True)
    """The HTML to show."""
    owner: App | None = None
    """The app that this one is a panel of: it has no page of its own then."""

    def __init__(self, begin: Callable[[], None] | None = None) -> None:
        """Show the app; subclasses must first set everything that `body()` needs.

        Args:
            begin: Fills the app; what it raises is shown.
        """
        # JupyterLab delivers the user's actions in another thread.
        self.moving: RLock = RLock() if self.owner is None else self.owner.moving
        self.width: int = 760 if self.owner is None else self.owner.width
        self.error: Exception | None = None
        self._answered = 0
        super().__init__()
        self.on_msg(self._asked)
        try:
            if begin is not None:
                begin()
        except Exception as reason:  # noqa: BLE001 - an app never raises into the notebook
            self.error = reason
        self.refresh()

    @classmethod
    def panel_of(cls, owner: App, *args: Any, **options: Any) -> Self:
        """Return the app as a panel of another, which shows its HTML and hands on its actions."""
        panel = cls.__new__(cls)
        panel.owner = owner
        cls.__init__(panel, *args, **options)
        return panel

    def open(self) -> None:
        """Open the page of the app; a panel has none."""
        if self.owner is None:
            super().open()

    @property
    def panels(self) -> dict[str, App]:
        """The panels that are seen, by their names in the page."""
        return {}

    def changed(self, panel: App) -> None:
        """Show a panel that has changed."""

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
            if self.owner is None:
                self.html = f'<div data-answered="{self._answered}">{body}</div>'
            else:
                self.html = body
                self.owner.changed(self)

    def to_html(self) -> str:
        """Return a static copy of the app, for pages without a kernel."""
        return html_output(
            f'<div class="cepkit-app"><style>{style()}</style>{_NEEDS_KERNEL}'
            f"<fieldset disabled>{self.html}</fieldset></div>"
        )

    def answer(self, content: Any) -> None:
        """Do what the user asked for, or keep the error; `refresh` shows it."""
        try:
            name = content.get("set") or content["do"]
            self.error = None
            if name != CLOSE:
                self.act(name, content.get("value"))
        except Exception as error:  # noqa: BLE001 - it becomes a text in the app
            self.error = error

    def resize(self, width: int) -> None:
        """Take the width of the page."""
        self.width = width

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        with self.moving:
            self._answered = int(content.get("n", 0))
            if content.get("set") == "width":
                try:
                    self.resize(max(NARROW, min(WIDE, int(content["value"]))))
                except (KeyError, TypeError, ValueError) as error:
                    self.error = error
                self.refresh()
                return
            asked = self.panels.get(str(content.get("panel")), self)
            asked.answer(content)
            asked.refresh()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Add a static copy for pages without widgets, as an exported notebook."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        told = {"text/plain": repr(self), "text/html": self.to_html()}
        return {**data, **told}, metadata
