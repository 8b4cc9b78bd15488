"""Initial plans of searches: each branch's best plan, or that of its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import cast

from cepkit.sharing.local import Tree, all_trees, leaning_left
from cepkit.sharing.plan_graph import COMMON, Choice, Mode, Planned, Prepared
from cepkit.sharing.workload import Places, Sharer


def pools_of(prepared: Prepared, sharer: Sharer) -> tuple[int, ...]:
    """Return the pools in which a branch may share: that of its window first, then all.

    If all of its family have one window, the two pools are the same.
    """
    several = len(prepared.workload.windows[sharer.family]) > 1
    return (sharer.window + 1, COMMON) if several else (COMMON,)


def alone(sharer: Sharer) -> int:
    """Return the pool of a branch that shares nothing."""
    return -1 - sharer.number


def own_plans(prepared: Prepared, *, shared: bool = True) -> dict[int, Choice]:
    """Return each branch's best plan; if `shared`, equal nodes of equal windows are shared."""
    return {
        s.number: Choice(prepared.best(s), pools_of(prepared, s)[0] if shared else alone(s))
        for s in prepared.workload.ranked
    }


def text_order(sharer: Sharer) -> Places:
    """Return the variables of a branch in the order of the pattern's text."""
    places = {variable: place for place, variable in enumerate(sharer.description.variables)}
    return tuple(places[variable] for variable in sharer.description.text_order)


def text_plans(prepared: Prepared, *, shared: bool = False) -> dict[int, Choice]:
    """Return each branch's plan in the order of the text; `shared` as for `own_plans`."""
    return {
        s.number: Choice(
            in_order(prepared.mode, text_order(s)), pools_of(prepared, s)[0] if shared else alone(s)
        )
        for s in prepared.workload.sharers
    }


def in_order(mode: Mode, units: Sequence[Tree]) -> Planned:
    """Return an order as a plan; if plans are trees, as one that leans left.

    Args:
        units: Places; for trees they may be subtrees.
    """
    return cast("Planned", tuple(units) if mode == "order" else leaning_left(units))


def all_plans(mode: Mode, places: Places) -> Iterable[Planned]:
    """Return all orders of some places, or all trees over them."""
    return permutations(places) if mode == "order" else all_trees(places)


def order_cost(prepared: Prepared, sharer: Sharer, order: Sequence[int], bound: int = 0) -> int:
    """Return the cost of binding the variables of a branch in an order."""
    total = 0
    prices = prepared.prices(sharer)
    for place in order:
        total += prices.step(bound, 1 << place)
        bound |= 1 << place
    return total
