"""Plans that begin with a weaker node: they let patterns with different conditions share.

Branches whose conditions on some events differ may take these events from one node with the
conditions that all of them imply (late.py). For each set of events it considers the meets of the
branches' conditions, the most promising first: the gain is the holders' cost for these events
without sharing, minus the node and the checks. O(h m) for h holders and m meets, at most
`_MOST_MEETS`, of each sub-pattern without conditions.
Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from cepkit.pattern.printer import expression_text
from cepkit.sharing.late import Demands, demands, implies, late_of, meet_of_all, order_demanded
from cepkit.sharing.local import Local
from cepkit.sharing.merging import pooled
from cepkit.sharing.plan_graph import Changes, Choice, PlanGraph, Prepared, handed
from cepkit.sharing.start import order_cost
from cepkit.sharing.workload import Places, Sharer, Weaker

_FEW, _MOST_DISTINCT = 4, 12
"""The number of most frequent sets of conditions whose pairs are tried; of a few, all subsets."""

_MOST_MEETS = 6
"""The most nodes to try for one set of events."""


@dataclass(frozen=True, eq=False, slots=True)
class WeakerNode:
    """A sub-pattern with fewer conditions than some of its users.

    Attributes:
        holders: The branches that may use its rows: each with its places and its own conditions.
    """

    demanded: Demands
    holders: tuple[tuple[Sharer, Places, Demands], ...]


def weaker_nodes(prepared: Prepared) -> list[WeakerNode]:
    """Return the weaker nodes with a possible gain, the most promising first."""
    nodes: list[tuple[int, WeakerNode]] = []
    for alike in all_weaker_nodes(prepared):
        gains = [(_most_gain(prepared, node), node) for node in alike]
        promising = [each for each in gains if each[0] > 0]
        promising.sort(key=lambda each: (-each[0], _texts(each[1].demanded)))
        nodes += promising[:_MOST_MEETS]
    nodes.sort(key=lambda each: -each[0])
    return [node for _, node in nodes]


def all_weaker_nodes(prepared: Prepared) -> Iterator[list[WeakerNode]]:
    """Yield all weaker nodes to try for each set of events; none for trees."""
    for holders in prepared.workload.skeletons.values() if prepared.mode == "order" else ():
        first = {each.number: (each, places) for each, places in reversed(holders)}
        asked = [(each, places, _demands(each, places)) for each, places in first.values()]
        if len({each for *_, each in asked}) > 1:
            meets = _meets([each for *_, each in asked])
            yield [WeakerNode(m, tuple(h for h in asked if implies(h[2], m))) for m in meets]


def _demands(sharer: Sharer, places: Places) -> Demands:
    description = sharer.description
    conditions = (*description.conditions, *order_demanded(description.branch))
    return demands(conditions, [description.variables[place] for place in places])


def _meets(asked: Sequence[Demands]) -> list[Demands]:
    """Return the common conditions of some branches, in an order independent of theirs."""
    often = Counter(asked)
    distinct = sorted(often, key=lambda each: (-often[each], _texts(each)))
    few = distinct[:_MOST_DISTINCT]
    sizes = range(1, 3 if len(few) > _FEW else len(few))
    some = (meet_of_all(each) for size in sizes for each in combinations(few, size))
    return [each for each in dict.fromkeys((meet_of_all(distinct), *some)) if each]


def _texts(demanded: Demands) -> list[str]:
    return sorted(map(expression_text, demanded))


def _most_gain(prepared: Prepared, node: WeakerNode) -> int:
    """Return the most that a node can gain; 0 or less if it does not pay off."""
    # Holders with the same conditions share these events without it.
    paid: dict[Demands, int] = {}
    for sharer, places, own in node.holders:
        local = prepared.local(sharer)
        cost = local.cost_after(0) - local.cost_after(sum(1 << place for place in places))
        paid[own] = max(paid.get(own, 0), cost)
    if len(paid) < 2:
        return 0
    owner, order = _begun(prepared, node.holders, node.demanded)
    prices = prepared.prices(owner.sharer)
    cost = order_cost(prepared, owner.sharer, order)
    rows = prices.rows(owner.sharer.full)
    # Holders that would pay more for its rows than they save do not use it; one pays nothing extra.
    taken = (max(0, c - handed(1, 0, own != node.demanded) * rows) for own, c in paid.items())
    return sum(taken) + handed(1, 0) * rows - cost


def _begun(
    prepared: Prepared, holders: Sequence[tuple[Sharer, Places, Demands]], demanded: Demands
) -> tuple[Weaker, Places]:
    """Return a node as a part of the holder with the largest window, and its best order."""
    sharer, places, own = max(holders, key=lambda holder: holder[0].window)
    weaker = prepared.workload.weaker[_weakened(prepared, sharer, places, own, demanded)]
    return weaker, Local(weaker.sharer.size, prepared.prices(weaker.sharer)).order


def _weakened(
    prepared: Prepared, sharer: Sharer, places: Places, own: Demands, demanded: Demands
) -> int:
    variables = tuple(sharer.description.variables[place] for place in places)
    return prepared.workload.weaken(sharer, late_of(own, demanded, variables))


def weakenings(graph: PlanGraph, node: WeakerNode) -> Iterator[Changes]:
    """Yield changes that let holders begin with a weaker node: by window, and all at once."""
    prepared = graph.prepared
    asked = {sharer.number: (places, own) for sharer, places, own in node.holders}
    for pool, group in pooled(prepared, [(sharer, places) for sharer, places, _ in node.holders]):
        holders = [(sharer, *asked[sharer.number]) for sharer, _ in group]
        begun = beginning_with(prepared, WeakerNode(node.demanded, tuple(holders)), pool)
        changes = {n: choice for n, choice in begun.items() if choice != graph.choices[n]}
        if changes:
            yield changes


def beginning_with(prepared: Prepared, node: WeakerNode, pool: int) -> dict[int, Choice]:
    """Return the plans of all holders of a weaker node that begin with it."""
    owner, order = _begun(prepared, node.holders, node.demanded)
    names = owner.sharer.description.variables
    in_form = [owner.late.variables.index(names[place]) for place in order]
    choices = {}
    for sharer, places, own in node.holders:
        begun = tuple(places[i] for i in in_form)
        rest = prepared.local(sharer).after(sum(1 << place for place in begun))
        number = None
        if own != node.demanded:
            number = _weakened(prepared, sharer, places, own, node.demanded)
        choices[sharer.number] = Choice(begun + rest, pool, number)
    return choices


def starts_of(prepared: Prepared, nodes: Iterable[WeakerNode]) -> dict[int, list[int]]:
    """Return for the number of each branch the weaker sub-patterns that it may begin with."""
    starts: dict[int, list[int]] = {}
    for node in nodes:
        for sharer, places, own in node.holders:
            if own != node.demanded:
                number = _weakened(prepared, sharer, places, own, node.demanded)
                starts.setdefault(sharer.number, []).append(number)
    return starts


def starts_beside(graph: PlanGraph, sharer: Sharer) -> list[int]:
    """Return the weaker sub-patterns of others' nodes that a branch may begin with."""
    prepared = graph.prepared
    starts: dict[int, None] = {}
    for holders in prepared.workload.skeletons.values() if prepared.mode == "order" else ():
        first = {each.number: (each, places) for each, places in reversed(holders)}
        if sharer.number not in first:
            continue
        _, mine = first.pop(sharer.number)
        own = _demands(sharer, mine)
        for other, places in first.values():
            choice = graph.choices.get(other.number)
            if choice is None or {*choice.order[: len(places)]} != {*places}:
                continue
            weaker = prepared.weaker(choice)
            if weaker is not None and weaker.sharer.size != len(places):
                continue
            demanded = _demands(other, places)
            if weaker is not None:
                names = [other.description.variables[place] for place in places]
                demanded = demands(weaker.late.demanded, names)
            if own != demanded and implies(own, demanded):
                starts[_weakened(prepared, sharer, mine, own, demanded)] = None
    return [*starts]
