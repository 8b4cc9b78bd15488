"""The strategy comparison in JupyterLab, by keyboard, in both themes and two widths."""

from __future__ import annotations

import pytest

from tests.browser.apps import AppPage, assert_fits

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

APP = """
import cepkit as ck
from cepkit_widgets import StrategyComparison
stream = ck.events(ck.sample_stocks(5_000), time="ts", type="ticker")
app = StrategyComparison(
    stream,
    "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WHERE a.price < b.price AND b.price < c.price "
    "WITHIN 3 minutes",
)
app
"""


def test_the_keyboard_chooses_strategies_groups_and_matches(lab, page):
    lab.write("strategies.ipynb", APP)
    lab.run(page, "strategies.ipynb")
    app = AppPage(page).wait()
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    app.host.get_by_role("region", name="strategies; bars").focus()
    app.press("ArrowDown", "b", "d", "d")
    lab.wait_for(page, "str(app.chosen)", "'skip-till-next-match'")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    lab.wait_for(page, "len(app.matches)", "2")
    app.host.get_by_role("region", name="matches of skip-till-next-match").focus()
    app.press("End")
    lab.wait_for(page, "bool(app.current == app.matches.match.iloc[-1])", "True")
    only = app.button("list what only skip-till-any-match has")
    only.focus()
    app.press("Enter")
    lab.wait_for(page, "set(app.matches['skip-till-next-match'])", "{False}")
    expect(only).to_have_attribute("aria-pressed", "true")
    why = app.host.get_by_role("region", name="why they lack it")
    expect(why.get_by_role("rowheader", name="skip-till-next-match")).to_be_visible()
    # The matches of a strategy stand on the time line one beside the other.
    app.host.locator("svg .match.chosen").first.focus()
    current = lab.evaluate(page, "app.current")
    app.press("ArrowRight", "ArrowRight", "Enter")
    lab.wait_for(page, f"app.current == {current}", "False")
    code = "exec(app.as_code())"
    assert lab.evaluate(page, "bool(matches.count() == app.counts.matches[0])", code) == "True"
    assert_fits(app)
    tree = app.frame.aria_snapshot()
    for line in (
        'button "strict-contiguity"',
        'button "next match"',
        'columnheader "lacks"',
        'region "the strategies on one time line"',
    ):
        assert line in tree, tree
