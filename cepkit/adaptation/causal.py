"""Plans each slice by the slices before it, as micro-batches must; also for study.

Rates come from the last slices, all other statistics from the whole stream. The first slice is
planned by its own events. After each change of the stream the plan is one slice late; `PerSlice` is
not, but needs the whole stream. Between micro-batches only rates are stored, never plans: planners
make the same plans again. Cost of a slice: O(events) to count, the decision function, and the
planner if that fires.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from cepkit.adaptation.loop import Adaptation, InForce
from cepkit.adaptation.slices import slice_rates
from cepkit.columnar.compile.query import CompiledQuery, Sets, compile_query
from cepkit.columnar.slices.cutting import ADAPTED_ROWS
from cepkit.columnar.slices.plans import Branches, SlicePlan, SliceRun
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.planners.by_rates import Rates
from cepkit.statistics.model import Statistics
from cepkit.stream.codec import decode, encode
from cepkit.stream.columns import EventColumns
from cepkit.values import dataclass


@dataclass(frozen=True, slots=True)
class Remembered:
    """The state that decides the plan of the next slice.

    Attributes:
        deployed: The rates that the plan in force was made with.
        answered: The rates of the planner's last answer.
        before: The rates of the last slices.
    """

    deployed: Rates
    answered: Rates
    before: tuple[Rates, ...]


class Causal:
    """Plans slices one after the other, each by the statistics of the previous ones.

    Args:
        adaptation: When and how to replan.
        query: The query.
        plan: The plan of the whole stream; its statistics provide everything but the rates.
        sets: Which sets of Kleene variables make matches.
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
        if memory:
            known = decode(Remembered, json.loads(memory))
            self._before = known.before
            deployed, answered = map(self._under, (known.deployed, known.answered))
            self._in_force = adaptation.resume(query, deployed, answered)

    @property
    def memory(self) -> str:
        """The state to continue from (see `SlicePlans`)."""
        if self._in_force is None:
            return ""
        deployed, answered = (
            Rates(known.rates, known.events, known.span_seconds)
            for plan in (self._in_force.plan, self._in_force.answer)
            if (known := plan.statistics) is not None
        )
        return json.dumps(encode(Remembered(deployed, answered, self._before)))

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
            now = self._under(_together(self._before or (own,)))
            self._before = (*self._before, own)[-self._adaptation.history :]
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

    def why(self, run: SliceRun) -> str:
        """Return why a slice ran another plan than the one before it (see `SlicePlans`)."""
        return run.why

    def _under(self, rates: Rates) -> Statistics:
        """Return the whole stream's statistics with other rates."""
        return replace(
            self._statistics,
            rates=rates.of,
            events=rates.events,
            first=0,
            last=round(rates.span_seconds * 1e6),
        )


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
