"""The verbs that run event by event: mechanisms and prefix counters, with traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from cepkit.api.arguments import (
    Pattern,
    are_several,
    checked,
    detectable,
    measured,
    measured_together,
    refuse,
)
from cepkit.arguments import typed
from cepkit.errors import LimitError, PlanError, UnsupportedError, telling
from cepkit.pattern.several import called, queries_of
from cepkit.planners import choose as choosing
from cepkit.progress import Progress, showing
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit.adaptation.decisions import Decision
    from cepkit.adaptation.loop import Adaptation
    from cepkit.automata.mechanisms import Mechanism
    from cepkit.budget import Work
    from cepkit.pattern.query import Query
    from cepkit.plan.nodes import OrderPlan, Plan
    from cepkit.sharing.shared_plan import SharedPlan
    from cepkit.tracing import AdaptedTrace, CounterTrace, MechanismTrace

MOST_STEPS = 2_000
"""The default of `max_steps`."""
MOST_WORK = 1_000_000
"""The default of `max_work`."""
PREFIX_COUNTERS = "prefix-counters"
"""The mechanism that counts."""


@overload
def simulate(  # type: ignore[overload-overlap]  # this text gives another trace than all others
    stream: Stream,
    pattern: Pattern,
    mechanism: Literal["prefix-counters"],
    plan: Sequence[Sequence[str]] | None = None,
    *,
    limit: int | None = None,
    progress: Progress = "auto",
) -> CounterTrace: ...


@overload
def simulate(
    stream: Stream,
    pattern: Pattern | Sequence[Pattern] | Mapping[str, Pattern],
    mechanism: str | Mechanism = "chain-nfa",
    plan: Plan | OrderPlan | SharedPlan | Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    limit: int | None = None,
    max_steps: int = MOST_STEPS,
    max_work: int | None = MOST_WORK,
    adapt: None = None,
    progress: Progress = "auto",
) -> MechanismTrace: ...


@overload
def simulate(
    stream: Stream,
    pattern: Pattern,
    mechanism: str | Mechanism = "chain-nfa",
    plan: None = None,
    *,
    limit: int | None = None,
    max_steps: int = MOST_STEPS,
    max_work: int | None = MOST_WORK,
    adapt: str | Decision | Adaptation,
    progress: Progress = "auto",
) -> AdaptedTrace: ...


@typed
def simulate(
    stream: Stream,
    pattern: Pattern | Sequence[Pattern] | Mapping[str, Pattern],
    mechanism: str | Mechanism = "chain-nfa",
    plan: Plan | OrderPlan | SharedPlan | Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    limit: int | None = None,
    max_steps: int = MOST_STEPS,
    max_work: int | None = MOST_WORK,
    adapt: str | Decision | Adaptation | None = None,
    progress: Progress = "auto",
) -> MechanismTrace | AdaptedTrace | CounterTrace:
    """Run a published mechanism event by event, and keep its operations at each step.

    It finds what `detect` finds, or counts what `aggregate` counts, far more slowly: it is for
    seeing how.

    Several patterns run as one automaton: "chain-nfa" makes of them the multi-pattern NFA, in which
    orders that begin alike are one up to where they part, "evaluation-tree" the multitree, in which
    equal subtrees are one. The counters say what sharing saves against one run for each. Nodes of
    a shared plan that demand less than their users are not shared here: only what is equal is.

    Args:
        stream: From `events`; from Spark the first `limit` events are fetched.
        pattern: The query, or its text; a list of several, or several by their names.
        mechanism: "eager-nfa" takes events in the order in which they come, "chain-nfa" in the
            order of a plan, "tree-nfa" in an order chosen anew at each step, "evaluation-tree"
            joins partial matches along a tree; or one with settings, as
            `cepkit.automata.mechanisms.TreeNFA(statistics)`, which knows selectivities.
            "prefix-counters" counts the matches of a sequence without finding them; AGG may be
            absent, and `limit` is its only other option.
        plan: From `choose_plan`; or an order, as ["c", "b", "a"]; or a tree, as
            ("a", ("b", "c")). None: rare events first, as measured in the stream; an order is a
            tree that leans left. Only for mechanisms that follow a plan. Of several patterns: from
            `choose_plan`; or a plan for each, of which all that is equal is shared; None: what
            `choose_plan` gives, by prefixes or by subtrees. Of "prefix-counters" where to cut the
            sequence, as [["a", "b", "c"], ["d", "e"]]: the pieces are counted by themselves and
            connected by snapshots (Chop-Connect); None for one piece.
        limit: How many events to take, from the beginning of the stream; None for all.
        max_steps: How many steps to keep, 20,000 at most. Longer streams run to their end all
            the same: the totals are those of all.
        max_work: How much the run may do, in looks at an event, besides 500 with each event; a test
            of a condition is one, a partial match four, a recorded operation eight, with seven more
            for each event of its tests. None for no bound. The default is some two seconds.
        adapt: A decision function by name or with settings, or an `Adaptation`
            (`cepkit.adaptation`): the plan follows the stream. None: one plan.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        A trace: `steps`, `counters` after each, `matches`, `totals`; with `adapt` an
        `AdaptedTrace` with a trace for each plan, which `draw` plays side by side. Of several
        patterns each match says which it is of, and `totals.by_pattern` counts them.
        Interrupted, it returns the trace of the steps until then; not with `adapt`.
        "prefix-counters" gives a `CounterTrace`: all counters after each step.

    Raises:
        PatternError: The pattern reads a column that the stream does not have.
        PlanError: There is no such mechanism, it does not follow such a plan, or the plan is not
            one of these patterns.
        UnsupportedError: Several patterns and a mechanism that takes one, or `adapt`; AGG, a
            strategy other than skip-till-any-match, or events in Spark without a `limit`; for
            "prefix-counters" HAVING, or a pattern that is no sequence.
        LimitError: More steps than a trace can hold, more work than `max_work`, more events or
            partial matches than memory can hold, or more sets than could ever be made.

    Example:
        >>> import cepkit as ck
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> pattern = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 seconds"
        >>> trace = ck.simulate(stream, pattern, "eager-nfa")
        >>> print(trace[1])
        step 1: GOOG 1 arrives
          instance 1 looks at GOOG 1 for GOOG b: 30 < 31 holds
          instance 2 = instance 1 and b = GOOG 1, at F
          MATCH 0: instance 2 binds a = MSFT 0, b = GOOG 1
          instance 2 ends: it became a match
        >>> print(ck.simulate(stream, "PATTERN SEQ(MSFT a, GOOG b) WITHIN 5 s", "prefix-counters"))
        Prefix counters of a b: 4 steps
        time  event  does          counter  live until  a  a b  matches
        0 s   a1     starts        a1              5 s  1    0        0
        1 s   b1     extends to b  a1              5 s  1    1    1 out
        2 s   b2     extends to b  a1              5 s  1    2    2 out
        5 s   a1     expires                                          0
    """
    given: Any = pattern
    several = are_several(pattern)
    if isinstance(mechanism, str) and mechanism == PREFIX_COUNTERS:
        refuse(
            "with prefix-counters",
            adapt=adapt is not None,
            max_steps=max_steps != MOST_STEPS,
            max_work=max_work != MOST_WORK,
        )
        if several:
            raise UnsupportedError(
                f"'{PREFIX_COUNTERS}' counts one pattern", hint="a run for each pattern"
            )
        return _count(stream, given, plan, limit, progress)
    from cepkit.automata.mechanisms import MECHANISMS
    from cepkit.automata.recording import MOST_STEPS as MOST
    from cepkit.automata.simulation import refuse_unsupported
    from cepkit.budget import Work

    chosen = MECHANISMS.pick(mechanism)
    queries = (
        queries_of(given, partial(detectable, stream)) if several else {"": checked(stream, given)}
    )
    for name, query in queries.items():
        with telling(called(name) if several else None):
            refuse_unsupported(query)
    if not 1 <= max_steps <= MOST:
        raise LimitError(
            f"max_steps={max_steps:,}",
            expected=f"1 to {MOST:,}; the totals always count the whole stream",
        )
    if max_work is not None and max_work < 1:
        raise LimitError(f"max_work={max_work:,}", expected="1 or more, or None for no bound")
    work = Work() if max_work is None else Work(max_work)
    with showing(f"simulating {chosen.name}", progress):
        stream = _fetched(
            stream,
            limit,
            "mechanisms run event by event in this process",
            hint="limit=1000 takes the first thousand; detect runs on Spark",
        )
        if several:
            return _run_several(chosen, stream, queries, plan, max_steps, work, adapt)
        (query,) = queries.values()
        return _run(chosen, stream, query, plan, max_steps, work, adapt)


def _run(
    chosen: Mechanism,
    stream: Stream,
    query: Query,
    plan: Any,
    max_steps: int,
    work: Work,
    adapt: Any,
) -> MechanismTrace | AdaptedTrace:
    from cepkit.automata.simulation import follow
    from cepkit.automata.simulation import simulate as run_mechanism
    from cepkit.automata.subject import attributes_read
    from cepkit.stream.warnings import warn_of_dropped

    if chosen.follows == "nothing" and plan is not None:
        raise PlanError(f"the mechanism '{chosen.name}' does not follow a plan", expected="no plan")
    if adapt is not None:
        if plan is not None:
            raise PlanError(
                "plan= together with adapt=",
                hint="leave plan= out: the first plan is chosen as well",
            )
        from cepkit.automata.generations import of_mechanism, simulate_adapted

        columns = stream.columns(attributes_read(query))
        warn_of_dropped(columns.dropped, query)
        adaptation = of_mechanism(adapt, chosen.follows)
        known = measured(stream, query, seed=0)
        return simulate_adapted(chosen, columns, query, known, adaptation, work=work)
    if chosen.follows != "nothing" and plan is None:
        plan = choosing.choose_plan(query, measured(stream, query, seed=0), "by-frequency")
    columns = stream.columns(attributes_read(query))
    warn_of_dropped(columns.dropped, query)
    followed = follow(chosen, plan, query)
    return run_mechanism(chosen, columns, query, followed, max_steps, work)


def _run_several(
    mechanism: Mechanism,
    stream: Stream,
    queries: Mapping[str, Query],
    plan: Any,
    max_steps: int,
    work: Work,
    adapt: Any,
) -> MechanismTrace:
    from cepkit.automata.mechanisms import MECHANISMS
    from cepkit.automata.mechanisms.contract import Joint
    from cepkit.automata.simulation import follow, simulate_several
    from cepkit.automata.subject import attributes_read
    from cepkit.sharing.choose import share_plans
    from cepkit.sharing.shared_plan import Sharing
    from cepkit.stream.warnings import warn_of_dropped

    if not isinstance(mechanism, Joint):
        able = [name for name, one in MECHANISMS.items() if isinstance(one, Joint)]
        raise UnsupportedError(
            f"'{mechanism.name}' takes one pattern, and there are {len(queries)}",
            expected=f"one of {', '.join(able)}",
            hint="or one run for each pattern",
        )
    if adapt is not None:
        raise UnsupportedError("adapt= with several patterns", hint="leave adapt= out")
    if plan is None:
        known = measured_together(stream, [*queries.values()])
        plan = share_plans(queries, known, "prefix" if mechanism.follows == "an order" else "tree")
    from cepkit.api.several import as_the_plan_names_them, plans_given

    plans = plans_given(queries, plan)
    queries = as_the_plan_names_them(queries, plans)
    sharing = Sharing.of(plans)
    followed = []
    for (name, query), each in zip(queries.items(), sharing.plans, strict=True):
        with telling(called(name)):
            followed.append(follow(mechanism, each, query))
    columns = stream.columns(
        sorted({name for query in queries.values() for name in attributes_read(query)})
    )
    warn_of_dropped(columns.dropped, *queries.values())
    return simulate_several(mechanism, columns, queries, followed, sharing.pools, max_steps, work)


def _count(
    stream: Stream, pattern: Pattern, pieces: Any, limit: int | None, progress: Progress
) -> CounterTrace:
    """Return the trace of prefix counters; see `simulate`."""
    from cepkit.aggregation.sequence.definition import sequence_of
    from cepkit.aggregation.tracing.recorder import trace
    from cepkit.stream.warnings import warn_of_dropped

    query = checked(stream, pattern)
    sequence = sequence_of(query)
    with showing("tracing", progress):
        stream = _fetched(
            stream,
            limit,
            "counters are traced in this process",
            hint="limit=100 takes the first hundred; aggregate runs on Spark",
        )
        columns = stream.columns(sorted(sequence.attributes))
        warn_of_dropped(columns.dropped, query)
        return trace(columns, query, pieces)


def _fetched(stream: Stream, limit: int | None, why: str, *, hint: str) -> Stream:
    """Return the events to trace, fetched into this process."""
    if limit is not None:
        return stream.head(limit)
    if stream.place == "spark":
        raise UnsupportedError(f"{why}, and the events are in Spark", hint=hint)
    return stream
