"""The figures of why_not: their contents, and that nothing overlaps."""

import plotly.graph_objects as go
import pytest

import cepkit as ck
from cepkit.figures.charts.funnel import draw_funnel
from cepkit.figures.charts.near_misses import draw_near_misses
from cepkit.figures.charts.verdict import layout, placed
from cepkit.figures.kit.canvas import Circle, Line, Text
from tests.unit.diagnosis.cases import stream_of
from tests.unit.figures.cases import SCRIPT, TWELVE, sequence

TEXT = "PATTERN SEQ(A a, NOT(N n), B b, C c) WHERE a.price < b.price WITHIN 10 seconds"
ROWS = [
    (0, "A", 5.0), (1, "B", 4.0), (2, "C", 1.0), (3, "B", 6.0), (3.5, "B", 7.0),
    (20, "A", 1.0), (21, "N", 0.0), (22, "B", 2.0), (23, "C", 1.0),
]  # fmt: skip


def asked(**named):
    return ck.why_not(stream_of(ROWS), TEXT, **named)


def overlapping(boxes):
    return [
        (one, other)
        for i, one in enumerate(boxes)
        for other in boxes[:i]
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]


def test_the_funnel_is_drawn_step_by_step():
    why = asked()
    made = draw_funnel(why.funnel, why.reason)
    assert isinstance(made, go.Figure)
    labels = [note["text"] for note in made.layout.annotations]
    assert len(labels) == len(why.funnel)
    came, events, partial = made.data
    assert came.x[2] == 0  # of a scope: all pairs of events
    hovers = {
        place: text
        for bars in (events, partial)
        for place, text in zip(bars.y, bars.hovertext, strict=True)
    }
    steps = [hovers[place].split(":")[0] for place in sorted(hovers)]
    assert steps == ["a", "b", "b", "b", "c", "c", "NOT"]
    assert "by this alone" in labels[3]
    assert made.layout.yaxis.ticktext[3] == "a.price &lt; b.price"


def test_funnel_marks_the_step_that_lets_nothing_through():
    why = ck.why_not(stream_of([(0, "A", 1.0), (1, "B", 0.5)]), TEXT)
    made = draw_funnel(why.funnel)
    notes = [note["text"] for note in made.layout.annotations]
    assert notes[3].strip().startswith("<b>0  (-1)")
    assert not notes[0].strip().startswith("<b>")


def test_near_misses_are_drawn_by_size():
    why = asked()
    made = draw_near_misses(why.near_misses)
    lengths = list(made.data[0].x)
    assert len(lengths) > 1
    assert lengths == sorted(lengths)
    texts = " ".join(note["text"] for note in made.layout.annotations)
    assert "5 &lt; 4 fails by 1" in texts
    nothing = ck.why_not(stream_of([(0, "X", 1.0)]), TEXT)
    assert "no near misses" in draw_near_misses(nothing.near_misses).layout.annotations[0].text


def test_verdict_shows_events_culprits_and_failed_requirements():
    why = asked(a=5, b=7, c=8)
    marks = placed(why)
    assert [(m.letter, m.role) for m in marks] == [
        ("a", "given"), ("n", "culprit"), ("b", "given"), ("c", "given"),
    ]  # fmt: skip
    words = [line for item in layout(why).items if isinstance(item, Text) for line in item.lines]
    assert "NOT(N n): there is row 6 (N, 1 s after a)" in words
    assert "within 10 seconds" in words


def test_other_candidates_are_shown():
    why = asked(a=0, c=2)
    roles = {mark.event.id: mark.role for mark in placed(why)}
    assert roles[0] == roles[2] == "given"
    assert sorted(roles.values()).count("found") == 1
    assert "other" in roles.values()


@pytest.mark.parametrize("named", [{"a": 0, "c": 2}, {"a": 5, "b": 7, "c": 8}, {"a": 0, "c": 8}])
def test_texts_and_marks_do_not_overlap(named):
    canvas = layout(asked(**named))
    texts = [
        item.box() for item in canvas.items if isinstance(item, Text) and len(item.lines[0]) > 1
    ]
    circles = [item.box() for item in canvas.items if isinstance(item, Circle)]
    assert overlapping(texts) == []
    assert overlapping(circles) == []
    assert overlapping([*texts, *circles]) == []
    for box in texts:
        assert box[0] >= 0
        assert box[2] <= canvas.width
        assert box[3] <= canvas.height


def test_the_stem_of_a_mark_stops_at_the_first_label_in_its_way():
    rows = [*ROWS[:3], (3, "B", 6.0), (3.1, "B", 6.0), (3.2, "B", 6.0)]
    canvas = layout(ck.why_not(stream_of(rows), TEXT, a=0, c=2))
    labels = [item for item in canvas.items if isinstance(item, Text) and len(item.lines) == 2]
    lines = [item.points for item in canvas.items if isinstance(item, Line)]
    axis = lines[0][0][1]
    stems = [points for points in lines if points[0][0] == points[1][0] and points[1][1] <= axis]
    assert stems
    for (x, top), (_, bottom) in stems:
        crossed = [label.lines for label in labels
                   if label.box()[0] < x < label.box()[2]
                   and top < label.box()[3] and label.box()[1] < bottom]  # fmt: skip
        assert crossed == []


def test_names_that_want_to_break_out_are_shown_as_they_are():
    types = [SCRIPT, *(f"T{i}" for i in range(1, 12))]
    query = sequence(types=types, rest="WITHIN 1 hour")
    stream = stream_of([(i, kind, 1.0) for i, kind in enumerate(types)])
    for named in ({}, {TWELVE[0]: 0, TWELVE[5]: 5, TWELVE[11]: 3}):
        why = ck.why_not(stream, query, bindings=named)
        for made in (ck.draw(why), ck.draw(why.near_misses), ck.draw(why.funnel)):
            assert "<script" not in str(made.to_plotly_json())
