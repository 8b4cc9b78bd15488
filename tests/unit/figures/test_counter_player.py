"""The player's document of prefix counters: moments that all traces share, as changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given

import cepkit as ck
from cepkit.aggregation.sequence.definition import sequence_of
from cepkit.aggregation.tracing.recorder import trace
from cepkit.errors import CepkitError, TraceError
from cepkit.figures.player import Player, document, player_document
from cepkit.figures.player.moments import counts_at, moments_of
from cepkit.figures.traces.counters import counted
from cepkit.stream.stream import events
from tests.properties.test_aggregation import WITHOUT_SETS
from tests.strategies import as_table
from tests.unit.aggregation.cases import stream
from tests.unit.figures.cases import SCRIPT, quoted

S = 1_000_000
TEN = "PATTERN SEQ(A a, B b, C c, D d, E e) WITHIN 9 s EXCLUSIVE"
EVENTS = "a1@1 b1@2 x1@2 c1@3 a2@4 b2@5 d1@6 c2@7 a3@8 d2@9 e1@10"


def figure_10(pieces=None, pattern=TEN, text=EVENTS, **options):
    cut = None if pieces is None else [piece.split() for piece in pieces.split("|")]
    return ck.simulate(stream(text), pattern, "prefix-counters", plan=cut, **options)


def test_traces_that_are_cut_differently_go_in_step():
    whole, cut = figure_10(), figure_10("a b c | d e")
    made = player_document([whole, cut])
    moments = made["moments"]
    # The expiries of d1 and d2 are steps of the one that has rows for them.
    assert moments["name"] == [
        "a1", "b1", "X1", "c1", "a2", "b2", "d1", "c2", "a3", "d2", "a1", "e1", "a2", "d1", "a3",
        "d2",
    ]  # fmt: skip
    assert moments["event"][-5:] == [10, None, None, None, None]
    assert [trace["actions"][6] for trace in made["traces"]] == ["extend", "start"]
    assert [trace["actions"][13] for trace in made["traces"]] == ["nothing", "expire"]
    assert [trace["actions"][2] for trace in made["traces"]] == ["nothing", "nothing"]
    for played in made["traces"]:
        assert len(played["steps"]) == len(moments["time"]) == 16
        assert played["counters"]["matches"][11:13] == [1, 0]
        assert played["matches"] == [{"step": 11, "new": 1}]
        assert played["steps"][2] == []


def test_the_document_has_all_that_is_shown_and_says_it_once():
    made = player_document([figure_10("a b c | d e")])
    assert made["schema"] == "cepkit.player/1"
    assert made["pattern"].startswith("PATTERN SEQ(A a, B b, C c, D d, E e)")
    assert [clause["kind"] for clause in made["clauses"]] == ["event"] * 5 + ["window"]
    assert made["types"] == ["A", "B", "C", "D", "E"]
    assert made["events"]["name"][:3] == ["a1", "b1", "X1"]
    assert made["cut"] is None
    [played] = made["traces"]
    assert played["schema"] == "cepkit.counters/1"
    assert played["name"] == "chop-connect a b c | d e"
    assert not {"pattern", "events", "moments"} & set(played)
    assert played["steps"][9] == [
        ["open", 4, 0, 1, 9, 18 * S],
        ["save", 4, 0, 3],
        ["save", 4, 1, 1],
        ["save", 4, 3, 0],
        ["add", 4, 0, 0, 1],
    ]


@given(case=WITHOUT_SETS)
def test_moments_keep_the_steps_of_every_trace_in_their_order(case):
    query = replace(case.query, having=())
    names = [event.variable for event in sequence_of(query).positive]
    columns = events(as_table(case.events), time="ts", type="kind").columns(
        sorted(sequence_of(query).attributes)
    )
    traces = [trace(columns, query), trace(columns, query, [[name] for name in names])]
    moments = moments_of(traces)
    assert [moment.time for moment in moments] == sorted(moment.time for moment in moments)
    assert {m.event for m in moments if m.event is not None} == set(range(len(columns)))
    for number, one in enumerate(traces):
        places = [m.steps[number] for m in moments if m.steps[number] is not None]
        assert places == list(range(len(one)))
        for moment, counts in zip(moments, counts_at(one, number, moments), strict=True):
            step = moment.steps[number]
            if step is not None:
                assert (moment.time, moment.event) == (one.steps[step].ts, one.steps[step].number)
                assert counts == one.counters[step]


def test_long_traces_are_cut_with_a_note(monkeypatch):
    made = player_document([figure_10()], steps=5)
    assert made["cut"] == "These are the first 5 of 14 steps. draw(trace, steps=14) shows more."
    assert len(made["traces"][0]["steps"]) == len(made["moments"]["time"]) == 5
    assert made["events"]["name"] == ["a1", "b1", "X1", "c1", "a2"]
    assert made["traces"][0]["totals"]["new"] == 1
    monkeypatch.setattr(document, "MOST_OPERATIONS", 9)
    assert "as many operations" in player_document([figure_10()])["cut"]
    rare = figure_10(pattern="PATTERN SEQ(A a, B b)", text="a " + "x " * 2500 + "b")
    assert player_document([rare])["cut"] == "2,500 events that do nothing are left out."


def test_counts_that_a_browser_would_round_are_texts():
    text = "a " * 40 + "b " * 40 + "c " * 40 + "d " * 40 + "e " * 40
    wide = "PATTERN SEQ(" + ", ".join(f"{t} {t}{n}" for t in "ABCDE" for n in range(4)) + ")"
    played = player_document([figure_10(pattern=wide, text=text)])["traces"][0]
    most = played["counters"]["matches"][-1]
    assert isinstance(most, str)
    assert int(most) == figure_10(pattern=wide, text=text).steps[-1].count > 2**53


def test_traces_that_do_not_belong_together_are_refused():
    with pytest.raises(TraceError, match="different patterns"):
        ck.draw([figure_10(), figure_10(pattern=TEN.replace("9", "8"))])
    with pytest.raises(TraceError, match="no trace to show"):
        Player([])
    with pytest.raises(TraceError, match="different streams"):
        ck.draw([figure_10(), figure_10(limit=4)])
    run = ck.simulate(stream("a b"), "PATTERN SEQ(A a, B b) WITHIN 3 s", mechanism="eager-nfa")
    with pytest.raises(TraceError, match="mechanisms \\('eager-nfa'\\) and of counters"):
        Player([run, figure_10()])


def test_a_stream_without_events_has_nothing_to_play():
    nothing = figure_10(pattern="PATTERN SEQ(A a, B b)", text="")
    player = ck.draw(nothing)
    assert player.steps == 0
    assert json.loads(player.document)["moments"]["time"] == []


def test_player_without_scripts_shows_the_totals(tmp_path):
    player = ck.draw([figure_10(), figure_10("a b c | d e")])
    lines = repr(player).splitlines()
    assert lines[0] == "Player of 2 traces over 11 events."
    assert " ".join(lines[1].split()) == "counters updates peak rows peak rows of snapshots matches"
    assert lines[3].split()[-4:] == ["18", "5", "5", "1"]
    assert "chop-connect a b c | d e" in player.save_html(tmp_path / "ten.html").read_text()


def test_no_text_of_the_document_can_end_the_script():
    pattern = f"PATTERN SEQ({quoted(SCRIPT)} a, B b) PARTITION BY note"
    rows = pd.DataFrame({"ts": [0, 1], "kind": [SCRIPT, "B"], "note": [SCRIPT, SCRIPT]})
    named = ck.events(rows, time="ts", type="kind", unit="s")
    hostile = ck.simulate(named, pattern, "prefix-counters")
    assert hostile.keys == (f"note {SCRIPT}",)
    html = ck.draw(hostile).to_html()
    assert html.count("<script") == html.count("</script>") == 1


def test_next_match_of_the_widget_goes_to_new_live_matches():
    pytest.importorskip("anywidget")
    from cepkit_widgets import PlayerWidget

    widget = PlayerWidget(figure_10("a b c | d e"))
    assert widget.steps == 16
    widget.next_match()
    assert widget.step == 12


def test_a_moment_is_drawn_as_a_picture():
    drawn = ck.draw(figure_10("a b c | d e"), of="diagram", step=9)
    assert isinstance(drawn, go.Figure)
    texts = [note.text.replace("<b>", "").replace("</b>", "") for note in drawn.layout.annotations]
    assert texts[:5] == ["piece 1: a b c", "START", "left", "a", "a b"]
    assert "a1 3<br>a2 1<br>a3 0" in texts
    assert "live matches: d1 1 × 0 + d2 4 × 0 = 0" in texts
    last = ck.draw(figure_10("a b c | d e"), of="diagram")
    assert "step 11: e1" in last.layout.title.text
    texts = [note.text for note in last.layout.annotations]
    assert texts.count("<b>0 + 1 = 1</b>") == 2
    with pytest.raises(TraceError, match="no step 16 in a trace of 16"):
        ck.draw(figure_10("a b c | d e"), of="diagram", step=16)
    with pytest.raises(TraceError, match="no step 0 in a trace of 0"):
        ck.draw(figure_10(pattern="PATTERN SEQ(A a, B b)", text=""), of="diagram")


def test_many_rows_of_a_picture_are_counted():
    many = figure_10(pattern="PATTERN SEQ(A a, B b) WITHIN 1 h", text="a " * 30 + "b")
    texts = [note.text for note in ck.draw(many, of="diagram").layout.annotations]
    assert "and 10 older" in texts
    assert sum("0 + 1 = 1" in text for text in texts) == 20
    assert any("… = 30, 30 new" in text for text in texts)


def test_counters_over_the_steps_are_drawn_in_step():
    both = [figure_10(), figure_10("a b c | d e")]
    series = counted(both)
    assert list(dict.fromkeys(one.counter for one in series)) == [
        "matches", "rows", "saved", "updates",
    ]  # fmt: skip
    assert {one.steps for one in series} == {tuple(range(1, 17))}
    assert series[-1].values[-1] == both[1].counters[-1].updates
    assert "saved" not in {one.counter for one in counted(both[:1])}
    drawn = ck.draw(both, of="counters", counters=["new"])
    assert [one.y[11] for one in drawn.data] == [1, 1]
    with pytest.raises(TraceError, match="no counter 'stored'"):
        ck.draw(both, of="counters", counters=["stored"])
    with pytest.raises(CepkitError, match="no option 'speed='"):
        ck.draw(both, speed=3)
