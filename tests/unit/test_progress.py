"""Progress bars: where they appear, their texts, and that they are cleared."""

import inspect
import sys
import time
from types import SimpleNamespace

import pytest

import cepkit as ck
from cepkit import progress
from cepkit.columnar.results.matches import Matches
from cepkit.plan.checks import as_plan
from cepkit.progress import Bar, counted, showing

PATTERN = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 1 minute"

ROWS = """SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY ticker ORDER BY ts
    MEASURES LAST(down.price) AS bottom PATTERN (down+) DEFINE down AS price < PREV(price))"""


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0.02)
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.01)


def test_page_that_shows_progress_itself_is_not_watched(monkeypatch):
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    monkeypatch.delenv(progress.PAGE, raising=False)
    assert progress.is_watched()
    monkeypatch.setenv(progress.PAGE, "1")
    assert not progress.is_watched()


@pytest.fixture
def notebook(monkeypatch, quick):
    """The outputs of a notebook, as they are in the end."""
    outputs = []

    class Handle:
        def __init__(self, number):
            self.number = number

        def update(self, bundle, raw):
            assert raw
            outputs[self.number] = bundle

    def display(bundle, *, raw, display_id):
        assert raw
        assert display_id
        outputs.append(bundle)
        return Handle(len(outputs) - 1)

    shell = SimpleNamespace(kernel=object())
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    # A thread gets its turn soon, however short the work is.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield outputs
    sys.setswitchinterval(interval)


def until(seen):
    end = time.monotonic() + 300
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.005)


def run_until_shown(run, notebook):
    """Run short work again where a busy machine gave the thread that shows it no turn."""
    for _ in range(50):
        run()
        if notebook:
            return
    raise AssertionError("it shows no progress")


_ON_SPARK = (pytest.mark.spark, pytest.mark.quick)


@pytest.mark.parametrize(
    "verb",
    ["profile", "choose_plan", "compare_plans", "detect", "aggregate", "simulate", "why_not",
     "what_if", "from_match_recognize",
     pytest.param("get_session", marks=_ON_SPARK)],
)  # fmt: skip
def test_long_verbs_have_progress_auto_by_default(verb):
    assert inspect.signature(getattr(ck, verb)).parameters["progress"].default == "auto"


def test_a_notebook_keeps_one_line_of_text(notebook):
    with showing("counting <b>", share=lambda: 0.3):
        until(lambda: notebook)
        while_it_runs = notebook[0]
    assert while_it_runs["text/plain"].startswith("counting <b> ... 30% ")
    assert '<progress max="1" value="0.300"' in while_it_runs["text/html"]
    assert "<b>" not in while_it_runs["text/html"]
    (left,) = notebook
    assert [*left] == ["text/plain"]
    assert left["text/plain"].startswith("counting <b>: ")


def test_notebook_keeps_a_line_printed_beside_the_bar(notebook):
    with showing("counting"):
        until(lambda: notebook)
        progress.tell("compiling")
    assert notebook[1] == {"text/plain": "compiling"}
    assert len(notebook) == 2


def test_short_work_shows_no_progress(notebook, monkeypatch):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 60.0)
    with showing("counting"):
        time.sleep(0.05)
    assert not notebook


def test_progress_false_also_hides_inner_progress(notebook):
    with showing("outer", progress=False), showing("inner", progress="auto"):
        time.sleep(0.1)
    assert not notebook


def test_work_within_work_has_the_same_bar(notebook):
    with showing("outer"):
        with showing("inner", share=lambda: 0.5):
            until(lambda: notebook and "inner ... 50%" in notebook[0]["text/plain"])
        until(lambda: notebook[0]["text/plain"].startswith("outer ... "))
    assert len(notebook) == 1


def test_progress_line_is_cleared_from_a_terminal(capsys, quick):
    shown = []

    def seen():
        shown.append(capsys.readouterr().err)
        return "counting" in "".join(shown)

    with showing("counting", progress=True):
        until(seen)
    assert not capsys.readouterr().err.split("\r")[-1].strip()


