"""Plans as frozen values: orders and trees with their expected numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from cepkit.errors import PlanError
from cepkit.lazy import nx
from cepkit.pattern.nodes import labels_of
from cepkit.pattern.policies import Strategy
from cepkit.plan.logarithms import from_log, log
from cepkit.plan.validity import Decided, Validity
from cepkit.printing import WithPrinter
from cepkit.statistics.forecast import Forecast, around
from cepkit.statistics.model import Statistics

if TYPE_CHECKING:
    from cepkit.pattern.normal_form import Branch

PER_PARTIAL_MATCH = 3.0
"""The cost of writing one partial match, in candidates."""
_PER_CANDIDATE = 1e-9


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """The positive variables of a branch in the order in which they are bound."""

    order: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of the plan."""
        return self.order

    def __str__(self) -> str:
        return " → ".join(self.order)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two subtrees whose partial matches are joined."""

    left: Tree
    right: Tree


Tree: TypeAlias = str | Pair
"""A variable, or two trees joined."""


@dataclass(frozen=True, slots=True)
class TreePlan:
    """The positive variables of a branch as the leaves of a binary tree, joined from below."""

    root: Tree

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in the order of the leaves."""
        return leaves(self.root)

    def __str__(self) -> str:
        return tree_text(self.root)


BranchPlan: TypeAlias = OrderPlan | TreePlan


@dataclass(frozen=True, slots=True)
class Unit:
    """One step of work: the variables it binds, and for a subtree the steps of that subtree.

    Attributes:
        variables: The variables that the step binds.
        inner: The steps of the subtree; none for a single variable.
        name: The name of the step in tables.
    """

    variables: tuple[str, ...]
    inner: tuple[Unit, ...]
    name: str


def tree_text(tree: Tree) -> str:
    """Return ``(a ⋈ b) ⋈ c``."""
    match tree:
        case str():
            return tree
        case Pair(left, right):
            return " ⋈ ".join(_in_brackets(side) for side in (left, right))
        case _:
            assert_never(tree)


def _in_brackets(tree: Tree) -> str:
    match tree:
        case str():
            return tree
        case Pair():
            return f"({tree_text(tree)})"
        case _:
            assert_never(tree)


def leaves(tree: Tree) -> tuple[str, ...]:
    """Return the variables of a tree from left to right."""
    match tree:
        case str():
            return (tree,)
        case Pair(left, right):
            return leaves(left) + leaves(right)
        case _:
            assert_never(tree)


def nodes_of(tree: Tree) -> Iterator[Pair]:
    """Yield the nodes of a tree above its leaves, children before parents."""
    match tree:
        case str():
            return
        case Pair(left, right):
            yield from nodes_of(left)
            yield from nodes_of(right)
            yield tree
        case _:
            assert_never(tree)


def as_tree(plan: BranchPlan) -> TreePlan:
    """Return a plan as a tree: an order is one that leans left."""
    match plan:
        case TreePlan():
            return plan
        case OrderPlan(order):
            tree: Tree = order[0]
            for variable in order[1:]:
                tree = Pair(tree, variable)
            return TreePlan(tree)
        case _:
            assert_never(plan)


def pruned(
    tree: Tree, without: Collection[str], instead: Mapping[str, str] | None = None
) -> Tree | None:
    """Return the tree without some variables, or others instead; None where nothing is left."""
    match tree:
        case str():
            other = None if tree in without else tree
            return other if instead is None else instead.get(tree, other)
        case Pair(left, right):
            parts = (pruned(left, without, instead), pruned(right, without, instead))
            sides = [side for side in parts if side]
            return Pair(*sides) if len(sides) == 2 else sides[0] if sides else None
        case _:
            assert_never(tree)


def work_of(
    plan: BranchPlan, without: Collection[str] = (), instead: Mapping[str, str] | None = None
) -> tuple[Unit, ...]:
    """Return the steps of a plan in the order of work: an order is a tree that leans left.

    When two subtrees are joined, the partial matches of the right one are found first and then
    extend those of the left one, row by row; a single variable on the left changes sides.

    Args:
        plan: The plan.
        without: Variables that have no step.
        instead: Variables that are bound in the place of some of them.
    """
    match plan:
        case OrderPlan(order):
            names = ((instead or {}).get(v, None if v in without else v) for v in order)
            return tuple(Unit((v,), (), v) for v in names if v is not None)
        case TreePlan(root):
            tree = pruned(root, without, instead)
            return () if tree is None else _units(tree)
        case _:
            assert_never(plan)


