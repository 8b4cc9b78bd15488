"""Figures of queries, plans, statistics, comparisons, explanations and matches.

Each file computes what is drawn (plain values, which tests read) and draws it. Figures are
returned and never shown; no template or renderer of the session is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from cepkit.aggregation.rows.result import Aggregates
from cepkit.aggregation.tracing.trace import CounterTrace
from cepkit.automata.trace import Trace
from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.matches import Matches
from cepkit.diagnosis.result import Funnel, NearMisses, WhyNot
from cepkit.errors import CepkitError, TraceError
from cepkit.figures.charts.aggregates import draw_aggregates, draw_from_spark, is_from_spark
from cepkit.figures.charts.counter_table import draw_counter_table
from cepkit.figures.charts.counters import draw_counters
from cepkit.figures.charts.explained import draw_explanation
from cepkit.figures.charts.funnel import draw_funnel
from cepkit.figures.charts.matches import draw_matches, is_matches
from cepkit.figures.charts.measured_plans import draw_measured
from cepkit.figures.charts.mechanism import draw_mechanism
from cepkit.figures.charts.near_misses import draw_near_misses
from cepkit.figures.charts.plan import draw_plan, draw_plans, draw_query
from cepkit.figures.charts.plan_comparison import draw_costs
from cepkit.figures.charts.rate_curves import draw_what_if
from cepkit.figures.charts.search_traces import draw_searches
from cepkit.figures.charts.sharing import draw_several, draw_sharing
from cepkit.figures.charts.stream_profile import draw_statistics
from cepkit.figures.charts.verdict import draw_verdict
from cepkit.figures.charts.weighed_plans import draw_tradeoff
from cepkit.figures.player import Player, Traces
from cepkit.figures.report import write_report
from cepkit.pattern.builder import Pattern, as_query
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.planners.compare import PlanComparison
from cepkit.planners.tradeoff import Tradeoff
from cepkit.planners.what_if import WhatIf
from cepkit.routes.several import Several, SharingPlan
from cepkit.statistics.model import Statistics

__all__ = [
    "Player",
    "draw",
    "draw_aggregates",
    "draw_comparison",
    "draw_costs",
    "draw_counter_table",
    "draw_counters",
    "draw_explanation",
    "draw_funnel",
    "draw_matches",
    "draw_measured",
    "draw_mechanism",
    "draw_near_misses",
    "draw_plan",
    "draw_plans",
    "draw_query",
    "draw_searches",
    "draw_several",
    "draw_sharing",
    "draw_statistics",
    "draw_tradeoff",
    "draw_verdict",
    "draw_what_if",
    "write_report",
]


def _draw_plan(plan: Plan, pattern: Any = None, **options: Any) -> go.Figure:
    return draw_plan(plan, None if pattern is None else as_query(pattern), **options)


def _draw_plans(plans: Sequence[Plan], pattern: Any = None, **options: Any) -> go.Figure:
    return draw_plans(plans, None if pattern is None else as_query(pattern), **options)


def _draw_pattern(pattern: Pattern, **options: Any) -> go.Figure:
    return draw_query(pattern.query, **options)


COMPARISONS: dict[str, Callable[..., go.Figure]] = {
    "costs": draw_costs,
    "measured": draw_measured,
    "search": draw_searches,
}
"""What can be seen of a comparison of plans."""


def draw_comparison(comparison: PlanComparison, of: str = "costs", **options: Any) -> go.Figure:
    """Return a figure of compared plans; it is returned, not shown.

    Args:
        comparison: From `compare_plans`.
        of: "costs" as bars; "measured", what plans did against what they cost; "search", how
            each planner came to its plan.
        **options: ``by=`` of "measured"; ``over=`` and ``branch=`` of "search".

    Raises:
        CepkitError: A comparison has no such figure, or the plans were not run.
    """
    if of not in COMPARISONS:
        found = f"a comparison of plans has no figure of '{of}'"
        raise CepkitError.unknown(found, of, COMPARISONS, option="of= ")
    return COMPARISONS[of](comparison, **options)


def _draw_why_not(why: WhyNot) -> go.Figure:
    return draw_verdict(why) if why.events else draw_funnel(why.funnel, why.reason)


def _draw_traces(
    traces: Traces,
    *,
    kind: Literal["player", "diagram", "counters"] = "player",
    **options: Any,
) -> go.Figure | Player:
    match kind:
        case "player":
            return Player(traces, **options)
        case "diagram" if len(traces) == 1:
            [trace] = traces
            if isinstance(trace, CounterTrace):
                return draw_counter_table(trace, **options)
            return draw_mechanism(trace, **options)
        case "counters":
            return draw_counters(traces, **options)
    raise TraceError(
        f"no figure of the kind {kind!r} of {len(traces)} traces",
        expected="'player', 'counters', or 'diagram' of one trace",
    )


def _draw_trace(trace: Trace, **options: Any) -> go.Figure | Player:
    return _draw_traces([trace], **options)


def _draw_counter_trace(trace: CounterTrace, **options: Any) -> go.Figure | Player:
    return _draw_traces([trace], **options)


FIGURES: dict[type, Callable[..., go.Figure | Player]] = {
    Query: draw_query,
    Pattern: _draw_pattern,
    Plan: _draw_plan,
    Statistics: draw_statistics,
    PlanComparison: draw_comparison,
    Tradeoff: draw_tradeoff,
    WhatIf: draw_what_if,
    Explanation: draw_explanation,
    Matches: draw_matches,
    Aggregates: draw_aggregates,
    WhyNot: _draw_why_not,
    Funnel: draw_funnel,
    NearMisses: draw_near_misses,
    Trace: _draw_trace,
    CounterTrace: _draw_counter_trace,
    SharingPlan: draw_sharing,
    Several: draw_several,
}
"""What is drawn how. Beside these, whatever looks like matches (a DataFrame, one from Spark)."""

LISTS: dict[type, Callable[..., go.Figure | Player]] = {
    Plan: _draw_plans,
    Trace: _draw_traces,
    CounterTrace: _draw_traces,
}
"""What is drawn how where several stand in a list."""


def draw(thing: object, **options: Any) -> go.Figure | Player:
    """Return a figure of `thing`; it is returned, not shown.

    Args:
        thing: A query, a plan, several plans of a query, statistics, a comparison of plans, what
            `weigh_plans` and `what_if` return, an explanation, matches, aggregates, the answer
            of `why_not` (its funnel, or its events in time) and its near misses, a trace, or
            several traces of one stream, the aggregates of several queries (what they share).
        **options: Of a plan ``pattern=``, without which its conditions are not known, and
            ``per_row=``, the steps side by side; of several plans ``width=``; of a comparison
            ``of="measured"`` and ``of="search"`` (see `draw_comparison`), of statistics
            ``of="time"`` and ``of="keys"`` (see `draw_statistics`); of matches ``limit=``,
            ``since_start=``, and ``time=`` and ``type=`` for a DataFrame where they cannot be
            found out; of aggregates ``columns=``, ``groups=``; of traces ``kind=`` ("player",
            "diagram" or "counters") and of the player ``steps=``, ``start=``; of a trace of
            prefix counters ``kind="diagram"`` takes ``step=``.

    Raises:
        CepkitError: There is no figure of such a thing, or it has no such option.
    """
    drawing = next((f for kind, f in FIGURES.items() if isinstance(thing, kind)), None)
    if isinstance(thing, list | tuple) and thing:
        several = (f for kind, f in LISTS.items() if all(isinstance(one, kind) for one in thing))
        drawing = next(several, drawing)
    if drawing is None and is_from_spark(thing):
        drawing = draw_from_spark
    if drawing is None and is_matches(thing):
        drawing = draw_matches
    if drawing is None:
        raise CepkitError(
            f"there is no figure of {_kind_of(thing)}",
            expected="a query, one or several plans, statistics, a comparison of plans, what "
            "weigh_plans and what_if return, an explanation, matches, aggregates, the answer of "
            "why_not, one or several traces, aggregates of several queries",
        )
    try:
        return drawing(thing, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        unknown = [name for name in options if f"'{name}'" in str(error)] or list(options)
        raise CepkitError(
            f"figures of {type(thing).__name__} have no such option: {', '.join(unknown)}"
        ) from error


def _kind_of(thing: object) -> str:
    """Return the type of a thing, and of a list those of what it holds, for a sentence."""
    if not isinstance(thing, list | tuple):
        return f"the type {type(thing).__name__}"
    kinds = sorted({type(one).__name__ for one in thing})
    return f"a list of {' and '.join(kinds)}" if kinds else "an empty list"
