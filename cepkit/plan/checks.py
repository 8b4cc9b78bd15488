"""Checks that a plan fits a query, and plans from lists of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from cepkit.errors import PlanError, nearest, shown
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.nodes import BranchPlan, OrderPlan, Pair, Plan, Tree, TreePlan
from cepkit.printing import cut

_PATTERN_LENGTH = 100

PlanLike: TypeAlias = Plan | OrderPlan | TreePlan | Sequence[Any] | None


def check_plan(plan: Plan, query: Query) -> Plan:
    """Return `plan` unchanged if it orders the variables of each branch of `query`.

    Raises:
        PlanError: The plan does not fit the query.
    """
    if not isinstance(plan, Plan):
        raise PlanError(
            f"a plan of the type {type(plan).__name__}",
            expected="a Plan, from choose_plan or the rows of a comparison",
        )
    try:
        _check_orders(plan, normal_form(query))
    except PlanError as error:
        other = None if plan.statistics is None else plan.statistics.query
        if other is not None and other != query:
            error.hint = f"the plan was made for another pattern: {cut(other, _PATTERN_LENGTH)}"
        raise
    return plan


def as_plan(value: PlanLike, query: Query) -> Plan:
    """Return the plan that `value` means for `query`.

    Args:
        value: A plan; for a pattern without OR also an order (``["c", "b", "a"]``) or a tree
            (``(("a", "b"), ("c", "d"))``); None for the order of the pattern.

    Raises:
        PlanError: The plan does not fit the query.
    """
    match value:
        case Plan():
            return check_plan(value, query)
        case None:
            orders = tuple(OrderPlan(branch.variables) for branch in normal_form(query))
            return Plan(orders, "given-order")
        case OrderPlan() | TreePlan():
            order: BranchPlan = value
        case str():
            raise PlanError(
                f"a plan cannot be the text {shown(value)}",
                expected="names in a list: ['c', 'b', 'a']",
            )
        case _ if not isinstance(value, Sequence):
            raise PlanError(
                f"a plan of the type {type(value).__name__}",
                expected="one from choose_plan, or names in a list: ['c', 'b', 'a']",
            )
        case _ if all(isinstance(item, str) for item in value):
            order = OrderPlan(tuple(value))
        case _:
            order = TreePlan(_tree(value))
    branches = len(normal_form(query))
    if branches > 1:
        raise PlanError(
            f"one order for a pattern with {_count(branches)}",
            expected="an order for each branch of the pattern",
            hint="Plan((OrderPlan(...), OrderPlan(...)), 'by hand'), or leave it to choose_plan",
        )
    return check_plan(Plan((order,), "by hand"), query)


def plan_without_rates(query: Query) -> Plan:
    """Return the plan of a query for a stream of unknown rates: its order, its sets last.

    Nothing says that a set is rare enough to begin it in its place.
    """
    plan = as_plan(None, query)
    orders = []
    for branch in normal_form(query):
        sets = {variable for variable, _, _ in branch.repeated}
        orders.append(OrderPlan(tuple(sorted(branch.variables, key=sets.__contains__))))
    return replace(plan, branches=tuple(orders))


def _tree(value: object) -> Tree:
    match value:
        case str() | Pair():
            return value
        case (left, right):
            return Pair(_tree(left), _tree(right))
        case _:
            raise PlanError(
                f"a tree cannot have {shown(value)} as a node",
                expected="a variable or a pair of trees: (('a', 'b'), ('c', 'd'))",
            )


def _check_orders(plan: Plan, branches: Sequence[Branch]) -> None:
    if len(plan.branches) != len(branches):
        raise PlanError(
            f"the plan has {_count(len(plan.branches))}, the pattern {_count(len(branches))}",
            expected="an order for each branch of the pattern",
        )
    for order, branch in zip(plan.branches, branches, strict=True):
        _check_order(order.variables, branch)


def _check_order(order: tuple[str, ...], branch: Branch) -> None:
    expected = f"each of {', '.join(branch.variables)} once"
    negated = {event.variable for event in branch.negated}
    for variable in order:
        if variable in negated:
            place = "under NOT" if branch.event(variable).beside is None else "after UNTIL"
            raise PlanError(
                f"the plan orders '{variable}', which stands {place}",
                expected=expected,
                hint="where it is checked follows from the order of the others",
            )
        if variable not in branch.variables:
            hint = nearest(str(variable), branch.variables)
            raise PlanError(
                f"the plan names '{variable}', which is not a variable of the pattern",
                expected=expected,
                hint=hint,
            )
    counts = Counter(order)
    repeated = [variable for variable, count in counts.items() if count > 1]
    if repeated:
        raise PlanError(f"the plan names '{repeated[0]}' twice", expected=expected)
    missing = [variable for variable in branch.variables if variable not in counts]
    if missing:
        raise PlanError(f"the plan leaves out '{missing[0]}'", expected=expected)


def _count(branches: int) -> str:
    return "1 branch" if branches == 1 else f"{branches} branches"
