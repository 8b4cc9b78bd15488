"""Plans follow the numbers: the app shows the planners' plans, and its code gives them again."""

from __future__ import annotations

import itertools
import math
import re

import pytest

import cepkit as ck
from cepkit_widgets import PlanExplorer
from cepkit_widgets.kit.parts import STEPS
from cepkit_widgets.plan_explorer.outlook import Outlook
from cepkit_widgets.plan_explorer.state import ExplorerState, quick_planners

TEXT = """PATTERN SEQ(A a, B b, C c)
WHERE a.x < b.x AND b.x < c.x
WITHIN 10 seconds"""
KNOWN = ck.Statistics.assumed(
    {"a": 5.0, "b": 2.0, "c": 0.1}, {("a", "b"): 0.5, ("b", "c"): 0.2}, span_seconds=600
)
START = ExplorerState.of(TEXT, KNOWN)


def told(app, **message):
    """Send a message as the page does when its reader clicks or types."""
    app._asked(app, {**message, "n": app._answered + 1}, [])


@pytest.fixture(scope="module")
def stream():
    frame = ck.sample_stocks(3000)
    return ck.events(frame, time="ts", type="ticker")


STOCKS = "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WHERE a.price < b.price WITHIN 3 minutes"


def test_parameters_are_rates_selectivities_window_and_alpha():
    names = [p.name for p in START.parameters]
    assert names == [
        "rate:a", "rate:b", "rate:c", "selectivity:a,b", "selectivity:b,c", "window",
    ]  # fmt: skip
    assert [p.label for p in START.parameters][:1] == ["rate of A a"]
    assert "alpha" in [p.name for p in START.by("blend").parameters]


@pytest.mark.parametrize("name", [p.name for p in START.by("blend").parameters])
def test_sliders_reach_the_measured_value_and_both_ends(name):
    parameter = START.by("blend").parameter(name)
    assert parameter.at(parameter.position(parameter.measured)) == parameter.measured
    for end in (0.0, 1.0):
        assert parameter.position(parameter.at(end)) == pytest.approx(end)
        parameter.check(parameter.at(end))


def test_planners_get_the_moved_numbers():
    state = START.at("rate:c", 50.0).at("selectivity:b,c", 0.01).at("window", 60.0)
    assert state.statistics.rates["c"] == 50.0
    assert state.statistics.selectivity("b", "c") == 0.01
    assert str(state.query_now).endswith("WITHIN 1 minute")
    expected = ck.compare_plans(
        TEXT.replace("10 seconds", "1 minute"),
        KNOWN.with_rate("c", 50.0).with_selectivity("b", "c", 0.01),
    )
    assert [row.plan.branches for row in state.compare().rows] == [
        row.plan.branches for row in expected.rows
    ]
    assert state.reset() == START
    assert START.at("rate:c", 50.0).at("rate:c", 0.1) == START


@pytest.mark.parametrize("name", ["rate:a", "rate:c", "selectivity:a,b", "window"])
def test_the_best_plan_changes_at_a_crossing_and_not_before(name):
    comparison = START.compare()
    parameter = START.parameter(name)
    crossings = START.crossings(comparison, name)
    here = parameter.position(parameter.measured)
    best = comparison.best

    def lead(position):
        """By how much the best plan is cheaper, as a logarithm: as trees, of like ones as such."""
        state = START.at(name, parameter.at(position))
        found = state.compare()
        least = min(found.log_cost(row) for row in found.rows)
        as_trees = state.log_cost(best.branches, as_trees=True) - least
        if as_trees > 1e-6:
            return as_trees
        return state.log_cost(best.branches, as_trees=False) - found.best.log_cost

    reach = {crossing.above: parameter.position(crossing.value) for crossing in crossings}
    for above, end in ((False, 0.0), (True, 1.0)):
        to = reach.get(above, end)
        for share in (0.25, 0.5, 0.75, 0.98):
            assert lead(here + (to - here) * share) < 1e-6
        if above in reach and abs(end - to) > 0.02:
            assert lead(to + (end - to) * 0.02) > 1e-9


def test_orders_that_tie_as_trees_cross_where_the_comparison_takes_the_other():
    known = ck.Statistics.assumed({"a": 5.0, "b": 2.0}, span_seconds=600)
    state = ExplorerState.of("PATTERN SEQ(A a, B b) WITHIN 10 seconds", known)
    (crossing,) = state.crossings(state.compare(), "rate:a")
    assert crossing.value == pytest.approx(2.0, rel=0.05)
    assert not crossing.above
    below = state.at("rate:a", 0.9 * crossing.value).compare()
    assert below.best.branches != state.compare().best.branches


def test_some_numbers_have_crossings():
    comparison = START.compare()
    found = [c for p in START.parameters for c in START.crossings(comparison, p.name)]
    assert {"rate:a", "selectivity:a,b"} <= {c.parameter for c in found}


