"""What the time line of the studio draws besides matches: near misses, and absences."""

from __future__ import annotations

import re

import pandas as pd

import cepkit as ck
from cepkit_widgets import MatchBrowser
from cepkit_widgets.matches.known import KnownMatches
from cepkit_widgets.matches.look import Looker

FRAME = pd.DataFrame(
    {"ts": [0, 2, 3, 5, 9, 10, 12], "type": list("ABNAXBB"), "x": [1, 2, 0, 5, 0, 4, 9]}
)
STREAM = ck.events(FRAME, time="ts", type="type", unit="s")


def absences(pattern):
    known = KnownMatches(ck.detect(STREAM, pattern))
    known.at_least(10)
    around = Looker(known).around(known.binding(0))
    return [(around.lanes[n.lane], n.begin, n.end, n.text) for n in around.absences]


def test_absence_between_two_events_reaches_from_one_to_the_other():
    assert absences("PATTERN SEQ(A a, NOT(N n), B b)") == [("N", 0.0, 2.0, "NOT(N n)")]


def test_absence_at_an_end_reaches_as_far_as_the_window():
    assert absences("PATTERN SEQ(A a, B b, NOT(X x)) WITHIN 8 s") == [("X", 2.0, 8.0, "NOT(X x)")]


def test_absence_of_several_events_or_of_any_type_has_no_lane():
    assert absences("PATTERN SEQ(A a, NOT(SEQ(N n, X x)), B b)") == []


def test_near_misses_are_drawn_beside_matches_and_alone():
    studio = ck.studio(STREAM, "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 20 s")
    assert studio.wait()
    editor = studio.panel("editor")
    assert editor.trial.misses[0].detail == "a.x < b.x: 5 < 4 fails by 1"
    assert "near misses" not in studio.html  # none is near the first match
    for number in range(4):
        if editor.trial.known.events_of(number)[0] == 3:
            studio._asked(studio, {"panel": "editor", "do": "choose", "value": number, "n": 1}, [])
    assert "near misses" in studio.html
    studio.write("PATTERN SEQ(A a, B b) WHERE a.x > b.x + 3 WITHIN 20 s")
    assert studio.wait()
    assert studio.panel("editor").trial.count == 0
    assert "The nearest miss, from" in studio.html


def test_marks_of_events_at_one_time_stand_apart_so_that_each_letter_is_read():
    frame = pd.DataFrame({"ts": [0.0, 0.01, 0.02, 99.0], "type": ["A", "A", "A", "B"]})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    html = MatchBrowser(ck.detect(stream, "PATTERN SEQ(A a, A b, A c, B d)")).html
    heights = re.findall(r'class="mark".*?<circle cx="[0-9.]+" cy="([0-9.]+)"', html)
    a, b, c = sorted(map(float, heights[:3]))
    assert b - a == c - b == 14
