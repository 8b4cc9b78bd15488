"""Matches of several patterns: checked, planned together, found in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cepkit.api.arguments import Pattern, checked, measured, order_matters
from cepkit.api.checks import named, telling
from cepkit.errors import PlanError, UnsupportedError
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.planners import choose as choosing
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit.columnar.compile.query import Sets
    from cepkit.columnar.results.several import SeveralMatches


def detect_several(
    stream: Stream,
    patterns: Mapping[str, Pattern] | Sequence[Pattern],
    plan: Any,
    share: str,
    *,
    limit: int | None,
    sets: Sets,
) -> SeveralMatches:
    """Return the matches of several patterns; see `detect`."""
    queries = detectable_queries(stream, patterns)
    if stream.place == "spark":
        raise UnsupportedError(
            "several patterns over a Spark DataFrame",
            hint="detect them one by one, or collect the stream",
        )
    plans = _plans(stream, queries, plan)
    from cepkit.columnar.results.several import SeveralMatches

    return SeveralMatches(stream, queries, plans, limit=limit, sets=sets, share=share != "none")


def detectable_queries(
    stream: Stream, patterns: Mapping[str, Pattern] | Sequence[Pattern]
) -> dict[str, Query]:
    """Return the queries by their names.

    Raises:
        PatternError: There is none, or one is none; the message says which.
        UnsupportedError: One cannot be detected.
    """
    queries = {}
    for name, pattern in named(patterns).items():
        with telling(f"query {name}"):
            query = checked(stream, pattern)
            if query.aggregates:
                raise UnsupportedError(
                    "AGG asks for aggregates, not for matches",
                    hint="`aggregate` gives them; to detect, leave AGG out",
                )
        queries[name] = query
    return queries


def _plans(stream: Stream, queries: Mapping[str, Query], plan: Any) -> list[Plan]:
    """Return a plan for each query.

    Raises:
        PlanError: What is given is not one for each.
    """
    if plan is None:
        return [
            choosing.plan_to_run(query, measured(stream, query, seed=0))
            if order_matters(query)
            else as_plan(None, query)
            for query in queries.values()
        ]
    given = plan
    if isinstance(plan, Mapping):
        given = [plan.get(name) for name in queries]
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != len(queries):
        raise PlanError(
            f"a plan for {len(queries)} queries that is a {type(plan).__name__}",
            expected="a list with a plan for each, or what share_plans returns",
        )
    plans = []
    for (name, query), one in zip(queries.items(), given, strict=True):
        with telling(f"query {name}"):
            plans.append(as_plan(one, query))
    return plans
