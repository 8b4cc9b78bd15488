"""The verbs: what a user calls. Each checks its arguments and hands over to the part that knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from cepkit.costs import CostModel, get_cost_model
from cepkit.costs.latency import NOTHING_KNOWN
from cepkit.errors import LimitError, PlanError, StatisticsError, StreamError, UnsupportedError
from cepkit.pattern.builder import as_query
from cepkit.pattern.checks import check_attributes
from cepkit.pattern.functions import register_function as register_function
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan, check_plan
from cepkit.planners import choose as choosing
from cepkit.planners import compare, contract, tradeoff
from cepkit.planners import what_if as asking
from cepkit.planners.tradeoff import ALPHAS
from cepkit.progress import Progress
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream
from cepkit.stream.stream import events as events

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from cepkit.aggregation.elements import Emit
    from cepkit.aggregation.functions import Function
    from cepkit.aggregation.result import Aggregates
    from cepkit.aggregation.trace import CounterTrace
    from cepkit.automata.trace import Trace
    from cepkit.columnar.matches import Matches
    from cepkit.diagnosis.result import WhyNot
    from cepkit.figures.player import Player
    from cepkit.plan.nodes import OrderPlan, Plan
    from cepkit.planners.compare import PlanComparison
    from cepkit.planners.tradeoff import Tradeoff
    from cepkit.planners.what_if import WhatIf
    from cepkit.routes.several import SeveralAggregates, Shared
    from cepkit.spark.aggregated import SparkAggregates
    from cepkit.spark.result import SparkMatches

Pattern: TypeAlias = "str | Query | Any"
"""A query, its text, or what the builder makes."""


def parse(text: str) -> Query:
    """Return the query that a text says.

    Args:
        text: As docs/pattern-language.md describes.

    Raises:
        PatternSyntaxError: The text does not follow the grammar; the message underlines the place.
        PatternError: It does, but means nothing, as a condition on an unknown variable.
    """
    from cepkit.pattern.parser import parse as parse_text

    return parse_text(text)


def profile(stream: Stream, pattern: Pattern, *, seed: int = 0) -> Statistics:
    """Measure what plans depend on: arrival rates and the selectivities of conditions.

    Args:
        stream: From `events`; on Spark the measuring runs there, over a sample of time slices.
        pattern: The query, or its text.
        seed: Of the sample; the same seed gives the same statistics.

    Returns:
        Rates in events per second, selectivities with their standard errors, shares of equal
        keys, and what the stream is like: events over time, frequent keys, missing values, events
        out of order, dropped rows, types that never occur. `forecast` says how many matches to
        expect, with a warning where they or the work explode.

    Raises:
        PatternError: The pattern reads a column that the stream does not have.
    """
    from cepkit.stream.warnings import warn_of_absent, warn_of_dropped

    query = _checked(stream, pattern)
    statistics = _measured(stream, query, seed, details=True)
    warn_of_dropped(statistics.dropped)
    warn_of_absent(statistics.never_occurring, ())
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return statistics  # what is expected of all matches says little of those that are taken
    return replace(statistics, forecast=choosing.choose_plan(query, statistics, "greedy").forecast)


def choose_plan(
    pattern: Pattern,
    statistics: Statistics,
    planner: str | contract.Planner = "dp-order",
    *,
    cost: str | CostModel = "partial-matches",
    observe: contract.Observer | None = None,
) -> Plan:
    """Return the plan that a planner makes.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        planner: A name, as `compare_plans` shows them, or a planner of one's own.
        cost: What makes one plan better than another: "partial-matches", "latency", "work"
            (candidates and partial matches: what the engine does), or a model with settings, as
            `cepkit.costs.Blend(alpha=0.5)` of partial matches and latency.
        observe: Is called with where the search stands (`cepkit.planners.Observed`) when it has
            found something better, while an exact search goes on, and at the end.

    Raises:
        PlanError: No planner, or no cost model, has that name.
        StatisticsError: The statistics are not about the pattern's variables.
        LimitError: The planner is exact and the pattern too large for it.
    """
    return choosing.choose_plan(
        as_query(pattern), _statistics(statistics), planner, get_cost_model(cost), observe
    )


def compare_plans(
    pattern: Pattern,
    statistics: Statistics,
    planners: Sequence[str | contract.Planner] | None = None,
    *,
    cost: str | CostModel = "partial-matches",
    run: bool = False,
    stream: Stream | None = None,
    events: int = 100_000,
    progress: Progress = "auto",
) -> PlanComparison:
    """Return the plans of several planners with their costs and how long each planned.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        planners: Which; None for all.
        cost: What makes one plan better than another, as for `choose_plan`.
        run: Whether to run each plan over the beginning of the stream as well, and to count its
            candidates, its partial matches and the time.
        stream: For `run`: the stream; from Spark its beginning is fetched.
        events: For `run`: how many events.
        progress: "auto" for a bar where a search takes more than two seconds; True, or False.
            Who interrupts it gets the plans found until then.

    Raises:
        PlanError: A planner or cost model that does not exist.
        StreamError: Plans are to be run, but over what?
    """
    query = as_query(pattern)
    if run and stream is None:
        raise StreamError(
            "plans are to be run, and no stream is given",
            hint="compare_plans(pattern, statistics, run=True, stream=stream)",
        )
    if events < 1:
        raise StreamError(f"plans run over {events} events", expected="1 or more")
    found = compare.compare_plans(
        query, _statistics(statistics), planners, get_cost_model(cost), progress=progress
    )
    if not run or stream is None:
        return found
    from cepkit.columnar.measuring import run_plans

    check_detectable(stream, query)
    return run_plans(found, stream.head(events))


def weigh_plans(
    pattern: Pattern,
    statistics: Statistics,
    planners: Sequence[str | contract.Planner] = ("dp-order", "dp-tree"),
    *,
    alphas: Sequence[float] = ALPHAS,
    matches: Matches | None = None,
) -> Tradeoff:
    """Return the best plans for each weight of latency against throughput.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        planners: Which.
        alphas: What a unit of latency is worth in partial matches; 0 for nothing.
        matches: Of a local stream; they tell which event comes last under AND. Without them
            that is what independent arrivals would make it.
    """
    query = as_query(pattern)
    output = NOTHING_KNOWN
    if matches is not None:
        from cepkit.columnar.output_profile import output_profile

        output = output_profile(matches)
    return tradeoff.weigh(query, _statistics(statistics), planners, alphas, output)


def what_if(
    pattern: Pattern,
    statistics: Statistics,
    plans: PlanComparison | Sequence[Plan],
    variable: str,
    *,
    rates: Sequence[float] | None = None,
    cost: str | CostModel = "partial-matches",
) -> WhatIf:
    """Return what each plan would cost if the rate of one variable were another.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        plans: From `compare_plans` or `choose_plan`.
        variable: Whose rate changes.
        rates: In events per second; None for a hundredth to the hundredfold of the present one.
        cost: The cost model, as for `choose_plan`.
    """
    query = as_query(pattern)
    chosen = [r.plan for r in plans.rows] if isinstance(plans, compare.PlanComparison) else plans
    for plan in chosen:
        check_plan(plan, query)
    model = get_cost_model(cost)
    return asking.what_if(query, _statistics(statistics), chosen, variable, rates, model)


def detect(
    stream: Stream,
    pattern: Pattern,
    plan: Plan | OrderPlan | Sequence[str] | None = None,
    *,
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    slice_seconds: float | None = None,
    slice_events: int | None = None,
) -> Matches | SparkMatches:
    """Find all matches of a pattern.

    Nothing is computed before it is asked for.

    Args:
        stream: From `events`.
        pattern: The query, or its text.
        plan: From `choose_plan`; or the order of the variables, as ["c", "b", "a"]; None to
            profile the stream and take the cheapest plan.
        limit: The most matches wanted.
        sets: Which sets of Kleene variables make matches: "every" non-empty one, or "maximal":
            for each choice of the other events the largest set alone. The number of matches is
            what `.count()` gives, without making them. Under skip-till-next-match it makes no
            difference: a set takes all it can.
        slice_seconds: On Spark, the length of a time slice of un-keyed patterns; None chooses it
            from the statistics so that a worker's memory is bounded.
        slice_events: The same in events, for windows in events and contiguity.

    Returns:
        From Spark a Spark DataFrame, otherwise `Matches`; both with a struct column for each
        variable, `match_start` and `match_end`, in no particular order, and `explain()`.

    Raises:
        PatternError: The pattern reads a column that the stream does not have, or compares what
            cannot be compared.
        UnsupportedError: The pattern has a part that this release cannot detect.
        PlanError: The plan is not one of this pattern.
        LimitError: When matches are asked for: there would be too many sets to write or to try.
    """
    query = _checked(stream, pattern)
    if limit is not None and limit < 0:
        raise StreamError(f"a limit of {limit} matches", expected="0 or more")
    if sets not in ("every", "maximal"):
        raise StreamError(f"sets={sets!r}", expected="'every' or 'maximal'")
    if slice_seconds is not None and not slice_seconds > 0:
        raise StreamError(f"slices of {slice_seconds} seconds", expected="more than 0")
    if slice_events is not None and slice_events < 1:
        raise StreamError(f"slices of {slice_events} events", expected="1 or more")
    check_detectable(stream, query)
    if plan is None and _planned(query):
        chosen = choosing.plan_to_run(query, _measured(stream, query, seed=0))
    else:
        # Of events side by side there are so few that their order does not matter.
        chosen = as_plan(plan, query)
    if stream.place == "spark":
        from cepkit.spark.batch import detect as detect_on_spark

        return detect_on_spark(
            stream,
            query,
            chosen,
            slice_seconds=slice_seconds,
            slice_events=slice_events,
            limit=limit,
            sets=sets,
        )
    from cepkit.columnar.matches import Matches

    return Matches(stream, query, chosen, limit=limit, sets=sets)


@overload
def aggregate(
    stream: Stream,
    pattern: list[Any] | tuple[Any, ...],
    *,
    method: str = "auto",
    emit: Emit = "trigger",
    sharing: Shared = "auto",
) -> SeveralAggregates: ...


@overload
def aggregate(
    stream: Stream,
    pattern: Pattern,
    *,
    method: str = "auto",
    emit: Emit = "trigger",
    functions: Mapping[str, Function] | None = None,
    slice_seconds: float | None = None,
) -> Aggregates | SparkAggregates: ...


def aggregate(
    stream: Stream,
    pattern: Pattern | Sequence[Pattern],
    *,
    method: str = "auto",
    emit: Emit = "trigger",
    functions: Mapping[str, Function] | None = None,
    sharing: Shared = "auto",
    slice_seconds: float | None = None,
) -> Aggregates | SeveralAggregates | SparkAggregates:
    """Aggregate the matches of a pattern, where that can be done without detecting them.

    The live matches of a moment are those whose events have all occurred by then and whose first
    event has not expired: the window has not passed since it, or there is none. A *trigger* is an
    event that can be the last of a match: one that no other must follow, and that fulfils the
    conditions about it alone. GROUP BY parts the stream as PARTITION BY does (null agrees with
    null), and the output.

    As in SQL, values that are missing (null, NaN) are left out; COUNT of none is 0, and SUM, AVG,
    MIN and MAX of none are null. Sums and counts of whole numbers are exact, of any size. Under KL
    an aggregate is about all members of all sets: COUNT(b) counts members, COUNT counts matches.

    Args:
        stream: From `events`.
        pattern: The query with AGG, or its text; or a list of them.
        method: "prefix-counters", "window-product", or "two-step" (which constructs all matches:
            a baseline to measure against); "a-seq" chooses between the first two; "detect" detects
            the matches and aggregates them; "auto" detects only what has to be, and the result
            says why. All give the same rows.
        emit: Which rows. "trigger": at each trigger the aggregates of its group's live matches. Of
            several triggers of one time each has a row, after all events of that time. "changes":
            also when live matches expire, those after the end of the stream included; the column
            `cause` tells which. "new": at each trigger the aggregates of the matches that it
            completes. "total": one row of all matches of the stream; with GROUP BY one for each
            group that has matches.
        functions: Further aggregates by the name of their column (`cepkit.aggregation.functions`
            tells what one is). On Spark they also say, in an attribute `arrow_type`, which type
            their values have.
        sharing: Of several queries what is counted once for all: "prefix" what they begin with,
            "chop-connect" also what they have in common elsewhere, "none" nothing, "auto"
            what is cheapest by the rates of the stream; or for each query the lengths of the
            pieces that it is cut into, as [(2, 3), (3, 2)], None for one that is by itself.
            Only numbers of matches (COUNT) of sequences are shared; the rows are always the same.
        slice_seconds: On Spark, the length of a time slice; None chooses it.

    Returns:
        From Spark a Spark DataFrame in no particular order, otherwise a result with `to_pandas()`
        and `to_arrow()`. Columns ts, those of GROUP BY, one for each aggregate as "count" or
        "sum(c.volume)", and new_matches: how many matches the trigger completes. "total" has
        neither ts nor new_matches. Of several queries a sequence of such results, with the `plan`
        that says what was shared.

    Raises:
        PlanError: A sharing plan that is not one of these queries.
        PatternError: There is no AGG, the pattern reads a column that the stream does not have, or
            an aggregate is of what it cannot take.
        UnsupportedError: The method cannot aggregate such a pattern; the message says what in it.
            Rows at triggers, of a window in events.
        LimitError: Detection would make too many sets. When rows are asked for on Spark: an
            integer beyond 64 bits.
    """
    from cepkit.routes.aggregates import EMITS, METHODS
    from cepkit.routes.aggregates import aggregate as aggregate_locally
    from cepkit.routes.asked import functions_of

    if method not in METHODS:
        raise StreamError(f"method={method!r}", expected=f"one of {', '.join(METHODS)}")
    if slice_seconds is not None and not slice_seconds > 0:
        raise StreamError(f"slices of {slice_seconds} seconds", expected="more than 0")
    if emit not in EMITS:
        raise StreamError(f"emit={emit!r}", expected=f"one of {', '.join(EMITS)}")
    patterns = list(pattern) if isinstance(pattern, list | tuple) else [pattern]
    queries = [_checked(stream, each) for each in patterns]
    asked = [functions_of(query, functions or {}) for query in queries]
    if stream.place == "spark":
        from cepkit.routes.aggregates import way_of
        from cepkit.routes.detected import without_aggregates
        from cepkit.spark.aggregate import aggregate as aggregate_on_spark

        if isinstance(pattern, list | tuple):
            raise UnsupportedError(
                "this release cannot aggregate several queries at once on Spark",
                hint="aggregate them one by one",
            )
        plan, query = None, queries[0]
        if way_of(query, method).sequence is None and _planned(query):
            bare = without_aggregates(query)
            plan = choosing.plan_to_run(bare, _measured(stream, bare, seed=0))
        return aggregate_on_spark(
            stream, query, asked[0], method, emit, plan=plan, slice_seconds=slice_seconds
        )
    if isinstance(pattern, list | tuple):
        from cepkit.routes.several import SHARINGS, aggregate_several

        if isinstance(sharing, str) and sharing not in SHARINGS:
            raise StreamError(f"sharing={sharing!r}", expected=f"one of {', '.join(SHARINGS)}")
        return aggregate_several(stream, queries, asked, method, emit, sharing)
    return aggregate_locally(stream, queries[0], asked[0], method, emit)


def aggregate_trace(
    stream: Stream,
    pattern: Pattern,
    *,
    pieces: Sequence[Sequence[str]] | None = None,
    limit: int | None = None,
) -> CounterTrace:
    """Count matches by prefix counters, event by event, and keep all counters after each step.

    It counts what `aggregate` counts, far more slowly: it is for seeing how.

    Args:
        stream: From `events`; from Spark the first `limit` events are fetched.
        pattern: A sequence, as `aggregate` takes it by "a-seq", or its text; AGG may be absent.
        pieces: Where to cut the sequence, as [["a", "b", "c"], ["d", "e"]]: the pieces are counted
            by themselves and connected by snapshots (Chop-Connect); None for one piece.
        limit: How many events to take, from the beginning of the stream; None for all.

    Returns:
        A trace that prints as a table; `steps`, `output`, `to_pandas()`, `to_json()`.

    Raises:
        PatternError: The pattern reads a column that the stream does not have, or is not what the
            pieces make.
        UnsupportedError: The pattern is no sequence; or events in Spark without a `limit`.
        LimitError: More than 2,000 steps.
    """
    from cepkit.aggregation.sequence import sequence_of
    from cepkit.aggregation.tracing import trace
    from cepkit.stream.warnings import warn_of_dropped

    query = _checked(stream, pattern)
    sequence = sequence_of(query)
    if limit is not None:
        stream = stream.head(limit)
    elif stream.place == "spark":
        raise UnsupportedError(
            "counters are traced in this process, and the events are in Spark",
            hint="limit=100 takes the first hundred; aggregate runs on Spark",
        )
    columns = stream.columns(sorted(sequence.attributes))
    warn_of_dropped(columns.dropped)
    return trace(columns, query, pieces)


def why_not(
    stream: Stream,
    pattern: Pattern,
    /,
    *,
    plan: Plan | OrderPlan | Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002 - the word for it
    violations: int = 1,
    limit: int = 10,
    bindings: Mapping[str, Any] | None = None,
    **named: Any,
) -> WhyNot:
    """Say why events are no match - or, if none are named, why there is none.

    Events are named by variable: ``why_not(stream, pattern, a=17, c=30)`` asks about the events
    in rows 17 and 30 of the source, counted from 0. Variables that are not named are searched for
    what would complete them best. With none named, a funnel counts how many partial matches reach
    each requirement and pass it, and the nearest misses are ranked.

    Args:
        stream: From `events`. From Spark the events around the named ones are fetched, or
            the first 200,000 of the pattern's types.
        pattern: The query, or its text.
        plan: The order of the funnel's steps, as for `detect`; None for the pattern's own.
        id: A column that names events by its values instead of their rows; on Spark needed.
        violations: How many requirements a near miss may violate, 1 to 3.
        limit: The most near misses.
        bindings: Named events, for variables whose names cannot be keywords here.
        **named: For variables, also those under NOT, the event; for those under KL one or a list.

    Returns:
        An answer that prints as a text and can be drawn; `found`, `requirements`, `funnel`,
        `near_misses` and `notes` hold its parts. Work is bounded; the notes say where it was cut.

    Raises:
        PatternError: A name that is no variable of the pattern's.
        StreamError: No event has that row or id, or several have.
        UnsupportedError: The events are in Spark, and what is asked would need all of them.
    """
    from cepkit.diagnosis.why_not import why_not as ask

    query = _checked(stream, pattern)
    events_named = {**(bindings or {}), **named}
    if violations not in (1, 2, 3):
        raise StreamError(f"near misses with {violations} violations", expected="1, 2 or 3")
    if limit < 1:
        raise StreamError(f"the nearest {limit} misses", expected="1 or more")
    notes: tuple[str, ...] = ()
    if stream.place == "spark":
        from cepkit.spark.diagnosis import local_part

        stream, notes = local_part(stream, query, events_named, id)
    chosen = as_plan(plan, query)
    answer = ask(
        stream, query, events_named, plan=chosen, id=id, violations=violations, limit=limit
    )
    return replace(answer, notes=(*notes, *answer.notes))


def simulate(
    stream: Stream,
    pattern: Pattern,
    mechanism: str = "chain-nfa",
    plan: Plan | OrderPlan | Sequence[Any] | None = None,
    *,
    limit: int | None = None,
    max_steps: int = 2_000,
) -> Trace:
    """Run a published mechanism event by event, and keep what it did at each step.

    It finds what `detect` finds, far more slowly: it is for seeing how, and for counting.

    Args:
        stream: From `events`; from Spark the first `limit` events are fetched.
        pattern: The query, or its text.
        mechanism: "eager-nfa" takes events in the order in which they come, "chain-nfa" in the
            order of a plan, "tree-nfa" in an order chosen anew at each step, "evaluation-tree"
            joins partial matches along a tree.
        plan: From `choose_plan`; or an order, as ["c", "b", "a"]; or a tree, as
            ("a", ("b", "c")). None: rare events first, as measured in the stream; an order is a
            tree that leans left. Only for mechanisms that follow a plan.
        limit: How many events to take, from the beginning of the stream; None for all.
        max_steps: How many steps to keep, 20,000 at most. Longer streams run to their end all
            the same: the totals are those of all.

    Returns:
        A trace: `steps`, `counters` after each, `matches`, `totals`.

    Raises:
        PatternError: The pattern reads a column that the stream does not have.
        PlanError: There is no such mechanism, or it does not follow such a plan.
        UnsupportedError: AGG, a strategy other than skip-till-any-match, or events in Spark
            without a `limit`.
        LimitError: More steps than a trace can hold, more partial matches than memory can, or
            more sets than could ever be made.
    """
    from cepkit.automata.choice import choose, follow, refuse_unsupported
    from cepkit.automata.simulation import MOST_STEPS, attributes_read
    from cepkit.automata.simulation import simulate as run
    from cepkit.stream.warnings import warn_of_dropped

    query = _checked(stream, pattern)
    refuse_unsupported(query)
    chosen = choose(mechanism)
    if not 1 <= max_steps <= MOST_STEPS:
        raise LimitError(
            f"a trace of {max_steps:,} steps",
            expected=f"1 to {MOST_STEPS:,}; the totals count the whole stream whatever it is",
        )
    if limit is not None:
        stream = stream.head(limit)
    elif stream.place == "spark":
        raise UnsupportedError(
            "mechanisms run event by event in this process, and the events are in Spark",
            hint="limit=1000 takes the first thousand; detect runs on Spark",
        )
    if chosen.follows == "nothing" and plan is not None:
        raise PlanError(f"'{mechanism}' follows no plan", expected="no plan")
    if chosen.follows != "nothing" and plan is None:
        plan = choosing.choose_plan(query, _measured(stream, query, seed=0), "by-frequency")
    columns = stream.columns(attributes_read(query))
    warn_of_dropped(columns.dropped)
    return run(chosen, columns, query, follow(chosen, plan, query), max_steps)


def _measured(stream: Stream, query: Query, seed: int, *, details: bool = False) -> Statistics:
    """Return the statistics, without telling the user what detection will tell as well.

    Args:
        stream: From `events`.
        query: The pattern.
        seed: Of the sample.
        details: Whether to count what plans do not need as well.
    """
    if stream.place == "spark":
        from cepkit.spark.profile import profile as profile_on_spark

        return profile_on_spark(stream, query, seed=seed, details=details)
    from cepkit.statistics.estimate import attributes_read, estimate

    columns = stream.columns(attributes_read(query))
    return estimate(columns, query, seed=seed, details=details)


def _planned(query: Query) -> bool:
    """Return whether the order in which events are looked for matters."""
    return query.strategy is Strategy.SKIP_TILL_ANY_MATCH


def _checked(stream: Stream, pattern: Pattern) -> Query:
    if not isinstance(stream, Stream):
        raise StreamError(
            f"a {type(stream).__name__} where a stream belongs",
            hint="cepkit.events(data, time='ts', type='type') makes one of a DataFrame or a path",
        )
    query = as_query(pattern)
    check_attributes(query, stream.column_names)
    return query


def _statistics(statistics: Statistics) -> Statistics:
    if not isinstance(statistics, Statistics):
        raise StatisticsError(
            f"a {type(statistics).__name__} where statistics belong",
            hint="cepkit.profile(stream, pattern) measures them",
        )
    return statistics


def check_detectable(stream: Stream, pattern: Pattern) -> None:
    """Refuse, by name, what `detect` cannot do yet; it costs nothing.

    Args:
        stream: From `events`.
        pattern: The query, or its text.

    Raises:
        PatternError: The pattern reads a column that the stream does not have.
        UnsupportedError: The pattern has a part that this release cannot detect.
    """
    query = _checked(stream, pattern)
    if query.aggregates:
        raise UnsupportedError(
            "AGG asks for aggregates, not for matches",
            hint="cepkit.aggregate(stream, pattern) gives them; to detect, leave AGG out",
        )


def draw(thing: object, **options: Any) -> Figure | Player:
    """Return a figure of `thing`; it is returned, never shown as a side effect.

    Args:
        thing: A query, a plan, statistics, a comparison of plans, what `weigh_plans` and
            `what_if` return, matches, an explanation, the answer of `why_not` or a table of it;
            or a trace, or several of one stream, which gives a player (docs/player.md).
        **options: Those of the figure: see `cepkit.figures`.

    Raises:
        CepkitError: There is no figure for such a thing.
    """
    from cepkit.figures import draw as draw_figure

    return draw_figure(thing, **options)


def sample_stocks(n: int = 200_000, *, seed: int = 7) -> pd.DataFrame:
    """Return made-up stock trades to try things on: drifting, bursty, with a rare ticker.

    Args:
        n: How many.
        seed: Of the random generator.

    Returns:
        Columns ts (UTC), ticker, price, difference (from the ticker's price before), volume.
    """
    from cepkit.stream.generators import stock_events

    frame: pd.DataFrame = stock_events(n, seed=seed).to_pandas()
    return frame


def sample_clicks(n: int = 100_000, *, seed: int = 7) -> pd.DataFrame:
    """Return made-up clicks in an online shop: who views what, buys it, or leaves.

    Args:
        n: How many; some 60,000 are a day.
        seed: Of the random generator.

    Returns:
        Columns ts (UTC), action (as ViewKindle, BuyCase, Recommend), customer, channel (web, app
        or mail), price (dollars; missing where nothing is bought).
    """
    from cepkit.stream.clicks import click_events

    frame: pd.DataFrame = click_events(n, seed=seed).to_pandas()
    return frame
