"""JOIN's study of selection strategies (its figure 19): the same sequences, each strategy.

Under skip-till-next-match the engine searches for the first match in the order of the pattern
whatever the plan, so there is one row for it. Contiguous events are few whatever the order.

The mechanisms of the source follow every strategy by its plans, as JOIN, section 6.2, says. For
contiguity each event has the condition that its number follows that of its neighbour: NEXT in the
language. Under skip-till-next-match a match consumes its events (`join_consuming`). Each plan has
as many matches as the engine finds, which is asserted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.join_consuming import CONSUMING
from benchmarks.join_mechanisms import ran as by_mechanism
from benchmarks.join_patterns import Market
from benchmarks.join_runs import Row, Subject, candidates_of, key_of, ran, subjects
from benchmarks.join_windows import drawn
from cepkit import detect, profile
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.pattern.nodes import Next, Seq
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, work_of
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan, cost_plan

STRATEGIES = (
    Strategy.SKIP_TILL_ANY_MATCH,
    Strategy.SKIP_TILL_NEXT_MATCH,
    Strategy.STRICT_CONTIGUITY,
)


def rows(market: Market, sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row for each sequence, strategy and planner."""
    for subject in subjects(market, sizes, patterns, ("sequence",)):
        for strategy in STRATEGIES:
            query = replace(subject.query, strategy=strategy)
            statistics = profile(market.stream, query)
            all_alike = strategy is Strategy.SKIP_TILL_NEXT_MATCH
            done: dict[object, Row] = {}
            for planner in ("given-order",) if all_alike else PLANNERS:
                plan = choose_plan(query, statistics, planner)
                key = key_of(plan, query)
                if key not in done:
                    done[key] = ran(market, query, plan)
                head = {"strategy": str(strategy), "planner": planner}
                yield subject.head | head | done[key]


def mechanism_rows(sizes: Sequence[int], patterns: int) -> Iterator[Row]:
    """Yield a row for each sequence, strategy and planner, its plan run by a mechanism."""
    for size in sizes:
        for number in range(patterns):
            subject = drawn(size, number)
            for strategy in Strategy:
                yield from _by_mechanisms(subject, strategy)


def _by_mechanisms(subject: Subject, strategy: Strategy) -> Iterator[Row]:
    stream = subject.market.stream
    by = ("part",) if strategy is Strategy.PARTITION_CONTIGUITY else ()
    query = replace(subject.query, strategy=strategy, partition_by=by)
    statistics = replace(profile(stream, query), joins={})
    matches = detect(stream, query).count()
    consume = strategy is Strategy.SKIP_TILL_NEXT_MATCH
    run = followed(query)
    expecting = replace(profile(stream, run), joins={})
    done: dict[object, Row] = {}
    for planner in PLANNERS:
        plan = choose_plan(query, statistics, planner)
        tree = not all(isinstance(branch, OrderPlan) for branch in plan.branches)
        key = tree, tuple(map(work_of, plan.branches))
        if key not in done:
            expected = candidates_of(cost_plan(plan, run, expecting))
            mechanisms = CONSUMING if consume else MECHANISMS
            done[key] = by_mechanism(stream, run, plan, expected, tree=tree, mechanisms=mechanisms)
            assert done[key]["not run"] or done[key]["matches"] == matches, (str(query), planner)
        yield subject.head | {"strategy": str(strategy), "planner": planner} | done[key]


def followed(query: Query) -> Query:
    """Return the query that a mechanism runs for a sequence of single events.

    Contiguity becomes NEXT, whose conditions compare arrival numbers; consuming is left to lanes.
    """
    structure = query.structure
    assert isinstance(structure, Seq)
    if query.strategy in (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY):
        first, *others = structure.items
        structure = replace(structure, items=(first, *map(Next, others)))
    return replace(query, structure=structure, strategy=Strategy.SKIP_TILL_ANY_MATCH)
