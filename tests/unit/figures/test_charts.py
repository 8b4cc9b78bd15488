import math
from itertools import pairwise

import plotly.graph_objects as go
import plotly.io as pio
import pytest

from cepkit.columnar.compile.program import StepCounters
from cepkit.columnar.results.explanation import Explanation
from cepkit.figures.charts.explained import draw_explanation, step_numbers
from cepkit.figures.charts.plan_comparison import bars, draw_costs
from cepkit.figures.charts.stream_profile import draw_overview, shares
from cepkit.figures.kit.scales import Scale, log10
from cepkit.plan.checks import as_plan
from cepkit.planners import Greedy
from cepkit.planners.choose import choose_plan
from cepkit.planners.compare import compare_plans
from cepkit.statistics import Selectivity, Statistics
from tests.unit.figures.cases import SCRIPT, THREE, TWELVE, sequence

STATISTICS = Statistics(
    {"a": 5.0, "b": 4.0, "c": 0.1},
    {"c": 0.5},
    {frozenset("ab"): Selectivity(0.4, 1000), frozenset("ac"): Selectivity(0.25)},
    events=1000,
    first=0,
    last=10**8,
)


def texts_of(made):
    """All texts that plotly would read as HTML."""
    layout = made.layout.to_plotly_json()
    found = [note["text"] for note in layout.get("annotations", ())] + [layout["title"]["text"]]
    for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
        settings = layout.get(axis, {})
        found += [*settings.get("ticktext", ()), settings.get("title", {}).get("text") or ""]
    for trace in made.data:
        hover = trace.hovertext or ()
        found += [trace.name or "", *((hover,) if isinstance(hover, str) else hover)]
    return [text for text in found if text]


def test_a_scale_is_linear_where_numbers_are_alike():
    scale = Scale.of([log10(v) for v in (10, 40, 0)])
    assert not scale.logarithmic
    assert scale.place(log10(40)) == pytest.approx(40)
    assert scale.place(-math.inf) == 0


def test_scale_of_wide_values_is_logarithmic_with_a_place_for_zero():
    scale = Scale.of([log10(v) for v in (1, 10_000, 0)], room=0.2)
    assert scale.logarithmic
    assert scale.place(-math.inf) < scale.place(0.0) < scale.place(4.0) < scale.end
    assert scale.ticks[0] == (scale.begin, "0")
    assert [text for _, text in scale.ticks[1:]] == ["1", "10", "100", "1k", "10k"]


def test_scale_holds_values_beyond_floats_and_no_values():
    scale = Scale.of([2.0, 400.0])
    assert scale.place(400.0) == 400.0
    assert len(scale.ticks) <= 9
    assert scale.ticks[-1][1].startswith("1e3")
    assert Scale.of([]).end > 0


def test_comparison_of_planners_with_equal_plans_has_one_bar_per_plan_cheapest_first():
    comparison = compare_plans(THREE, STATISTICS)
    made = bars(comparison)
    names = [name for bar in made for name, _ in bar.planners]
    assert sorted(names) == sorted(row.plan.planner for row in comparison.rows)
    assert len({bar.plan for bar in made}) == len(made) < len(names)
    costs = [bar.log_cost for bar in made]
    assert costs == sorted(costs)
    (given,) = (bar for bar in made if bar.plan == "a → b → c")
    assert 10**given.log_cost == pytest.approx(comparison.rows[0].tree_cost)
    orders = bars(compare_plans(THREE, STATISTICS, ["given-order"]))
    assert 10 ** orders[0].log_cost == pytest.approx(comparison.rows[0].plan.cost)
    assert [bar.best for bar in made] == [rows[0].relative == 1 for rows in comparison.by_plan]


def test_the_comparison_tells_plan_and_cost_of_each_planner():
    comparison = compare_plans(THREE, STATISTICS)
    made = draw_costs(comparison)
    said = " ".join(texts_of(made))
    for row in comparison.rows:
        assert row.plan.planner in said
        assert str(row.plan.branches[0]) in said
    assert "best" in said
    assert len(made.data[0].x) == len(comparison.by_plan)


def test_shares():
    first, second = shares(STATISTICS)
    assert (first.variables, first.share, first.pairs) == ("a, b", 0.4, 1000)
    assert (first.low, first.high) == STATISTICS.selectivities[frozenset("ab")].interval()
    assert (second.low, second.high) == (0.25, 0.25)


def test_the_profile_has_a_bar_for_each_rate_and_an_interval_for_each_share():
    made = draw_overview(STATISTICS)
    before, after, found = made.data
    assert list(before.text) == ["5", "4", "0.1"]
    assert list(after.text) == ["5", "4", "0.05"]
    assert len(found.x) == 2
    # Two panels, one below the other.
    assert made.layout.yaxis.domain[0] > made.layout.yaxis2.domain[1]
    assert len(draw_overview(Statistics.assumed({"a": 1.0})).data) == 2
    assert "no variables" in texts_of(draw_overview(Statistics({})))


def explained(plan, factor=10):
    steps = [
        StepCounters(v, factor**i, factor**i // 3) for i, v in enumerate(plan.branches[0].order)
    ]
    return Explanation.of(plan, [steps])


def test_expected_beside_actual():
    plan = choose_plan(THREE, STATISTICS, "given-order")
    rows = step_numbers(explained(plan))
    assert [(r.step, r.what, r.actual) for r in rows] == [
        ("a", "candidates", 1), ("a", "survivors", 0), ("b", "candidates", 10),
        ("b", "survivors", 3), ("c", "candidates", 100), ("c", "survivors", 33),
    ]  # fmt: skip
    assert rows[2].expected == plan.expected[0][1].candidates
    assert rows[2].ratio == pytest.approx(10 / plan.expected[0][1].candidates)


def test_the_explanation_has_a_row_for_each_number():
    made = draw_explanation(explained(choose_plan(THREE, STATISTICS, "given-order")))
    assert [trace.name for trace in made.data] == [None, "expected", "actual"]
    places = list(made.data[2].y)
    assert len(places) == 6
    assert all(b - a >= 1 for a, b in pairwise(places))
    without = draw_explanation(explained(as_plan(None, THREE)))
    assert [trace.name for trace in without.data] == [None, "actual"]
    assert without.layout.title.text == "the work of each step, plan: given-order"
    assert without.layout.xaxis.title.text == "over the whole stream"
    assert "no steps" in texts_of(draw_explanation(Explanation(as_plan(None, THREE), ())))


def test_names_are_never_read_as_html():
    query = sequence()
    statistics = Statistics(
        {v: 10.0**i for i, v in enumerate(TWELVE)},
        selectivities={frozenset(TWELVE[:2]): Selectivity(0.1, 50)},
        events=10, first=0, last=10**9,
    )  # fmt: skip
    plan = choose_plan(query, statistics, "given-order")
    comparison = compare_plans(query, statistics, [Greedy(name=SCRIPT), "by-frequency"])
    for made in (
        draw_overview(statistics), draw_costs(comparison), draw_explanation(explained(plan)),
    ):  # fmt: skip
        for text in texts_of(made):
            left = text.replace("<b>best</b>", "").replace("<br>", "")
            assert "<b>x" not in left
            assert "<script" not in left
            assert "$" not in left


def test_the_template_of_the_session_is_left_alone_and_not_used():
    before = pio.templates.default
    made = draw_overview(STATISTICS)
    assert pio.templates.default == before
    assert made.layout.template.layout == go.Layout()
