"""The studio: what its state does, and that its panels show the same match, plan and text."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import ArgumentError, PatternError, StreamError
from cepkit_widgets import MatchBrowser, PlanExplorer
from cepkit_widgets.studio import view as studio_view
from cepkit_widgets.studio.making import curve
from cepkit_widgets.studio.state import TABS, StudioState, named, part_of
from tests.unit.figures import hostile

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


def test_question_has_at_most_two_events_and_a_second_click_removes_one():
    state = StudioState(PAIRS).asking(3).asking(5)
    assert (state.asked, state.tab) == ((3, 5), "why not")
    assert state.asking(9).asked == (5, 9)
    assert state.asking(3).asked == (5,)


@pytest.mark.parametrize(
    ("types", "variables"),
    [("", ()), ("ABC", ("a", "b", "c")), ("ACB", ("a", "c", "b")),
     ("A", ("a",)), ("B", ("b",)), ("AB", ("a", "b")), ("BA", ("b", "a")), ("BB", ("b", "n")),
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
    for tab in ("matches", "plan", "steps", "why not", "learn", "hand over"):
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


def test_events_are_drawn_where_there_is_neither_a_match_nor_a_near_miss():
    frame = pd.DataFrame({"ts": [0, 50], "type": ["A", "B"]})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    studio = ck.studio(stream, "PATTERN SEQ(A a, B b, A c) WITHIN 1 second")
    assert "The first events, from" in studio.html
    assert studio.html.count('class="dot" data-do="ask"') == 2
    assert studio.html.count('role="button" tabindex="0"') == 1
    told(studio, "editor", do="ask", value="0")
    assert [event.variable for event in studio.panel("why not").value.events] == ["a"]


def test_stop_ends_the_running_work_and_says_so(monkeypatch):
    monkeypatch.setattr(studio_view, "_FIRST_PATIENCE", 1.0)
    rows = 4_000
    frame = pd.DataFrame({"ts": range(rows), "type": ["A", "B"] * (rows // 2), "x": [1.0] * rows})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    slow = "PATTERN SEQ(A a, B b, A c, B d) WHERE a.x + b.x + c.x + d.x < 0 WITHIN 2 hours"
    studio = ck.studio(stream, slow, events=20)
    assert studio.panel("matches") is None
    studio._asked(studio, {"do": "stop", "n": 1}, [])
    assert studio.wait(60)
    assert "stopped" in studio.html


def test_panels_have_the_width_of_the_page():
    studio = opened()
    told(studio, set="width", value=1200)
    assert studio.panel("editor").width == studio.panel("matches").width == 1200


def test_near_miss_that_is_clicked_is_asked_about_as_a_whole():
    studio = opened("PATTERN SEQ(A a, B b, C c) WHERE a.x > c.x WITHIN 9 seconds")
    assert studio.panel("editor").trial.count == 0
    assert 'data-do="miss" data-value="1"' in studio.html
    miss = studio.panel("editor").trial.misses[1]
    told(studio, "editor", do="miss", value="1")
    assert (studio.state.tab, len(studio.state.asked)) == ("why not", 3)
    answer = studio.panel("why not").value
    assert {e.variable: e.event for e in answer.events} == {
        e.variable: e.event for e in miss.events
    }
    assert not answer.found


OPEN = "PATTERN SEQ(A a, B b) WHERE b.x - a.x > $k WITHIN 20 seconds"


def test_value_of_the_curve_is_used_in_the_editor_and_for_all_tabs():
    studio = opened(OPEN)
    assert "the parameter $k has no value" in studio.html
    told(studio, do="tab", value="curve")
    calibration = studio.panel("curve").value
    assert len(calibration.rows) > 3
    told(studio, do="use", value="2")
    row = calibration.rows[2]
    assert studio.state.values == {"k": row.values[0]}
    assert studio.matches.count() == row.matches == studio.panel("editor").trial.count
    assert f".bind(k={row.values[0]!r})" in studio.panel("editor").as_code()
    told(studio, do="tab", value="matches")
    assert studio.panel("matches").wait()
    studio.calibrate(k=[1, 7])
    assert studio.wait()
    assert [row.values for row in studio.panel("curve").value.rows] == [(1,), (7,)]


def test_curve_counts_a_sample_until_the_whole_stream_is_chosen():
    studio = ck.studio(STREAM, OPEN, events=20)
    told(studio, do="tab", value="curve")
    sampled = studio.panel("curve").value.rows
    assert "Counted in the first 20 events, a sample." in studio.html
    told(studio, do="whole", value="")
    assert "Counted in the whole stream." in studio.html
    assert 'data-do="whole"' not in studio.html
    every = {row.values: row.matches for row in studio.panel("curve").value.rows}
    assert max(every.values()) > max(row.matches for row in sampled)
    assert studio.panel("curve").value.rows == ck.calibrate(STREAM, OPEN).rows


def test_curve_is_drawn_in_the_colours_of_the_page():
    made = curve(STREAM, STREAM, ck.parse(OPEN), {}, whole=False, width=760)
    assert 'fill="currentColor"' in made.html


def test_curve_of_a_spark_stream_is_of_the_sample_and_has_no_total():
    on_spark = SimpleNamespace(place="spark")
    made = curve(on_spark, STREAM, ck.parse(OPEN), {}, whole=False, width=760)
    assert "Counted in the first 60 events, a sample." in made.html
    assert "All events are on Spark" in made.html
    assert 'data-do="whole"' not in made.html


def test_page_says_which_value_is_in_force_and_where_to_choose_one():
    studio = opened(OPEN)
    assert "Hint: choose one in the tab: curve" in studio.html
    assert "whose parameters have values" in studio.html
    assert "query.bind" not in studio.html
    assert "Columns: ts, type, x. " in studio.html
    studio.bind(k=0.25)
    assert studio.wait()
    assert "With <b>$k = 0.25</b>" in studio.html
    studio.write(PAIRS)
    assert studio.wait()
    assert "With <b>" not in studio.html


def test_matches_of_an_earlier_text_are_stale_while_the_text_cannot_be_tried():
    studio = opened()
    assert 'class="stale"' not in studio.html
    studio.write(OPEN)
    assert studio.wait()
    assert '<div class="stale"><p aria-live="polite"><b>' in studio.html


def test_link_holds_the_filter_of_the_browser_and_the_sliders_of_the_explorer():
    studio = opened()
    told(studio, "matches", set="filter", value="a.x > 9")
    told(studio, do="tab", value="plan")
    studio.panel("plan").move("window", 2.0)
    assert studio.wait()
    assert (studio.state.filter, dict(studio.state.moved)) == ("a.x > 9", {"window": 2.0})
    again = opened(studio.fragment)
    assert again.panel("plan").outlook.state.value("window") == 2.0
    told(again, do="tab", value="matches")
    assert again.panel("matches").state.condition == "a.x > 9"
    assert again.state.filter == "a.x > 9"
    # An open studio follows a link, too; what does not fit another pattern is left out.
    other = opened()
    told(other, do="tab", value="plan")
    told(other, set="link", value=studio.fragment)
    assert other.panel("plan").outlook.state.value("window") == 2.0
    other.write("PATTERN SEQ(B b, C c) WITHIN 4 seconds")
    told(other, do="tab", value="matches")
    assert (other.panel("matches").state.condition, other.state.filter) == ("", "")


def test_curve_of_a_pattern_without_parameters_explains_parameters():
    studio = opened()
    told(studio, do="tab", value="curve")
    assert "the pattern has no parameter" in str(studio.panel("curve"))


def test_saved_studio_opens_again_and_holds_no_data(tmp_path):
    frame = FRAME.assign(secret="top secret")
    stream = ck.events(frame, time="ts", type="type", unit="s")
    studio = opened(OPEN, stream, events=40)
    studio.bind(k=3)
    assert studio.wait()
    told(studio, "editor", do="choose", value="3")
    told(studio, do="tab", value="why not")
    path = studio.save(tmp_path / "x.json")
    assert "secret" not in path.read_text()
    for source in (str(path), studio.fragment, f"http://127.0.0.1/{studio.fragment}"):
        again = opened(source, stream)
        assert again.state == studio.state
        assert again.panel("editor").chosen == studio.state.match
    with pytest.raises(ck.CepkitError, match="exists"):
        studio.save(path)


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "7", '{"schema": "cepkit.studio/1"}', '{"schema": "other", "pattern": ""}',
     '{"schema": "cepkit.studio/1", "pattern": 7}',
     '{"schema": "cepkit.studio/1", "pattern": "", "events": 0}',
     '{"schema": "cepkit.studio/1", "pattern": "", "match": [-1]}',
     '{"schema": "cepkit.studio/1", "pattern": "", "asked": "ab"}',
     '{"schema": "cepkit.studio/1", "pattern": "", "values": {"k": []}}',
     '{"schema": "cepkit.studio/1", "pattern": "", "tab": "other"}', "[" * 100_000],
)  # fmt: skip
def test_damaged_state_is_refused(text, tmp_path):
    with pytest.raises(ArgumentError):
        StudioState.from_json(text)
    (tmp_path / "x.json").write_text(text)
    assert isinstance(ck.studio(STREAM, str(tmp_path / "x.json")).error, ArgumentError)


@pytest.mark.parametrize("fragment", ["#cepkit=", "#cepkit=A", "#cepkit=!!", "#cepkit=eJwDAAAAAAE"])
def test_damaged_fragment_is_refused(fragment):
    assert isinstance(ck.studio(STREAM, fragment).error, ArgumentError)


def test_shared_page_plays_offline_and_has_no_value_that_is_redacted(tmp_path):
    frame = FRAME.assign(x=[f"value-{n % 7}" for n in range(60)], y=range(60), secret="hidden-word")
    stream = ck.events(frame, time="ts", type="type", unit="s")
    pattern = "PATTERN SEQ(A a, NOT(C n), B b) WHERE a.x != b.x AND a.y < b.y WITHIN 9 seconds"
    studio = opened(pattern, stream)
    page = studio.save_html(tmp_path / "x.html", redact=["x", "secret"]).read_text()
    assert "value-" not in page
    assert "hidden-word" not in page
    assert "y = 3" in page
    assert page.count("data-step=") > 3
    assert "A match is an A (a), then a B (b)." in page
    assert not re.search(r"(src|href)=.?https?:", page)
    assert "default-src 'none'" in page
    for name, why in (("ts", "no column of the time"), ("xx", "no column 'xx'")):
        with pytest.raises(StreamError, match=why):
            studio.save_html(tmp_path / "y.html", redact=[name])
    with pytest.raises(ck.CepkitError, match="exists"):
        studio.save_html(tmp_path / "x.html")


def test_shared_page_has_the_events_around_the_chosen_match(tmp_path):
    rows = 9_000
    frame = pd.DataFrame({"ts": range(rows), "type": ["A", *"C" * 2999] * 3, "x": range(rows)})
    frame.loc[frame.index % 3000 == 5, "type"] = "B"
    stream = ck.events(frame, time="ts", type="type", unit="s")
    studio = opened("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 s", stream, events=9_000)
    told(studio, "editor", do="choose", value="2")
    page = studio.save_html(tmp_path / "x.html").read_text()
    assert "x = 6005" in page
    assert not re.search(r"x = 5\b", page)
    assert "2,000 events" in page


def test_page_of_a_pattern_without_matches_is_shared_too(tmp_path):
    studio = opened("PATTERN SEQ(A a, B b) WHERE a.x > b.x WITHIN 2 seconds")
    assert "no match among" in studio.save_html(tmp_path / "x.html").read_text()
    studio.write("PATTERN (")
    with pytest.raises(PatternError):
        studio.save_html(tmp_path / "y.html")


def test_link_in_the_address_of_the_page_is_opened():
    first = opened(OPEN)
    first.bind(k=3)
    assert first.wait()
    told(first, "editor", do="choose", value="2")
    told(first, do="tab", value="steps")
    assert f'data-copy="{first.fragment}"' in first.html
    studio = opened()
    told(studio, set="link", value=first.fragment)
    assert studio.state == first.state
    assert studio.panel("editor").chosen == first.state.match
    told(studio, set="link", value="#cepkit=none")
    assert isinstance(studio.error, ArgumentError)
    assert studio.state == first.state


def test_hostile_texts_stay_text_in_every_tab_and_in_the_shared_page(tmp_path):
    studio = opened(hostile.QUERY, hostile.stream())
    for tab in TABS:
        told(studio, do="tab", value=tab)
        assert hostile.TAG not in studio.html
        assert "<script" not in studio.html
        assert hostile.TAG not in studio.to_html()
    studio.ask(0, 1)
    assert studio.wait()
    assert hostile.TAG not in studio.html
    page = studio.save_html(tmp_path / "x.html").read_text(encoding="utf-8")
    assert hostile.TAG not in page
    assert page.count("<script") == 2


def test_copy_without_a_kernel_plays_the_steps():
    studio = opened()
    assert "data-cepkit" not in studio.to_html()
    told(studio, do="tab", value="steps")
    assert "data-cepkit" in studio.to_html()
