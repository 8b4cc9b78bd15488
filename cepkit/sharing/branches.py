"""Plans of the branches of one query, which evaluate what they have in common once.

Branches share the first steps of their orders, and equal subtrees. The best plans of each by itself
need not meet: a search over all of them finds plans that do, where that is cheaper. Cost: a search
of shared plans, so it is made only where the work is long.
"""

from __future__ import annotations

from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.sharing.choose import share_plans

_WORTH = 0.02
"""The seconds of work for each branch from which on a search is made; it takes about as long."""


def with_shared_steps(plan: Plan, query: Query) -> Plan:
    """Return a plan whose branches share more of their orders; the same where that brings nothing.

    Args:
        plan: The best plan of each branch by itself.
    """
    branches, seconds = normal_form(query), plan.seconds
    if seconds is None or plan.statistics is None or seconds < _WORTH * len(branches):
        return plan
    orders = all(isinstance(each, OrderPlan) for each in plan.branches)
    # FIRST and GREEDY end steps early in some orders, which the search does not know.
    plain = orders and all(branch is branch.as_written for branch in branches)
    if len(branches) < 2 or not plain or query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return plan
    shared = share_plans([query], plan.statistics, "prefix")
    # Rows of weaker nodes need checks, which plans of single queries do not have.
    return plan if any(late is not None for late in shared.late[0]) else shared.plans[0]
