"""The output profiler: which variable's event was the last of the matches found so far.

Under AND the last event is not known in advance, and a plan's latency depends on which it is.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications* (VLDB 2018),
section 6.1, which counts whole orders; the latency depends on the last variable alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from cepkit.columnar.results.matches import Matches
from cepkit.costs.latency import OutputProfile

MOST_MATCHES = 100_000
"""Matches that are looked at."""


def output_profile(matches: Matches, *, limit: int = MOST_MATCHES) -> OutputProfile:
    """Count which variable's event is the last of matches.

    Where several are the last at the same time, each counts as a part of the match.

    Args:
        matches: From `detect`, of a local stream.
        limit: The most matches to look at: those found first.
    """
    counted: Counter[str] = Counter()
    timeline = matches.timeline(limit)
    if len(timeline):
        last = timeline[timeline.ts == timeline.groupby("match").ts.transform("max")]
        last = last.drop_duplicates(["match", "variable"])
        share: Any = 1.0 / last.groupby("match").variable.transform("count")
        counted.update(share.groupby(last.variable).sum().to_dict())
    return OutputProfile(counted)
