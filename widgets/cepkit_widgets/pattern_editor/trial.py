"""A pattern tried on a sample: how many matches, the first of them, and why there is none."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from cepkit import detect
from cepkit.columnar.results.matches import Matches
from cepkit.diagnosis.result import NearMiss, WhyNot
from cepkit.diagnosis.why_not import why_not
from cepkit.errors import CepkitError
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import Stream
from cepkit_widgets.matches.known import KnownMatches

FIRST = 200
"""The number of matches to find first, which the editor can show."""
_BUDGET = 4_000_000
"""The most events in combinations that the search for a reason examines: under a second."""

_NEAR_BUDGET = 400_000
"""The same beside matches: what is near is no reason to wait."""


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """The result of a pattern on a sample.

    Attributes:
        query: The pattern.
        known: Its first matches; None if time ran out.
        count: How many there are; None if time ran out.
        why: Why there is no match; None if there are some, or if time ran out.
        misses: What comes closest to a match, if that was asked for or there is no match.
    """

    query: Query
    known: KnownMatches | None = None
    count: int | None = None
    why: WhyNot | None = None
    misses: tuple[NearMiss, ...] = ()

    @property
    def size(self) -> int:
        """How many matches are known."""
        return 0 if self.known is None else min(self.known.size, FIRST)


def tried(query: Query, sample: Stream, *, near: bool = False) -> Trial:
    """Try a pattern on a sample; if interrupted, return the matches found until then.

    Args:
        near: Whether to look for near misses, too, where there are matches.

    Raises:
        CepkitError: The pattern cannot be run.
    """
    trial = Trial(query)
    try:
        matches = detect(sample, query)
        assert isinstance(matches, Matches)
        known = KnownMatches(matches)
        known.at_least(FIRST)
        trial = replace(trial, known=known)
        count = known.size if known.complete else matches.count()
        trial = replace(trial, count=count)
        if not count:
            plan = as_plan(None, query)
            why = why_not(sample, query, {}, plan=plan, limit=3, budget=_BUDGET)
            trial = replace(trial, why=why, misses=tuple(why.near_misses))
        elif near:
            with suppress(CepkitError):
                plan = as_plan(None, query)
                why = why_not(sample, query, {}, plan=plan, limit=10, budget=_NEAR_BUDGET)
                trial = replace(trial, misses=tuple(why.near_misses))
    except KeyboardInterrupt:
        # It took too long, or the text changed.
        pass
    return trial
