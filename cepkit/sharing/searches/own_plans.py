"""Each branch's best plan, equal nodes once. Time: that of the local planner."""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.sharing.plan_graph import Changes, PlanGraph, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import own_plans


@dataclass(frozen=True, slots=True)
class OwnPlans:
    """Shares the common nodes of the branches' best plans."""

    name: str = "own-plans"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        return Progressed(PlanGraph(prepared, own_plans(prepared)), observe).best
