"""Baselines for sharing: plans that only reorder, only share, or share by accident.

`reordering` (RE): each branch's order of cheapest next steps, nothing shared. `sharing-only` (SH):
the order of the text, equal nodes once. `own-plans`: each branch's best plan, equal nodes once. As
trees, orders lean left. Nodes are shared among equal windows, which never costs more than not
sharing. Time: that of the local planner.
Source: MULTI, whose RE picks the least cost, although its text says "maximizing".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cepkit.sharing.plan_graph import Changes, Choice, PlanGraph, Planned, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import alone, in_order, pools_of, text_order
from cepkit.sharing.workload import Sharer


def _greedy(prepared: Prepared, sharer: Sharer) -> Planned:
    return in_order(prepared.mode, prepared.local(sharer).greedy(0, sharer.full))


def _text(prepared: Prepared, sharer: Sharer) -> Planned:
    return in_order(prepared.mode, text_order(sharer))


def _best(prepared: Prepared, sharer: Sharer) -> Planned:
    return prepared.best(sharer)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A plan for each branch, independent of the others.

    Attributes:
        name: How tables call it.
        plan: Gives the plan of a branch.
        shared: Whether equal nodes are computed once.
    """

    name: str
    plan: Callable[[Prepared, Sharer], Planned]
    shared: bool = True

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        choices = {
            sharer.number: Choice(
                self.plan(prepared, sharer),
                pools_of(prepared, sharer)[0] if self.shared else alone(sharer),
            )
            for sharer in prepared.workload.sharers
        }
        return Progressed(PlanGraph(prepared, choices), observe).best


TEXT_ORDER = Baseline("text-order", _text, shared=False)
REORDERING = Baseline("reordering", _greedy, shared=False)
SHARING_ONLY = Baseline("sharing-only", _text)
OWN_PLANS = Baseline("own-plans", _best)
