"""Merge and decomposition as a Steiner tree, without reordering: after MOTTO.

A branch, or a sub-pattern of several, is built from single events or from a smaller sub-pattern, in
the order of the text; an edge costs the remaining bindings. The cheapest tree that reaches all
branches is approximated: add the sub-pattern that saves most, as long as one saves anything.
O(sub-patterns^2 * holders). Source: SH-MDT of MULTI, after Zhang et al., *Multi-Query Optimization
for Complex Event Processing in SAP ESP* (ICDE 2017); the greedy approximation of the Steiner tree
is ours, and operators are not transformed into each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from cepkit.sharing.plan_graph import Changes, Choice, PlanGraph, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import in_order, order_cost, pools_of, text_order
from cepkit.sharing.workload import Form, Places, Sharer

_Key: TypeAlias = tuple[Form, int]
"""A sub-pattern and a window."""


@dataclass(frozen=True, slots=True)
class MergeDecompose:
    """Builds each sub-pattern once, from the best smaller one."""

    name: str = "merge-decompose"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        tree = _Steiner(prepared)
        tree.grow()
        choices = {
            sharer.number: Choice(
                in_order(prepared.mode, tree.order(_Target(sharer, sharer.full))),
                pools_of(prepared, sharer)[0],
            )
            for sharer in prepared.workload.sharers
        }
        return Progressed(PlanGraph(prepared, choices), observe).best


@dataclass(frozen=True, slots=True)
class _Target:
    """A target of the tree: a branch, or a set of its variables."""

    sharer: Sharer
    mask: int


@dataclass(slots=True)
class _Steiner:
    """A growing tree: for each of its sub-patterns one branch that has it."""

    prepared: Prepared
    made: dict[_Key, _Target] = field(default_factory=dict)
    within: dict[int, list[tuple[_Key, Places]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for form, holders in self.prepared.workload.holders.items():
            if len(form[1]) > 1:
                for sharer, places in holders:
                    key = form, sharer.window
                    self.within.setdefault(sharer.number, []).append((key, places))

    def grow(self) -> None:
        """Add sub-patterns while one saves anything."""
        targets = [_Target(s, s.full) for s in self.prepared.workload.ranked]
        while True:
            savings = self._savings([*targets, *self.made.values()])
            best = max(sorted(savings), key=savings.__getitem__, default=None)
            if best is None or savings[best] <= 0:
                return
            holders = self.prepared.workload.holders[best[0]]
            sharer, places = next(h for h in holders if h[0].window == best[1])
            self.made[best] = _Target(sharer, _mask(places))

    def _savings(self, targets: list[_Target]) -> dict[_Key, int]:
        """Return the saving of each sub-pattern that is not yet in the tree."""
        savings: dict[_Key, int] = {}
        made_of: dict[_Key, int] = {}
        for target in targets:
            now = self._cost(target)[0]
            best: dict[_Key, int] = {}
            for key, places in self._inside(target):
                if key not in self.made:
                    saved = now - self._edge(target, places)
                    best[key] = max(best.get(key, 0), saved)
                    if key not in made_of:
                        made_of[key] = self._cost(_Target(target.sharer, _mask(places)))[0]
            for key, saved in best.items():
                savings[key] = savings.get(key, 0) + saved
        return {key: saved - made_of[key] for key, saved in savings.items()}

    def _inside(self, target: _Target) -> Iterator[tuple[_Key, Places]]:
        for key, places in self.within.get(target.sharer.number, ()):
            mask = _mask(places)
            if mask & target.mask == mask != target.mask:
                yield key, places

    def _edge(self, target: _Target, places: Places) -> int:
        rest = self._rest(target, _mask(places))
        return order_cost(self.prepared, target.sharer, rest, _mask(places))

    def _rest(self, target: _Target, bound: int) -> Places:
        wanted = target.mask & ~bound
        return tuple(place for place in text_order(target.sharer) if wanted >> place & 1)

    def _cost(self, target: _Target) -> tuple[int, _Key | None, Places]:
        """Return the cheapest path to a target: its cost, and the sub-pattern it starts from."""
        ways: list[tuple[int, _Key | None, Places]] = [(self._edge(target, ()), None, ())]
        ways += [
            (self._edge(target, places), key, places)
            for key, places in self._inside(target)
            if key in self.made
        ]
        return min(ways, key=lambda way: way[0])

    def order(self, target: _Target) -> Places:
        """Return the variables of a target in the order of its path."""
        _, key, places = self._cost(target)
        if key is None:
            return self._rest(target, 0)
        owner = self.made[key]
        _, in_form = owner.sharer.form(owner.mask)
        first = tuple(places[in_form.index(place)] for place in self.order(owner))
        return first + self._rest(target, _mask(places))


def _mask(places: Places) -> int:
    return sum(1 << place for place in places)
