"""A tree plan prepared for drawing: joins, their conditions and expected numbers.

Leaves are the variables; a condition belongs to the lowest node that has all its variables below
it, and a NOT to the lowest node that has everything it depends on.
Source: *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cepkit.figures.diagrams import words
from cepkit.figures.kit.strokes import held_in_window
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.names import variable_text
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.printer import expression_text
from cepkit.plan import nodes
from cepkit.plan.logarithms import log
from cepkit.plan.negation import depends_on
from cepkit.plan.nodes import ExpectedStep, Pair, TreePlan, Unit, work_of
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Leaf:
    """A variable of the tree.

    Attributes:
        variable: Its name.
        event: Its types and name, as in the pattern's text.
        repeated: Whether it stands under KL.
        conditions: The conditions about it alone.
        absences: The absences that can be checked by then, in words.
        rate: The events per second that pass its conditions; None without statistics.
        log_alive: The natural logarithm of the number expected in a window; None if unknown.
        counted: The counts of a run, in words.
    """

    variable: str
    event: str
    repeated: bool = False
    conditions: tuple[str, ...] = ()
    absences: tuple[str, ...] = ()
    rate: float | None = None
    log_alive: float | None = None
    counted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """A node that joins two others.

    Attributes:
        left: One of them.
        right: The other.
        order: The order of the events of the two sides, in words.
        conditions: The conditions that neither side can check alone.
        absences: The absences that can be checked by then, in words.
        log_alive: The natural logarithm of the partial matches expected in a window; None if
            unknown.
        counted: The counts of a run, in words.
    """

    left: TreeNode
    right: TreeNode
    order: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    absences: tuple[str, ...] = ()
    log_alive: float | None = None
    counted: tuple[str, ...] = ()


TreeNode: TypeAlias = Leaf | Join


@dataclass(frozen=True, slots=True)
class JoinTree:
    """The tree of one branch.

    Attributes:
        name: The branch; empty if there is only one.
        root: The node of its matches.
        common: The requirements on all joined events, in words: window, partition, strategy.
    """

    name: str
    root: TreeNode
    common: str = ""


def variables_below(node: TreeNode) -> tuple[str, ...]:
    """Return the variables of a node from left to right."""
    if isinstance(node, Leaf):
        return (node.variable,)
    return variables_below(node.left) + variables_below(node.right)


def joined_text(join: Join) -> str:
    """Return the two sides of a join by their variables: ``a, b ⋈ c``."""
    sides = (variables_below(side) for side in (join.left, join.right))
    return " ⋈ ".join(", ".join(map(variable_text, names)) for names in sides)


def nodes_of(node: TreeNode) -> tuple[TreeNode, ...]:
    """Return a node and its descendants in pre-order."""
    if isinstance(node, Leaf):
        return (node,)
    return (node, *nodes_of(node.left), *nodes_of(node.right))


def upwards(node: TreeNode) -> tuple[TreeNode, ...]:
    """Return a node and its descendants in post-order: the order of work."""
    if isinstance(node, Leaf):
        return (node,)
    return (*upwards(node.left), *upwards(node.right), node)


def tree_of(
    name: str,
    plan: TreePlan,
    branch: Branch | None,
    statistics: Statistics | None = None,
    expected: Sequence[ExpectedStep] = (),
) -> JoinTree:
    """Return the picture of the tree of one branch.

    Args:
        branch: The branch that the plan evaluates. Without it types and conditions are unknown; the
            statistics, if any, still tell which variables have conditions between them.
        expected: The expected numbers of the steps; without a `branch` they tell how much each node
            holds, except in plans with sets, whose steps come in another order.
    """
    if branch is not None:
        alive = None if statistics is None else held_in_window(branch, statistics)
        growing = _TreeBuilder(branch, statistics, alive or (lambda _: None))
        return JoinTree(name, growing.node(plan.root), words.common_text(branch))
    known = _by_steps(plan, expected)
    return JoinTree(name, _TreeBuilder(None, statistics, known.get).node(plan.root))


class _TreeBuilder:
    """Builds the nodes bottom-up; each condition appears at one node only."""

    def __init__(
        self,
        branch: Branch | None,
        statistics: Statistics | None,
        alive: Callable[[frozenset[str]], float | None],
    ) -> None:
        self._branch = branch
        self._statistics = statistics
        self._alive = alive
        self._repeated = {v for v, _, _ in branch.repeated} if branch is not None else set()
        self._conditions = list(branch.conditions) if branch is not None else []
        self._negated = list(branch.absences) if branch is not None else []

    def node(self, tree: nodes.Tree) -> TreeNode:
        match tree:
            case str():
                return self._leaf(tree)
            case Pair():
                return self._join(self.node(tree.left), self.node(tree.right))
            case _:
                assert_never(tree)

    def _join(self, left: TreeNode, right: TreeNode) -> Join:
        sides = (variables_below(left), variables_below(right))
        bound = sides[0] + sides[1]
        order = () if self._branch is None else words.order_texts(self._branch, *sides)
        due, absent = self._due(bound, sides)
        return Join(left, right, order, due, absent, self._alive(frozenset(bound)))

    def _leaf(self, name: str) -> Leaf:
        event = (
            variable_text(name) if self._branch is None else words.event_text(self._branch, name)
        )
        due, absent = self._due((name,), ())
        rate = None if self._statistics is None else self._statistics.rate(name)
        alive = self._alive(frozenset({name}))
        return Leaf(name, event, name in self._repeated, due, absent, rate, alive)

    def _due(
        self, bound: tuple[str, ...], known: Sequence[tuple[str, ...]]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the conditions and the absences that can be checked here for the first time."""
        if self._branch is None:
            return words.statistics_texts(self._statistics, bound, known), ()
        due = [c for c in self._conditions if variables_of(c) <= set(bound)]
        self._conditions = [c for c in self._conditions if c not in due]
        needed = {each: depends_on(self._branch, each[0].variable) for each in self._negated}
        absent = [each for each in self._negated if needed[each] <= set(bound)]
        self._negated = [each for each in self._negated if each not in absent]
        texts = (words.absence_text(self._branch, each) for each in absent)
        return tuple(map(expression_text, due)), tuple(texts)


def _by_steps(plan: TreePlan, expected: Sequence[ExpectedStep]) -> dict[frozenset[str], float]:
    """Return the logarithms of the partial matches of nodes, if the steps are those of the plan."""
    units = work_of(plan)
    unions = list(_bound(units))
    if [name for name, _ in unions] != [step.variable for step in expected]:
        return {}
    return {names: log(s.alive) for (_, names), s in zip(unions, expected, strict=True)}


def _bound(units: Sequence[Unit]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the name of each step, in the order of work, with the variables bound after it."""
    bound: frozenset[str] = frozenset()
    for unit in units:
        yield from _bound(unit.inner)
        bound |= {*unit.variables}
        yield unit.name, bound
