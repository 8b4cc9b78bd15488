"""Parses adapt=, the user's choice of how a plan follows a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from cepkit.adaptation.causal import Causal
from cepkit.adaptation.decisions import DECISIONS, Decision
from cepkit.adaptation.loop import Adaptation
from cepkit.adaptation.slices import PerSlice
from cepkit.columnar.compile.query import Sets
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.errors import PlanError, UnsupportedError
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics

Adapt: TypeAlias = str | Decision | Adaptation
"""``"static"``, ``"slices"``, ``"auto"``, a decision function or its name, or an `Adaptation`."""

_BY_SLICES = ("slices", "auto")


def slice_plans(
    adapt: Adapt,
    query: Query,
    plan: Plan,
    sets: Sets,
    measure: Callable[[], Statistics],
    *,
    in_order: bool = True,
) -> SlicePlans | None:
    """Return the object that plans each slice; None if all slices run one plan.

    Args:
        query: The query. Only under skip-till-any-match can slices have different plans.
        measure: Measures the whole stream, if the plan has no statistics.

    Raises:
        UnsupportedError: The choice needs slices in order, but they are not.
        PlanError: There is no such choice.
    """
    adaptation = checked(adapt)
    if adaptation is None or query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return None
    if plan.statistics is None:
        plan = replace(plan, statistics=measure())
    if isinstance(adaptation, Adaptation):
        if not in_order:
            raise UnsupportedError(
                f"the decision function '{DECISIONS.pick(adaptation.decision).name}' on Spark:"
                " it follows slices one after the other, and tasks run them in any order",
                hint="adapt='slices' plans each slice by itself; over a streaming DataFrame"
                " micro-batches come one after the other",
            )
        return Causal(adaptation, query, plan, sets)
    return PerSlice(query, plan, sets, always=adaptation == "slices")


def checked(adapt: Adapt) -> Adaptation | str | None:
    """Return an `Adaptation`, "slices" or "auto"; None for a static plan.

    Raises:
        PlanError: `adapt` has another value.
    """
    if isinstance(adapt, Adaptation):
        return adapt
    if adapt == "static":
        return None
    if isinstance(adapt, str):
        if adapt in _BY_SLICES:
            return adapt
        if adapt not in DECISIONS:
            names = ("static", *_BY_SLICES, *(name for name in DECISIONS if name != "static"))
            raise PlanError.unknown(f"there is no adapt='{adapt}'", adapt, names)
    return Adaptation(DECISIONS.pick(adapt))
