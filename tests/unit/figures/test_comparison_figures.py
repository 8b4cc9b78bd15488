import math
from dataclasses import replace

import pytest

import cepkit as ck
from cepkit.columnar.results.measuring import run_plans
from cepkit.costs import Blend
from cepkit.errors import CepkitError
from cepkit.figures import draw
from cepkit.figures.charts.measured_plans import measured_plans, rank_correlation
from cepkit.figures.charts.search_traces import traces
from cepkit.figures.charts.weighed_plans import ways
from cepkit.plan.logarithms import log_text
from cepkit.planners import DpTree, IterativeImprovement
from cepkit.planners.compare import compare_plans
from cepkit.planners.cross_overs import cheapest_at
from cepkit.planners.tradeoff import weigh
from cepkit.planners.what_if import what_if
from cepkit.statistics.model import Statistics
from tests.unit.costs.cases import choice, conjunction, query, repeated, seq
from tests.unit.figures.cases import ROWS, THREE, events_of
from tests.unit.figures.test_charts import STATISTICS, texts_of

RATES = {"a": 5.0, "b": 3.0, "c": 2.0, "d": 8.0, "e": 0.3}
FIVE = query(seq(*"abcde"), seconds=10)
KNOWN = Statistics.assumed(RATES, {("a", "b"): 0.05, ("c", "d"): 0.01, ("b", "e"): 0.2})
EITHER = query(seq("a", choice("b", conjunction("c", "d")), "e"), seconds=10)


def run(comparison):
    return run_plans(comparison, events_of(ROWS))


def said(made):
    return " ".join(texts_of(made))


def test_a_comparison_has_three_figures_and_refuses_others_by_name():
    comparison = compare_plans(THREE, STATISTICS)
    for of, title in (("costs", "cost of the plans"), ("search", "searches")):
        assert title in said(draw(comparison, of=of))
    with pytest.raises(CepkitError, match=r"no figure 'searches'(.|\n)*did you mean 'search'"):
        draw(comparison, of="searches")
    with pytest.raises(CepkitError, match=r"no option 'by='"):
        draw(comparison, of="search", by="work")
    with pytest.raises(CepkitError, match=r"were not run(.|\n)*run=True"):
        draw(comparison, of="measured")


def test_a_planner_that_refuses_is_named_below_the_bars():
    comparison = compare_plans(FIVE, KNOWN, ["greedy", DpTree(seconds=1e-12)])
    assert "dp-tree refused" in said(draw(comparison))
    assert (
        draw(comparison).layout.height > draw(compare_plans(FIVE, KNOWN, ["greedy"])).layout.height
    )


def test_a_plan_has_the_same_cost_in_table_and_figure():
    comparison = compare_plans(FIVE, KNOWN)
    texts = said(draw(comparison))
    for row, cells in zip(comparison.rows, str(comparison).splitlines()[2:], strict=False):
        assert log_text(row.log_tree_cost) in texts
        assert log_text(row.log_tree_cost) in cells.split()
    assert "as an order" not in texts


def test_equal_plans_are_one_point_and_name_all_who_found_them():
    comparison = run(compare_plans(THREE, STATISTICS))
    plans = measured_plans(comparison)
    assert sorted(p for plan in plans for p in plan.planners) == sorted(
        row.plan.planner for row in comparison.rows
    )
    assert len({plan.plan for plan in plans}) == len(plans) < len(comparison.rows)
    costs = [plan.log_cost for plan in plans]
    assert costs == sorted(costs)
    # c → a → b and (c ⋈ a) ⋈ b are the same work.
    best = next(plan for plan in plans if "greedy" in plan.planners)
    assert {"greedy", "zstream-ord"} <= set(best.planners)
    made = draw(comparison, of="measured")
    assert len(made.data[0].x) == len(plans)
    assert "greedy" in said(made)
    assert "measured on the first 5 events" in said(made)


def test_measured_figure_shows_the_chosen_measure():
    comparison = run(compare_plans(THREE, STATISTICS, ["given-order", "greedy"]))
    done = {row.plan.planner: row.measured for row in comparison.rows}
    for by, value in (
        ("work", lambda m: m.candidates + 3 * m.partial_matches),
        ("candidates", lambda m: m.candidates),
        ("partial-matches", lambda m: m.partial_matches),
        ("seconds", lambda m: m.seconds),
    ):
        for plan in measured_plans(comparison, by):
            assert plan.value == value(done[plan.planners[0]])
    with pytest.raises(CepkitError, match=r"no measure 'second'(.|\n)*did you mean 'seconds'"):
        draw(comparison, of="measured", by="second")


