"""A text that is read as it is typed, tried on a sample, and run on everything."""

from __future__ import annotations

import threading
from html import unescape

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.pattern.parsing.parser import read_so_far
from cepkit_widgets import PatternEditor
from cepkit_widgets.kit.parts import Suggestions, editor, progress_bar
from cepkit_widgets.kit.work import Work
from cepkit_widgets.pattern_editor import view as view_module
from cepkit_widgets.pattern_editor.running import slice_rows
from cepkit_widgets.pattern_editor.state import characters_before, plain_text, read
from cepkit_widgets.pattern_editor.words import Vocabulary, completion

FRAME = pd.DataFrame(
    {
        "ts": range(8),
        "type": list("ABXABBAB"),
        "price": [1.0, 5.0, 3.0, 0.0, 9.0, 10.0, 2.0, 4.0],
        "my col": list("pqrstuvw"),
    }
)
STREAM = ck.events(FRAME, time="ts", type="type", unit="s")
PAIRS = "PATTERN SEQ(A a, B b) WITHIN 5 seconds"
WORDS = Vocabulary({"MSFT": "9 events", "GOOG": "3 events"}, {"price": "double", "my col": "text"})


def opened(pattern=PAIRS, stream=STREAM, **options):
    app = PatternEditor(stream, pattern, **options)
    assert app.error is None, app.error
    assert app.wait()
    return app


def told(app, **message):
    """Send a message as the page does when its reader clicks or types."""
    app._asked(app, {**message, "n": app._answered + 1}, [])


def typed(app, text, caret=None, *, asked=False):
    caret = len(text) if caret is None else caret
    told(app, set="text", value={"text": text, "caret": caret, "asked": asked})


def endless():
    """An editor whose pattern would take years on its stream."""
    rows = 20_000
    frame = pd.DataFrame({"ts": range(rows), "type": ["A", "B"] * (rows // 2), "x": np.ones(rows)})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    events = "SEQ(A a, B b, A c, B d)"
    return opened(
        f"PATTERN {events} WHERE a.x + b.x + c.x + d.x < 0 WITHIN 5 hours", stream, events=20
    )


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", "PATTERN "),
        ("PATTERN ", "MSFT"),
        ("PATTERN S", "SEQ("),
        ("PATTERN SEQ(G", "GOOG"),
        ("PATTERN SEQ(MSFT a, GOOG ", "b"),
        ("PATTERN SEQ(MSFT a, GOOG b) W", "WHERE "),
        ("PATTERN SEQ(MSFT a) WHERE a.price > 1 W", "WITHIN "),
        ("PATTERN SEQ(MSFT a, GOOG b) WHERE ", "a."),
        ("PATTERN SEQ(MSFT a, GOOG b) WHERE a.p", "price"),
        ("PATTERN SEQ(MSFT a, GOOG b) WHERE a.my", '"my col"'),
        ("PATTERN SEQ(MSFT a, GOOG b) WHERE sq", "sqrt("),
        ("PATTERN KL(MSFT a) WHERE av", "avg("),
        ("PATTERN MSFT a WITHIN 3 m", "minutes"),
        ("PATTERN MSFT a STRATEGY skip-till-n", "skip-till-next-match"),
        ("PATTERN MSFT a PARTITION BY p", "price"),
        ("PATTERN MSFT a AGG c", "COUNT("),
        ("PATTERN KL(NEXT MSFT a) GRE", "GREEDY "),
        ("PATTERN KL(MSFT a){0,} U", "UNTIL "),
        ("PATTERN SEQ(MSFT a, N", "NOT("),
        ("PATTERN KL(MSFT a) WHERE count(DIST", "DISTINCT "),
        ("PATTERN MSFT a AT", "AT TIME ZONE "),
        ("PATTERN MSFT a WITHIN 3 cal", "CALENDAR "),
        ("DEFINE dear AS ", "price"),
        ("DEFINE dear AS price > 3 AND m", '"my col"'),
        ("DEFINE dear AS price > 3 PATTERN SEQ(d", "dear"),
        ("DEFINE dear AS price > 3 PATTERN dear a WHERE ", "a."),
        ("PATTERN dear a DEFINE dear AS p", "price"),
    ],
)
def test_completion_offers_words_that_the_grammar_allows_next(text, first):
    offered = completion(text, len(text), WORDS)
    assert offered.words[0].insert == first
    # What is inserted may stand there.
    whole = text[: offered.begin] + first
    assert read_so_far(whole)[1], whole


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(MSFT",
        "PATTERN MSFT a WITHIN 1 minute",
        "PATTERN MSFT a -- W",
        "PATTERN MSFT a WHERE a.x = 'W",
        "PATTERN )) W",
        "PATTERN MSFT a WHERE a.price > 1 WHERE a.price > 1 WHER",
    ],
)
def test_completion_offers_no_words_where_none_fit(text):
    assert completion(text, len(text), WORDS).words == ()


