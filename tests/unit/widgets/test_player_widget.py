"""The widget without a notebook: its position, its moves, its messages."""

import threading

import pandas as pd
import pytest

from cepkit import simulate
from cepkit.stream.stream import events
from cepkit_widgets import PlayerState, PlayerWidget

PATTERN = "PATTERN SEQ(A a, B b) WITHIN 9 seconds"


@pytest.fixture
def trace():
    frame = pd.DataFrame({"ts": range(6), "type": list("AXBXXB")})
    stream = events(frame, time="ts", type="type", unit="s")
    return simulate(stream, PATTERN, mechanism="chain-nfa", plan=["b", "a"])


def test_a_state_stays_between_the_ends():
    state = PlayerState(steps=10, matches=(3, 7))
    assert state.at(-2).step == 0
    assert state.at(99).step == 10
    assert [state.at(s).next_match().step for s in (0, 3, 6, 7)] == [3, 7, 7, 7]
    assert [state.at(s).previous_match().step for s in (10, 7, 4, 3)] == [7, 3, 3, 3]


def test_the_step_goes_both_ways_and_stays_in_range(trace):
    widget = PlayerWidget(trace, step=2)
    assert (widget.step, widget.steps) == (2, 7)
    told = []
    widget.observe(lambda change: told.append(change["new"]), "step")
    widget.step = 99
    widget.previous_match()
    widget.previous_match()
    widget.next_match()
    assert told == [7, 6, 3, 6]
    assert widget.state == PlayerState(7, (3, 6), 6)


def test_widget_has_the_document_of_draw_and_an_html_fallback(trace):
    widget = PlayerWidget([trace, trace])
    assert widget.get_state("_esm")["_esm"].startswith("// The player")
    assert '"schema":"cepkit.player/1"' in widget.document
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("Player of 2 traces over 6 events.")
    assert "cepkitDocument" in data["text/html"]


def test_a_step_that_a_cell_sets_while_the_page_reports_one_is_kept(trace, monkeypatch):
    """JupyterLab hands the page's messages to a thread of their own."""
    widget = PlayerWidget(trace)
    reporting, go_on = threading.Event(), threading.Event()
    at = PlayerState.at

    def slowly(state, step):
        if threading.current_thread() is page:
            reporting.set()
            go_on.wait(300)
        return at(state, step)

    monkeypatch.setattr(PlayerState, "at", slowly)
    page = threading.Thread(target=widget.set_state, args=({"step": 2},))
    page.start()
    assert reporting.wait(300)
    cell = threading.Thread(target=setattr, args=(widget, "step", 3))
    cell.start()
    cell.join(0.2)
    go_on.set()
    page.join(300)
    cell.join(300)
    assert widget.step == 3
