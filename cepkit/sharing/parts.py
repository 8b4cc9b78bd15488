"""The queries of a shared plan by the kind of their plans: orders, or trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from cepkit.costs.contract import CostModel
from cepkit.errors import StatisticsError, telling
from cepkit.pattern.canonical import canonical_event
from cepkit.pattern.normal_form import normal_form, written_branches
from cepkit.pattern.query import Query
from cepkit.pattern.several import called
from cepkit.plan.nodes import BranchPlan, OrderPlan, Pair, TreePlan
from cepkit.plan.nodes import Tree as NamedTree
from cepkit.sharing.known_shares import share_form, without_filters
from cepkit.sharing.local import Tree, upright
from cepkit.sharing.plan_graph import Choice, Mode, PlanGraph, Planned, Prepared
from cepkit.sharing.responses import respond
from cepkit.sharing.start import alone, own_plans
from cepkit.sharing.weakening import starts_beside
from cepkit.sharing.workload import Places, Sharer, Workload
from cepkit.statistics.binding import measured_sets
from cepkit.statistics.model import Statistics

Share: TypeAlias = Literal["auto", "none", "prefix", "tree"]

WORTH = 2
"""The factor by which a tree must reduce the work, because it writes out its subtrees' rows."""


@dataclass(slots=True)
class Part:
    """Queries whose plans are of one kind.

    Attributes:
        queries: Their numbers.
        prepared: Them alone, with their prices.
        choices: The plans of their branches, by the numbers of the sharers of `prepared`.
        alone: The cost of each one's best plan without sharing; empty before `alone_costs`.
    """

    queries: tuple[int, ...]
    prepared: Prepared
    choices: dict[int, Choice] = field(default_factory=dict)
    alone: list[int] = field(default_factory=list)

    @property
    def sharers(self) -> Iterator[tuple[Sharer, int, int]]:
        """The branches with the number of the query, and that of the branch in it."""
        before = -1
        branch = 0
        for sharer in self.prepared.workload.sharers:
            branch = branch + 1 if sharer.query == before else 0
            before = sharer.query
            yield sharer, self.queries[sharer.query], branch

    def upright(self) -> None:
        """Bring equal trees into the same form."""
        if self.prepared.mode == "tree":
            self.choices = {
                number: replace(choice, plan=upright(choice.tree))
                for number, choice in self.choices.items()
            }

    def respond(self, query: int, *, share: bool) -> None:
        """Plan the branches of a query without a plan: the cheapest ones given all others."""
        graph = PlanGraph(self.prepared, self.choices)
        own = own_plans(self.prepared, shared=share)
        for sharer, number, _ in self.sharers:
            if number == query:
                graph.put(sharer.number, own[sharer.number])
                if share:
                    respond(graph, sharer.number, starts_beside(graph, sharer))
        self.choices = dict(graph.choices)


def known_statistics(queries: Mapping[str, Query], statistics: Statistics) -> list[Statistics]:
    """Return the statistics of each query; an error names the query that they lack.

    Raises:
        StatisticsError: They lack a query; or they go by names of variables, which mean other
            events or conditions in another query.
    """
    known = []
    meanings: dict[frozenset[str], object] = {}
    for name, query in queries.items():
        with telling(called(name)):
            known.append(statistics.of(query))
            if statistics.query is None:
                _check_meanings(query, known[-1], meanings)
    return known


def _check_meanings(
    query: Query, statistics: Statistics, meanings: dict[frozenset[str], object]
) -> None:
    """Check that the names of statistics mean what they meant before; add their meanings."""
    for branch in written_branches(query):
        bare = without_filters(branch)
        own: dict[frozenset[str], object] = {
            frozenset((event.variable,)): canonical_event(branch, event.variable)
            if event.variable in statistics.filters
            else event.types
            for event in branch.positive + branch.negated
        }
        for names in measured_sets(bare):
            if names in statistics.selectivities:
                own[names] = share_form(bare, names)
        for names, meaning in own.items():
            if meanings.setdefault(names, meaning) != meaning:
                raise StatisticsError(
                    f"assumed numbers of {', '.join(sorted(names))}, which means other events or"
                    " conditions in another pattern",
                    hint="Statistics.assumed(..., pattern=, others=) says which pattern each number"
                    " is about; or use other names",
                )


def prepared_part(
    queries: Sequence[Query],
    statistics: Sequence[Statistics],
    cost: CostModel,
    mode: Mode,
    numbers: Sequence[int] | None = None,
) -> Part:
    """Return some of the queries, all by default, as a part without plans."""
    chosen = tuple(range(len(queries)) if numbers is None else numbers)
    workload = Workload.of([queries[i] for i in chosen], [statistics[i] for i in chosen])
    return Part(chosen, Prepared(workload, cost, mode))


def alone_costs(part: Part) -> list[int]:
    """Return for each query of a part the cost of its best plan without sharing."""
    if not part.alone:
        prepared = part.prepared
        part.alone = [0] * len(part.queries)
        for s in prepared.workload.sharers:
            graph = PlanGraph(prepared, {s.number: Choice(prepared.best(s), alone(s))})
            part.alone[s.query] += graph.cost
    return part.alone


def places_of(plan: BranchPlan, sharer: Sharer) -> Planned:
    """Return the plan of a branch over places."""
    at = {variable: place for place, variable in enumerate(sharer.description.variables)}

    def tree(node: NamedTree) -> Tree:
        return at[node] if isinstance(node, str) else (tree(node.left), tree(node.right))

    if isinstance(plan, OrderPlan):
        return tuple(at[variable] for variable in plan.order)
    return tree(plan.root)


def branch_plan(plan: Planned, sharer: Sharer, mode: Mode) -> BranchPlan:
    """Replace places in a plan by the names of a branch."""
    names = sharer.description.variables

    def tree(node: Tree) -> NamedTree:
        if isinstance(node, int):
            return names[node]
        return Pair(tree(node[0]), tree(node[1]))

    if mode == "order":
        return OrderPlan(tuple(names[place] for place in cast("Places", plan)))
    return TreePlan(tree(cast("Tree", plan)))


def mode_of(query: Query, statistics: Statistics, cost: CostModel, share: Share) -> Mode:
    """Return the kind of plan of a query: a tree if that divides its work by `WORTH`."""
    if share != "auto":
        return "tree" if share == "tree" else "order"
    if max(len(branch.variables) for branch in normal_form(query)) < 4:
        return "order"
    order, tree = (
        sum(alone_costs(prepared_part([query], [statistics], cost, mode)))
        for mode in ("order", "tree")
    )
    return "tree" if tree * WORTH < order else "order"
