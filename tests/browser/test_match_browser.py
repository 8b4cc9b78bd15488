"""The match browser in JupyterLab, by keyboard and pointer, and in the exported notebook."""

from __future__ import annotations

import pytest

from tests.browser.apps import CLOUDFLARE, AppPage, exported, set_theme

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

MATCHES = """
import cepkit as ck
stream = ck.events(ck.sample_stocks(20_000), time="ts", type="ticker")
pattern = (
    "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WHERE a.price < b.price AND b.price < c.price "
    "WITHIN 3 minutes"
)
matches = ck.detect(stream, pattern)
"""
APP = """
from cepkit_widgets import MatchBrowser
app = MatchBrowser(matches)
app
"""


def test_the_keyboard_chooses_sorts_marks_and_filters(lab, page):
    lab.write("browser.ipynb", MATCHES, APP)
    lab.run(page, "browser.ipynb")
    app = AppPage(page).wait()
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    rows = app.host.get_by_role("region", name="matches; an arrow key chooses the next one")
    rows.focus()
    app.press("ArrowDown", "ArrowDown", "b", "d", "d")
    lab.wait_for(page, "app.current", "2")
    expect(app.button("look at match 2")).to_have_attribute("aria-pressed", "true")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    app.button("sort by c.price").focus()
    app.press("Enter", "Enter")
    lab.wait_for(page, "(app.state.sort, app.state.descending)", "(('c', 'price'), True)")
    box = app.host.get_by_role("checkbox", name="mark match 2", exact=True)
    lab.evaluate(page, "None", "app.select(2)")
    box.focus()
    app.press("Space")
    lab.wait_for(page, "list(app.selected.match)", "[2]")
    search = app.host.get_by_role("searchbox", name="filter")
    search.fill("a.price > 1e9")
    app.press("Enter")
    expect(app.host.get_by_text("No match is chosen")).to_be_visible()
    assert search.input_value() == "a.price > 1e9"
    search.fill("a.price >")
    app.press("Enter")
    expect(app.host.get_by_role("alert")).to_be_visible()
    assert search.input_value() == "a.price >"
    assert search.evaluate("e => e.getRootNode().activeElement === e")
    search.fill("")
    app.press("Enter")
    expect(app.host.get_by_role("alert")).to_have_count(0)
    expect(app.host.locator("svg")).to_be_visible()


def test_an_event_of_the_time_line_leads_to_its_matches(lab, page):
    lab.write("event.ipynb", MATCHES, APP)
    lab.run(page, "event.ipynb")
    app = AppPage(page).wait()
    app.host.locator("svg .mark").nth(1).focus()
    app.press("ArrowLeft", "ArrowRight", "Enter")
    expect(app.button("take away this filter")).to_be_visible()
    lab.wait_for(
        page, "all(app.state.event in app._known.binding(int(i))['b'] for i in app._order)", "True"
    )
    app.button("take away this filter").click()
    lab.wait_for(page, "app.state.event", "None")
    app.host.locator("svg .dot").first.click(force=True)
    lab.wait_for(page, "app.state.event is None", "False")


@pytest.mark.parametrize("width", [800, 1400])
def test_browser_fits_in_both_themes_and_its_controls_have_names(lab, page, width):
    lab.write("fits.ipynb", MATCHES, APP)
    page.set_viewport_size({"width": width, "height": 1200})
    lab.run(page, "fits.ipynb")
    app = AppPage(page).wait()
    for theme in ("Dark", "Light"):
        set_theme(page, theme)
        expect(app.frame).to_have_attribute("data-theme", theme.lower())
        assert not app.overflowing()
    tree = app.frame.aria_snapshot()
    for line in ('searchbox "filter"', 'button "next page"', 'button "next match"', "region"):
        assert line in tree, tree


def test_an_exported_notebook_shows_the_matches(lab, page, context, elsewhere):
    path = exported(lab.write("exported-browser.ipynb", MATCHES, APP))
    context.set_offline(True)
    try:
        page.goto(path.as_uri())
        app = page.locator(".cepkit-app")
        expect(app.get_by_text("controls need a running notebook")).to_be_visible()
        expect(app.locator("svg .mark").first).to_be_visible()
        assert app.locator("tbody").first.locator("tr").count() == 10
    finally:
        context.set_offline(False)
    # The frame that nbconvert puts around every notebook asks for these; the app does not.
    elsewhere[:] = [url for url in elsewhere if CLOUDFLARE not in url]
