"""The pattern editor in JupyterLab: typed by keyboard, with completion, an error, a run, a stop."""

from __future__ import annotations

import pytest

from tests.browser.apps import CLOUDFLARE, AppPage, assert_fits, exported

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

APP = """
import cepkit as ck
from cepkit_widgets import PatternEditor
stream = ck.events(ck.sample_stocks(20_000), time="ts", type="ticker")
app = PatternEditor(stream, "PATTERN SEQ(MSFT a, GOOG b)\\nWITHIN 3 seconds", events=2_000)
app
"""


def test_a_pattern_is_written_by_keyboard(lab, page):
    lab.write("editor.ipynb", APP)
    lab.run(page, "editor.ipynb")
    app = AppPage(page).wait()
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    area = app.host.get_by_role("textbox", name="pattern")
    words = app.host.get_by_role("listbox", name="completions")
    area.focus()
    app.press("Control+End")
    page.keyboard.type("\nWHERE a.pr")
    # The first arrow goes into the list, Enter takes the word.
    expect(words).to_be_visible()
    app.press("ArrowDown")
    expect(words.get_by_role("option", name="price")).to_have_attribute("aria-selected", "true")
    assert area.get_attribute("aria-activedescendant") == "text-0"
    app.press("Enter")
    page.keyboard.type(" < b.prize")
    expect(area).to_have_attribute("aria-invalid", "true")
    expect(app.host.locator(".editor mark")).to_have_text("b.prize")
    expect(app.host.get_by_text("did you mean 'price'?")).to_be_visible()
    assert lab.evaluate(page, "app.pattern") == "None"
    app.press("Backspace", "Backspace")
    expect(words).to_be_visible()
    app.press("Escape")
    expect(words).to_be_hidden()
    page.keyboard.type("ce ")
    app.press("Control+ ")
    expect(words.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    page.keyboard.type("a")
    expect(words.get_by_role("option", name="AND keyword")).to_be_visible()
    app.press("Escape", "Backspace", "Backspace")
    text = "'PATTERN SEQ(MSFT a, GOOG b)\\nWITHIN 3 seconds\\nWHERE a.price < b.price'"
    lab.wait_for(page, "app.text", text)
    assert area.evaluate("e => e.getRootNode().activeElement === e")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    lab.evaluate(page, "app.wait()")
    first = app.host.get_by_role("region", name="the first matches on a time line")
    expect(first.locator("svg .mark").first).to_be_visible()
    expect(app.host.get_by_role("region", name="the automaton").locator("svg")).to_be_visible()
    # Tab is not held: it leads to the controls.
    app.button("Run on everything").focus()
    app.press("Enter")
    lab.wait_for(page, "app._running is not None and app._running.count is not None", "True")
    expect(app.host.get_by_text("matches in")).to_be_visible()
    assert_fits(app)
    _none_and_endless(lab, page, app)


def _none_and_endless(lab, page, app):
    area = app.host.get_by_role("textbox", name="pattern")
    area.fill("PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < 0 WITHIN 3 seconds")
    expect(app.host.get_by_text("There is no match")).to_be_visible()
    assert_fits(app, "none")
    events = ", ".join(f"MSFT {name}" for name in "abcde")
    area.fill(f"PATTERN SEQ({events}) WHERE a.price + b.price + c.price + d.price + e.price < 0")
    lab.wait_for(page, "len(app.pattern.structure.items)", "5")
    app.button("Run on everything").click()
    app.button("Stop").click()
    expect(app.host.get_by_text("stopped after")).to_be_visible()
    expect(app.button("Run on everything")).to_be_enabled()
    assert lab.evaluate(page, "type(app._running.error).__name__") == "'KeyboardInterrupt'"
    area.fill("PATTERN SEQ(MSFT a, GOOG b) WHER")
    expect(area).to_have_attribute("aria-invalid", "true")
    assert_fits(app, "wrong")


def test_an_exported_notebook_shows_the_new_apps(lab, page, context, elsewhere):
    comparison = (
        "from cepkit_widgets import StrategyComparison\nStrategyComparison(stream, app.text)"
    )
    path = exported(lab.write("exported-editor.ipynb", APP, comparison))
    context.set_offline(True)
    try:
        page.goto(path.as_uri())
        editor, strategies = page.locator(".cepkit-app").all()
        for app in (editor, strategies):
            expect(app.get_by_text("controls need a running notebook")).to_be_visible()
            expect(app.locator("svg .mark").first).to_be_visible()
        expect(editor.get_by_role("textbox")).to_be_disabled()
        assert editor.get_by_role("textbox").input_value().startswith("PATTERN SEQ(MSFT a")
    finally:
        context.set_offline(False)
    # The frame that nbconvert puts around every notebook asks for these; the app does not.
    elsewhere[:] = [url for url in elsewhere if CLOUDFLARE not in url]