def sets_begun(branch: Branch, plan: BranchPlan) -> frozenset[str]:
    """Return the sets of which a plan binds the first member as a single event, in their place.

    These are the sets that it has before a single event. All sets are completed at the end: any
    choice from the further members makes a match. Where events of other matches or of no match
    decide what a set has, no set is begun.
    """
    if branch.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return frozenset()
    sets = {variable for variable, _, _ in branch.repeated}
    order = [v for unit in work_of(plan) for v in unit.variables]
    last = max((at for at, v in enumerate(order) if v not in sets), default=0)
    return frozenset(sets.intersection(order[:last]))


def _units(tree: Tree) -> tuple[Unit, ...]:
    match tree:
        case str():
            return (Unit((tree,), (), tree),)
        case Pair(str() as leaf, Pair() as other):
            return (*_units(other), Unit((leaf,), (), leaf))
        case Pair(left, str() as leaf):
            return (*_units(left), Unit((leaf,), (), leaf))
        case Pair(left, right):
            return (*_units(left), Unit(leaves(right), _units(right), _in_brackets(right)))
        case _:
            assert_never(tree)


def first_member(variable: str) -> str:
    """Return the name of the step that begins a set."""
    return f"first({variable})"


@dataclass(frozen=True, slots=True)
class ExpectedStep:
    """The expected numbers of one step of a plan.

    Attributes:
        variable: The variable that the step binds; for a subtree, the subtree as a text; for a step
            that begins a set its `first_member`.
        candidates: Pairs of a partial match and an event that the step looks at, over the whole
            stream.
        partial_matches: How many candidates the step keeps, over the whole stream.
        alive: The partial matches of the step in one window, which cost models add up.
    """

    variable: str
    candidates: float
    partial_matches: float
    alive: float


@dataclass(frozen=True, slots=True, repr=False)
class Plan(WithPrinter):
    """The plan of a query: an order or a tree for each of its branches.

    Attributes:
        branches: A plan for each branch of the query's normal form, in its order.
        log_cost: The natural logarithm of its cost, -infinity for 0; None if not computed.
        statistics: The statistics that the planner used, if any.
        expected: For each branch the expected numbers of its steps on the stream of `statistics`;
            empty without statistics.
        decided: The comparisons that decided the plan; None if no planner made it.
    """

    branches: tuple[BranchPlan, ...]
    planner: str
    log_cost: float | None = None
    statistics: Statistics | None = None
    expected: tuple[tuple[ExpectedStep, ...], ...] = ()
    decided: Decided | None = field(default=None, compare=False)

    @property
    def cost(self) -> float | None:
        """The cost, summed over the branches; infinity where a float cannot hold it."""
        return None if self.log_cost is None else from_log(self.log_cost)

    def validity(self, statistics: Statistics | None = None) -> Validity:
        """Return a table of the statistics under which its planner makes the same plan.

        Args:
            statistics: The current statistics; None for those that the planner used.

        Raises:
            PlanError: No planner made it, or its planner has no deciding conditions.
        """
        if self.decided is None or self.statistics is None:
            raise PlanError(
                f"no planner made the plan '{self.planner}': nothing decided it",
                hint="cepkit.choose_plan(pattern, statistics, 'greedy').validity()",
            )
        known = self.statistics if statistics is None else statistics
        return self.decided.validity(" | ".join(map(str, self.branches)), self.planner, known)

    def to_networkx(self) -> nx.DiGraph[tuple[int, int]]:
        """Return the plan as a directed graph of networkx: chains of states, and trees.

        Nodes are (branch, number), with `kind`, `label`, `variables` and, where they are known, the
        expected numbers of their steps.
        """
        return _graph(self)

    @property
    def seconds(self) -> float | None:
        """About how long one core will run it; None without expected numbers."""
        if self.statistics is None or not self.expected:
            return None
        steps = [step for branch in self.expected for step in branch]
        candidates = math.fsum(step.candidates for step in steps)
        partial_matches = math.fsum(step.partial_matches for step in steps)
        return _PER_CANDIDATE * (candidates + PER_PARTIAL_MATCH * partial_matches)

    @property
    def forecast(self) -> Forecast | None:
        """The matches and the work to expect of the plan, with a warning where they are very many.

        None for a plan that was made without statistics.
        """
        if self.statistics is None or not self.expected:
            return None
        steps = [step for branch in self.expected for step in branch]
        matches = math.fsum(branch[-1].partial_matches for branch in self.expected if branch)
        errors = [_relative_error(self.statistics, b.variables) for b in self.branches]
        joins = self.statistics.joins
        return Forecast(
            matches,
            *around(log(matches), max(errors, default=0.0)),
            candidates=math.fsum(step.candidates for step in steps),
            partial_matches=math.fsum(step.partial_matches for step in steps),
            alive=max((step.alive for step in steps), default=0.0),
            sampled=all(frozenset(branch.variables) in joins for branch in self.branches),
        )


