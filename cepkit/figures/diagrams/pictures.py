"""The parts of a plan's picture: a chain for each order, a tree for each tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, assert_never

from cepkit.errors import PlanError
from cepkit.figures.diagrams import tree as trees
from cepkit.figures.diagrams.chain import Chain, chain_of
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.checks import check_plan
from cepkit.plan.nodes import OrderPlan, Plan, TreePlan

Picture: TypeAlias = Chain | trees.JoinTree


def pictures(plan: Plan, query: Query | None = None) -> tuple[Picture, ...]:
    """Return the picture of each branch of a plan.

    Args:
        query: The query that it evaluates. Without it types and conditions are unknown; the plan's
            statistics, if any, still tell which variables have conditions between them.

    Raises:
        PlanError: The plan does not belong to the query.
    """
    if query is not None:
        check_plan(plan, query)
    branches: Sequence[Branch | None] = (
        (None,) * len(plan.branches) if query is None else normal_form(query)
    )
    if plan.expected and len(plan.expected) != len(plan.branches):
        raise PlanError("the plan has expected numbers for branches that it does not have")
    result: list[Picture] = []
    for number, (part, branch) in enumerate(zip(plan.branches, branches, strict=True)):
        name = f"branch {number + 1} of {len(branches)}" if len(branches) > 1 else ""
        expected = plan.expected[number] if plan.expected else ()
        match part:
            case OrderPlan(order):
                result.append(chain_of(name, order, branch, plan.statistics, expected))
            case TreePlan():
                result.append(trees.tree_of(name, part, branch, plan.statistics, expected))
            case _:
                assert_never(part)
    return tuple(result)


def steps_in_words(picture: Picture) -> list[tuple[str, str, str]]:
    """Return for each step the event it takes, its place in time, and the conditions it checks.

    The steps of a tree are its nodes, from the variables to the matches.
    """
    match picture:
        case Chain(takes=takes):
            return [(take.event, take.scope, _all(take.conditions)) for take in takes]
        case trees.JoinTree(root=root):
            return [_step(node) for node in trees.upwards(root)]
        case _:
            assert_never(picture)


def notes_in_words(picture: Picture) -> tuple[str, ...]:
    """Return notes about no single step: absences of a chain, common checks of a tree's joins."""
    match picture:
        case Chain(absences=absences):
            return absences
        case trees.JoinTree(common=common):
            return (f"At every join: {common}.",) if common else ()
        case _:
            assert_never(picture)


def _step(node: trees.TreeNode) -> tuple[str, str, str]:
    checked = _all((*node.conditions, *node.absences))
    match node:
        case trees.Leaf():
            return node.event, "", checked
        case trees.Join():
            return trees.joined_text(node), ", ".join(node.order), checked
        case _:
            assert_never(node)


def _all(conditions: Iterable[str]) -> str:
    return " AND ".join(conditions)
