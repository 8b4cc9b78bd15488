"""The best response: the cheapest plan of one branch given the plans of all others.

An order follows existing nodes, which cost nothing but a larger window, and leaves them once; from
there it continues with the best order of the rest. So every node that the branch can reach is
examined once. A tree comes from dynamic programming over sets in which existing trees cost nothing.
The cost of handing over is estimated; the caller compares the true costs.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from cepkit.sharing.local import MOST_FOR_TREES, Tree, renamed
from cepkit.sharing.plan_graph import Choice, Made, PlanGraph, handed
from cepkit.sharing.start import pools_of
from cepkit.sharing.workload import Places, Sharer

Starts: TypeAlias = Mapping[int, Sequence[int]]
"""For the number of each branch, the weaker sub-patterns (`Workload.weaker`) it may begin with.
"""

_NONE: Starts = MappingProxyType({})


def responses(graph: PlanGraph, sharer: Sharer, weaker: Sequence[int] = ()) -> list[Choice]:
    """Return for each pool the cheapest plans of a branch that is not in the graph.

    Args:
        weaker: The weaker sub-patterns that it may begin with: a plan for each, and one without.
    """
    pools = pools_of(graph.prepared, sharer)
    if graph.prepared.mode == "order":
        orders = [Choice(_best_order(graph, sharer, pool), pool) for pool in pools]
        return orders + [_begun(graph, sharer, each, pool) for each in weaker for pool in pools]
    if sharer.size > MOST_FOR_TREES:
        return []
    return [Choice(_best_tree(graph, sharer, pool), pool) for pool in pools]


def _begun(graph: PlanGraph, sharer: Sharer, number: int, pool: int) -> Choice:
    """Return the cheapest order of a branch that begins with a weaker sub-pattern of it."""
    weaker = graph.prepared.workload.weaker[number]
    begun = (weaker.places[place] for place in _best_order(graph, weaker.sharer, pool))
    rest = graph.prepared.local(sharer).after(sum(1 << place for place in weaker.places))
    return Choice((*begun, *rest), pool, number)


def settle(
    graph: PlanGraph, number: int, old: Choice | None = None, weaker: Sequence[int] = ()
) -> None:
    """Add a branch with its best response, or with its old choice if that is cheaper."""
    sharer = graph.prepared.workload.sharers[number]
    own = Choice(graph.prepared.best(sharer), pools_of(graph.prepared, sharer)[0])
    best, least = None, 0
    for choice in dict.fromkeys((own if old is None else old, *responses(graph, sharer, weaker))):
        cost = graph.put(number, choice)
        graph.take(number)
        if best is None or cost < least:
            best, least = choice, cost
    assert best is not None
    graph.put(number, best)


def respond(graph: PlanGraph, number: int, weaker: Sequence[int] = ()) -> None:
    """Give a branch its best response if that is cheaper; see `responses`."""
    old = graph.choices[number]
    graph.take(number)
    settle(graph, number, old, weaker)


def reinsert(graph: PlanGraph, numbers: Sequence[int], starts: Starts = _NONE) -> None:
    """Take branches out and put them back, one after the other, if that is cheaper."""
    before = graph.cost
    old = {number: graph.choices[number] for number in numbers}
    for number in numbers:
        graph.take(number)
    for number in numbers:
        settle(graph, number, weaker=starts.get(number, ()))
    if graph.cost >= before:
        graph.swap(old)


def _marginal(graph: PlanGraph, sharer: Sharer, made: Made) -> int:
    """Return the marginal cost of one more branch using a node, without its waiting."""
    window = graph.held[made.node].window
    if sharer.window <= window:
        return 0
    prepared = graph.prepared
    larger = prepared.step_price(made, sharer.window)
    return larger - prepared.step_price(made, window)


def _leaving(graph: PlanGraph, sharer: Sharer, made: Made) -> int:
    """Return the cost of one more user taking the rows of a node."""
    if not made.left:
        return 0
    window = max(graph.held[made.node].window, sharer.window)
    users = handed(1, sharer.window < window)
    return users * graph.prepared.row_price(made, window)


def _best_order(graph: PlanGraph, sharer: Sharer, pool: int) -> Places:
    prepared, local = graph.prepared, graph.prepared.local(sharer)
    prices = local.prices
    # If variables look alike, several paths lead to a node.
    seen: set[tuple[int | None, int]] = set()

    def reached(
        parent: int | None, prefix: Places, bound: int, cost: int, leaving: int
    ) -> Iterator[tuple[int, Places]]:
        yield cost + leaving + local.cost_after(bound), prefix
        for place in range(sharer.size):
            if bound >> place & 1:
                continue
            longer = (*prefix, place)
            node = prepared.known(prepared.prefix_key(parent, sharer, pool, longer))
            reach = node, bound | 1 << place
            if node is not None and node in graph.held and reach not in seen:
                seen.add(reach)
                made = Made(node, bound, 1 << place, (), sharer)
                more = cost + _marginal(graph, sharer, made) + prices.wait(bound, 1 << place)
                leave = _leaving(graph, sharer, made)
                yield from reached(node, longer, bound | 1 << place, more, leave)

    _, prefix = min(reached(None, (), 0, 0, 0))
    return prefix + local.after(sum(1 << place for place in prefix))


def _best_tree(graph: PlanGraph, sharer: Sharer, pool: int) -> Tree:
    prepared, step = graph.prepared, graph.prepared.local(sharer).prices.step
    costs: list[int] = [0]
    trees: list[Tree] = [-1]
    for mask in range(1, 1 << sharer.size):
        known = list(_live(graph, sharer, pool, mask))
        if not mask & (mask - 1):
            place = mask.bit_length() - 1
            node, _ = prepared.tree_form(sharer, place, pool)
            made = Made(node, 0, mask, (), sharer)
            live = node in graph.held
            cost = _marginal(graph, sharer, made) if live else step(0, mask)
            known.append((cost, place))
        else:
            own = step_of = -1
            part = rest = mask & (mask - 1)
            while part:
                cost = costs[mask ^ part] + costs[part]
                if own < 0 or cost < own:
                    cost += step(mask ^ part, part)
                    if own < 0 or cost < own:
                        own, step_of = cost, part
                part = (part - 1) & rest
            known.append((own, (trees[mask ^ step_of], trees[step_of])))
        cost, tree = min(known, key=lambda each: each[0])
        costs.append(cost)
        trees.append(tree)
    return trees[-1]


def _live(graph: PlanGraph, sharer: Sharer, pool: int, mask: int) -> Iterator[tuple[int, Tree]]:
    """Yield existing trees of a sub-pattern, with the cost of using them."""
    if not mask & (mask - 1):
        return
    form, places = sharer.form(mask)
    for node, shape in graph.prepared.trees.get((form, pool), {}).items():
        if node in graph.held:
            tree = renamed(shape, places)
            *_, made = graph.prepared.path(sharer, Choice(tree, pool))
            used = _marginal(graph, sharer, made) + _leaving(graph, sharer, made)
            yield used + graph.prepared.local(sharer).waiting(tree), tree
