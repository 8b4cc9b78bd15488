"""Pictures fit the given width, and nothing in them overlaps."""

import math
import re
from dataclasses import replace

import pytest

import cepkit as ck
from cepkit.figures.charts import sharing, verdict
from cepkit.figures.diagrams import plan_canvas
from cepkit.figures.diagrams.pictures import pictures
from cepkit.figures.kit.canvas import Circle, Line, Text
from cepkit.figures.kit.image.chart import chart_svg
from cepkit.figures.kit.responsive import _ROOMS
from cepkit.figures.kit.texts import width_of
from cepkit.figures.player.moments import moments_of
from cepkit.figures.traces import counter_table, mechanism
from cepkit.figures.traces.counters import draw_counters
from cepkit.plan.checks import as_plan
from tests.unit.figures.overlaps import assert_nothing_overlaps

ROWS = [{"ts": i, "type": "ABCDEFG"[i * 5 % 7], "x": i * 3 % 11, "k": i % 2} for i in range(60)]
STREAM = ck.events(ROWS, time="ts", type="type", unit="s")
SEVEN = "PATTERN SEQ(A a, B b, C c, D d, E e, F f, G g) WITHIN 30 s"


@pytest.fixture(scope="module")
def chopped():
    pieces = [["a", "b"], ["c", "d", "e"], ["f", "g"]]
    return ck.simulate(STREAM, SEVEN, "prefix-counters", plan=pieces)


@pytest.mark.parametrize("room", _ROOMS)
def test_tables_of_counters(chopped, room):
    moments = moments_of([chopped])
    canvas = counter_table.layout(chopped, moments, len(moments) // 2, room)
    assert_nothing_overlaps(canvas)
    assert canvas.width <= max(room, 560)
    titles = [i for i in canvas.items if isinstance(i, Text) and i.lines[0].startswith("piece")]
    assert len(titles) == 3


def test_tables_of_counters_stand_below_each_other_where_there_is_no_room(chopped):
    moments = moments_of([chopped])
    place = len(moments) // 2
    wide = counter_table.layout(chopped, moments, place)
    narrow = counter_table.layout(chopped, moments, place, 440)
    assert narrow.width < wide.width
    assert narrow.height > wide.height


@pytest.mark.parametrize("room", _ROOMS)
def test_sharing_of_aggregates_fits_the_width(room):
    queries = [
        "PATTERN SEQ(A a, B b, C c, D d, E e, F f, G g) WITHIN 30 s AGG COUNT",
        "PATTERN SEQ(A a, B b, C c, D d, E e) WITHIN 30 s AGG COUNT",
        "PATTERN SEQ(A a, B b, F f) WITHIN 30 s AGG COUNT",
    ]
    canvas = sharing.layout(ck.aggregate(STREAM, queries).plan, room)
    assert_nothing_overlaps(canvas)
    assert canvas.width <= max(room, sharing._LEAST * 7 + 28)


@pytest.mark.parametrize("room", _ROOMS)
def test_verdict_fits_the_width(room):
    why = ck.why_not(
        STREAM, "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 20 s", a=0, c=6
    )
    canvas = verdict.layout(why, room)
    assert canvas.width == room
    # Marks stand on the line of time.
    above = [item for item in canvas.items if not isinstance(item, Line)]
    assert_nothing_overlaps(replace(canvas, items=tuple(above)))


@pytest.mark.parametrize("room", _ROOMS)
@pytest.mark.parametrize("events", [1, 3, 4, 7])
def test_automaton_has_as_many_edges_in_a_row_as_fit(room, events):
    text = ", ".join(f"{t} {t.lower()}" for t in "ABCDEFG"[:events])
    query = ck.parse(f"PATTERN SEQ({text}) WHERE a.x < 5 AND a.x < {'abcdefg'[events - 1]}.x")
    canvas = plan_canvas.layout(pictures(as_plan(None, query), query), room)
    assert_nothing_overlaps(canvas)
    assert canvas.width <= room
    rows = {item.y for item in canvas.items if isinstance(item, Circle)}
    # Even in the narrowest there are two edges in a row, and no row is much shorter than others.
    assert len(rows) == math.ceil(events / {440: 2, 580: 3, 720: 4, 860: 5, 1100: 6}[room])


def test_no_edge_crosses_the_text_of_a_state():
    text = "PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND b.x < c.x WITHIN 9 s"
    trace = ck.simulate(STREAM, text, "tree-nfa")
    canvas = mechanism.layout(trace, 900)
    assert_nothing_overlaps(canvas)


def test_margin_holds_the_widest_number_beside_a_mark():
    matches = ck.detect(STREAM, SEVEN)
    matches.count()
    explained = ck.draw(matches.explain())
    compared = ck.draw(ck.compare_plans(SEVEN, ck.profile(STREAM, SEVEN)))
    for made in (explained, compared):
        # Whatever the width of the page: the axis ends where the margin begins.
        numbers = [note.text for note in made.layout.annotations if note.xref != "paper"]
        assert made.layout.margin.r > max(width_of(re.sub("<.*?>", "", n), 12) for n in numbers)


@pytest.mark.parametrize("number", [1, 2, 4, 6])
def test_a_legend_stands_between_the_title_and_the_first_heading(number):
    trace = ck.simulate(STREAM, SEVEN, "eager-nfa")
    made = draw_counters([trace] * number)
    legend, top, high = made.layout.legend, made.layout.margin.t, made.layout.height
    assert legend.yref == "container"
    foot = high * (1 - legend.y)
    assert foot <= top - 20, "the heading of the panel stands below"
    assert foot >= 34 + (20 if number > 1 else 0), "the title stands above"
    assert "<svg" in chart_svg(made, 800)
