"""The plan explorer in JupyterLab, by keyboard, and in the notebook exported as HTML."""

from __future__ import annotations

import pytest

from tests.browser.apps import CLOUDFLARE, AppPage, exported, set_theme

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

STREAM = """
import cepkit as ck
stream = ck.events(ck.sample_stocks(4000), time="ts", type="ticker")
pattern = ck.parse(
    "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WHERE a.price < b.price AND b.price < c.price "
    "WITHIN 3 minutes"
)
statistics = ck.profile(stream, pattern)
"""
APP = """
from cepkit_widgets import PlanExplorer
app = PlanExplorer(pattern, statistics, stream=stream, events=2000)
app
"""
_ALIGNED = "e => getComputedStyle(e).textAlign"


def test_the_keyboard_moves_numbers_and_the_plans_follow(lab, page):
    lab.write("explorer.ipynb", STREAM, APP)
    lab.run(page, "explorer.ipynb")
    app = AppPage(page).wait()
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    slider = app.slider("rate of AAPL c")
    slider.focus()
    app.press("End")
    lab.wait_for(page, 'round(app.statistics.rates["c"] / statistics.rates["c"])', "100")
    expect(app.host.get_by_text("changed", exact=True).first).to_be_visible()
    assert slider.evaluate("e => e.getRootNode().activeElement === e")
    # In Lab these insert and delete cells.
    app.press("ArrowLeft", "b", "d", "d", "a")
    lab.wait_for(page, 'app.statistics.rates["c"] < 99 * statistics.rates["c"]', "True")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    planners = app.host.get_by_role("region", name="cost: partial-matches")
    planners.focus()
    app.press("End")
    lab.wait_for(page, "app.plan.planner", "'dp-tree'")
    app.press("ArrowUp")
    lab.wait_for(page, "app.plan.planner", "'zstream-ord'")
    code = "exec(app.as_code())"
    assert lab.evaluate(page, "plan.branches == app.plan.branches", code) == "True"
    app.button("Reset to what was measured").focus()
    app.press("Enter")
    lab.wait_for(page, "app.statistics == statistics", "True")
    expect(app.host.get_by_text("another plan is best").first).to_be_visible()


def test_two_plans_are_pinned_and_run(lab, page):
    lab.write("pinned.ipynb", STREAM, APP)
    lab.run(page, "pinned.ipynb")
    app = AppPage(page).wait()
    app.button("pin the plan of given-order as A").click()
    expect(app.button("Unpin A")).to_be_visible()
    expect(app.host.get_by_role("img", name="A: order by given-order, pinned")).to_be_visible()
    app.button("Run both on the first 2,000 events").click()
    ran = app.host.get_by_role("region", name="measured on the first 2,000 events")
    expect(ran).to_be_visible()
    expect(ran.locator("tbody tr")).to_have_count(2)
    assert "a → b → c" in ran.inner_text()


def test_controls_have_names_and_roles(lab, page):
    lab.write("names.ipynb", STREAM, APP)
    lab.run(page, "names.ipynb")
    app = AppPage(page).wait()
    tree = app.frame.aria_snapshot()
    for line in (
        'combobox "cost model"',
        'slider "rate of MSFT a"',
        'slider "conditions a, b"',
        'slider "window"',
        'button "pin the plan of dp-tree as B"',
        'button "greedy"',
        'columnheader "planner"',
    ):
        assert line in tree, tree
    unnamed = [
        line for line in tree.splitlines()
        if line.strip(" -:") in ("button", "slider", "combobox", "textbox", "img")
    ]  # fmt: skip
    assert not unnamed


@pytest.mark.parametrize("width", [800, 1400])
def test_explorer_fits_in_both_themes(lab, page, width):
    lab.write("fits.ipynb", STREAM, APP)
    page.set_viewport_size({"width": width, "height": 1200})
    lab.run(page, "fits.ipynb")
    app = AppPage(page).wait()
    for theme in ("Dark", "Light"):
        set_theme(page, theme)
        expect(app.frame).to_have_attribute("data-theme", theme.lower())
        assert not app.overflowing()


def test_exported_notebook_shows_results_offline_with_disabled_controls(
    lab, page, context, elsewhere
):
    path = exported(lab.write("exported-explorer.ipynb", STREAM, APP))
    context.set_offline(True)
    try:
        page.goto(path.as_uri())
        app = page.locator(".cepkit-app")
        expect(app.get_by_text("controls need a running notebook")).to_be_visible()
        expect(app.get_by_role("slider").first).to_be_disabled()
        expect(app.locator("svg")).to_be_visible()
        assert app.locator("tbody tr").count() == 10
        # The page's own rules would move texts to the right.
        assert app.locator("tbody th").first.evaluate(_ALIGNED) == "left"
    finally:
        context.set_offline(False)
    # The frame that nbconvert puts around every notebook asks for these; the app does not.
    elsewhere[:] = [url for url in elsewhere if CLOUDFLARE not in url]
