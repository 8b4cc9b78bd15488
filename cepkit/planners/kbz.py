"""The best order without cross products where conditions form a tree, in polynomial time.

Once a root is put first, every other variable has one condition with the variables before it, and
the cost has the adjacent sequence interchange property: stretches are best in the order of their
ranks. The subtrees below each variable are merged into one chain by rank; a variable whose rank
exceeds that of its successor is glued to it. Every root is tried. O(n^2 log n).

Exact for conjunctions whose condition graph is a tree, among orders that follow its edges; a
heuristic elsewhere, as where equalities imply others (costs/key_classes.py). In a graph with cycles
only the spanning tree of the most selective conditions counts, and disconnected parts are linked by
a condition that always holds. The share of orderings that a SEQ allows is left out of the ranks,
because it depends on how many variables are bound, which the property forbids; the true cost then
decides between the roots.
Source: Ibaraki and Kameda; Krishnamurthy, Boral and Zaniolo; the rank is that of *Join Query
Optimization Techniques for Complex Event Processing Applications* (VLDB 2018), appendix A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import merge
from itertools import combinations

from cepkit.costs.expectation import Expectation
from cepkit.lazy import nx
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import OrderPlan
from cepkit.planners.search import Search, SearchingPlanner


@dataclass(frozen=True, slots=True)
class Stretch:
    """Variables that stay together in an order.

    Attributes:
        variables: In their order.
        log_factor: ln T: how many times more partial matches there are after than before them.
        log_cost: ln C: the partial matches of their steps, for one partial match before them.
    """

    variables: tuple[str, ...]
    log_factor: float
    log_cost: float

    @classmethod
    def one(cls, variable: str, log_factor: float) -> Stretch:
        """Return the stretch of one variable: its cost is the partial matches that it makes."""
        return cls((variable,), log_factor, log_factor)

    def then(self, other: Stretch) -> Stretch:
        """Return both as one: C(uv) = C(u) + T(u) C(v), T(uv) = T(u) T(v)."""
        return Stretch(
            self.variables + other.variables,
            self.log_factor + other.log_factor,
            log_sum((self.log_cost, self.log_factor + other.log_cost)),
        )

    @property
    def rank(self) -> tuple[int, float]:
        """(T - 1) / C as its sign and a number that grows with it: numbers of sets overflow.

        A stretch that makes no partial matches comes first.
        """
        if self.log_factor == -math.inf:
            return -2, 0.0
        if self.log_factor == 0:
            return 0, 0.0
        if self.log_factor > 0:
            # ln(T - 1), also where T overflows or is hardly more than 1.
            above = self.log_factor + math.log(-math.expm1(-self.log_factor))
            return 1, above - self.log_cost
        return -1, self.log_cost - math.log(-math.expm1(self.log_factor))


@dataclass(frozen=True, slots=True)
class Kbz(SearchingPlanner):
    """The best order that follows the edges of a tree of conditions."""

    name: str = "kbz"

    def find(self, search: Search) -> None:
        """Offer the best order of each root."""
        branch = search.branch
        expected = Expectation.of(branch, search.statistics)
        tree = _tree(branch, expected)
        for root in branch.variables:
            search.examined += 1
            search.offer(OrderPlan(_order(root, tree, branch, expected)))


def _tree(branch: Branch, expected: Expectation) -> nx.Graph[str]:
    """Return the tree of the most selective conditions, its edges with their logarithms."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(branch.variables)
    for x, y in combinations(branch.variables, 2):
        share = expected.log_share(x, y)
        # Pairs without a condition come last, neighbours in the pattern first.
        apart = branch.variables.index(y) - branch.variables.index(x)
        weight = (1.0, float(apart)) if share is None else (0.0, share)
        graph.add_edge(x, y, share=0.0 if share is None else share, weight=weight)
    spanning: nx.Graph[str] = nx.Graph()
    spanning.add_nodes_from(branch.variables)
    parts = nx.utils.UnionFind(branch.variables)
    for x, y, edge in sorted(graph.edges(data=True), key=lambda e: e[2]["weight"]):
        if parts[x] != parts[y]:
            parts.union(x, y)
            spanning.add_edge(x, y, share=edge["share"])
    return spanning


def _order(
    root: str, tree: nx.Graph[str], branch: Branch, expected: Expectation
) -> tuple[str, ...]:
    place = branch.variables.index

    def by_rank(stretch: Stretch) -> tuple[tuple[int, float], int]:
        return stretch.rank, place(stretch.variables[0])

    def below(variable: str, parent: str | None) -> list[Stretch]:
        """Return the stretches below a variable by ascending rank."""
        chains = [hanging(child, variable) for child in sorted(tree[variable], key=place)
                  if child != parent]  # fmt: skip
        return list(merge(*chains, key=by_rank))

    def hanging(variable: str, parent: str) -> list[Stretch]:
        share = tree.edges[variable, parent]["share"] + expected.log_same_key
        head = Stretch.one(variable, expected.log_counts[variable] + share)
        rest = below(variable, parent)
        while rest and head.rank > rest[0].rank:
            head = head.then(rest.pop(0))
        return [head, *rest]

    return (root, *(v for stretch in below(root, None) for v in stretch.variables))