def test_moved_statistics_keep_the_sample_of_joins(stream):
    pattern = ck.parse(STOCKS + " ")
    known = ck.profile(stream, pattern)
    assert known.joins
    state = ExplorerState.of(pattern, known)
    for name in ("window", "selectivity:a,b"):
        value = state.parameter(name).measured * (1 + 1e-7)
        near = state.at(name, value).compare(["dp-order"])
        here = state.compare(["dp-order"])
        assert near.best.branches == here.best.branches
        assert near.best.log_cost == pytest.approx(here.best.log_cost, abs=1e-4)


def test_code_of_the_explorer_gives_its_plan(stream):
    known = ck.profile(stream, STOCKS)
    state = ExplorerState.of(STOCKS, known)
    for moved in (
        state,
        state.at("rate:a", 0.001).at("selectivity:a,b", 0.9).at("window", 20.0),
        state.by("blend").at("alpha", 3.0).at("rate:b", 9.0),
    ):
        seen = moved.compare().plan("dp-tree")
        names = {"measured": known}
        exec(moved.as_code("dp-tree", "measured"), names)
        assert names["plan"].branches == seen.branches
        assert names["plan"].log_cost == pytest.approx(seen.log_cost)


def test_hostile_names_stay_text_in_code_and_page():
    first = ck.builder.event("a", '<b>"""\\')
    query = ck.builder.seq(first, ck.builder.event("b", "B")).where("a.x < b.x").within("1 s").query
    app = PlanExplorer(query, ck.Statistics.assumed({"a": 1.0, "b": 2.0}, {("a", "b"): 0.1}))
    assert "<b>" not in app.html
    names = {"statistics": app.outlook.state.measured}
    exec(app.as_code(), names)
    assert names["pattern"] == query


def test_slow_planners_wait_until_the_reader_rests():
    comparison = START.compare()
    slowest = max(comparison.rows, key=lambda row: row.seconds).plan.planner
    least = sum(row.seconds for row in comparison.rows) * 0.999
    assert slowest not in quick_planners(comparison, least)
    assert set(quick_planners(comparison, 60.0)) == {r.plan.planner for r in comparison.rows}
    assert len(quick_planners(comparison, 0.0)) == 1


def test_planners_that_wait_keep_their_plan_at_its_cost_of_now():
    start = Outlook(START, START.compare())
    state = START.at("rate:a", 500.0)
    outlook = start.moved_to(state, state.compare(["given-order", "greedy"]))
    assert [row.plan.planner for row in outlook.comparison.rows] == list(ck.planners.PLANNERS)
    kept = outlook.comparison.plan("dp-tree")
    assert kept.branches == start.comparison.plan("dp-tree").branches
    assert kept.log_cost == pytest.approx(state.log_cost(kept.branches, as_trees=True))
    assert min(row.relative for row in outlook.comparison.rows) == 1.0


def test_pinned_plan_stays_with_its_cost_under_new_numbers():
    outlook = Outlook(START, START.compare()).pin("A", "given-order")
    state = START.at("rate:c", 10.0)
    moved = outlook.moved_to(state, state.compare())
    assert str(moved.shown["A"].branches[0]) == "a → b → c"
    assert moved.shown["A"].log_cost == pytest.approx(
        state.log_cost(moved.shown["A"].branches, as_trees=False)
    )
    assert moved.unpin("A").shown["A"].planner != "given-order"


def test_outlook_names_plans_changed_by_the_last_move():
    outlook = Outlook(START, START.compare())
    assert not any(outlook.changed(row.plan.planner) for row in outlook.comparison.rows)
    state = START.at("rate:c", 100.0)
    moved = outlook.moved_to(state, state.compare())
    assert moved.changed("by-frequency") == outlook.comparison.plan("by-frequency").branches
    assert moved.changed("given-order") is None


def test_planners_with_the_same_plan_share_a_row():
    app = PlanExplorer(TEXT, KNOWN)
    groups = app.outlook.comparison.by_plan
    plans = [group[0].plan.branches for group in groups]
    assert len(set(plans)) == len(plans) < len(app.outlook.comparison.rows)
    assert sorted(row.plan.planner for group in groups for row in group) == sorted(
        ck.planners.PLANNERS
    )
    assert app.html.count('data-do="pinA"') == len(groups) + 1
    assert app.html.count('data-do="choose"') == len(ck.planners.PLANNERS)
    told(app, do="step", value="End")
    assert app.plan.branches == plans[-1]
    told(app, do="step", value="Home")
    assert app.plan.branches == plans[0]