def test_rank_correlation_is_that_of_the_order_of_plans():
    comparison = run(compare_plans(THREE, STATISTICS, ["given-order", "greedy"]))
    one = measured_plans(comparison)[0]

    def plans(*pairs):
        return [replace(one, log_cost=cost, value=value) for cost, value in pairs]

    assert rank_correlation(plans((1, 10), (2, 30), (3, 1000))) == pytest.approx(1)
    assert rank_correlation(plans((1, 10), (2, 5), (3, 1))) == pytest.approx(-1)
    # Equal ones share a rank: 1, 2.5, 2.5 against 1, 2, 3.
    assert rank_correlation(plans((1, 1), (2, 2), (2, 3))) == pytest.approx(math.sqrt(0.75))
    assert rank_correlation(plans((1, 1), (2, 2), (3, None))) is None
    assert rank_correlation(plans((1, 7), (2, 7), (3, 7))) is None


def test_plans_that_were_not_run_are_named_with_the_reason():
    comparison = compare_plans(THREE, STATISTICS, ["given-order", "by-frequency", "greedy"])
    stream = events_of(ROWS)
    costs = [sum(step.candidates for step in row.plan.expected[0]) for row in comparison.rows]
    share = len(ROWS) / STATISTICS.events
    some = run_plans(comparison, stream, most_work=share * (min(costs) + max(costs)) / 2)
    made = draw(some, of="measured")
    assert "not run: " in said(made)
    assert 0 < len(made.data[0].x) < len(measured_plans(some))
    none = run_plans(comparison, stream, most_work=0)
    assert "no plan was run" in said(draw(none, of="measured"))


def test_a_search_is_followed_by_the_cost_of_its_best_plan():
    comparison = compare_plans(FIVE, KNOWN)
    found = traces(comparison)
    assert [trace.planner for trace in found] == [row.plan.planner for row in comparison.rows]
    for trace, row in zip(found, comparison.rows, strict=True):
        assert trace.log_costs[-1] == pytest.approx(row.log_tree_cost / math.log(10))
        assert list(trace.at) == sorted(trace.at)
        assert list(trace.log_costs) == sorted(trace.log_costs, reverse=True)
        assert trace.end >= trace.at[-1]
        assert trace.plan == str(row.plan.branches[0])
    by_name = {trace.planner: trace for trace in found}
    assert len(by_name["dp-tree"].at) == 1
    assert len(by_name["ii-random"].at) > 1
    by_time = traces(comparison, "seconds")
    assert by_time[0].end == comparison.rows[0].observed[0][-1].seconds
    assert len(draw(comparison, of="search").data) == 2 * len(found)
    assert "seconds" in said(draw(comparison, of="search", over="seconds"))


def test_searches_that_end_alike_share_a_place():
    equal = compare_plans(
        query(conjunction(*"abc"), seconds=10), Statistics.assumed(dict.fromkeys("abc", 1.0))
    )
    made = draw(equal, of="search")
    letters = [note.text for note in made.layout.annotations if note.xshift == 6]
    assert letters == ["<b>A–J</b>"]
    different = [
        note.text
        for note in draw(compare_plans(FIVE, KNOWN), of="search").layout.annotations
        if note.xshift == 6
    ]
    assert "<b>A</b>" in different
    assert "<b>C E</b>" in different


def test_a_search_by_a_model_with_settings_is_costed_by_it():
    blend = Blend(0.7)
    search = IterativeImprovement("mine", greedy=False, starts=2)
    comparison = compare_plans(FIVE, KNOWN, [search], blend)
    (trace,) = traces(comparison)
    assert trace.log_costs[-1] == pytest.approx(comparison.rows[0].plan.log_cost / math.log(10))


def test_search_figure_of_an_or_shows_its_largest_branch():
    comparison = compare_plans(EITHER, KNOWN)
    assert traces(comparison) == traces(comparison, branch=2)
    assert "branch 2 of 2" in said(draw(comparison, of="search"))
    assert "branch 1 of 2" in said(draw(comparison, of="search", branch=1))
    with pytest.raises(CepkitError, match=r"no branch 3(.|\n)*1 to 2"):
        draw(comparison, of="search", branch=3)
    with pytest.raises(CepkitError, match="over 'time'"):
        draw(comparison, of="search", over="time")


def test_plans_of_equal_cost_are_one_point_with_all_their_alphas():
    weighed = weigh(FIVE, KNOWN, ["given-order", "dp-order", "dp-tree"], [0, 0.1, 1, 10])
    spots, lines = ways(weighed)
    assert [way.planner for way in lines] == ["given-order", "dp-order", "dp-tree"]
    assert len(lines[0].spots) == 1
    given_order = spots[lines[0].spots[0]]
    assert given_order.choices[0].alphas == "0 to 10"
    assert sum(len(spot.choices) for spot in spots) >= sum(len(set(way.spots)) for way in lines)
    for way in lines:
        assert spots[way.spots[0]].choices
    best = {(row.log_partial_matches, row.log_latency) for row in weighed.rows if row.best}
    assert sum(spot.best for spot in spots) == len(best)
    text = said(draw(weighed))
    assert "as alpha grows" in text
    assert "dp-tree" in text


