"""Functions of sets whose members have variables of their own, as in a group that repeats.

`sum(a.x)` of two repetitions is `sum(a[1].x, a[2].x)`, the sum of a set of these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.conditions import Aggregate
from cepkit.pattern.evaluation.functions.contract import Function, OnMembers
from cepkit.pattern.evaluation.kinds import ValueKind, set_function_kind
from cepkit.pattern.evaluation.set_functions import set_function
from cepkit.stream.columns import Column


@cache
def function_of_members(name: str) -> Function:
    """Return an aggregate as a function of listed members."""
    node = Aggregate(name)

    def column(members: Sequence[Column]) -> Column:
        size = max(len(one.values) for one in members)
        values = [
            one.values if len(one.values) == size else np.repeat(one.values, size, axis=0)
            for one in members
        ]
        first, stacked = members[0], np.stack(values, axis=1)
        missing = any(one.has_missing for one in members)
        flat = stacked.reshape(size * len(members), *stacked.shape[2:])
        all_members = Column(first.kind, flat, first.dictionary, missing)
        return set_function(node, all_members, np.arange(size + 1) * len(members))

    def kind(of_members: ValueKind) -> ValueKind:
        return set_function_kind(node, of_members)

    form = OnMembers(column, AGGREGATES[name].of, kind)
    return Function(name, "x, ...", "the members of a set", (), form)
