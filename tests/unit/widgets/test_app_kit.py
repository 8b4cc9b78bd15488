"""Common parts of the apps: actions run one after the other, errors and names are texts."""

from __future__ import annotations

import contextlib
import re
import threading

import pytest

import cepkit as ck
import cepkit_widgets
from cepkit.errors import ArgumentError
from cepkit_widgets.kit import app as kit
from cepkit_widgets.kit import work
from cepkit_widgets.kit.app import App, script, style
from cepkit_widgets.kit.parts import ERROR_PLACE, Cell, button, choice, slider, table

STREAM = ck.events(
    [{"ts": i, "type": "ABC"[i % 3], "x": i} for i in range(60)], time="ts", type="type", unit="s"
)
PATTERN = ck.parse("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 4 seconds")


def _narrowed():
    app = cepkit_widgets.MatchBrowser(ck.detect(STREAM, PATTERN))
    app.act("with", 1)
    app.refresh()
    return app


APPS = {
    "plan explorer": lambda: cepkit_widgets.PlanExplorer(PATTERN, ck.profile(STREAM, PATTERN)),
    "match browser": _narrowed,
    "pattern editor": lambda: cepkit_widgets.PatternEditor(STREAM, PATTERN),
    "strategy comparison": lambda: cepkit_widgets.StrategyComparison(STREAM, PATTERN),
}

HOSTILE = '"><script>alert(1)</script>'


class Counter(App):
    """Counts clicks, slowly."""

    def __init__(self):
        self.count = 0
        super().__init__()

    def body(self):
        return f"<h3>count</h3>{ERROR_PLACE}<p>{self.count}</p>"

    def act(self, name, value):
        if name != "add":
            raise ArgumentError(f"no '{name}'")
        count = self.count
        threading.Event().wait(0.001)
        self.count = count + 1


def test_messages_of_several_threads_are_done_in_turn():
    app = Counter()
    asked = [{"do": "add", "n": n} for n in range(40)]
    threads = [threading.Thread(target=app._asked, args=(app, each, [])) for each in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert app.count == 40
    assert "<p>40</p>" in app.html


def test_an_error_stays_until_the_reader_does_something():
    app = Counter()
    app._asked(app, {"do": "what", "n": 1}, [])
    assert "no 'what'" in str(app.error)
    app._asked(app, {"set": "width", "value": 99_999, "n": 2}, [])
    assert app.width == kit.WIDE
    assert 'role="alert"' in app.html
    assert 'data-answered="2"' in app.html
    app._asked(app, {"do": "add", "n": 3}, [])
    assert app.error is None


def test_error_stands_below_the_title_until_it_is_closed():
    app = Counter()
    before = app.html
    app._asked(app, {"do": "what", "n": 1}, [])
    assert app.html.index("<h3>") < app.html.index('role="alert"') < app.html.index("<p>")
    # It lies over what follows: nothing moves.
    assert ".over { position: absolute" in style()
    app._asked(app, {"do": "close", "n": 2}, [])
    assert app.error is None
    assert app.html == before.replace('answered="0"', 'answered="2"')


@pytest.mark.parametrize("content", [{}, {"do": None}, {"set": "width", "value": "wide"}])
def test_malformed_messages_set_an_error_and_do_not_raise(content):
    app = Counter()
    app._asked(app, content, [])
    assert app.error is not None


def test_a_body_that_fails_is_a_text(monkeypatch):
    app = Counter()
    monkeypatch.setattr(Counter, "body", lambda self: 1 / 0)
    app.refresh()
    assert "division by zero" in app.html


@pytest.mark.parametrize(
    "html",
    [
        slider(HOSTILE, HOSTILE, 10, HOSTILE, moved=True),
        button(HOSTILE, HOSTILE, HOSTILE, label=HOSTILE),
        choice(HOSTILE, HOSTILE, [HOSTILE], HOSTILE),
        table(HOSTILE, [HOSTILE], [[HOSTILE]], keys=HOSTILE),
    ],
)
def test_texts_are_no_markup(html):
    assert "<script" not in html
    assert '"">' not in html.replace('class="">', "")


@pytest.mark.parametrize("name", list(APPS))
def test_name_of_a_button_contains_its_text(name):
    app = APPS[name]()
    found = re.findall(r'<button [^>]*aria-label="([^"]*)"[^>]*>([^<]*)</button>', app.html)
    assert found
    for label, text in found:
        # Signs are no words.
        words = re.sub(r"[^\w,.: ]", "", text.replace("&lt;", "").replace("&gt;", "")).strip()
        assert words.lower() in label.lower()


def test_heading_has_the_direction_in_which_rows_are_sorted():
    app = APPS["match browser"]()
    for direction in ("ascending", "descending"):
        app._asked(app, {"do": "sort", "value": '["a", "x"]'}, [])
        [heading] = re.findall(r'<th [^>]*aria-sort="(\w+)"[^>]*><button [^>]*>a.x', app.html)
        assert heading == direction
    assert app.html.count("aria-sort") == 1


def test_table_shows_the_html_of_a_cell_unchanged():
    assert "<b>1</b>" in table("t", ["a"], [[Cell("<b>1</b>")]])


def test_stop_is_repeated_when_work_goes_on(monkeypatch):
    monkeypatch.setattr(work, "_AGAIN", 0.05)
    begun, ended = threading.Event(), []

    def stubborn():
        for _ in range(2):
            with contextlib.suppress(KeyboardInterrupt):
                begun.set()
                while True:
                    threading.Event().wait(0.01)
        return "done"

    running = work.Work(stubborn, lambda *end: ended.append(end))
    assert begun.wait(300)
    running.stop()
    assert running.wait(300)
    assert [result for result, _ in ended] == ["done"]


def test_module_and_style_make_no_requests():
    for text in (script(), style()):
        for word in ("import ", "http:", "https:", "@import", "url("):
            assert word not in text


def test_apps_are_loaded_by_name():
    assert set(cepkit_widgets.__all__) <= set(dir(cepkit_widgets))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = cepkit_widgets.Nothing


def test_compiling_work_stops_once_the_compiler_releases_its_lock(monkeypatch):
    monkeypatch.setattr(work, "_COMPILING", 0.01)
    compiler, began, goes_on, ended = (
        {"__name__": "numba.core"},
        threading.Event(),
        threading.Event(),
        [],
    )
    exec("def compile(began, goes_on):\n    began.set()\n    goes_on.wait(60)", compiler)

    def compiling():
        compiler["compile"](began, goes_on)
        while True:
            threading.Event().wait(0.01)

    running = work.Work(compiling, lambda *end: ended.append(end))
    assert began.wait(60)
    running.stop()
    assert not running.wait(0.2)
    goes_on.set()
    assert running.wait(60)
    assert isinstance(ended[0][1], KeyboardInterrupt)
