"""Several named patterns, and results by their names.

Patterns come as a list or as a dict by name; in a list they are "pattern 1", "pattern 2" and so on.
An error begins with the name of its pattern.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar, overload

from cepkit.errors import PatternError, PlanError, shown, telling
from cepkit.pattern.builder import as_query
from cepkit.pattern.query import Query

PATTERN = "pattern"
"""The column that names the pattern of a match, or of an aggregate."""

_T = TypeVar("_T")


def named(patterns: Iterable[_T] | Mapping[str, _T]) -> dict[str, _T]:
    """Return several patterns by their names.

    Raises:
        PatternError: There is no pattern, a name is no text, or the patterns are neither in a list
            nor in a dict.
    """
    if isinstance(patterns, Mapping):
        by_name = dict(patterns)
    elif isinstance(patterns, list | tuple):
        by_name = {f"pattern {number}": one for number, one in enumerate(patterns, 1)}
    else:
        raise PatternError(
            f"patterns in a {type(patterns).__name__}",
            expected="a query, a list of queries, or a dict of queries by name",
            hint="list(...) makes a list",
        )
    for name in by_name:
        if not isinstance(name, str) or not name:
            raise PatternError(f"a pattern is called {shown(name)}", expected="a text as its name")
    if not by_name:
        raise PatternError("no pattern", expected="one or more")
    return by_name


def queries_of(patterns: Any, read: Callable[[Any], Query] = as_query) -> dict[str, Query]:
    """Return several patterns as queries by name; an error names its pattern.

    Args:
        patterns: A list of patterns, or a dict of patterns by name.
        read: Returns a pattern as a checked query.
    """
    queries = {}
    for name, pattern in named(patterns).items():
        with telling(called(name)):
            queries[name] = read(pattern)
    return queries


ALONE = ""
"""The name of the only pattern, which is not given in a list."""


def called(name: str) -> str | None:
    """Return the name of a pattern in errors: "pattern 3", "pattern 'name'"; None for `ALONE`."""
    if name == ALONE:
        return None
    return name if _NUMBERED.fullmatch(name) else f"pattern '{name}'"


_NUMBERED = re.compile(r"pattern \d+")


_ELSEWHERE = {
    "tree": (
        "subtrees of aggregates: a counter goes along a sequence, there is nothing to join",
        "share='chop-connect' also counts common parts after the beginning once",
    ),
    "chop-connect": (
        "connected counters of matches, which have to be found one by one",
        "share='tree' also finds common parts after the beginning once",
    ),
}
"""Ways of sharing that only aggregates or only matches have: the problem and a hint for others."""


def check_share(share: object, names: Sequence[str]) -> None:
    """Check the setting `share` of several patterns.

    Raises:
        PlanError: The setting is not one of `names`.
    """
    if isinstance(share, str) and share in names:
        return
    if isinstance(share, str) and share in _ELSEWHERE:
        problem, hint = _ELSEWHERE[share]
        raise PlanError(
            f"share='{share}': {problem}", expected=f"one of {', '.join(names)}", hint=hint
        )
    raise PlanError.unknown(f"share={shown(share)}", share, names)


def free_name(names: Collection[str], name: str | None) -> str:
    """Return `name` if it is free; without a name, a free number.

    Raises:
        PatternError: Another pattern has the name.
    """
    if name is None:
        numbers = (f"pattern {i}" for i in count(len(names) + 1))
        return next(each for each in numbers if each not in names)
    if name in names:
        raise PatternError(f"there is a pattern '{name}'", hint="give it another name=")
    return name


def number_of(name: str, names: Sequence[str]) -> int:
    """Return the number of the pattern with a name.

    Raises:
        PatternError: No pattern has it.
    """
    if name not in names:
        raise PatternError.unknown(f"there is no pattern '{name}'", name, names)
    return names.index(name)


class ByName(Sequence[_T]):
    """The results of several patterns in order, each under its name or number."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the patterns."""

    @abstractmethod
    def _at(self, number: int) -> _T:
        """Return the result of one pattern."""

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int | str) -> _T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...

    def __getitem__(self, index: int | str | slice) -> Any:
        if isinstance(index, slice):
            return [self._at(number) for number in range(len(self))[index]]
        if isinstance(index, str):
            return self._at(number_of(index, self.names))
        return self._at(range(len(self))[index])