def test_a_word_is_replaced_whole():
    text = "PATTERN SEQ(GOO a, MSFT b)"
    offered = completion(text, text.index("OO"), WORDS)
    assert text[offered.begin : offered.end] == "GOO"
    assert [word.insert for word in offered.words] == ["GOOG"]


def test_an_error_has_its_place_and_its_hint():
    app = opened()
    typed(app, "PATTERN SEQ(A a, B b)\nWHERE a.prize > 1")
    assert app.pattern is None
    html = unescape(app.html)
    assert "<mark>a.prize</mark>" in html
    assert "Line 2, column 7: the stream has no column 'prize'" in html
    assert "did you mean 'price'?" in html
    assert 'aria-invalid="true" aria-describedby="pattern-hint"' in html
    assert "of the last text without an error" in html
    with pytest.raises(ck.CepkitError, match="prize"):
        _ = app.matches


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("PATTERN SEQ(A a, B b", "\u00a0"),
        ("PATTERN SEQ(A a, B b) WITHN 3 s", "WITHN"),
        ("PATTERN SEQ(A a, B b)\n\nWHERE a.price < 'x'", "a.price"),
        ("PATTERN SEQ(A 😀, B b)", "😀"),
        ("", "\u00a0"),
    ],
)
def test_error_marks_the_wrong_part_of_the_text(text, marked):
    app = opened()
    typed(app, text)
    assert app.text == text
    assert f"<mark>{marked}" in unescape(app.html)


def test_browsers_count_utf_16():
    text = "PATTERN SEQ(A 😀, B b) "
    assert characters_before(text, 16) == 15
    html = editor("n", "l", text, suggestions=Suggestions(caret=15, begin=15, end=15))
    assert 'data-caret="16"' in html
    assert plain_text("a\r\nb\rc\ud800") == "a\nb\nc\ufffd"


def test_words_come_as_one_types():
    app = opened()
    typed(app, "PATTERN SEQ(A a, B b) WHERE a.pr")
    assert 'data-insert="price"' in app.html
    assert "1 completion, arrow keys choose" in app.html
    # A word that has not begun is offered when the reader asks.
    typed(app, "PATTERN SEQ(A a, B b) ")
    assert 'role="option"' not in app.html
    typed(app, "PATTERN SEQ(A a, B b) ", asked=True)
    assert 'data-insert="WHERE "' in app.html


def test_a_pattern_is_tried_on_the_sample():
    app = opened()
    assert app.trial.count == 7
    assert "7 matches" in app.html
    assert app.html.count('class="match') == 3
    told(app, do="choose", value="3")
    assert "Match 3, from" in app.html
    assert repr(app) == "PatternEditor: 7 matches in the first 8 events"
    few = opened(events=4)
    assert few.trial.count == 1


def test_typing_is_tried_when_the_reader_rests(monkeypatch):
    app = opened()
    monkeypatch.setattr(view_module, "_REST", 0.0)
    typed(app, PAIRS.replace("5", "2"))
    assert app.wait()
    assert app.trial.count == 4
    # Another text of the same pattern changes nothing.
    trial = app.trial
    typed(app, PAIRS.replace("5", "2") + " ")
    assert app.wait()
    assert app.trial is trial


def test_editor_without_matches_shows_the_funnel():
    app = opened("PATTERN SEQ(A a, B b) WHERE a.price > 100 WITHIN 5 seconds")
    assert app.trial.count == 0
    html = unescape(app.html)
    assert "partial matches that pass each requirement" in html
    assert app.trial.why.reason in html
    assert "a.price > 100" in html


