"""Figures of queries, plans, statistics, comparisons, explanations, matches and traces.

Each file of `charts/` draws one kind of value, each of `traces/` one of a trace. Figures are
returned and never shown; the session's templates and renderers stay untouched.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from cepkit.aggregation.rows.result import Aggregates
from cepkit.calibration.result import Calibration
from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.plans import PlansInForce
from cepkit.diagnosis.result import Funnel, NearMisses, WhyNot
from cepkit.figures.charts.aggregates import draw_aggregates, draw_from_spark, is_from_spark
from cepkit.figures.charts.calibration_curve import draw_calibration
from cepkit.figures.charts.difference import draw_difference
from cepkit.figures.charts.explained import draw_explanation
from cepkit.figures.charts.funnel import draw_funnel
from cepkit.figures.charts.matches import draw_matches, is_matches
from cepkit.figures.charts.measured_plans import draw_measured
from cepkit.figures.charts.near_misses import draw_near_misses
from cepkit.figures.charts.pattern_graph import draw_pattern_graph
from cepkit.figures.charts.plan import draw_plan, draw_plans, draw_query
from cepkit.figures.charts.plan_comparison import draw_costs
from cepkit.figures.charts.plans_in_force import draw_plans_in_force
from cepkit.figures.charts.proposals import draw_learned
from cepkit.figures.charts.rate_curves import draw_what_if
from cepkit.figures.charts.search_traces import draw_searches
from cepkit.figures.charts.shared_plan import draw_shared_plans
from cepkit.figures.charts.sharing import draw_several, draw_sharing
from cepkit.figures.charts.stream_keys import draw_keys
from cepkit.figures.charts.stream_profile import draw_overview
from cepkit.figures.charts.stream_summary import draw_stream
from cepkit.figures.charts.stream_times import draw_over_time
from cepkit.figures.charts.validity import draw_validity
from cepkit.figures.charts.verdict import draw_why_not
from cepkit.figures.charts.weighed_plans import draw_tradeoff
from cepkit.figures.register import Figure, Figures
from cepkit.figures.report import write_report
from cepkit.figures.traces import TRACE_FIGURES, Player
from cepkit.learning.result import Learned
from cepkit.pattern.builder import Pattern
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.plan.validity import Validity
from cepkit.planners.compare import PlanComparison
from cepkit.planners.tradeoff import Tradeoff
from cepkit.planners.what_if import WhatIf
from cepkit.routes.result import SeveralAggregates
from cepkit.routes.sharing import SharingPlan
from cepkit.sharing.graph import PatternGraph
from cepkit.sharing.shared_plan import SharedPlan
from cepkit.statistics.model import Statistics
from cepkit.statistics.summary import StreamSummary
from cepkit.teaching.equivalence import Equivalence

__all__ = ["FIGURES", "Figure", "Player", "draw", "write_report"]

FIGURES = Figures(
    (
        Figure("automaton", (Query, Pattern), draw_query, "a pattern as an automaton"),
        Figure("plan", Plan, draw_plan, "a plan: an order as an automaton, a tree as a tree"),
        Figure("plans", Plan, draw_plans, "plans of a pattern side by side", "several"),
        Figure("overview", Statistics, draw_overview, "statistics: rates and selectivities"),
        Figure("stream", StreamSummary, draw_stream, "a stream: types over time, gaps and keys"),
        Figure("time", Statistics, draw_over_time, "statistics: rates over time"),
        Figure("keys", Statistics, draw_keys, "statistics: the most frequent keys"),
        Figure("costs", PlanComparison, draw_costs, "compared plans by their costs"),
        Figure("measured", PlanComparison, draw_measured, "what plans did against their costs"),
        Figure("search", PlanComparison, draw_searches, "how each planner came to its plan"),
        Figure("tradeoff", Tradeoff, draw_tradeoff, "throughput against latency of plans"),
        Figure("what-if", WhatIf, draw_what_if, "costs of plans as a rate changes"),
        Figure("validity", Validity, draw_validity, "how long a plan is right"),
        Figure("plans", PlansInForce, draw_plans_in_force, "rates, plan in force, and its work"),
        Figure("curve", Calibration, draw_calibration, "matches by the value of a parameter"),
        Figure("proposals", Learned, draw_learned, "proposed patterns by precision and recall"),
        Figure("steps", Explanation, draw_explanation, "expected and actual work of each step"),
        Figure("aggregates", Aggregates, draw_aggregates, "aggregates over time"),
        Figure("difference", Equivalence, draw_difference, "a stream over which patterns differ"),
        Figure("verdict", WhyNot, draw_why_not, "why events do not match"),
        Figure("funnel", Funnel, draw_funnel, "how many partial matches pass each requirement"),
        Figure("near-misses", NearMisses, draw_near_misses, "the nearest misses"),
        *TRACE_FIGURES,
        Figure("sharing", SharingPlan, draw_sharing, "what several queries share"),
        Figure("sharing", SeveralAggregates, draw_several, "what several queries share"),
        Figure("common", PatternGraph, draw_pattern_graph, "what patterns have in common"),
        Figure("shared-plan", SharedPlan, draw_shared_plans, "what plans share", "any number"),
        Figure("aggregates", is_from_spark, draw_from_spark, "aggregates over time"),
        Figure("matches", is_matches, draw_matches, "matches in time"),
    )
)
"""Every figure; the first one of a kind of value is the default."""


def draw(value: object, *, of: str | None = None, **options: Any) -> go.Figure | Player:
    """Return a figure of a value; it is returned, not shown.

    Args:
        value: The value to draw: see `FIGURES`; plans and traces also as a list of several.
        of: Which figure, if there are several for such a value.
        **options: The options of the figure: the parameters of its function.

    Raises:
        CepkitError: There is no figure for such a value, or the figure has no such option.
    """
    return FIGURES.draw(value, of, options)
