"""The counts of a funnel, by the engine: each is the number of matches of a part of the branch.

The part for a requirement has the variables bound so far, the requirement and those before it. To
count, the engine need not make the events of the last step, and slices run side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from cepkit.columnar.compile.program import Program
from cepkit.columnar.compile.query import compile_branch
from cepkit.columnar.kleene.limits import TooManySets, Tries
from cepkit.columnar.run import Run
from cepkit.diagnosis.forgiven import by_keys, can_be_forgiven, in_slices
from cepkit.diagnosis.search import Counts, Search
from cepkit.diagnosis.sets import TOGETHER, TRIED, demanding
from cepkit.pattern import requirements as req
from cepkit.pattern.conditions import Attribute, Comparison, variables_of
from cepkit.stream.columns import Column

_PARTITION = "\0partition"
"""The name of an attribute that holds the number of each event's partition."""


def counts_by_engine(search: Search) -> Counts | None:
    """Return the counts of a search over all events; None where the engine cannot count them."""
    branch, table, order = search.measures.branch, search.measures.table, search.order
    pairs = combinations(order, 2)
    if not can_be_forgiven(branch) or any(req.may_coincide(branch, x, y) for x, y in pairs):
        return None
    if not search.grouped.isdisjoint(branch.latest(order)):
        return None  # the same other events may have sets in several slices
    rows = [(v, r) for at, v in enumerate(order) for r in search.counted(v, order[:at])]
    rows += [("", r) for r in search.active if isinstance(r, req.Absent)]
    programs = [*_programs(search, rows)]

    def sizes(runs: Sequence[Run], *_: object) -> list[int]:
        tries = Tries(TRIED, TOGETHER, alone=True)
        return [
            sum(size for _, size in run.fitting(tries))
            if program.sets
            else sum(block.size for block in run.blocks())
            for program, run in zip(programs, runs, strict=True)
        ]

    attributes = {**table.columns.attributes, _PARTITION: Column("integer", table.partition)}
    columns, budget = replace(table.columns, attributes=attributes), search.work.budget
    try:
        slices = [*in_slices(programs, columns, sizes, budget, counts=True)]
    except TooManySets:
        return None
    if not slices or slices[-1][0] < len(columns):
        return None
    passed = np.sum([some for _, some in slices], axis=0).tolist()
    counts, before = Counts(), len(search.candidates(order[0]))
    for (variable, requirement), after in zip(rows, passed, strict=True):
        if requirement is None and variable not in search.grouped:
            before *= len(search.candidates(variable))
        counts[variable, requirement] = before, after
        before = after
    return counts


def _programs(
    search: Search, rows: Sequence[tuple[str, req.Requirement | None]]
) -> Iterator[Program]:
    """Yield the program that counts each row of a funnel."""
    branch, order, sets = search.measures.branch, search.order, search.grouped
    whole, absent = demanding(branch, ()), list[req.Requirement]()
    fulfilled = [c for c in whole.conditions if len(variables_of(c)) < 2]
    for variable, requirement in rows:
        names = order if not variable else order[: order.index(variable) + 1]
        match requirement:
            case req.Absent():
                absent.append(requirement)
            case req.Holds(condition):
                fulfilled.append(condition)
            case req.SamePartition():
                one, other = (Attribute(v, _PARTITION) for v in (names[0], variable))
                fulfilled.append(Comparison("=", one, other))
        part = replace(
            whole,
            positive=tuple(e for e in whole.positive if e.variable in names),
            order=frozenset(pair for pair in whole.order if {*names}.issuperset(pair)),
            conditions=tuple(c for c in fulfilled if variables_of(c) <= {*names}),
            partition_by=(),
        )
        if absent:
            part = demanding(branch, absent)
        part = replace(part, repeated=tuple((v, 1, None) for v in names if v in sets))
        # A scope is counted without a look at events if its variable is bound last.
        late = {*sets, variable} if requirement is None else sets
        keyed = by_keys(part, [v for v in names if v not in late])
        yield compile_branch(part, (*keyed, *(v for v in names if v in late)))
