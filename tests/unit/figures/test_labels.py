import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.figures.kit.key import KeyRow, add_key, mark_of
from cepkit.figures.kit.labels import GAP, HEIGHT, RADIUS, Point, shifts, spread
from cepkit.figures.kit.scales import Scale, log10
from cepkit.figures.kit.style import figure
from tests.unit.figures.cases import SCRIPT

PLOT = 300
POINTS = st.lists(
    st.builds(Point, st.integers(0, 380), st.integers(10, 290), st.sampled_from([10, 40, 90])),
    min_size=1,
    max_size=8,
    unique=True,
)


@given(POINTS, st.sampled_from([1.0, 1.3, 2.0, 4.0]))
def test_labels_lie_on_nothing_however_wide_the_figure_becomes(points, wider):
    moved = [Point(p.x * wider, p.y, p.width) for p in points]
    labels = [
        (p.x + GAP, p.y + shift - HEIGHT / 2, p.x + GAP + p.width, p.y + shift + HEIGHT / 2)
        for p, shift in zip(moved, shifts(points, PLOT), strict=True)
    ]
    marks = [(p.x - RADIUS, p.y - RADIUS, p.x + RADIUS, p.y + RADIUS) for p in moved]
    for one, other in combinations(labels, 2):
        assert not overlap(one, other)
    for i, label in enumerate(labels):
        assert not any(overlap(label, mark) for j, mark in enumerate(marks) if i != j)


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def test_a_label_stands_beside_its_point_where_there_is_room():
    assert shifts([Point(10, 150, 30), Point(200, 150, 30)], PLOT) == [-6, -6]
    assert shifts([Point(10, 0, 30)], PLOT)[0] > 0  # else it would leave the plot


@given(st.lists(st.floats(0, PLOT), max_size=12))
def test_ends_of_lines_are_named_apart_and_in_their_order(places):
    found = spread(places, PLOT)
    order = sorted(range(len(places)), key=places.__getitem__)
    for before, after in pairwise(order):
        assert found[after] - found[before] >= HEIGHT - 1e-9
    assert all(place <= PLOT for place in found)


def test_ends_that_are_apart_stay_where_they_are():
    assert spread([200, 20, 100], PLOT) == [200, 20, 100]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([103.0, 103.1], ["102.5", "103.0", "103.5", "104.0"]),
        ([120, 900], ["200", "500", "1k"]),
        ([1, 100], ["1", "3", "10", "30", "100"]),
        ([5, 2_000_000], ["10", "100", "1k", "10k", "100k", "1M"]),
        ([200_000, 3_000_000], ["300k", "1M", "3M"]),
        ([1.68e11, 1.681e11], ["167B", "168B", "169B"]),
        ([7], ["5", "7", "10"]),
        ([0, 3, 4], ["0", "3.0", "3.5", "4.0"]),
    ],
)
def test_a_scale_of_powers_has_ticks_however_alike_numbers_are(values, texts):
    scale = Scale.of_powers(map(log10, values), room=0.2)
    assert scale.logarithmic
    assert [text for _, text in scale.ticks] == texts
    assert scale.share(scale.place(log10(max(values)))) <= 0.8
    assert all(0 <= scale.share(place) <= 1 for place, _ in scale.ticks)


def test_scale_of_powers_holds_no_values_zero_and_values_beyond_floats():
    assert Scale.of_powers([]).ticks
    assert Scale.of_powers([-math.inf]).ticks[0][1] == "0"
    assert [text for _, text in Scale.of_powers([400.1, 400.2]).ticks][1] == "1.41e400"


def test_marks_differ():
    marks = [mark_of(i) for i in range(28)]
    assert len({(m.colour, m.dash) for m in marks}) == 28
    assert len({(m.colour, m.symbol) for m in marks}) == 28
    assert [mark_of(i).letter for i in (0, 25, 26, 27)] == ["A", "Z", "AA", "AB"]


def test_a_key_makes_room_for_its_rows():
    made = figure("title", 400)
    add_key(made, [KeyRow("short", "text"), KeyRow("long", "word " * 200), KeyRow(SCRIPT)], axis=50)
    first, second, third = made.layout.annotations
    assert made.layout.height - made.layout.margin.b == 400 - 40
    assert made.layout.margin.b > 50 + 14 * 5
    assert 0 > first.yshift > second.yshift > third.yshift > -made.layout.margin.b
    assert "text" in first.text
    assert second.text.count("<br>") == 3
    assert second.text.endswith("…")
    assert "<script" not in third.text
