"""Plans each slice by the slices before it, as micro-batches must; also for study.

Rates come from the last slices. Each slice is sampled; a filter or a selectivity that surely
differs from the known one (see drift.py) counts from the next slice on. All other statistics come
from the whole stream. The first slice is planned by its own events. After each change of the stream
the plan is one slice late; `PerSlice` is not, but needs the whole stream. Between micro-batches
only numbers are stored, never plans: planners make the same plans again. Cost of a slice: O(events)
to count, a millisecond or two to sample, the decision function, and the planner if that fires.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cepkit.adaptation.drift import Drift, Shares, with_shares
from cepkit.adaptation.loop import Adaptation, InForce
from cepkit.adaptation.slices import slice_rates
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.slices.cutting import ADAPTED_ROWS
from cepkit.columnar.slices.plans import Branches, SlicePlan, SlicePlans
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.planners.by_rates import Rates
from cepkit.statistics.model import Statistics
from cepkit.stream.codec import SPARSE, decode, encode
from cepkit.stream.columns import EventColumns

Named: TypeAlias = Mapping[str, float]
"""Filters and selectivities that are not the whole stream's, by the names of their variables."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The state that decides the plan of the next slice.

    Attributes:
        deployed: The rates that the plan in force was made with.
        answered: The rates of the planner's last answer.
        before: The rates of the last slices.
        shares: The present shares.
        deployed_by: The shares that the plan in force was made with.
        answered_by: The shares of the planner's last answer.
    """

    deployed: Rates
    answered: Rates
    before: tuple[Rates, ...]
    shares: Named = field(default_factory=dict, metadata=SPARSE)
    deployed_by: Named = field(default_factory=dict, metadata=SPARSE)
    answered_by: Named = field(default_factory=dict, metadata=SPARSE)


class Causal(SlicePlans):
    """Plans slices one after the other, each by the statistics of the previous ones.

    Args:
        plan: The plan of the whole stream; its statistics provide what slices do not measure.
        memory: The memory of another one that planned the slices before; "" for none.
    """

    def __init__(
        self,
        adaptation: Adaptation,
        query: Query,
        plan: Plan,
        sets: Sets = "every",
        memory: str = "",
    ) -> None:
        assert plan.statistics is not None
        self._adaptation, self._query, self._plan, self._sets = adaptation, query, plan, sets
        self._statistics = replace(
            plan.statistics, over_time=None, forecast=None, joins={}, others=()
        )
        self._asked: dict[int, SlicePlan] = {}
        self._compiled: dict[Branches, CompiledQuery] = {}
        self._in_force: InForce | None = None
        self._before: tuple[Rates, ...] = ()
        self._shares: Shares = {}
        if memory:
            known = decode(Remembered, json.loads(memory))
            self._before, self._shares = known.before, _shares_of(known.shares)
            deployed = self._under(known.deployed, _shares_of(known.deployed_by))
            answered = self._under(known.answered, _shares_of(known.answered_by))
            self._in_force = adaptation.resume(query, deployed, answered)

    @property
    def memory(self) -> str:
        """The state to continue from (see `SlicePlans`)."""
        if self._in_force is None:
            return ""
        deployed, answered = self._in_force.plan.statistics, self._in_force.answer.statistics
        assert deployed is not None
        assert answered is not None
        remembered = Remembered(
            Rates(deployed.rates, deployed.events, deployed.span_seconds),
            Rates(answered.rates, answered.events, answered.span_seconds),
            self._before,
            _named(self._shares),
            _named(self._own(deployed)),
            _named(self._own(answered)),
        )
        return json.dumps(encode(remembered))

    def resumed(self, memory: str) -> Causal:
        """Return the same, continued from another's memory (see `SlicePlans`)."""
        return Causal(self._adaptation, self._query, self._plan, self._sets, memory)

    def least_rows(self, _columns: EventColumns) -> int:
        """Return the least number of events of a slice (see `SlicePlans`)."""
        return ADAPTED_ROWS

    def __call__(self, columns: EventColumns, first: int, end: int) -> SlicePlan:
        """Return the plan of the next slice (see `SlicePlans`)."""
        if first not in self._asked:
            own = slice_rates(self._query, columns, first, end)
            shares = self._sampled(columns, first, end)
            if self._in_force is None:
                self._shares = shares
            now = self._under(_together(self._before or (own,)), self._shares)
            self._before = (*self._before, own)[-self._adaptation.history :]
            self._shares = shares
            if self._in_force is None:
                self._in_force = self._adaptation.start(self._query, now)
            else:
                self._in_force = self._adaptation.step(self._query, self._in_force, now)
            why = self._in_force.fired or "" if self._in_force.switched else ""
            branches = self._in_force.plan.branches
            if branches not in self._compiled:
                plan = self._in_force.plan
                self._compiled[branches] = compile_query(self._query, plan, self._sets)
            self._asked[first] = SlicePlan(self._compiled[branches], branches, now.rates, why)
        return self._asked[first]

    def _sampled(self, columns: EventColumns, first: int, end: int) -> Shares:
        """Return the present shares, replaced where the slice's own surely differ."""
        drift = Drift(self._query, with_shares(self._statistics, self._shares))
        drifted = drift.of(columns, first, end)
        return self._shares if drifted is None else {**self._shares, **drifted.shares}

    def _own(self, statistics: Statistics) -> Shares:
        """Return the shares of a plan's statistics that are not the whole stream's."""
        whole = self._statistics
        filters = {
            frozenset((name,)): share
            for name, share in statistics.filters.items()
            if share != whole.filters.get(name)
        }
        between = {
            names: selectivity.share
            for names, selectivity in statistics.selectivities.items()
            if selectivity != whole.selectivities.get(names)
        }
        return {**filters, **between}

    def _under(self, rates: Rates, shares: Shares) -> Statistics:
        """Return the whole stream's statistics with other rates and shares."""
        return replace(
            with_shares(self._statistics, shares),
            rates=rates.of,
            events=rates.events,
            first=0,
            last=round(rates.span_seconds * 1e6),
        )


def _named(shares: Shares) -> dict[str, float]:
    return {",".join(sorted(names)): share for names, share in shares.items()}


def _shares_of(named: Mapping[str, float]) -> Shares:
    return {frozenset(names.split(",")): share for names, share in named.items()}


def _together(parts: Sequence[Rates]) -> Rates:
    """Return the rates of some slices together."""
    if len(parts) == 1:
        return parts[0]
    # A single moment has no rate: count it as one second (see `slice_rates`).
    seconds = [part.span_seconds or 1.0 for part in parts]
    of = {
        variable: sum(part.of[variable] * s for part, s in zip(parts, seconds, strict=True))
        / sum(seconds)
        for variable in parts[0].of
    }
    return Rates(of, sum(part.events for part in parts), sum(part.span_seconds for part in parts))
