"""The studio: what its state does, and that its panels show the same match, plan and text."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import ArgumentError, PatternError
from cepkit_widgets import MatchBrowser, PlanExplorer
from cepkit_widgets.studio.state import StudioState, named, part_of

FRAME = pd.DataFrame({"ts": range(60), "type": list("ABC") * 20, "x": range(60)})
STREAM = ck.events(FRAME, time="ts", type="type", unit="s")
PAIRS = "PATTERN SEQ(A a, B b) WITHIN 4 seconds"
THREE = "PATTERN SEQ(A a, NOT(B n), C c, B b) WITHIN 9 seconds"


def opened(pattern=PAIRS, stream=STREAM, **options):
    studio = ck.studio(stream, pattern, **options)
    assert studio.error is None, studio.error
    assert studio.wait()
    return studio


def told(studio, panel="", **message):
    """Send a message as the page does."""
    studio._asked(studio, {**message, "panel": panel, "n": studio._answered + 1}, [])
    assert studio.wait()


def test_tab_that_is_unknown_is_refused():
    with pytest.raises(ArgumentError, match="no tab 'plans'"):
        StudioState(PAIRS).at("plans")


def test_asking_takes_two_events_at_most_and_the_same_again_takes_it_away():
    state = StudioState(PAIRS).asking(3).asking(5)
    assert (state.asked, state.tab) == ((3, 5), "why not")
    assert state.asking(9).asked == (5, 9)
    assert state.asking(3).asked == (5,)


@pytest.mark.parametrize(
    ("types", "variables"),
    [("A", ("a",)), ("B", ("b",)), ("AB", ("a", "b")), ("BA", ("b", "a")), ("BB", ("b", "n")),
     ("X", ()), ("AX", ()), ("AA", ())],
)  # fmt: skip
def test_events_stand_for_variables_of_their_type(types, variables):
    assert named(ck.parse(THREE), [*types]) == variables


def test_part_that_is_played_has_the_match_and_stays_while_it_has():
    assert part_of((), 1000, None) == (0, 300)
    assert part_of((250, 299), 1000, None) == (0, 359)
    assert part_of((400, 410), 1000, None) == (340, 640)
    assert part_of((500, 510), 1000, (340, 640)) == (340, 640)
    assert part_of((100, 5000), 9000, None) == (40, 2040)
    assert part_of((3, 5), 60, None) == (0, 60)


def test_every_tab_has_content_and_says_its_role():
    studio = opened()
    for tab in ("matches", "plan", "steps", "why not"):
        told(studio, do="tab", value=tab)
        made = studio.panel(tab)
        assert made is not None
        assert not isinstance(made, Exception), made
        html = studio.html[studio.html.index('role="tabpanel"') :]
        assert f'aria-label="{tab}"' in html
        assert len(html) > 150
        assert studio.html.count('aria-selected="true" aria-controls="tab-panel"') == 1


def test_match_chosen_in_the_browser_is_shown_in_the_editor_and_moves_the_player():
    studio = opened()
    told(studio, do="tab", value="steps")
    first = studio.panel("steps").value.player.step
    told(studio, do="tab", value="matches")
    told(studio, "matches", do="step", value="ArrowDown")
    match = studio.panel("matches").chosen
    assert studio.state.match == match == studio.panel("editor").chosen
    assert studio.panel("steps").value.player.step > first


def test_match_chosen_in_the_editor_is_shown_in_the_browser():
    studio = opened()
    told(studio, "editor", do="choose", value="3")
    assert studio.state.match == studio.panel("matches").chosen == studio.panel("editor").chosen


def test_change_of_the_pattern_keeps_the_chosen_match_where_it_exists():
    studio = opened()
    told(studio, "editor", do="choose", value="2")
    match = studio.state.match
    assert match != studio.panel("editor").trial.known.events_of(0)
    studio.write(f"{PAIRS.replace(' WITHIN', ' WHERE a.x < b.x WITHIN')}")
    assert studio.wait()
    assert studio.state.match == match == studio.panel("matches").chosen
    studio.write("PATTERN SEQ(A a, C c) WITHIN 4 seconds")
    assert studio.wait()
    assert studio.state.match == studio.panel("matches").chosen != match


def test_mistake_in_the_text_leaves_the_page_and_marks_it():
    studio = opened()
    before = studio.panel("matches")
    studio.write("PATTERN SEQ(A a, B b")
    assert studio.wait()
    assert studio.pattern is None
    assert studio.panel("matches") is before
    assert 'class="panel stale"' in studio.html


def test_plan_that_is_chosen_is_run_and_its_steps_are_played():
    studio = opened("PATTERN SEQ(A a, B b, C c) WITHIN 4 seconds")
    told(studio, do="tab", value="plan")
    explorer = studio.panel("plan")
    assert isinstance(explorer, PlanExplorer)
    told(studio, "plan", do="choose", value="given-order")
    assert studio.state.planner == "given-order"
    for _ in range(600):
        if explorer.outlook.measured:
            break
        studio.wait(0.05)
        explorer._rested.wait(0.05)
    told(studio, do="tab", value="steps")
    assert explorer.plan.planner == "given-order"
    assert "a → b → c" in studio.panel("steps").value.player._player.document


def test_event_that_is_clicked_is_asked_about():
    studio = opened()
    told(studio, "editor", do="ask", value="1")
    assert (studio.state.tab, studio.state.asked) == ("why not", (1,))
    answer = studio.panel("why not").value
    assert [event.variable for event in answer.events if event.given] == ["b"]
    told(studio, "editor", do="ask", value="0")
    assert studio.panel("why not").value.found
    told(studio, "editor", do="ask", value="2")
    assert isinstance(studio.panel("why not"), PatternError)
    assert "no variable for A and C" in studio.html


def test_errors_of_a_panel_stand_in_the_panel_and_those_of_the_page_below_the_tabs():
    studio = opened()
    told(studio, "matches", set="filter", value="a.nothing > 1")
    assert isinstance(studio.panel("matches"), MatchBrowser)
    assert studio.panel("matches").error is not None
    assert studio.error is None
    told(studio, do="what", value="1")
    assert "nothing to do called" in str(studio.error)
    told(studio, "matches", do="close")
    assert studio.panel("matches").error is None


def test_wrong_stream_or_pattern_is_shown_and_does_not_raise():
    studio = ck.studio(STREAM, 7)
    assert "7" in str(studio.error) or "int" in str(studio.error)
    assert "Studio:" in repr(studio)
    with pytest.raises(ArgumentError, match="nothing to edit"):
        studio.write("PATTERN A a")
    assert ck.studio(STREAM, "PATTERN (((").error is None


def test_stop_ends_the_running_work_and_says_so():
    rows = 4_000
    frame = pd.DataFrame({"ts": range(rows), "type": ["A", "B"] * (rows // 2), "x": [1.0] * rows})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    slow = "PATTERN SEQ(A a, B b, A c, B d) WHERE a.x + b.x + c.x + d.x < 0 WITHIN 2 hours"
    studio = ck.studio(stream, slow, events=20)
    studio._asked(studio, {"do": "stop", "n": 1}, [])
    assert studio.wait(60)
    assert "stopped" in studio.html or studio.panel("matches") is not None


def test_panels_have_the_width_of_the_page():
    studio = opened()
    told(studio, set="width", value=1200)
    assert studio.panel("editor").width == studio.panel("matches").width == 1200
