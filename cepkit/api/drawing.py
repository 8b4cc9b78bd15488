"""The verb `draw`; its overloads say for each kind of value which figures and options there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, overload

from cepkit.arguments import typed
from cepkit.pattern.builder import Pattern as BuilderPattern
from cepkit.pattern.query import Query
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from cepkit.aggregation.rows.result import Aggregates
    from cepkit.calibration.result import Calibration
    from cepkit.columnar.results.explanation import Explanation
    from cepkit.columnar.results.plans import PlansInForce
    from cepkit.diagnosis.result import Funnel, NearMisses, WhyNot
    from cepkit.figures import Player
    from cepkit.figures.charts.measured_plans import By
    from cepkit.figures.charts.search_traces import Over
    from cepkit.learning.result import Learned
    from cepkit.plan.nodes import Plan
    from cepkit.plan.validity import Validity
    from cepkit.planners.compare import PlanComparison
    from cepkit.planners.tradeoff import Tradeoff
    from cepkit.planners.what_if import WhatIf
    from cepkit.routes.result import SeveralAggregates
    from cepkit.routes.sharing import SharingPlan
    from cepkit.sharing.graph import PatternGraph
    from cepkit.sharing.shared_plan import SharedPlan
    from cepkit.spark.passes.frame import ResultFrame
    from cepkit.statistics.model import Statistics
    from cepkit.statistics.summary import StreamSummary
    from cepkit.teaching.equivalence import Equivalence
    from cepkit.tracing import AdaptedTrace, CounterTrace, MechanismTrace, Trace

OnePattern: TypeAlias = Query | BuilderPattern
SeveralPatterns: TypeAlias = Sequence[OnePattern | str] | Mapping[str, OnePattern | str]


class LikeMatches(Protocol):
    """Matches of any kind, or a DataFrame of them."""

    @property
    def head(self) -> Callable[..., Any]:
        """Returns the first."""


@overload
def draw(
    value: OnePattern, *, of: Literal["automaton"] | None = ..., per_row: int | None = ...
) -> Figure: ...
@overload
def draw(
    value: SeveralPatterns | PatternGraph,
    *,
    of: Literal["common"] | None = ...,
    vertices: int = ...,
    width: float | None = ...,
) -> Figure: ...
@overload
def draw(
    value: Plan,
    *,
    of: Literal["plan"] | None = ...,
    pattern: OnePattern | str | None = ...,
    per_row: int | None = ...,
) -> Figure: ...
@overload
def draw(
    value: Sequence[Plan],
    *,
    of: Literal["plans"] | None = ...,
    pattern: OnePattern | str | None = ...,
    width: float | None = ...,
) -> Figure: ...
@overload
def draw(
    value: SharedPlan | Sequence[SharedPlan],
    *,
    of: Literal["shared-plan"] | None = ...,
    nodes: int = ...,
    width: float | None = ...,
) -> Figure: ...
@overload
def draw(
    value: Stream | StreamSummary, *, of: Literal["stream"] | None = ..., types: int = ...
) -> Figure: ...
@overload
def draw(value: Statistics, *, of: Literal["overview", "time", "keys"] | None = ...) -> Figure: ...
@overload
def draw(value: PlanComparison, *, of: Literal["costs"] | None = ...) -> Figure: ...
@overload
def draw(value: PlanComparison, *, of: Literal["measured"], by: By = ...) -> Figure: ...
@overload
def draw(
    value: PlanComparison, *, of: Literal["search"], over: Over = ..., branch: int | None = ...
) -> Figure: ...
@overload
def draw(value: Tradeoff, *, of: Literal["tradeoff"] | None = ...) -> Figure: ...
@overload
def draw(value: WhatIf, *, of: Literal["what-if"] | None = ...) -> Figure: ...
@overload
def draw(value: Calibration, *, of: Literal["curve"] | None = ...) -> Figure: ...
@overload
def draw(value: Learned, *, of: Literal["proposals"] | None = ...) -> Figure: ...
@overload
def draw(value: Equivalence, *, of: Literal["difference"] | None = ...) -> Figure: ...
@overload
def draw(value: Validity, *, of: Literal["validity"] | None = ...) -> Figure: ...
@overload
def draw(value: Explanation, *, of: Literal["steps"] | None = ...) -> Figure: ...
@overload
def draw(value: WhyNot, *, of: Literal["verdict"] | None = ...) -> Figure: ...
@overload
def draw(value: NearMisses, *, of: Literal["near-misses"] | None = ...) -> Figure: ...
@overload
def draw(value: Funnel, *, of: Literal["funnel"] | None = ..., title: str = ...) -> Figure: ...
@overload
def draw(
    value: SharingPlan | SeveralAggregates[Any], *, of: Literal["sharing"] | None = ...
) -> Figure: ...
@overload
def draw(
    value: PlansInForce, *, of: Literal["plans"] | None = ..., beside: PlansInForce | None = ...
) -> Figure: ...
@overload
def draw(
    value: Aggregates | ResultFrame,
    *,
    of: Literal["aggregates"] | None = ...,
    columns: str | Sequence[str] | None = ...,
    groups: int = ...,
) -> Figure: ...
@overload
def draw(
    value: Trace | Sequence[Trace] | AdaptedTrace,
    *,
    of: Literal["player"] | None = ...,
    steps: int = ...,
    start: int = ...,
    link: str | None = ...,
    attributes: Sequence[str] | None = ...,
    redact: Sequence[str] = ...,
    quiz: int = ...,
    seed: int | str = ...,
) -> Player: ...
@overload
def draw(
    value: Trace | Sequence[Trace],
    *,
    of: Literal["counters"],
    counters: Sequence[str] | None = ...,
) -> Figure: ...
@overload
def draw(value: MechanismTrace, *, of: Literal["diagram"]) -> Figure: ...
@overload
def draw(value: CounterTrace, *, of: Literal["diagram"], step: int | None = ...) -> Figure: ...
@overload
def draw(
    value: LikeMatches,
    *,
    of: Literal["matches"] | None = ...,
    limit: int = ...,
    time: str | None = ...,
    type: str | None = ...,
    since_start: bool | None = ...,
) -> Figure: ...


@typed
def draw(value: object, *, of: str | None = None, **options: Any) -> Figure | Player:
    """Return a figure of `value`; it is returned, never shown as a side effect.

    Args:
        value: A stream or its profile, a pattern, several patterns (what they have in common), a
            plan or several, statistics, what `compare_plans` and `what_if` return, matches, an
            explanation, aggregates, the answer of `why_not` or a table of it; or a trace, or
            several of one stream, which gives a player (docs/player.md).
        of: Which figure, where there are several: of statistics "overview", "time" or "keys"; of a
            comparison "costs", "measured" or "search"; of traces "player", "counters" or
            "diagram".
        **options: Those of the figure; a wrong one raises an error that lists them.

    Raises:
        CepkitError: There is no figure of such a value, or it has no such option.

    Example:
        >>> import cepkit as ck
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 0.1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.5})
        >>> figure = ck.draw(ck.choose_plan(pattern, statistics), pattern=pattern)
        >>> figure.to_svg(width=500)[:4]
        '<svg'
    """
    from cepkit.figures import draw as draw_figure

    return draw_figure(_drawable(value), of=of, **options)


def _drawable(value: object) -> object:
    """Return the value to draw: the profile of a stream, the common parts of patterns."""
    if isinstance(value, Stream):
        from cepkit.api.planning import profile

        return profile(value)
    several = [*value.values()] if isinstance(value, dict) else value
    if not isinstance(several, list | tuple) or not several:
        return value
    if not all(isinstance(one, str | Query | BuilderPattern) for one in several):
        return value
    from cepkit.sharing.graph import pattern_graph

    patterns: Any = value
    return pattern_graph(patterns)
