"""Sharing of substrings by their redundancy, without reordering: after SPASS.

A substring is a run of variables in the order of the text. Its score is its total cost for all
holders without sharing, minus its cost once; its redundancy ratio is the saved share. Substrings
are taken greedily by score, which approximates the minimal substring cover; a branch takes those
that do not overlap its earlier ones: one as the prefix of its order, or several as subtrees. The
rest follows the order of the text. O(substrings * holders). Source: SH-RR of MULTI, after Ray, Lei
and Rundensteiner, *Scalable Pattern Sharing on Event Streams* (SIGMOD 2016); scores by the cost
model are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepkit.sharing.local import leaning_left
from cepkit.sharing.plan_graph import Changes, Choice, Mode, PlanGraph, Planned, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import order_cost, pools_of, text_order
from cepkit.sharing.workload import Form, Places, Sharer

_Users: TypeAlias = list[tuple[Sharer, Places]]
_Substrings: TypeAlias = dict[tuple[Form, int], _Users]
"""The users of each substring by form and window, with their variables in a common order."""


@dataclass(frozen=True, slots=True)
class RedundancyRatio:
    """Shares substrings by their saving, with plans in the order of the text."""

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
