"""The apps under Voila, on one page: each is used as users do, and Python answers."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time

import nbformat
import pytest

from tests.browser.accessibility import complaints
from tests.browser.apps import AppPage
from tests.browser.conftest import _free_port
from tests.browser.reading import Reading

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

NOTEBOOK = """
import cepkit as ck
import cepkit_widgets as apps
from IPython.display import display
rows = [{"ts": i, "type": "ABC"[i % 3], "x": i} for i in range(60)]
stream = ck.events(rows, time="ts", type="type", unit="s")
pattern = ck.parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 4 seconds")
longer = ck.parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 4 seconds")
display(apps.PlanExplorer(longer, ck.profile(stream, longer), stream=stream))
display(apps.PatternEditor(stream, str(pattern)))
display(apps.MatchBrowser(ck.detect(stream, pattern)))
display(apps.StrategyComparison(stream, pattern))
display(apps.PlayerWidget(ck.simulate(stream.head(12), pattern)))
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


def test_the_apps_and_the_player_work_under_voila(voila, page, elsewhere):
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.goto(voila, timeout=180_000, wait_until="commit")
    page.locator(".cepkit-player .player").wait_for(timeout=180_000)
    apps = [AppPage(page, number).wait() for number in range(4)]
    explorer, editor, browser, strategies = apps
    explorer.slider("rate of C c").focus()
    explorer.press("End")
    expect(explorer.host.get_by_text("changed", exact=True).first).to_be_visible()
    table = explorer.host.get_by_role("region", name="cost: partial-matches")
    expect(table.locator("tr").last).to_contain_text("dp-tree")  # a busy kernel draws it twice
    table.focus()
    explorer.press("End")
    chosen = explorer.host.locator("tr[aria-selected=true], tr.chosen").first
    expect(chosen).to_contain_text("dp-tree")

    area = editor.host.get_by_role("textbox", name="pattern")
    area.fill("PATTERN SEQ(A a, B b) WITHIN 4 secs_")
    expect(area).to_have_attribute("aria-invalid", "true")
    area.fill("PATTERN SEQ(A a, C c) WITHIN 4 seconds")
    expect(area).not_to_have_attribute("aria-invalid", "true")
    editor.button("Run on everything").click()
    expect(editor.host.get_by_text("20 matches in")).to_be_visible()

    assert "all 39 matches" in browser.frame.inner_text()
    browser.host.get_by_label("filter").fill("a.x = 0")
    browser.host.get_by_label("filter").press("Enter")
    expect(browser.host.get_by_text("2 of all 39 matches")).to_be_visible()

    strategies.host.get_by_role("region", name="strategies; bars").focus()
    strategies.press("ArrowDown")
    matches = strategies.host.get_by_role("region", name="matches of skip-till-next-match")
    expect(matches).to_be_visible()

    player = Reading(page).wait()
    player.focus()
    player.press("n")
    assert "MATCH" in player.sentence
    assert complaints(page) == []
    # Voila's own page asks for fonts; cepkit asks for nothing.
    elsewhere[:] = [url for url in elsewhere if "fontawesome" not in url]
