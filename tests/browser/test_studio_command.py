"""The studio as the command opens it: a page of its own, behind a token, by keyboard, offline."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import urllib.request

import pytest

import cepkit as ck
from cepkit_widgets.studio.state import StudioState
from tests.browser.accessibility import complaints
from tests.browser.apps import AppPage

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

PATTERN = """PATTERN SEQ(MSFT a, NOT(INTC n), GOOG b, AAPL c)
WHERE a.price < b.price AND b.price < c.price AND n.volume > 400
WITHIN 3 minutes"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    pytest.importorskip("voila", reason="make test-browser installs it")
    folder = tmp_path_factory.mktemp("studio")
    ck.sample_stocks(20_000).to_csv(folder / "my trades.csv", index=False)
    (folder / "p.cep").write_text(PATTERN)
    command = [
        sys.executable, "-m", "cepkit.cli", "studio", "my trades.csv", "--time", "ts",
        "--type", "ticker", "--pattern", "p.cep", "--no-browser",
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            line = server.stdout.readline()
            assert line.startswith("The studio is at http://127.0.0.1:"), line
            yield line.split()[-1]
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(20)
            server.kill()


def test_studio_is_a_page_behind_a_token_and_is_used_by_keyboard(address, page, elsewhere):
    for place in ("", "api/kernels", "?token=wrong"):
        url = f"{address.partition('?')[0]}{place}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert "/login" in answer.url
    page.set_viewport_size({"width": 1400, "height": 1000})
    page.goto(address, timeout=180_000, wait_until="commit")
    app = AppPage(page).wait()
    tab = app.host.get_by_role("tab", name="matches", exact=True)
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(app.host.get_by_role("list", name="the pattern in words")).to_contain_text("no INTC")
    tab.focus()
    for name in ("plan", "steps", "why not", "curve", "learn", "hand over"):
        app.press("ArrowRight", "Enter")
        here = app.host.get_by_role("tab", name=name, exact=True)
        expect(here).to_have_attribute("aria-selected", "true")
        expect(here).to_be_focused()
        expect(app.host.get_by_role("tabpanel", name=name)).not_to_be_empty()
        expect(app.host.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
        if name == "steps":
            expect(page.locator(".cepkit-player .player")).to_be_visible()
        assert app.overflowing() == []
        assert complaints(page) == []
    app.button("Copy link")
    other = StudioState("PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 second", tab="why not")
    page.goto("about:blank")
    page.goto(f"{address}{other.fragment}", timeout=180_000, wait_until="commit")
    expect(app.host.get_by_role("textbox", name="pattern")).to_have_value(other.pattern)
    expect(app.host.get_by_role("tabpanel", name="why not")).to_contain_text("There are matches")
    # The page asks no other machine; what Voila would ask for, its policy forbids.
    assert elsewhere == []
