"""An app in a page, used as users do: by the names of its controls, and by keyboard."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

CLOUDFLARE = "cdnjs.cloudflare.com"


class AppPage:
    """The app with this number in a page; selectors see through shadow roots."""

    def __init__(self, page: Page, number: int = 0) -> None:
        self.page = page
        self.host = page.locator(".cepkit-app-host").nth(number)
        self.frame = self.host.locator(".cepkit-app")

    def wait(self) -> AppPage:
        self.frame.locator("h3").first.wait_for()
        return self

    def slider(self, name: str) -> Locator:
        return self.host.get_by_role("slider", name=name, exact=True)

    def button(self, name: str) -> Locator:
        return self.host.get_by_role("button", name=name, exact=True)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def overflowing(self) -> list[str]:
        """The elements that are wider than the app and in no frame that scrolls."""
        found: list[str] = self.frame.evaluate(_OVERFLOWING)
        return found


_OVERFLOWING = """app => {
  const right = app.getBoundingClientRect().right + 1;
  return [...app.querySelectorAll("*")]
    .filter(e => !e.closest(".scroll *, .only-read, svg *"))
    .filter(e => e.getBoundingClientRect().right > right)
    .map(e => e.outerHTML.slice(0, 80));
}"""


def set_theme(page: Page, theme: str) -> None:
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})",
        f"JupyterLab {theme}",
    )


def assert_fits(app: AppPage, name: str = "") -> None:
    """Look at an app in both themes, at two widths: nothing is wider than there is room."""
    for width in (800, 1400):
        app.page.set_viewport_size({"width": width, "height": 1200})
        for theme in ("Dark", "Light"):
            set_theme(app.page, theme)
            app.page.wait_for_function(
                "([host, theme]) => host.shadowRoot.querySelector('.cepkit-app')"
                ".dataset.theme === theme",
                arg=[app.host.element_handle(), theme.lower()],
            )
            # What Python draws for another width comes a moment later.
            deadline = time.monotonic() + 60
            while app.overflowing() and time.monotonic() < deadline:
                app.page.wait_for_timeout(100)
            assert app.overflowing() == [], (width, theme, name, app.frame.inner_text()[-300:])
            _keep(app.page, f"{app.frame.locator('h3').first.inner_text()} {name}-{width}-{theme}")


def _keep(page: Page, name: str) -> None:
    """Keep a picture where somebody asked for pictures of all that is looked at."""
    folder = os.environ.get("CEPKIT_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png".replace(" ", "-"), full_page=True)


def exported(path: Path) -> Path:
    """Run a notebook and save it as a page that needs no kernel."""
    keep = "--ExecutePreprocessor.store_widget_state=False"
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", keep, str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path.with_suffix(".html")
