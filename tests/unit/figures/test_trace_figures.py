"""Plain figures of traces: the mechanism alone, and counters over the steps."""

import pandas as pd
import plotly.graph_objects as go
import pytest

from cepkit import draw, simulate
from cepkit.errors import TraceError
from cepkit.figures.kit.canvas import Circle, Text
from cepkit.figures.traces.counters import _decimated, counted
from cepkit.figures.traces.mechanism import layout, traffic
from cepkit.stream.stream import events

PATTERN = (
    "PATTERN SEQ(A a, B b, C c) WHERE a.price < b.price AND b.price < c.price WITHIN 20 seconds"
)


def trace(plan="cba", types="AAABBC", prices=(3, 5, 8, 7, 13, 9), mechanism="chain-nfa"):
    frame = pd.DataFrame({"ts": range(len(types)), "type": list(types), "price": prices})
    stream = events(frame, time="ts", type="type", unit="s")
    if mechanism in ("tree-nfa", "eager-nfa"):
        plan = None
    order = list(plan) if isinstance(plan, str) else plan
    return simulate(stream, PATTERN, mechanism=mechanism, plan=order)


def test_counters_are_drawn_for_each_trace_after_each_step():
    traces = [trace("cba"), trace("abc")]
    series = counted(traces, ["evaluations", "instances"])
    assert [(s.counter, s.trace) for s in series] == [
        (name, t.name) for name in ("evaluations", "instances") for t in traces
    ]
    assert series[0].steps == tuple(range(1, 8))
    assert series[1].values == tuple(c.evaluations for c in traces[1].counters)
    drawn = draw(traces, of="counters")
    assert isinstance(drawn, go.Figure)
    assert [t.name for t in drawn.data if t.showlegend] == [t.name for t in traces]
    # Told apart without colours.
    assert len({t.line.dash for t in drawn.data}) == 2
    assert len(drawn.data) == 8


def test_unknown_counters_are_refused():
    with pytest.raises(TraceError, match="no counter 'speed'"):
        draw([trace()], of="counters", counters=["speed"])


def test_decimated_counters_keep_their_peaks():
    column = [0] * 20_000
    column[12_345] = 7
    kept = _decimated(column)
    assert len(kept) < 1_100
    assert 12_345 in kept
    assert kept[-1] == 19_999
    assert _decimated([]) == []


def test_diagram_of_a_chain_looks_like_its_plan():
    drawn = draw(trace(), of="diagram")
    texts = {note.text for note in drawn.layout.annotations}
    assert {"<b>q0</b>", "<b>F</b>", "<b>C c</b>"} <= texts
    assert any("b.price &lt; c.price" in text for text in texts)


def test_traffic_counts_the_instances_of_each_state():
    made = {t.label: (t.created, t.peak) for t in traffic(trace("abc"))}
    # Three prefixes, five pairs; the pairs with b2 are refused by c.
    assert made["q1"] == (3, 3)
    assert made["q2"] == (5, 5)
    assert layout(trace("abc")).summary


def test_diagram_of_a_tree_nfa_marks_visited_states():
    drawn = layout(trace(mechanism="tree-nfa"))
    circles = {c.hover.splitlines()[0]: c for c in drawn.items if isinstance(c, Circle)}
    # Of the c there is one only, so it is taken first; then the two b's come before the three a's.
    assert {name for name, c in circles.items() if c.dash == "solid"} == {"q0", "c", "c b", "F"}
    assert circles["a"].dash == "dot"
    assert circles["F"].double
    counts = {t.label: t.created for t in traffic(trace(mechanism="tree-nfa"))}
    assert counts["F"] == 2


def test_diagram_of_an_evaluation_tree_counts_stored_instances():
    drawn = layout(trace(("a", ("b", "c")), mechanism="evaluation-tree"))
    lines = [t.lines for t in drawn.items if isinstance(t, Text)]
    # Two b's and one c, of which one pair holds; it finds two of the three a's.
    stored = [line for text in lines for line in text if line.endswith("stored")]
    assert sorted(stored) == ["1 stored", "1 stored", "2 stored", "2 stored", "3 stored"]
    titles = {t.lines[0] for t in drawn.items if isinstance(t, Text) and t.bold}
    assert titles == {"A a", "B b", "C c", "b ⋈ c", "a ⋈ b, c"}


@pytest.mark.parametrize("mechanism", ["tree-nfa", "evaluation-tree", "eager-nfa"])
def test_texts_of_a_diagram_are_inside_and_do_not_overlap(mechanism):
    drawn = layout(trace(None, mechanism=mechanism))
    boxes = [item.box() for item in drawn.items if isinstance(item, Text)]
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert top >= 0
        assert right <= drawn.width
        assert bottom <= drawn.height
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]