def test_no_progress_is_written_to_a_file(capsys, quick):
    with showing("counting"):
        time.sleep(0.1)
    assert not capsys.readouterr().err


def test_parts_of_work():
    with showing("comparing", progress=False) as work, Bar(4, False, "plans") as bar:
        bar.begin("one")
        bar.begin("two")
        bar.move(0.5)
        assert (work.what, work.share) == ("plans: two", 0.375)


def test_counted_advances_progress_per_item():
    with showing("simulating", progress=False) as work:
        shares = [work.share for _ in counted("abcd")]
    assert shares == [0.0, 0.25, 0.5, 0.75]
    assert list(counted("ab")) == ["a", "b"]


@pytest.mark.parametrize(
    "run",
    [
        lambda stream: ck.detect(stream, PATTERN, ["a", "b"]).count(),
        lambda stream: ck.detect(stream, PATTERN, ["a", "b"]).to_pandas(),
        lambda stream: ck.detect(stream, [PATTERN, PATTERN], [["a", "b"]] * 2).counts(),
        lambda stream: ck.profile(stream, PATTERN),
        lambda stream: ck.aggregate(stream, f"{PATTERN.replace('1 minute', '1 second')} AGG COUNT"),
        lambda stream: ck.simulate(stream, PATTERN.replace("minute", "second")),
        lambda stream: ck.why_not(stream, PATTERN.replace("<", "= 5 +")),
        lambda stream: ck.simulate(
            stream, "PATTERN SEQ(MSFT a, GOOG b)", "prefix-counters", limit=300
        ),
        lambda stream: ck.from_match_recognize(ROWS, stream).to_pandas(),
        lambda _: len(ck.from_match_recognize(ROWS, ck.sample_stocks(30_000))),
    ],
)
def test_verbs_show_their_progress(notebook, monkeypatch, run):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 1e-6)
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 1e-4)
    stream = ck.events(ck.sample_stocks(30_000), time="ts", type="ticker")
    # A run takes milliseconds: the thread that shows it must not wait for its turn.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run_until_shown(lambda: run(stream), notebook)
    finally:
        sys.setswitchinterval(interval)
    for output in notebook:
        assert [*output] == ["text/plain"], "a line for each, when it is done"
        assert "%" not in output["text/plain"]


def test_costs_at_other_rates_are_shown(notebook, monkeypatch):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 1e-6)
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 1e-4)
    rates = {"a": 10, "b": 10}
    known = ck.Statistics.assumed(rates, {("a", "b"): 0.5})
    plans = ck.compare_plans(PATTERN, known, ["given-order", "dp-order"], progress=False)
    assert not notebook
    rates_of_a = [0.01 * i for i in range(1, 400)]
    run_until_shown(lambda: ck.what_if(PATTERN, known, plans, "a", rates=rates_of_a), notebook)
    (left,) = notebook
    assert left["text/plain"].startswith("computing costs: ")


def test_results_keep_progress_false_of_their_verb(notebook, monkeypatch):
    monkeypatch.setattr(progress, "SILENT_SECONDS", 1e-6)
    stream = ck.events(ck.sample_stocks(3_000), time="ts", type="ticker")
    found = ck.detect(stream, PATTERN, progress=False)
    found.count()
    found.to_pandas()
    several = ck.detect(stream, [PATTERN, PATTERN], progress=False)
    several.counts()
    several[0].count()
    several.together.to_arrow()
    assert not notebook


def test_a_search_of_detection_says_how_far_it_is():
    stream = ck.events(ck.sample_stocks(3_000), time="ts", type="ticker")
    query = ck.parse(PATTERN)
    found = Matches(stream, query, as_plan(["a", "b"], query), slice_rows=300)
    assert found._searched() is None
    shares = [found._searched() or 0.0 for _ in found.blocks()]
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] <= 1
