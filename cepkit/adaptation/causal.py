"""Plans of slices by the slices before them: what micro-batches can do, and for study.

Rates are those of the events of some slices before, the rest is as in the whole stream. The first
slice, before which there is nothing, is planned by its own. After each change of the stream this is
late by a slice; where the whole stream is at hand, `PerSlice` is not.
Between micro-batches the rates are remembered, never plans: planners give the same again.
Cost of a slice: O(events) to count, the decision function, and the planner where that fires.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class Remembered:
    """What decides the plan of the next slice.

    Attributes:
        deployed: The rates by which the plan in force was planned.
        answered: Those of the planner's last answer.
        before: Those of the last slices.
    """

    deployed: Rates
    answered: Rates
    before: tuple[Rates, ...]


class Causal:
    """Plans slices one after the other, each by the statistics of those before it.

    Args:
        adaptation: When to plan again, and how.
        query: What is looked for.
        plan: The plan of the whole stream; its statistics say all but the rates.
        sets: Which sets of Kleene variables make matches.
        memory: What another has remembered, whose slices were before; "" for nothing.
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
        """What to go on from (see `SlicePlans`)."""
        if self._in_force is None:
            return ""
        deployed, answered = (
            Rates(known.rates, known.events, known.span_seconds)
            for plan in (self._in_force.plan, self._in_force.answer)
            if (known := plan.statistics) is not None
        )
        return json.dumps(encode(Remembered(deployed, answered, self._before)))

    def resumed(self, memory: str) -> Causal:
        """Return the same after the slices of another (see `SlicePlans`)."""
        return Causal(self._adaptation, self._query, self._plan, self._sets, memory)

    def least_rows(self, _columns: EventColumns) -> int:
        """Return how many events slices have at least (see `SlicePlans`)."""
        return ADAPTED_ROWS

    def __call__(self, columns: EventColumns, first: int, end: int) -> SlicePlan:
        """Return the plan of the slice after those that were asked for (see `SlicePlans`)."""
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
        """Return the statistics under some rates; all else is as in the whole stream."""
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
    # One moment has no rate; as if it were a second (see `slice_rates`).
    seconds = [part.span_seconds or 1.0 for part in parts]
    of = {
        variable: sum(part.of[variable] * s for part, s in zip(parts, seconds, strict=True))
        / sum(seconds)
        for variable in parts[0].of
    }
    return Rates(of, sum(part.events for part in parts), sum(part.span_seconds for part in parts))
