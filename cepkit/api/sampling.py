"""Samples of matches, and aggregates with an error bound."""

from __future__ import annotations

from typing import Any

from cepkit.aggregation.rows.result import Aggregates
from cepkit.api.arguments import at_hand
from cepkit.arguments import check_range
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.reports import report
from cepkit.columnar.results.sampled import _SampledMatches
from cepkit.errors import StreamError, UnsupportedError
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.planners import choose as choosing
from cepkit.routes.detected import without_aggregates
from cepkit.routes.estimated import estimate_aggregates
from cepkit.statistics.measuring.walks import check_walks
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream


def detect_sample(
    stream: Stream, query: Query, plan: Any, sample: int, seed: int, *, limit: int | None = None
) -> Matches:
    """Return a uniform sample of the matches of a query; see `detect`."""
    if sample < 1:
        raise StreamError(f"sample={sample}", expected="1 or more")
    check_range("seed", seed, 0)
    check_walks(query, "sample=")
    _check_order(stream, "sample=")
    stream = at_hand(stream, (query,), option="sample=")
    columns = stream.columns({*attributes_read(query), *query.computed_from})
    planned = choosing.plan_in_memory(query, columns) if plan is None else as_plan(plan, query)
    report(columns, query)
    return _SampledMatches(stream, query, planned, columns, sample, seed, limit=limit)


def estimate(
    stream: Stream, query: Query, error: float, confidence: float, seed: int, method: str, emit: str
) -> Aggregates:
    """Return the aggregates of the matches of a query with an error bound; see `aggregate`."""
    if not 0 < error < 1:
        raise StreamError(f"error={error}", expected="above 0 and below 1: 0.02 is 2 percent")
    if not 0.5 <= confidence < 1:
        raise StreamError(f"confidence={confidence}", expected="0.5 to below 1, as 0.95")
    check_range("seed", seed, 0)
    for name, value, known in (
        ("method", method, ("auto",)),
        ("emit", emit, ("trigger", "total")),
    ):
        if value not in known:
            raise UnsupportedError(
                f"error= with {name}='{value}'", hint="leave one out: error= has rows of the total"
            )
    _check_order(stream, "error=")
    bare = without_aggregates(query)
    read = {*query.group_by, *(a.attribute for a in query.aggregates if a.attribute)}
    part = at_hand(stream, (bare,), read, output=False, option="error=")
    return estimate_aggregates(part, query, error, confidence, seed)


def _check_order(stream: Stream, what: str) -> None:
    if stream.schema.by_arrival:
        raise UnsupportedError(
            f"{what} with events of equal time in the order of arrival",
            hint="leave ties='arrival' out of events(...)",
        )
