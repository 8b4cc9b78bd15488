"""The searches for shared plans that MULTI's study compares cepkit's own with.

`text-order`: the order of the text, nothing shared. `sharing-only` (SH): it, equal nodes once.
`reordering` (RE): each branch's order of cheapest next steps, nothing shared; the source's RE picks
the least cost, although its text says "maximizing". `redundancy-ratio` (SH-RR) and
`merge-decompose` (SH-MDT) share without reordering. As trees, orders lean left. Nodes are shared
among equal windows, which never costs more than not sharing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cepkit.sharing.local import leaning_left
from cepkit.sharing.plan_graph import Changes, Choice, Mode, PlanGraph, Planned, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import alone, in_order, order_cost, pools_of, text_order, text_plans
from cepkit.sharing.workload import Form, Places, Sharer


@dataclass(frozen=True, slots=True)
class TextOrder:
    """The order of the text; if `shared`, equal nodes are computed once."""

    name: str = "text-order"
    shared: bool = False

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        choices = text_plans(prepared, shared=self.shared)
        return Progressed(PlanGraph(prepared, choices), observe).best


@dataclass(frozen=True, slots=True)
class Reordering:
    """Each branch's order of cheapest next steps, nothing shared."""

    name: str = "reordering"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        choices = {
            s.number: Choice(in_order(prepared.mode, prepared.local(s).greedy(0, s.full)), alone(s))
            for s in prepared.workload.sharers
        }
        return Progressed(PlanGraph(prepared, choices), observe).best


_Users: TypeAlias = list[tuple[Sharer, Places]]
_Substrings: TypeAlias = dict[tuple[Form, int], _Users]
"""The users of each substring by form and window, with their variables in a common order."""


@dataclass(frozen=True, slots=True)
class RedundancyRatio:
    """Shares substrings by their redundancy, without reordering: after SPASS.

    A substring is a run of variables in the order of the text. Its score is its total cost for all
    holders without sharing, minus its cost once; its redundancy ratio is the saved share.
    Substrings are taken greedily by score, which approximates the minimal substring cover; a branch
    takes those that do not overlap its earlier ones: one as the prefix of its order, or several as
    subtrees. The rest follows the order of the text. O(substrings * holders). Source: SH-RR of
    MULTI, after Ray, Lei and Rundensteiner, *Scalable Pattern Sharing on Event Streams* (SIGMOD
    2016); scores by the cost model are ours.
    """

    name: str = "redundancy-ratio"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        sharers = prepared.workload.sharers
        taken: dict[int, list[Places]] = {sharer.number: [] for sharer in sharers}
        most = 1 if prepared.mode == "order" else len(sharers)
        left = _substrings(prepared)
        while left:
            scores = {key: _score(prepared, users) for key, users in left.items()}
            best = max(sorted(scores), key=scores.__getitem__)
            if scores[best] <= 0:
                break
            for sharer, order in left.pop(best):
                if _fits(taken[sharer.number], order, most):
                    taken[sharer.number].append(order)
            for key, users in left.items():
                left[key] = [each for each in users if _fits(taken[each[0].number], each[1], most)]
        choices = {
            sharer.number: Choice(
                _plan(prepared.mode, sharer, taken[sharer.number]), pools_of(prepared, sharer)[0]
            )
            for sharer in sharers
        }
        return Progressed(PlanGraph(prepared, choices), observe).best


def _substrings(prepared: Prepared) -> _Substrings:
    """Return the substrings that several branches have."""
    users: _Substrings = {}
    orders: dict[Form, Places] = {}
    for sharer in prepared.workload.ranked:
        text = text_order(sharer)
        for begin in range(sharer.size):
            for end in range(begin + 2, sharer.size + 1):
                run = text[begin:end]
                form, places = sharer.form(sum(1 << place for place in run))
                if form in prepared.workload.holders:
                    # The text of the first user determines the order for all.
                    order = orders.setdefault(form, tuple(map(places.index, run)))
                    user = (sharer, tuple(places[i] for i in order))
                    users.setdefault((form, sharer.window), []).append(user)
    return users


def _score(prepared: Prepared, users: _Users) -> int:
    costs = [order_cost(prepared, sharer, order) for sharer, order in users]
    return sum(costs) - max(costs, default=0)


def _fits(taken: Sequence[Places], order: Places, most: int) -> bool:
    return len(taken) < most and not any({*order} & {*other} for other in taken)


def _plan(mode: Mode, sharer: Sharer, taken: Sequence[Places]) -> Planned:
    """Return the order of the text with the taken substrings first, or as subtrees."""
    rest = [place for place in text_order(sharer) if not any(place in order for order in taken)]
    if mode == "order":
        return tuple([place for order in taken for place in order] + rest)
    return leaning_left([*map(leaning_left, taken), *rest])


_Key: TypeAlias = tuple[Form, int]
"""A sub-pattern and a window."""


@dataclass(frozen=True, slots=True)
class MergeDecompose:
    """Merges and decomposes as a Steiner tree, without reordering: after MOTTO.

    A branch, or a sub-pattern of several, is built from single events or from a smaller
    sub-pattern, in the order of the text; an edge costs the remaining bindings. The cheapest tree
    that reaches all branches is approximated: add the sub-pattern that saves most, as long as one
    saves anything. O(sub-patterns^2 * holders). Source: SH-MDT of MULTI, after Zhang et al.,
    *Multi-Query Optimization for Complex Event Processing in SAP ESP* (ICDE 2017); the greedy
    approximation of the Steiner tree is ours, and operators are not transformed into each other.
    """

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


STUDIED = (
    TextOrder(),
    Reordering(),
    TextOrder("sharing-only", shared=True),
    RedundancyRatio(),
    MergeDecompose(),
)
"""The searches of the study that the package does not have."""
