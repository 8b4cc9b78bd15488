"""Figures of shared counters: nothing overlaps, and every query is named."""

import pandas as pd
import pytest

import cepkit as ck
from cepkit.figures.charts.sharing import draw_several, layout
from cepkit.figures.kit.canvas import Circle, Text
from tests.unit.aggregation.test_sharing import VIEWS, asked
from tests.unit.figures.cases import NASTY, quoted
from tests.unit.figures.overlaps import assert_nothing_overlaps


def shared(queries, share):
    frame = pd.DataFrame({"ts": pd.to_datetime([0]), "kind": ["VK"]})
    events = ck.events(frame, time="ts", type="kind")
    with pytest.warns(UserWarning, match="no event has the type"):
        return ck.aggregate(events, queries, share=share)


def texts(canvas):
    return [line for item in canvas.items if isinstance(item, Text) for line in item.lines]


def test_prefix_tree_has_one_node_for_each_common_prefix():
    found = shared(asked(*VIEWS[:4]), "prefix")
    canvas = layout(found.plan)
    assert_nothing_overlaps(canvas)
    assert sum(isinstance(item, Circle) for item in canvas.items) == 9
    assert texts(canvas).count("VK") == 1
    assert {f"pattern {i}" for i in range(1, 5)} <= set(texts(canvas))
    assert canvas.summary == "4 queries of 19 positions share 9 counters and 0 snapshots"


def test_tree_of_a_piece_names_the_piece_before():
    found = shared(asked(*VIEWS), "chop-connect")
    canvas = layout(found.plan)
    assert_nothing_overlaps(canvas)
    assert "after (VI, VF)" in texts(canvas)
    assert any(line.startswith("pattern 5 after") for line in texts(canvas))


def test_odd_names_and_unshared_queries_are_drawn():
    odd = ", ".join(f"{quoted(name)} v{i}" for i, name in enumerate(NASTY))
    queries = asked(f"SEQ({odd})", f"SEQ({odd}, X x)", f"SEQ(A a, {odd})", "AND(A a, B b)")
    found = shared(queries, [(3,), (3, 1), (1, 3), None])
    canvas = layout(found.plan)
    assert_nothing_overlaps(canvas)
    assert "pattern 4 by itself: AND is not a sequence" in texts(canvas)
    figure = ck.draw(found)
    assert "<b>x</b>" not in figure.to_json()
    assert figure.to_json() == draw_several(found).to_json()
