"""The studio in JupyterLab: by mouse and by keyboard, and Python sees what is done."""

from __future__ import annotations

import pytest

from tests.browser.apps import AppPage, assert_fits

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

STREAM = """
import cepkit as ck
stream = ck.events(ck.sample_stocks(20_000), time="ts", type="ticker")
studio = ck.studio(stream, '''PATTERN SEQ(MSFT a, GOOG b, AAPL c)
WHERE a.price < b.price AND b.price < c.price
WITHIN 3 minutes''')
studio"""
TABS = ("matches", "plan", "steps", "why not", "learn")


class Desk:
    """The notebook, its studio, and what Python says of it."""

    def __init__(self, lab, page):
        self.lab, self.page = lab, page
        self.app = AppPage(page).wait()

    def says(self, expression, expected="True"):
        self.lab.wait_for(self.page, expression, expected)

    def tab(self, name):
        return self.app.host.get_by_role("tab", name=name, exact=True)

    def open(self, name):
        self.tab(name).click()
        self.says(f"studio.state.tab == {name!r} and studio.wait(60)")


@pytest.fixture(scope="module")
def desk(lab, open_page):
    page = open_page()
    page.set_viewport_size({"width": 1400, "height": 1200})
    lab.write("studio.ipynb", STREAM)
    lab.run(page, "studio.ipynb")
    desk = Desk(lab, page)
    desk.says("studio.wait(60)")
    return desk


def test_every_tab_is_full_and_fits(desk):
    for name in TABS:
        desk.open(name)
        panel = desk.app.host.get_by_role("tabpanel", name=name)
        expect(panel).not_to_be_empty()
        if name == "steps":
            expect(desk.page.locator(".cepkit-player .player")).to_be_visible()
        assert_fits(desk.app, name)