def test_the_app_follows_its_reader():
    app = PlanExplorer(TEXT, KNOWN)
    assert app.error is None
    assert "another plan is best" in app.html
    told(app, set="rate:c", value=str(STEPS))
    assert app.statistics.rates["c"] == pytest.approx(10.0)
    assert "changed" in app.html
    assert app.wait()
    told(app, do="choose", value="zstream")
    assert app.plan.planner == "zstream"
    told(app, do="step", value="End")
    assert app.plan.branches == app.outlook.comparison.by_plan[-1][0].plan.branches
    told(app, set="cost", value="blend")
    told(app, set="alpha", value="0")
    assert app.outlook.state.model.alpha == 0
    told(app, do="reset")
    assert app.statistics == KNOWN
    assert app.wait()
    assert set(app.crossings.columns) == {"parameter", "value", "above"}


def test_both_plans_run_on_the_sample(stream):
    app = PlanExplorer(STOCKS, ck.profile(stream, STOCKS), stream=stream, events=1500)
    ran = app.run()
    assert list(ran.side) == ["A", "B"]
    expected = ck.detect(stream.head(1500), STOCKS).count()
    assert list(ran.matches) == [expected, expected]
    assert "≈" not in app.html
    app.refresh()
    assert f">{expected:,}<" in app.html
    assert "≈" in app.html
    app.move("rate:a", 1.0)
    assert "≈" not in app.html


def test_run_after_a_move_expects_what_the_stream_has(stream):
    app = PlanExplorer(STOCKS, ck.profile(stream, STOCKS), stream=stream, events=1500)
    for side in "AB":
        told(app, do=f"pin{side}", value="given-order")

    def expected():
        app.run()
        app.refresh()
        return re.findall("≈ [^<]*", app.html)

    as_measured = expected()
    assert as_measured
    assert "not as the sliders have it" not in app.html
    app.move("rate:a", 50 * app.statistics.rates["a"])
    assert expected() == as_measured
    assert "expected of the stream as it is, not as the sliders have it" in app.html


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"set": "rate:zz", "value": "3"}, "there is no"),
        ({"do": "choose", "value": "no-planner"}, "no plan of"),
        ({"do": "run"}, "run=True without a stream"),
        ({"set": "cost", "value": "<i>"}, "there is no cost model"),
        ({"set": "rate:a", "value": "much"}, "could not convert"),
        ({"set": "rate:a", "value": "nan"}, "rate of A a is nan"),
    ],
)
def test_a_wrong_input_becomes_the_text_of_its_error(message, words):
    app = PlanExplorer(TEXT, KNOWN)
    told(app, **message)
    assert words in str(app.error)
    assert 'role="alert"' in app.html
    assert "<i>" not in app.html
    told(app, do="reset")
    assert app.error is None
    assert 'role="alert"' not in app.html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("PATTERN SEQ(A a,", KNOWN), "Hint"),
        ((TEXT, "statistics"), "instead of statistics"),
        ((TEXT.replace("C c", "D d").replace("c.x", "d.x"), KNOWN), "d"),
    ],
)
def test_explorer_shows_an_error_for_wrong_arguments(arguments, words):
    app = PlanExplorer(*arguments)
    assert words in app.html
    assert app.plan is app.statistics is None
    with pytest.raises(ck.CepkitError):
        app.as_code()
    told(app, do="reset")
    assert "nothing to explore" in app.html


def test_explorer_without_a_kernel_is_static_and_says_so():
    app = PlanExplorer(TEXT, KNOWN)
    data, _ = app._repr_mimebundle_()
    html = data["text/html"]
    assert "need a running notebook" in html
    assert "<fieldset disabled>" in html
    assert "<svg" in html
    assert not re.search(r"https?://(?!www\.w3\.org)", html)
    assert repr(app) == data["text/plain"]


def test_a_plan_that_costs_nothing_is_no_trouble():
    known = ck.Statistics.assumed({"a": 0.0, "b": 2.0, "c": 0.1}, {("a", "b"): 0.0})
    app = PlanExplorer(TEXT, known)
    assert app.error is None
    app.move("rate:a", 1e-3)
    assert app.wait()
    assert app.error is None
    assert math.isfinite(app.statistics.rates["a"])


@pytest.mark.slow
def test_many_variables_open_before_their_cross_overs_are_known():
    names = "abcdefghij"
    events = ", ".join(f"T{v} {v}" for v in names)
    conditions = " AND ".join(f"{x}.x < {y}.x" for x, y in itertools.pairwise(names))
    known = ck.Statistics.assumed(
        {v: 0.02 * (i % 5 + 1) for i, v in enumerate(names)},
        dict.fromkeys(itertools.pairwise(names), 0.3),
    )
    app = PlanExplorer(f"PATTERN SEQ({events}) WHERE {conditions} WITHIN 60 seconds", known)
    assert app.error is None
    assert app.wait(300)
    assert app.outlook.resting
    assert len(app.crossings)
