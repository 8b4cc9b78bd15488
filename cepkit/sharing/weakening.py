"""Plans that begin with a weaker node: the moves that let patterns with other conditions share.

Branches whose conditions on some events differ may take these from one node that demands what all
of them do (late.py). Of each set of events the meets of what is demanded are looked at, those that
may gain most: what the holders pay for these events by themselves, less the node and the checks.
O(h m) for h holders and m meets, at most `_MOST_MEETS`, of each sub-pattern without conditions.
Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from cepkit.pattern.printer import expression_text
from cepkit.sharing.late import Demands, demands, implies, late_of, meet, meet_of_all
from cepkit.sharing.local import Local
from cepkit.sharing.merging import pooled
from cepkit.sharing.plan_graph import Changes, Choice, PlanGraph, Prepared, handed
from cepkit.sharing.start import pools_of
from cepkit.sharing.workload import Places, Sharer, Weaker

_MOST_DISTINCT = 12
"""Sets of conditions, the most frequent ones, of which all pairs meet."""

_MOST_MEETS = 6
"""Nodes that are tried for one set of events."""


@dataclass(frozen=True, slots=True)
class WeakerNode:
    """A sub-pattern that demands less than some of its users.

    Attributes:
        demanded: Its conditions.
        holders: Those who may take its rows: a branch, its places, and what it demands of them.
    """

    demanded: Demands
    holders: tuple[tuple[Sharer, Places, Demands], ...]


def weaker_nodes(prepared: Prepared) -> list[WeakerNode]:
    """Return the weaker nodes that may gain anything, the most promising first; none of trees."""
    if prepared.mode == "tree":
        return []
    nodes: list[tuple[int, WeakerNode]] = []
    for holders in prepared.workload.skeletons.values():
        first = {each.number: (each, places) for each, places in reversed(holders)}
        asked = [(each, places, _demands(each, places)) for each, places in first.values()]
        if len({each for *_, each in asked}) == 1:
            continue
        promising = []
        for demanded in _meets([each for *_, each in asked]):
            node = WeakerNode(demanded, tuple(h for h in asked if implies(h[2], demanded)))
            gain = _most_gain(prepared, node)
            if gain > 0:
                promising.append((gain, node))
        promising.sort(key=lambda each: (-each[0], _texts(each[1].demanded)))
        nodes += promising[:_MOST_MEETS]
    nodes.sort(key=lambda each: -each[0])
    return [node for _, node in nodes]


def _demands(sharer: Sharer, places: Places) -> Demands:
    said = sharer.said
    return demands(said.conditions, [said.variables[place] for place in places])


def _meets(asked: Sequence[Demands]) -> list[Demands]:
    """Return what some of several demand in common, in an order that does not depend on theirs."""
    often = Counter(asked)
    distinct = sorted(often, key=lambda each: (-often[each], _texts(each)))
    few = distinct[:_MOST_DISTINCT]
    meets = [meet_of_all(distinct), *few, *(meet(x, y) for x, y in combinations(few, 2))]
    return [each for each in dict.fromkeys(meets) if each]


def _texts(demanded: Demands) -> list[str]:
    return sorted(map(expression_text, demanded))


def _most_gain(prepared: Prepared, node: WeakerNode) -> int:
    """Return what a node gains at most: 0 or less where each holder by itself is no dearer."""
    if all(own == node.demanded for *_, own in node.holders) or len(node.holders) < 2:
        return 0
    # Those who demand the same share these events without it.
    paid: dict[Demands, int] = {}
    for sharer, places, own in node.holders:
        local = prepared.local(sharer)
        cost = local.cost_after(0) - local.cost_after(sum(1 << place for place in places))
        paid[own] = max(paid.get(own, 0), cost)
    before = sum(paid.values())
    if before <= max(paid.values()):
        return 0
    owner, order = _begun(prepared, node.holders, node.demanded)
    prices = prepared.prices(owner.sharer)
    cost = bound = 0
    for place in order:
        cost += prices.step(bound, 1 << place)
        bound |= 1 << place
    checking = sum(own != node.demanded for *_, own in node.holders)
    return before - cost - handed(len(node.holders) - 1, 0, checking) * prices.rows(bound)


def _begun(
    prepared: Prepared, holders: Sequence[tuple[Sharer, Places, Demands]], demanded: Demands
) -> tuple[Weaker, Places]:
    """Return a node as the holder with the largest window has it, and its best order."""
    sharer, places, own = max(holders, key=lambda holder: holder[0].window)
    weaker = prepared.workload.weaker[_weakened(prepared, sharer, places, own, demanded)]
    return weaker, Local(weaker.sharer.size, prepared.prices(weaker.sharer)).order


def _weakened(
    prepared: Prepared, sharer: Sharer, places: Places, own: Demands, demanded: Demands
) -> int:
    variables = tuple(sharer.said.variables[place] for place in places)
    return prepared.workload.weaken(sharer, late_of(own, demanded, variables))


def weakenings(graph: PlanGraph, node: WeakerNode) -> Iterator[Changes]:
    """Yield the changes that let all holders begin with a weaker node: of each window, and all."""
    prepared = graph.prepared
    asked = {sharer.number: (places, own) for sharer, places, own in node.holders}
    for pool, group in pooled(prepared, [(sharer, places) for sharer, places, _ in node.holders]):
        holders = [(sharer, *asked[sharer.number]) for sharer, _ in group]
        owner, order = _begun(prepared, holders, node.demanded)
        names = owner.sharer.said.variables
        in_form = [owner.late.variables.index(names[place]) for place in order]
        changes: dict[int, Choice] = {}
        for sharer, places, own in holders:
            begun = tuple(places[i] for i in in_form)
            rest = prepared.local(sharer).after(sum(1 << place for place in begun))
            number = None
            if own != node.demanded:
                number = _weakened(prepared, sharer, places, own, node.demanded)
            choice = Choice(begun + rest, pool, number)
            if choice != graph.choices[sharer.number]:
                changes[sharer.number] = choice
        if changes:
            yield changes


def respond_weaker(graph: PlanGraph, sharer: Sharer) -> None:
    """Let a branch begin with a node that is there and demands less, if that is cheaper."""
    number = sharer.number
    for choice in dict.fromkeys(_beside(graph, sharer)):
        old, before = graph.choices[number], graph.cost
        graph.swap({number: choice})
        if graph.cost >= before:
            graph.swap({number: old})


def _beside(graph: PlanGraph, sharer: Sharer) -> Iterator[Choice]:
    """Yield the plans of a branch that begin with a node of others that demands less."""
    prepared = graph.prepared
    pools = pools_of(prepared, sharer)
    for holders in prepared.workload.skeletons.values():
        first = {each.number: (each, places) for each, places in reversed(holders)}
        if sharer.number not in first or prepared.mode == "tree":
            continue
        _, mine = first.pop(sharer.number)
        own = _demands(sharer, mine)
        rest = prepared.local(sharer).after(sum(1 << place for place in mine))
        for other, places in first.values():
            choice = graph.choices.get(other.number)
            if choice is None or choice.pool not in pools:
                continue
            begun, weaker = choice.order[: len(places)], prepared.weaker(choice)
            if {*begun} != {*places} or (weaker and weaker.sharer.size != len(places)):
                continue
            demanded = _demands(other, places)
            if weaker is not None:
                names = [other.said.variables[place] for place in places]
                demanded = demands(weaker.late.demanded, names)
            if own != demanded and implies(own, demanded):
                order = tuple(mine[places.index(place)] for place in begun) + rest
                number = _weakened(prepared, sharer, mine, own, demanded)
                yield Choice(order, choice.pool, number)