def test_alphas_that_do_not_follow_each_other_are_listed():
    weighed = weigh(FIVE, KNOWN, ["given-order"], [0, 1, 2, 3, 4])
    rows = [replace(row, log_latency=float(row.alpha in (1, 4)), best=True) for row in weighed.rows]
    spots, lines = ways(replace(weighed, rows=tuple(rows)))
    assert [spot.choices[0].alphas for spot in spots] == ["0, 2 to 3", "1, 4"]
    assert lines[0].spots == (0, 1, 0, 1)


def test_orders_and_trees_are_weighed_by_the_same_cost():
    weighed = weigh(FIVE, KNOWN, ["zstream-ord", "dp-order", "dp-tree"], [0])
    costs = {row.planner: row.log_partial_matches for row in weighed.rows}
    assert costs["dp-tree"] <= costs["dp-order"] + 1e-9
    alone = weigh(FIVE, KNOWN, ["dp-order"], [0])
    assert alone.rows[0].log_partial_matches < costs["dp-order"]


def test_curves_that_are_the_same_are_one_line():
    comparison = compare_plans(FIVE, KNOWN)
    asked = what_if(FIVE, KNOWN, [row.plan for row in comparison.rows], "e")
    curves = asked.lines()
    assert len(curves) < len(asked.curves)
    assert sum(len(curve.planners) for curve in curves) == len(asked.curves)
    made = draw(asked)
    assert "now 0.3" in said(made)
    for curve in curves:
        assert curve.plans[0] in said(made)


def test_cross_overs_are_where_both_cost_the_same():
    both = query(conjunction("a", "b", "c"), seconds=10)
    statistics = Statistics.assumed({"a": 2, "b": 3, "c": 0.5})
    plans = [ck.choose_plan(both, statistics.with_rate("c", rate)) for rate in (0.5, 50)]
    assert [str(plan.branches[0]) for plan in plans] == ["c → a → b", "a → b → c"]
    asked = what_if(both, statistics, plans, "c")
    # The one costs 10 c + 200 c, the other 20 + 600, and both the matches 6000 c.
    (crossing,) = asked.cross_overs()
    assert crossing.rate == pytest.approx(620 / 210, rel=1e-9)
    assert (crossing.below, crossing.above) == (0, 1)
    assert 10**crossing.log_cost == pytest.approx(620 + 6000 * 620 / 210)
    assert "2.95" in said(draw(asked))


def test_rates_above_the_plot_stand_in_two_rows_where_they_are_near():
    both = query(conjunction("a", "b", "c"), seconds=10)
    statistics = Statistics.assumed({"a": 2, "b": 3, "c": 2.9})
    plans = [ck.choose_plan(both, statistics.with_rate("c", rate)) for rate in (0.5, 50)]
    made = draw(what_if(both, statistics, plans, "c"))
    shifts = {
        note.text: note.yshift for note in made.layout.annotations if note.yanchor == "bottom"
    }
    assert shifts["now 2.9"] != shifts["2.952"]


def test_costs_of_zero_and_beyond_floats_can_be_drawn():
    never = KNOWN.with_rate("e", 0)
    comparison = compare_plans(FIVE, never)
    asked = what_if(FIVE, never, [row.plan for row in comparison.rows], "e", [0, 1, 10])
    one = what_if(FIVE, never, [comparison.best], "e", [1])
    assert cheapest_at(asked.lines(), 0) >= 0
    huge = query(conjunction(repeated("a"), *"bcd"), seconds=1000)
    overflowing = compare_plans(huge, KNOWN)
    assert overflowing.best.cost == math.inf
    for thing in (
        comparison, asked, one, overflowing, weigh(FIVE, never), weigh(huge, KNOWN),
        what_if(huge, KNOWN, [row.plan for row in overflowing.rows], "a"),
        weigh(FIVE, KNOWN, ["greedy"], [0]), compare_plans(query(seq("a", "b")), KNOWN),
    ):  # fmt: skip
        made = draw(thing)
        assert made.layout.title.text
        finite = [v for trace in made.data for v in (*trace.x, *trace.y)]
        assert all(math.isfinite(v) for v in finite)
    for of in ("costs", "search"):
        for each in (comparison, overflowing):
            assert draw(each, of=of).data


def test_orders_beside_trees_say_by_which_rule_their_cost_counts():
    comparison = compare_plans(THREE, STATISTICS, ["greedy", "dp-tree"])
    order, tree = (row.plan for row in comparison.rows)
    texts = said(draw([order, tree]))
    assert f"cost {log_text(order.log_cost)} as an order" in texts
    assert f"cost {log_text(tree.log_cost)} as a tree" in texts
    assert "as a" not in said(draw([order, order]))
