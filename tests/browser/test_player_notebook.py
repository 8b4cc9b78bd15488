"""The player in JupyterLab, as a widget and as HTML, and in the notebook exported as HTML."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.browser.reading import Reading

expect = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it").expect

TRACES = """
import pandas as pd
import cepkit as ck
frame = pd.DataFrame({"ts": range(6), "type": list("AAABBC"), "price": [3, 5, 8, 7, 13, 9]})
stream = ck.events(frame, time="ts", type="type", unit="s")
pattern = ck.parse(
    "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price AND b.price < c.price WITHIN 20 seconds"
)
traces = [ck.simulate(stream, pattern, mechanism="chain-nfa", plan=list(p)) for p in ("cba", "abc")]
"""
WIDGET = "from cepkit_widgets import PlayerWidget\nwidget = PlayerWidget(traces)\nwidget"
DRAWN = "ck.draw(traces)"


def test_the_widget_and_the_kernel_follow_each_other(lab, page):
    lab.write("widget.ipynb", TRACES, WIDGET)
    lab.run(page, "widget.ipynb")
    player = Reading(page).wait()
    player.focus()
    player.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    assert player.step == 5
    assert player.counter("instances", 0) == 1
    assert player.counter("instances", 1) == 9
    lab.wait_for(page, "widget.step", "5")
    lab.evaluate(page, "widget.step", "widget.next_match()")
    expect(player.host).to_have_attribute("data-step", "6")
    assert "MATCH A 0 → B 3 → C 5" in player.sentence
    lab.evaluate(page, "widget.step", "widget.step = 99")
    expect(player.host).to_have_attribute("data-step", "7")
    lab.wait_for(page, "widget.step", "7")


def test_the_notebook_keeps_its_hands_off_the_keys(lab, page):
    lab.write("keys.ipynb", TRACES, WIDGET)
    lab.run(page, "keys.ipynb")
    player = Reading(page).wait()
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    player.focus()
    # In Lab these insert, delete and change cells.
    player.press("b", "a", "d", "d", "m", "x", "ArrowRight", "ArrowDown", "n")
    assert player.step == 6
    # What was clicked is drawn anew, and the keys are still the player's.
    player.host.locator('.event[data-event="2"]').click()
    player.press("b", "ArrowRight")
    assert player.step == 4
    player.card(1).get_by_role("button", name="3", exact=True).click()
    player.press("b", "ArrowRight")
    assert player.step == 5
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells


def test_player_of_draw_plays_in_a_notebook_in_both_themes(lab, page):
    lab.write("drawn.ipynb", TRACES, DRAWN, DRAWN)
    lab.run(page, "drawn.ipynb")
    first, second = Reading(page, 0).wait(), Reading(page, 1).wait()
    first.focus()
    first.press("n")
    assert (first.step, second.step) == (6, 0)
    assert "MATCH" in first.sentence
    for theme, word in (("JupyterLab Dark", "dark"), ("JupyterLab Light", "light")):
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
        )
        expect(first.host).to_have_attribute("data-theme", word)


@pytest.mark.parametrize("shown", [DRAWN, WIDGET], ids=["drawn", "widget"])
def test_an_exported_notebook_plays_without_kernel_and_network(
    lab, page, context, elsewhere, shown
):
    path = lab.write("exported.ipynb", TRACES, shown)
    _convert(path, "--to", "html", "--ExecutePreprocessor.store_widget_state=False")
    context.set_offline(True)
    try:
        page.goto(path.with_suffix(".html").as_uri())
        player = Reading(page).wait()
        player.focus()
        player.press("n")
        assert player.step == 6
        assert player.tokens(1)[0] == "instance 0: start"
    finally:
        context.set_offline(False)
    # The frame that nbconvert puts around every notebook asks for these; the player does not.
    elsewhere[:] = [url for url in elsewhere if "cdnjs.cloudflare.com" not in url]


COUNTED = """
cut = [["a", "b"], ["c"]]
counters = [ck.aggregate_trace(stream, pattern, pieces=pieces) for pieces in (None, cut)]
"""


def test_prefix_counters_play_in_the_notebook_and_tell_the_kernel(lab, page):
    plain = TRACES.replace("WHERE a.price < b.price AND b.price < c.price ", "")
    lab.write("counted.ipynb", plain, COUNTED, WIDGET.replace("(traces)", "(counters)"))
    lab.run(page, "counted.ipynb")
    player = Reading(page).wait()
    lab.evaluate(page, "widget.step", "widget.next_match()")
    expect(player.host).to_have_attribute("data-step", "6")
    assert player.total(0) == "Output: live matches a1 2 + a2 2 + a3 2 = 6, 6 new"
    assert player.total(1) == "Output: live matches c1 (2 + 2 + 2) × 1 = 6, 6 new"
    player.focus()
    player.press("ArrowLeft")
    lab.wait_for(page, "widget.step", "5")
    assert player.changed(0) == ["1 + 1 = 2"] * 3


def test_a_notebook_that_is_not_trusted_shows_the_totals(lab, page):
    path = lab.write("untrusted.ipynb", TRACES, DRAWN)
    _convert(path, "--to", "notebook", "--inplace")
    page.goto(f"{lab.url}/lab/tree/{path.name}?reset")
    told = page.locator(".jp-OutputArea-output", has_text="Player of 2 traces over 6 events")
    told.wait_for()
    assert "It plays where scripts may run" in told.inner_text()
    assert told.locator("td", has_text="chain-nfa c → b → a").is_visible()
    assert page.locator(".cepkit-player").count() == 0


def _convert(path, *options):
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--execute", *options, str(path)],
        check=True,
        capture_output=True,
    )
