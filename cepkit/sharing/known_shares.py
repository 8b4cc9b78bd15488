"""The known selectivities of conditions, across several branches.

A weaker sub-pattern has some of the conditions of a branch. The selectivity of all conditions
together does not tell that of a few; another branch may have exactly these. If none has, we assume
that they let everything through, so that nothing is shared on a guess.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cepkit.pattern.canonical import CanonicalEvent, SubPattern, canonical_event
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.normal_form import Branch
from cepkit.statistics.binding import measured_form, measured_sets
from cepkit.statistics.model import Statistics
from cepkit.statistics.selectivity import Equality, Selectivity

_Shares: TypeAlias = tuple[Selectivity, Equality | None]


@dataclass(frozen=True, slots=True)
class KnownShares:
    """Selectivities by the conditions themselves.

    Attributes:
        filters: By events: the share among the events of their types.
        sets: By sub-patterns without filters and windows.
    """

    filters: dict[CanonicalEvent, float] = field(default_factory=dict)
    sets: dict[SubPattern, _Shares] = field(default_factory=dict)

    @classmethod
    def of_all(cls, branches: Iterable[tuple[Branch, Statistics]]) -> KnownShares:
        """Return the shares in the statistics of some branches; the first one counts."""
        known = cls()
        for branch, statistics in branches:
            for variable, share in statistics.filters.items():
                if variable in branch.variables:
                    known.filters.setdefault(canonical_event(branch, variable), share)
            bare = without_filters(branch)
            for names in measured_sets(bare):
                if names in statistics.selectivities:
                    shares = statistics.selectivities[names], statistics.equalities.get(names)
                    known.sets.setdefault(share_form(bare, names), shares)
        return known

    def of(self, branch: Branch, statistics: Statistics) -> Statistics:
        """Return the statistics of a weaker branch."""
        events = {v: canonical_event(branch, v) for v in branch.variables}
        bare = without_filters(branch)
        sets = {
            names: shares
            for names in measured_sets(bare)
            if (shares := self._shares(share_form(bare, names))) is not None
        }
        return replace(
            statistics,
            filters={v: self.filters.get(e, 1.0) for v, e in events.items() if e.filters},
            selectivities={names: share for names, (share, _) in sets.items()},
            equalities={names: equal for names, (_, equal) in sets.items() if equal is not None},
            joins={},
            forecast=None,
        )

    def _shares(self, form: SubPattern) -> _Shares | None:
        """Return the shares of a form; for two events in any order, the mean of both orders."""
        known = self.sets.get(form)
        if known is not None or form.order or len(form.events) != 2:
            return known
        one, other = (
            self.sets.get(replace(form, order=frozenset((pair,)))) for pair in ((0, 1), (1, 0))
        )
        if one is None or other is None:
            return None
        return Selectivity((one[0].share + other[0].share) / 2), one[1]


def without_filters(branch: Branch) -> Branch:
    """Return a branch without its conditions on single variables."""
    several = tuple(c for c in branch.conditions if len(variables_of(c)) > 1)
    return replace(branch, conditions=several)


def share_form(branch: Branch, names: frozenset[str]) -> SubPattern:
    """Return the key of the selectivity of conditions in a branch without filters."""
    return replace(measured_form(branch, names), window=None)
