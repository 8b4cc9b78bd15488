"""The panel of the studio that proposes patterns: choosing incidents, learning, opening one."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import StreamError
from cepkit_widgets.studio import learning
from cepkit_widgets.studio.learning import ANY, CHOSEN, Learner, parted


def frame(failures=40):
    """Return a log in which a hot A of a pump comes before each failure of it."""
    rng = np.random.default_rng(3)
    rows = []
    for at in np.arange(0, failures * 2_000, 40):
        rows.append((float(at), str(rng.choice(list("ABC"))), int(rng.integers(3)), 50.0))
    for i in range(failures):
        pump = int(rng.integers(3))
        rows.append((i * 2_000 + 900.5, "A", pump, 95.0 + i % 7))
        rows.append((i * 2_000 + 1_000.5, "Failure", pump, 0.0))
    names = ["ts", "kind", "pump", "temp"]
    return pd.DataFrame(rows, columns=names).sort_values("ts").reset_index(drop=True)


FRAME = frame()
STREAM = ck.events(FRAME, time="ts", type="kind", unit="s")
AT = [*np.flatnonzero(FRAME["kind"] == "Failure")]


@pytest.fixture
def studio():
    made = ck.studio(STREAM, "PATTERN SEQ(A a, B b) WITHIN 4 seconds")
    made.turn("learn")
    assert made.wait()
    return made


def told(studio, **message):
    """Send a message to the panel as the page does."""
    studio._asked(studio, {**message, "panel": "learn", "n": studio._answered + 1}, [])
    assert studio.panel("learn").wait()
    assert studio.wait()


def test_incidents_of_a_type_are_learned_from_and_a_proposal_is_opened_in_the_editor(studio):
    told(studio, set="source", value="Failure")
    told(studio, set="by", value="pump")
    told(studio, do="learn")
    learner = studio.panel("learn")
    assert isinstance(learner, Learner)
    assert learner.error is None
    assert len(learner.incidents) == 40
    best = learner.learned.best
    assert "A a\nWHERE a.temp > " in best.text
    assert all("Failure" not in each.text for each in learner.learned.proposals)
    assert 'aria-label="Open proposal 1"' in studio.html
    told(studio, do="open", value="0")
    assert studio.text == best.text


def test_events_chosen_on_the_time_line_are_the_incidents(studio):
    learner = studio.panel("learn")
    for event in AT[:6]:
        told(studio, do="incident", value=str(event))
    told(studio, do="incident", value=str(AT[5]))
    assert "5 events chosen" in learner.html
    told(studio, do="begin", value="150")
    assert "events 150 to 299" in learner.html
    told(studio, do="learn")
    assert learner.error is None
    assert learner.incidents["time"].tolist() == FRAME["ts"][AT[:5]].tolist()


def test_incidents_of_a_condition_are_left_out_of_the_stream():
    rest, incidents = parted(STREAM, ANY, "x.kind = 'Failure' AND x.pump = 1", [], "pump")
    mine = FRAME[(FRAME["kind"] == "Failure") & (FRAME["pump"] == 1)]
    assert incidents["pump"].tolist() == mine["pump"].tolist()
    assert rest.rows().to_pandas()["ts"].tolist() == FRAME["ts"].drop(mine.index).tolist()


def test_stream_without_types_is_learned_from_by_a_condition():
    stream = ck.events(FRAME[["ts", "temp", "pump"]], time="ts", unit="s")
    studio = ck.studio(stream, "PATTERN ANY a WHERE a.temp > 99")
    studio.turn("learn")
    assert studio.wait()
    learner = studio.panel("learn")
    learner.learn(where="x.temp = 0", by="pump")
    assert learner.wait()
    assert learner.error is None
    assert len(learner.incidents) == 40
    assert "PATTERN ANY a\nWHERE a.temp > " in learner.learned.best.text
    assert f"<option>{ANY}" not in studio.html  # it is the one that is selected
    assert "\x01" not in studio.html


def test_learner_reports_missing_and_too_few_incidents(studio):
    learner = studio.panel("learn")
    told(studio, do="learn")
    assert "no incident is chosen" in str(learner.error)
    told(studio, do="incident", value=str(AT[0]))
    told(studio, do="learn")
    assert isinstance(learner.error, StreamError)
    assert "1 incident in the time" in learner.html
    told(studio, set="source", value=ANY)
    told(studio, do="learn")
    assert "every event is an incident" in str(learner.error)


def test_learning_shows_progress_until_it_is_stopped(studio, monkeypatch):
    began, real = threading.Event(), learning.ck.learn

    def slow(*arguments, **options):
        began.set()
        while True:
            threading.Event().wait(0.01)

    monkeypatch.setattr(learning.ck, "learn", slow)
    learner = studio.panel("learn")
    learner.learn(type="Failure", by="pump")
    assert began.wait(60)
    learner.refresh()
    assert "<progress" in learner.html
    assert 'data-do="stop"' in learner.html
    learner.act("stop", None)
    assert learner.wait(60)
    assert (learner.learned, learner.error) == (None, None)
    monkeypatch.setattr(learning.ck, "learn", real)
    learner.learn([float(FRAME["ts"][at]) for at in AT], within="5 minutes")
    assert learner.wait(60)
    assert learner.learned.within == 300_000_000
    assert learner._settings["source"] == CHOSEN