def comparable(plans: Sequence[Plan]) -> list[tuple[BranchPlan, ...]]:
    """Return the branches of plans in comparable form: all as trees if one of them is a tree."""
    has_trees = any(isinstance(branch, TreePlan) for plan in plans for branch in plan.branches)
    return [tuple(map(as_tree, p.branches)) if has_trees else p.branches for p in plans]


def _relative_error(statistics: Statistics, variables: Iterable[str]) -> float:
    """Return the standard error of the logarithm of the number of matches.

    It comes from the sampled joins if there are any, else from the product of the selectivities.
    """
    known = frozenset(variables)
    joined = statistics.joins.get(known)
    if joined is not None:
        return 0.0 if joined.exact else 1 / math.sqrt(max(joined.hits, 1.0))
    return math.hypot(
        *(
            selectivity.standard_error / selectivity.share
            for names, selectivity in statistics.selectivities.items()
            if names <= known and selectivity.share
        )
    )


def _graph(plan: Plan) -> nx.DiGraph[tuple[int, int]]:
    """Return a plan as the chain of an automaton for each order, and a tree for each tree."""
    graph: nx.DiGraph[tuple[int, int]] = nx.DiGraph(planner=plan.planner, cost=plan.cost)
    query = None if plan.statistics is None else plan.statistics.query
    labels = {} if query is None else labels_of(query.structure)
    for number, branch in enumerate(plan.branches):
        steps = plan.expected[number] if plan.expected else ()
        expected: dict[str, dict[str, Any]] = {
            step.variable: {
                "candidates": step.candidates,
                "partial_matches": step.partial_matches,
                "alive": step.alive,
            }
            for step in steps
        }
        match branch:
            case OrderPlan(order):
                graph.add_node((number, 0), kind="start", label="q0", variables=())
                for place, variable in enumerate(order, start=1):
                    final = place == len(order)
                    graph.add_node(
                        (number, place),
                        kind="final" if final else "state",
                        label="F" if final else f"q{place}",
                        variables=order[:place],
                        **expected.get(first_member(variable), expected.get(variable, {})),
                    )
                    event = labels.get(variable, variable)
                    graph.add_edge((number, place - 1), (number, place), label=event)
            case TreePlan(root):
                _add_tree(graph, root, number, labels)
            case _:
                assert_never(branch)
    return graph


def _add_tree(
    graph: nx.DiGraph[tuple[int, int]], tree: Tree, branch: int, labels: dict[str, str]
) -> tuple[int, int]:
    match tree:
        case str():
            sources = []
        case Pair(left, right):
            sources = [_add_tree(graph, side, branch, labels) for side in (left, right)]
        case _:
            assert_never(tree)
    node = branch, sum(one[0] == branch for one in graph)
    graph.add_node(
        node,
        kind="join" if sources else "leaf",
        label=tree_text(tree) if sources else labels.get(tree_text(tree), tree_text(tree)),
        variables=leaves(tree),
    )
    graph.add_edges_from((source, node) for source in sources)
    return node
