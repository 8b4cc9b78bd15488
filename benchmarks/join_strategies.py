"""JOIN's study of selection strategies (its figure 19): the same sequences, each strategy.

Under skip-till-next-match the engine searches for the first match in the order of the pattern
whatever the plan, so there is one row for it. Contiguous events are few whatever the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.join_patterns import Market
from benchmarks.join_runs import Row, key_of, ran, subjects
from cepkit import profile
from cepkit.pattern.policies import Strategy
from cepkit.planners import PLANNERS
from cepkit.planners.choose import choose_plan

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