def test_a_trial_that_takes_too_long_is_broken_off(monkeypatch):
    monkeypatch.setattr(view_module, "_FIRST_PATIENCE", 0.3)
    rows = 4_000
    frame = pd.DataFrame({"ts": range(rows), "type": ["A", "B"] * (rows // 2), "x": np.ones(rows)})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    text = "PATTERN SEQ(A a, B b, A c, B d) WHERE a.x + b.x + c.x + d.x < 0 WITHIN 5 hours"
    app = opened(text, stream)
    assert app.trial.known is None
    assert "too long" in app.html
    # It goes on with the next text.
    app.write("PATTERN SEQ(A a, B b) WITHIN 2 seconds")
    assert app.wait()
    assert app.trial.count == rows // 2


def test_running_on_everything():
    app = opened()
    assert app.run() == 7
    assert app.matches.count() == 7
    told(app, do="run")
    assert app._running.wait(300)
    for _ in range(200):
        if "7 matches in" in app.html:
            break
        threading.Event().wait(0.01)
    assert "7 matches in" in app.html
    app.write(PAIRS.replace("5", "2"))
    assert "of an earlier text" in app.html
    assert app.matches.count() == 4


def test_run_can_be_stopped_and_started_again():
    app = endless()
    told(app, do="run")
    assert 'data-do="stop"' in app.html
    told(app, do="run")
    assert "is being run" in app.html
    told(app, do="stop")
    assert app._running.wait(300)
    assert isinstance(app._running.error, KeyboardInterrupt)
    app.refresh()
    assert "stopped after" in app.html
    assert app.error is None
    app.write("PATTERN SEQ(A a, B b) WITHIN 2 seconds")
    assert app.run() == 10_000


def test_progress_goes_from_slice_to_slice():
    rows = 100_000
    frame = pd.DataFrame({"ts": np.arange(rows), "type": ["A", "B"] * (rows // 2)})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    matches = ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 3 seconds")
    assert slice_rows(matches) == 20_000
    assert slice_rows(ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS", limit=1)) is None
    app = opened("PATTERN SEQ(A a, B b) WITHIN 3 seconds", stream, events=10)
    assert app.run() == matches.count()
    assert app.matches.searched == 1.0
    blocks = app.matches.blocks()
    next(blocks)
    shares = [app.matches.searched for _ in blocks]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < 1.0


def test_work_hands_its_exception_to_the_callback():
    ended = []
    work = Work(lambda: 1 / 0, lambda *outcome: ended.append(outcome))
    assert work.wait(300)
    assert isinstance(ended[0][1], ZeroDivisionError)
    # Too late to be stopped.
    work.stop()
    assert not work.running


def test_code_of_the_editor_finds_its_matches():
    for text in (
        PAIRS,
        PAIRS.replace("A a", '"A" a'),
        "PATTERN SEQ(A a, B b) WHERE a.\"my col\" != '\\'",
    ):
        app = opened(text)
        names = {"stream": STREAM}
        exec(app.as_code(), names)
        assert names["pattern"] == app.pattern
        assert names["matches"].count() == app.trial.count


def test_the_beginning_is_a_pattern_of_the_streams_types():
    app = opened(None)
    assert app.text.startswith("PATTERN SEQ(B a, A b)")
    assert app.pattern is not None


def test_a_query_stands_as_its_text():
    assert opened(ck.parse(PAIRS)).pattern == ck.parse(PAIRS)


def test_pattern_with_agg_shows_an_alert():
    app = opened("PATTERN SEQ(A a, B b) WITHIN 5 seconds AGG COUNT(*)")
    assert app.pattern is not None
    assert 'role="alert"' in app.html
    app.write(PAIRS)
    assert app.wait()
    assert 'role="alert"' not in app.html


@pytest.mark.parametrize("stream", [None, FRAME, "file.csv"])
def test_editor_shows_an_error_for_values_that_are_no_stream(stream):
    app = PatternEditor(stream)
    assert "instead of a stream" in app.html
    told(app, do="run")
    assert "there is nothing to edit" in app.html
    assert "PatternEditor:" in repr(app)


@pytest.mark.parametrize(
    "message",
    [
        {"set": "text", "value": None},
        {"set": "text", "value": {"text": PAIRS, "caret": "x"}},
        {"do": "choose", "value": "x"},
        {"do": "nothing"},
    ],
)
def test_odd_messages_are_texts(message):
    app = opened()
    told(app, **message)
    assert app.error is not None
    assert 'role="alert"' in app.html


def test_running_a_wrong_text_is_refused():
    app = opened("PATTERN SEQ(A a")
    with pytest.raises(ck.CepkitError, match="ends too early"):
        app.run()
    told(app, do="run")
    assert "ends too early" in app.html


def test_texts_are_no_markup():
    app = opened("PATTERN SEQ(A a, B b) WHERE a.\"my col\" = '<script>' </textarea><script>")
    for markup in ("<script", "</textarea><"):
        assert markup not in app.html.replace("</textarea><ul", "")
    assert "<script" not in editor('"><script>', '"><script>', "<script>", wrong=(0, 3))
    assert "<script" not in progress_bar('"><script>', None)
    assert "need a running notebook" in app._repr_mimebundle_()[0]["text/html"]


def test_read_works_without_the_app():
    good = read(PAIRS, STREAM)
    assert good.query == ck.parse(PAIRS)
    assert good.error is None
    wrong = read("PATTERN SEQ(A a, B b) WHERE a.price < 'x'", STREAM)
    assert wrong.query is None
    assert wrong.span is not None
