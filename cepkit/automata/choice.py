"""The plan that a mechanism follows, and what no mechanism does."""

from __future__ import annotations

from cepkit.automata.contract import Mechanism
from cepkit.errors import PlanError, UnsupportedError
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.checks import PlanLike, as_plan
from cepkit.plan.nodes import Plan, TreePlan


def refuse_unsupported(query: Query) -> None:
    """Refuse, by name, what no mechanism does.

    Raises:
        UnsupportedError: AGG, or a strategy other than skip-till-any-match.
    """
    if query.aggregates:
        raise UnsupportedError("mechanisms find matches; AGG asks for none", hint="leave AGG out")
    if query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        raise UnsupportedError(
            f"mechanisms cannot follow the strategy {query.strategy} yet",
            expected=str(Strategy.SKIP_TILL_ANY_MATCH),
            hint="detect can",
        )


def follow(mechanism: Mechanism, plan: PlanLike, query: Query) -> Plan:
    """Return the plan that a mechanism is to follow.

    Raises:
        PlanError: It does not belong to the query, or is a tree where an order is followed.
    """
    chosen = as_plan(plan, query)
    if mechanism.follows == "an order":
        for branch in chosen.branches:
            if isinstance(branch, TreePlan):
                raise PlanError(
                    f"'{mechanism.name}' follows an order, and {branch} is a tree",
                    expected="an order, as ['c', 'b', 'a']",
                    hint="the mechanism 'evaluation-tree' follows any tree",
                )
    return chosen
