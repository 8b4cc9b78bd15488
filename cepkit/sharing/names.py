"""The names of several patterns: given, or their numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count

from cepkit.errors import PatternError, PlanError
from cepkit.pattern.query import Query


def named(
    queries: Sequence[Query] | Mapping[str, Query],
) -> tuple[tuple[str, ...], tuple[Query, ...]]:
    """Return the names of queries, and the queries.

    Raises:
        PatternError: There is none.
    """
    if not queries:
        raise PatternError("no pattern to plan", expected="one or more")
    if isinstance(queries, Mapping):
        return tuple(map(str, queries)), tuple(queries.values())
    return tuple(f"pattern {i}" for i in range(1, len(queries) + 1)), tuple(queries)


def free_name(taken: Collection[str], name: str | None) -> str:
    """Return a name that is not taken: the one that is given, or a number.

    Raises:
        PlanError: There is a pattern of that name.
    """
    if name is None:
        numbers = (f"pattern {i}" for i in count(len(taken) + 1))
        return next(each for each in numbers if each not in taken)
    if name in taken:
        raise PlanError(f"there is a pattern '{name}'", hint="give it another name=")
    return name
