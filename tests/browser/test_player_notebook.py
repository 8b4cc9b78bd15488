"""The player in JupyterLab, as a widget and as HTML, and in the notebook exported as HTML."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.browser.apps import set_theme
from tests.browser.controls import Census, keys_of
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


LINKED = """
from IPython.display import display
one, two = (PlayerWidget(trace, link="both") for trace in traces)
display(one, two)"""
COUNTED = """
plain = ck.parse("PATTERN SEQ(A a, B b, C c) WITHIN 20 seconds")
cut = [["a", "b"], ["c"]]
counters = [ck.simulate(stream, plain, "prefix-counters", pieces) for pieces in (None, cut)]
"""


@pytest.fixture(scope="module")
def desk(lab, open_page):
    """One notebook with players of all kinds."""
    notebook = open_page()
    counted = WIDGET.replace("widget", "counted").replace("traces", "counters")
    counted = counted.replace("cepkit_counteds", "cepkit_widgets")
    lab.write("players.ipynb", TRACES, WIDGET, DRAWN, LINKED, COUNTED, counted)
    lab.run(notebook, "players.ipynb")
    for number in range(5):
        Reading(notebook, number).wait()
    return notebook


def begin(player, step=0):
    """Go to a position, by the slider."""
    player.host.get_by_role("slider", name="step").fill(str(step))
    expect(player.host).to_have_attribute("data-step", str(step))


def at(player, step):
    expect(player.host).to_have_attribute("data-step", str(step))


def test_the_widget_and_the_kernel_follow_each_other(lab, desk):
    player = Reading(desk)
    begin(player)
    player.focus()
    player.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    assert player.step == 5
    assert player.counter("instances", 0) == 1
    assert player.counter("instances", 1) == 9
    lab.wait_for(desk, "widget.step", "5")
    lab.evaluate(desk, "widget.step", "widget.next_match()")
    at(player, 6)
    assert "MATCH A 0 → B 3 → C 5" in player.sentence
    lab.evaluate(desk, "widget.step", "widget.step = 99")
    at(player, 7)
    lab.wait_for(desk, "widget.step", "7")


def test_widget_plays_at_every_speed_until_the_kernel_moves_it(lab, desk):
    player = Reading(desk)
    speed = player.host.get_by_role("combobox", name="events per second")
    for rate, last in ((30, 7), (4, 7), (1, 3)):
        begin(player)
        speed.select_option(f"{rate}/s")
        player.click("play")
        at(player, last)
    # It plays on; what Python says is done.
    expect(player.host.get_by_role("button", name="Pause")).to_be_visible()
    lab.wait_for(desk, "widget.step >= 3", "True")  # else the player's word comes after Python's
    lab.evaluate(desk, "widget.step", "widget.step = 1")
    at(player, 1)
    expect(player.host.get_by_role("button", name="Play", exact=True)).to_be_visible()
    lab.wait_for(desk, "widget.step", "1")


@pytest.mark.parametrize("number", [0, 1], ids=["widget", "drawn"])
def test_every_control_works_by_mouse_and_keyboard(lab, desk, number):
    player = Reading(desk, number)
    cells = desk.locator(".jp-Notebook .jp-Cell").count()
    census = Census(player.frame, player=True)
    moves = {
        "first": (4, 0), "back": (4, 3), "next": (4, 5), "last": (4, 7), "matchNext": (2, 6),
        "matchBack": (7, 6),
    }  # fmt: skip
    for action, (start, end) in moves.items():
        for key in ("", "Enter", "Space"):
            begin(player, start)
            _use(player, action, key)
            at(player, end)
    _play_and_pause(player)
    _choose_how_to_play(player)
    _go_to_places(desk, player)
    _larger_and_smaller(player)
    _look_at_instances(player, census)
    census.used("mouse", *moves, "play", "help", ".jump", "step", "smaller", "larger", "whole")
    census.used("mouse", "events per second", "stop at", ".event", ".token", ".link", ".plot")
    census.used("keyboard", *moves, "play", "help", ".jump", "step", "smaller", "larger", "whole")
    census.used("keyboard", "events per second", "stop at", ".link")
    assert census.left_out("mouse") == set()
    # The keys of a table do what a token does, arrows what an event and a chart do.
    assert census.left_out("keyboard") == {".event", ".token", ".plot"}
    # In Lab letters insert, delete and change cells.
    player.focus()
    player.press("a", "b", "d", "d", "m", "ArrowDown")
    assert desk.locator(".jp-Notebook .jp-Cell").count() == cells


def _use(player, action, key=""):
    """Click a button, or press a key where it has the focus."""
    if not key:
        return player.click(action)
    player.host.locator(f'[data-action="{action}"]').focus()
    return player.press(key)


def _play_and_pause(player):
    player.host.get_by_role("combobox", name="events per second").select_option("8/s")
    button = player.host.locator('[data-action="play"]')
    for key in ("", "Enter", "Space", "frame"):
        begin(player)
        for name in ("Pause", "Play"):
            if key == "frame":
                player.focus()
                player.press("Space")
            else:
                _use(player, "play", key)
            expect(button).to_have_attribute("aria-label", name)
        here = player.step
        assert here < 7
        player.page.wait_for_timeout(200)
        assert player.step == here
    player.focus()
    player.press("Space")
    at(player, 7)
    expect(button).to_have_attribute("aria-label", "Play")


def _choose_how_to_play(player):
    speed = player.host.get_by_role("combobox", name="events per second")
    stop = player.host.get_by_role("combobox", name="stop at")
    for box, values in ((speed, ("1/s", "2/s")), (stop, ("stop at the end", "a match"))):
        box.select_option(values[0])
        box.focus()
        player.press("ArrowDown")
        assert box.locator("option:checked").inner_text() == values[1]
    begin(player)
    player.focus()
    player.press("b")
    at(player, 6)
    player.press("+", "+", "-")
    assert speed.input_value() == "4"
    stop.select_option("stop at the end")
    for key in ("", "Enter", "Space"):
        _use(player, "help", key)
        expect(player.host.locator(".keys")).to_be_visible()
        _use(player, "help", key)
        expect(player.host.locator(".keys")).to_be_hidden()
    player.focus()
    player.press("?")
    expect(player.host.locator(".keys")).to_be_visible()
    tried = {"←", "→", "Page", "Up", "Down", "Home", "End", "Space", "P", "N", "B", "G"}
    assert keys_of(player.frame) == tried | {"−", "+", "Z", "X", "F", "Esc", "?"}
    player.press("Escape")
    expect(player.host.locator(".keys")).to_be_hidden()


def _go_to_places(page, player):
    jump = player.host.get_by_role("textbox", name="go to a step or an event")
    jump.click()
    page.keyboard.type("4")
    player.press("Enter")
    at(player, 5)
    player.focus()
    player.press("g")
    jump.fill("b 3")
    player.press("Enter")
    at(player, 4)
    slider = player.host.get_by_role("slider", name="step")
    slider.click()
    assert player.step in (3, 4)
    slider.focus()
    for key, step in (
        ("Home", 0), ("ArrowRight", 1), ("End", 7), ("ArrowLeft", 6), ("PageUp", 0),
        ("PageDown", 7), ("p", 6), ("Home", 0), ("n", 6),
    ):  # fmt: skip
        player.press(key)
        at(player, step)
    # What was clicked is drawn anew, and the keys are still the player's.
    player.host.locator('.event[data-event="2"]').click()
    at(player, 3)
    player.press("ArrowRight")
    at(player, 4)
    box = player.host.locator('[data-chart="instances"] .plot')
    box.click(position={"x": 1, "y": 20})
    at(player, 0)


def _larger_and_smaller(player):
    diagram = player.card(0).locator(".diagram")
    zoom = "element => Number(element.dataset.zoom)"
    for key in ("", "Enter"):
        for name, size in (("Larger", 1.4), ("Smaller", 1.0), ("As large as fits", 1.0)):
            control = player.card(0).get_by_role("button", name=f"{name}: ")
            control.click() if not key else control.press(key)
            assert diagram.evaluate(zoom) == pytest.approx(size)
    player.focus()
    for key, size in (("z", 1.4), ("x", 1.0), ("x", 0.7), ("f", 1.0)):
        player.press(key)
        assert diagram.evaluate(zoom) == pytest.approx(size)


def _look_at_instances(player, census):
    begin(player, 5)
    card, lineage = player.card(1), player.card(1).locator(".lineage")
    row = card.get_by_role("button", name="3", exact=True)
    close = lineage.get_by_role("button", name="close")
    openings = (
        card.locator(".token", has_text="A 2").last.click,
        row.click,
        lambda: row.press("Enter"),
        card.locator(".evaluation .link").first.click,
        lambda: card.locator(".evaluation .link").first.press("Enter"),
    )
    closings = (
        close.click,
        lambda: close.press("Enter"),
        lambda: close.press("Space"),
        lambda: player.press("Escape"),
        lambda: player.press("Escape"),
    )
    for opening, closing in zip(openings, closings, strict=True):
        opening()
        expect(lineage).to_be_visible()
        census.look()
        closing()
        expect(lineage).to_be_hidden()
    row.click()
    for key in ("", "Enter"):
        begin(player, 5)
        link = lineage.get_by_role("button", name="step 2")
        link.press(key) if key else link.click()
        at(player, 3)
    begin(player, 5)
    player.focus()
    player.press("Escape")


def test_linked_players_play_together_and_choose_the_same_instance(lab, desk):
    lazy, eager = Reading(desk, 2), Reading(desk, 3)
    names = [player.host.locator('[data-action="play"]') for player in (lazy, eager)]
    begin(lazy)
    lazy.host.get_by_role("combobox", name="events per second").select_option("8/s")
    lazy.click("play")
    for name in names:
        expect(name).to_have_attribute("aria-label", "Pause")
    at(eager, 7)
    at(lazy, 7)
    for name in names:
        expect(name).to_have_attribute("aria-label", "Play")
    lab.wait_for(desk, "(one.step, two.step)", "(7, 7)")
    # One plays, the other stops it.
    begin(eager)
    lazy.host.get_by_role("combobox", name="events per second").select_option("2/s")
    lazy.click("play")
    at(eager, 2)
    eager.click("play")
    for name in names:
        expect(name).to_have_attribute("aria-label", "Play")
    here = eager.step
    desk.wait_for_timeout(600)
    assert (lazy.step, eager.step) == (here, here)
    # What has the same events is chosen in both, whatever its number there.
    begin(lazy, 6)
    eager.card().locator("tr.gone", has_text="A 1 → B 3 → C 5").get_by_role("button").click()
    for player in (lazy, eager):
        told = " ".join(player.card().locator(".lineage").inner_text().split())
        assert told.startswith("Instance")
        assert all(f"takes {event}" in told for event in ("A 1", "B 3", "C 5"))
    lazy.focus()
    lazy.press("Escape")
    for player in (lazy, eager):
        expect(player.card().locator(".lineage")).to_be_hidden()
    # Python moves one, and so the other.
    lab.evaluate(desk, "None", "two.step = 1")
    at(lazy, 1)
    at(eager, 1)
    lab.wait_for(desk, "(one.step, two.step)", "(1, 1)")


def test_prefix_counters_play_in_the_notebook_and_tell_the_kernel(lab, desk):
    player = Reading(desk, 4)
    census = Census(player.frame, player=True)
    lab.evaluate(desk, "counted.step", "counted.next_match()")
    at(player, 6)
    assert player.total(0) == "Output: live matches a1 2 + a2 2 + a3 2 = 6, 6 new"
    assert player.total(1) == "Output: live matches c1 (2 + 2 + 2) × 1 = 6, 6 new"
    player.focus()
    player.press("ArrowLeft")
    lab.wait_for(desk, "counted.step", "5")
    assert player.changed(0) == ["1 + 1 = 2"] * 3
    # A START tells how its numbers arose; the rest is as in other players.
    history = player.card(0).locator(".lineage")
    start = player.card(0).locator(".start", has_text="a2")
    for key in ("", "Enter"):
        start.press(key) if key else start.click()
        expect(history).to_be_visible()
        census.look()
        close = history.get_by_role("button", name="close")
        close.press(key) if key else close.click()
        expect(history).to_be_hidden()
    player.click("first")
    player.click("play")
    at(player, 10)
    lab.wait_for(desk, "counted.step", "10")
    here = {"help", ".jump", "step", "play", "events per second", "stop at", ".event", ".plot"}
    moves = {"first", "back", "next", "last", "matchBack", "matchNext"}
    assert census.left_out("mouse", without=here | moves) == {".link"}


def test_drawn_player_follows_the_theme_and_moves_alone(desk):
    widget, drawn = Reading(desk, 0), Reading(desk, 1)
    begin(widget)
    begin(drawn)
    drawn.focus()
    drawn.press("n")
    assert (drawn.step, widget.step) == (6, 0)
    for theme, word in (("Dark", "dark"), ("Light", "light")):
        set_theme(desk, theme)
        expect(drawn.host).to_have_attribute("data-theme", word)


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
