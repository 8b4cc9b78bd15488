"""Selectivities and filters of a slice, if they differ from the known ones.

A few hundred pairs are drawn from a part of the slice; a share that differs from the known one, of
the whole stream or of the slices before, by far more than chance, and by enough to matter, replaces
it. As long as slices are alike, at least
one in eight is sampled, and more if that costs little beside their work; after the first one that
differs every slice is sampled, until one does not differ. Cost: a millisecond or two for each
sampled slice, whatever its length; worth it for slices of much work.
Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.statistics.measuring.estimate import tally_slice
from cepkit.statistics.measuring.sampling import Tally
from cepkit.statistics.model import Statistics
from cepkit.statistics.selectivity import Selectivity
from cepkit.stream.columns import EventColumns
from cepkit.tables import number

_COSTS = 1_500_000.0
"""The cost of sampling a slice, in candidates."""
_SHARE, _MOST = 0.03, 8
"""The share of the work that sampling may cost; and one slice in this many is always sampled."""
_SAMPLE = 200
_ROWS, _WINDOWS = 5_000, 3.0
"""How much of a slice is sampled: it must contain pairs of all distances."""
_SURE = 4.0
"""A share off by more standard errors than this is not due to chance."""
_MATTERS = 1.5
"""The factor, up or down, that changes plans."""


Shares: TypeAlias = Mapping[frozenset[str], float]
"""For one variable the share that its filter passes, for more the selectivity between them."""


@dataclass(frozen=True, slots=True)
class Drifted:
    """The statistics of a slice that differs from the known ones.

    Attributes:
        statistics: The known ones, with the slice's own shares where they differ.
        shares: The shares that differ: filters of one variable, selectivities of more.
        why: The same in words.
    """

    statistics: Statistics
    shares: Shares
    why: str


def with_shares(statistics: Statistics, shares: Shares) -> Statistics:
    """Return statistics with other shares."""
    filters = {min(names): share for names, share in shares.items() if len(names) == 1}
    between = {names: Selectivity(share) for names, share in shares.items() if len(names) > 1}
    return replace(
        statistics,
        filters={**statistics.filters, **filters},
        selectivities={**statistics.selectivities, **between},
    )


class Drift:
    """Samples slices, one after the other, for shares that differ from those of the stream."""

    def __init__(self, query: Query, statistics: Statistics) -> None:
        self._query, self._statistics = query, statistics
        self._waits = 0
        pairs = any(names not in statistics.equalities for names in statistics.selectivities)
        # Windows in events need the order of arrival, which a part of a slice does not have.
        counted = not isinstance(query.window, TimeWindow)
        self._nothing = counted or not (pairs or statistics.filters)

    def now_and_then(
        self, columns: EventColumns, first: int, end: int, work: float
    ) -> Drifted | None:
        """Return the slice's own statistics; None if it does not differ or was not sampled.

        Args:
            work: Its expected cost, in candidates.
        """
        if self._waits:
            self._waits -= 1
            return None
        own = self.of(columns, first, end)
        self._waits = 0 if own else min(_MOST, math.ceil(_COSTS / (_SHARE * work))) - 1
        return own

    def of(self, columns: EventColumns, first: int, end: int) -> Drifted | None:
        """Return the slice's own statistics; None if it does not differ."""
        window = self._query.window
        if self._nothing or end <= first or not isinstance(window, TimeWindow):
            return None
        span = max(int(columns.ts[end - 1]) - int(columns.ts[first]), 1)
        rows = max(_ROWS, _WINDOWS * window.microseconds * (end - first) / span)
        length = math.ceil(min(rows, end - first))
        begin = first + (end - first - length) // 2
        part = columns.slice(begin, begin + length)
        tallies = tally_slice(part, self._query, seed=0, sample=_SAMPLE)
        own = dict(self._differing(tallies))
        if not own:
            return None
        return Drifted(with_shares(self._statistics, own), own, "; ".join(self._words(own)))

    def _differing(self, tallies: Iterable[Tally]) -> Iterator[tuple[frozenset[str], float]]:
        for tally in tallies:
            # The share of equal keys is counted only in the whole stream.
            if tally.equal is not None or not tally.drawn or not tally.weight:
                continue
            least = 0.5 / (tally.drawn + 1)
            share = min(max(tally.held / tally.weight, least), 1.0)
            known = self._known(tally.variables)
            spread = max(known * (1 - known), share * (1 - share), least)
            off = abs(share - known) / math.sqrt(spread / tally.drawn)
            far = max(share, known) > _MATTERS * min(share, known)
            if off > _SURE and far:
                yield tally.variables, share

    def _known(self, names: frozenset[str]) -> float:
        if len(names) == 1:
            return self._statistics.filters.get(min(names), 1.0)
        return self._statistics.selectivity(*names)

    def _words(self, own: dict[frozenset[str], float]) -> Iterator[str]:
        for names, share in own.items():
            what = "filter" if len(names) == 1 else "sel"
            listed = ", ".join(sorted(names))
            before = number(self._known(names))
            yield f"{what}({listed}) is {number(share)} here, {before} in the whole stream"
