"""A real browser, headless, that reaches nothing but this machine; and a JupyterLab of its own.

What was needed for steady runs: a fresh profile, no QUIC, no background requests; a JupyterLab
with fresh folders, no news and no lazy cells, whose kernel is waited for before anything runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from cepkit.figures import draw
from tests.browser.reading import Reading

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
LOCAL = re.compile(r"^(https?|wss?)://(127\.0\.0\.1|localhost)(:\d+)?/|^(file|data|blob|about):")
# Third parties' own, with no effect on what is shown.
# JupyterLab may take its splash screen away twice.
HARMLESS = re.compile(r"ResizeObserver loop|interrupted|favicon|removeChild[\s\S]*jlab_core")
SCREENSHOTS = Path(os.environ.get("CEPKIT_SCREENSHOTS", "out/browser"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Keep how each test went, so that a fixture can take a picture of a failure."""
    report = yield
    setattr(item, f"report_{report.when}", report)
    return report


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.fail("no Chromium was found; on Debian: apt-get install chromium")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=chromium,
            headless=True,
            args=list(FLAGS),
            viewport={"width": 1000, "height": 900},
        )
        opened.set_default_timeout(120_000)
        api.expect.set_options(timeout=60_000)
        yield opened
        opened.close()


@pytest.fixture
def elsewhere() -> list[str]:
    """The requests of the page to other machines, which are refused; a test must end with none."""
    return []


@pytest.fixture
def page(
    context: BrowserContext, elsewhere: list[str], request: pytest.FixtureRequest
) -> Iterator[Page]:
    """A page that reaches this machine only."""
    with _opened(context, elsewhere) as opened:
        yield opened
        report = getattr(request.node, "report_call", None)
        if report is not None and report.failed:
            _keep_picture(opened, request.node.name)


@pytest.fixture(scope="module")
def open_page(
    context: BrowserContext, request: pytest.FixtureRequest
) -> Iterator[Callable[[], Page]]:
    """Open pages that several tests share: a notebook takes longer to open than a test to run."""
    with contextlib.ExitStack() as pages:
        opened: list[Page] = []

        def open_() -> Page:
            opened.append(pages.enter_context(_opened(context, [])))
            return opened[-1]

        yield open_
        if request.session.testsfailed:
            for number, page in enumerate(opened):
                _keep_picture(page, f"{request.node.name}-{number}")


@contextlib.contextmanager
def _opened(context: BrowserContext, elsewhere: list[str]) -> Iterator[Page]:
    opened = context.new_page()
    errors: list[str] = []

    def judge(route: Any) -> None:
        if LOCAL.match(route.request.url):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    opened.route("**/*", judge)
    opened.on("pageerror", lambda error: errors.append(error.stack or str(error)))
    yield opened
    opened.close()
    assert not elsewhere
    assert not [error for error in errors if not HARMLESS.search(error)]


def _keep_picture(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    file = re.sub(r"\W+", "-", name).strip("-")
    page.screenshot(path=SCREENSHOTS / f"{file}.png", full_page=True)


@pytest.fixture
def opened(context: BrowserContext, page: Page, tmp_path: Path) -> Iterator[Callable[..., Reading]]:
    """Open traces as a saved page, with the network off."""

    def open_(traces: Any, **options: Any) -> Reading:
        path = draw(traces, **options).save_html(tmp_path / "player.html", overwrite=True)
        context.set_offline(True)
        page.goto(path.as_uri())
        return Reading(page).wait()

    yield open_
    context.set_offline(False)


class Lab:
    """A running JupyterLab."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder

    def write(self, name: str, *sources: str) -> Path:
        """Store a notebook of code cells."""
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        path = self.folder / name
        nbformat.write(notebook, path)
        return path

    def run(self, page: Page, name: str) -> None:
        """Open a notebook and run all its cells."""
        page.goto(f"{self.url}/lab/tree/{name}?reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext")
        # A click on Run before the kernel is ready is lost without a word.
        page.evaluate(_RUN_ALL)

    def evaluate(self, page: Page, expression: str, code: str = "") -> str:
        """Run code in the notebook's kernel and return how it prints an expression."""
        found: str = page.evaluate(_EVALUATE, [code, expression])
        return found

    def wait_for(self, page: Page, expression: str, expected: str) -> None:
        """Wait until the kernel prints an expression as expected: messages take their time."""
        # A polled function that returns a promise would count as true at once.
        for _ in range(1500):
            found = self.evaluate(page, expression)
            if found == expected:
                return
            page.wait_for_timeout(100)
        pytest.fail(f"{expression} is {found}, not {expected}")


_RUN_ALL = """async () => {
  const app = window.jupyterapp;
  const widget = app.shell.currentWidget;
  await widget.sessionContext.ready;
  await widget.sessionContext.session.kernel.info;
  await app.commands.execute('notebook:run-all-cells');
}"""


_EVALUATE = """async ([code, expression]) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const reply = await kernel.requestExecute({code, user_expressions: {found: expression}}).done;
  return reply.content.user_expressions.found.data['text/plain'];
}"""


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    settings = home / "config" / "labconfig"
    for made in (folder, settings):
        made.mkdir(parents=True)
    overrides = {
        "@jupyterlab/apputils-extension:notification": {
            "fetchNews": "false",
            "checkForUpdates": False,
        },
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    }
    (settings / "default_setting_overrides.json").write_text(json.dumps(overrides))
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    port = _free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=",
        "--expose-app-in-browser", f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    with (home / "log.txt").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            _wait_for(f"{url}/api", lambda: server.poll() is None, home / "log.txt")
            yield Lab(url, folder)
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(20)
            server.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(url: str, alive: Callable[[], bool], log: Path) -> None:
    for _ in range(1500):
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=20):
            return
        if not alive():
            break
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")
