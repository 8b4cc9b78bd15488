"""Plans to begin a search with: each branch's best plan, or that of its text."""

from __future__ import annotations

from cepkit.sharing.local import Tree
from cepkit.sharing.plan_graph import COMMON, Choice, Planned, Prepared
from cepkit.sharing.workload import Sharer


def pools_of(prepared: Prepared, sharer: Sharer) -> tuple[int, ...]:
    """Return with whom a branch may share: those of its window first, then all.

    Where all of its family have one window the two are the same.
    """
    windows = {s.window for s in prepared.workload.sharers if s.family == sharer.family}
    return (COMMON,) if len(windows) == 1 else (sharer.window + 1, COMMON)


def alone(sharer: Sharer) -> int:
    """Return the pool of a branch that shares nothing."""
    return -1 - sharer.number


def own_plans(prepared: Prepared, *, shared: bool = True) -> dict[int, Choice]:
    """Return each branch's best plan; where `shared`, equal nodes among equal windows once."""
    return {
        s.number: Choice(prepared.best(s), pools_of(prepared, s)[0] if shared else alone(s))
        for s in prepared.workload.sharers
    }


def text_plan(prepared: Prepared, sharer: Sharer) -> Planned:
    """Return the plan in the order of the pattern's text: as a tree, one that leans left."""
    places = {variable: place for place, variable in enumerate(sharer.said.variables)}
    order = tuple(places[variable] for variable in sharer.said.text_order)
    if prepared.mode == "order":
        return order
    tree: Tree = order[0]
    for place in order[1:]:
        tree = (tree, place)
    return tree
