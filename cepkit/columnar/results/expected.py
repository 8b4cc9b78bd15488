"""The expected number of matches, for refusing results that do not fit in memory.

The best source is a run that has counted them, then the choice of sets (`kleene/limits.py`), then
the forecast of the plan.
"""

from __future__ import annotations

from cepkit.columnar.kleene.limits import SetChoice
from cepkit.memory import Expected
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.tables import number, whole

INSTEAD = (
    "detect(..., limit=1000) gives some of them, .count() their number, aggregate(...) their sums;"
    " .write_parquet(path) writes all of them, .batches() yields them some at a time"
)
"""Alternatives for the user if not all matches fit."""

_CERTAIN, _BOUND = 2.0, 10.0
_SAMPLED = 4.0
"""The doubt of a forecast from sampled joins; 95 % are nearer (docs/plans.md)."""


def by_count(matches: int) -> Expected:
    """Return the number of matches that a complete run counted."""
    return Expected(matches, _CERTAIN, f"there are {whole(matches)} matches")


def by_sets(matches: int, choice: SetChoice) -> Expected:
    """Return the number of sets of a choice, before they are chosen.

    Args:
        choice: The way of counting; "bound": conditions on sets may leave fewer.
    """
    if choice == "count":
        return by_count(matches)
    return Expected(matches, _BOUND, f"there are up to {whole(matches)} matches")


def by_forecast(query: Query, plan: Plan) -> Expected | None:
    """Return the number of matches that the statistics of a plan predict; None without statistics.

    It covers all matches; strategies other than skip-till-any-match leave out most of them.
    """
    forecast = plan.forecast
    if forecast is None or query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return None
    text = f"{number(forecast.matches)} matches are expected"
    assert plan.statistics is not None
    sure = (
        forecast.sampled
        and plan.statistics.measured_events is None
        and not any(branch.negated for branch in normal_form(query))
    )
    return Expected(forecast.matches, _SAMPLED if sure else _BOUND, text)


def limited(expected: Expected | None, limit: int | None) -> Expected | None:
    """Return the expected number, at most a limit."""
    if expected is None or limit is None or limit >= expected.rows:
        return expected
    text = f"{limit:,} matches are asked for ({expected.text})"
    return Expected(limit, expected.doubt, text)
