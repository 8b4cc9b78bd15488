"""Groups queries with the same cut into slices, so that each group runs together.

Queries in a group share the first steps of their programs (`compile/forest.py`) and look-ups in a
slice. Under skip-till-next-match and AFTER MATCH SKIP the choice of matches is independent of other
queries: such a query runs alone over the same columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from cepkit.columnar.compile.forest import Leaf, forest_of, trees_of
from cepkit.columnar.compile.query import CompiledQuery
from cepkit.columnar.slices.cutting import cutting_clock


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that run together.

    Attributes:
        query: The programs of all of them.
        of: For each program the number of its query.
    """

    query: CompiledQuery
    of: tuple[int, ...]


def group_of_one(query: CompiledQuery, number: int = 0) -> Group:
    """Return a query, with its number, as a group of its own."""
    leaves = tuple(map(Leaf, range(len(query.programs))))
    return Group(replace(query, forest=query.forest or leaves), (number,) * len(leaves))


def grouped(
    queries: Sequence[CompiledQuery],
    *,
    share: bool = True,
    pools: Sequence[Sequence[int]] | None = None,
) -> tuple[Group, ...]:
    """Return queries in as few groups as possible.

    Args:
        queries: The queries, all with the same choice of sets.
        share: Whether they share first steps; look-ups are always shared.
        pools: For each query and branch its pool, as in a shared plan; negative for no sharing.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, query in enumerate(queries):
        alike.setdefault(_cut(query, number), []).append(number)
    groups = []
    for members in alike.values():
        if len(members) == 1:
            groups.append(group_of_one(queries[members[0]], members[0]))
            continue
        programs = tuple(program for q in members for program in queries[q].programs)
        branches = tuple(branch for q in members for branch in queries[q].branches)
        of = tuple(q for q in members for _ in queries[q].programs)
        own: list[Hashable] | None = None
        if pools is not None:
            numbered = ((q, i, pool) for q in members for i, pool in enumerate(pools[q]))
            own = [pool if pool >= 0 else (q, i) for q, i, pool in numbered]
        leaves = tuple(map(Leaf, range(len(programs))))
        weak = tuple(
            each for q in members for each in queries[q].weak or (None,) * len(queries[q].programs)
        )
        forest = forest_of(programs, own, weak) if share else leaves
        trees = trees_of(programs, own) if share else ()
        first = queries[members[0]]
        query = replace(
            first,
            branches=branches,
            programs=programs,
            forest=forest,
            trees=trees,
            weak=weak,
            together=True,
            work=0.0,
        )
        groups.append(Group(query, of))
    return tuple(groups)


def _cut(query: CompiledQuery, number: int) -> Hashable:
    """Return the key that queries must have in common for the same slices."""
    if query.chooses:
        return number
    clock, window = cutting_clock(query.programs)
    clocks = frozenset(clock for program in query.programs for clock in program.clocks)
    partition = query.programs[0].partition_by if "place" in clocks else ()
    return clock, window is None, clocks, partition
