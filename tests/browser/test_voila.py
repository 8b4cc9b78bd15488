"""An app under Voila: the page has it, and its controls reach the kernel."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time

import nbformat
import pytest

from tests.browser.apps import AppPage
from tests.browser.conftest import _free_port

pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")

NOTEBOOK = """
import cepkit as ck
import cepkit_widgets as apps
rows = [{"ts": i, "type": "ABC"[i % 3], "x": i} for i in range(60)]
stream = ck.events(rows, time="ts", type="type", unit="s")
apps.MatchBrowser(ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 4 seconds"))
"""


@pytest.fixture
def voila(tmp_path):
    pytest.importorskip("voila", reason="make test-browser installs it")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    nbformat.write(notebook, tmp_path / "app.ipynb")
    port = _free_port()
    command = [
        sys.executable, "-m", "voila", "app.ipynb", "--no-browser", f"--port={port}",
        "--ip=127.0.0.1", "--Voila.open_browser=False",
    ]  # fmt: skip
    log = tmp_path / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen(
            command, cwd=tmp_path, stdout=out, stderr=out, env={**os.environ, "HOME": str(tmp_path)}
        )
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert server.poll() is None, log.read_text()[-3000:]
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(20)
            server.kill()


def test_an_app_works_under_voila(voila, page, elsewhere):
    page.goto(voila, timeout=180_000, wait_until="commit")
    app = AppPage(page)
    app.frame.locator("h3").first.wait_for(timeout=180_000)
    assert "all 39 matches" in app.frame.inner_text()
    app.frame.get_by_label("filter").fill("a.x = 0")
    app.frame.get_by_label("filter").press("Enter")
    app.frame.get_by_text("2 of all 39 matches").wait_for()
    # Voila's own page asks for fonts; cepkit asks for nothing.
    elsewhere[:] = [url for url in elsewhere if "fontawesome" not in url]
