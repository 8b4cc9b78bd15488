"""Checks of what verbs take beside a pattern, and of lists of patterns, before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cepkit.errors import PatternError, PlanError, StreamError, shown

_FUNCTION = ("zero", "one", "plus", "times", "reads", "lift", "result")
_HINT = "cepkit.aggregation.semirings.functions tells what an aggregate is"


def check_list(pattern: object) -> None:
    """Check that several patterns, if they are several, are a list.

    Raises:
        PatternError: They are a dict, a set, a generator or the like.
    """
    if isinstance(pattern, Iterable) and not isinstance(pattern, str | list | tuple):
        raise PatternError(
            f"patterns in a {type(pattern).__name__}",
            expected="a query, or a list of queries",
            hint="list(...) makes one",
        )


def named(patterns: Mapping[Any, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return several patterns by their names; those of a list are "pattern 1" and so on.

    Raises:
        PatternError: There is none, or a name is no text.
    """
    by_name: dict[Any, Any] = (
        dict(patterns)
        if isinstance(patterns, Mapping)
        else {f"pattern {number}": one for number, one in enumerate(patterns, 1)}
    )
    for name in by_name:
        if not isinstance(name, str) or not name:
            raise PatternError(f"a query is called {shown(name)}", expected="a text as its name")
    if not by_name:
        raise PatternError("no query", expected="one or more")
    return by_name


def check_name(option: str, name: object, names: Iterable[str]) -> None:
    """Check that an option has one of its values.

    Raises:
        StreamError: It has not.
    """
    if not (isinstance(name, str) and name in names):
        raise StreamError.unknown(f"{option}={shown(name)}", shown(name), names)


def check_sharing(sharing: object) -> None:
    """Check what is shared, as far as that can be done without the queries.

    Raises:
        StreamError: It is no such name.
        PlanError: It is neither a name nor lengths.
    """
    from cepkit.routes.several import SHARINGS

    if isinstance(sharing, str):
        check_name("sharing", sharing, SHARINGS)
        return
    if not (isinstance(sharing, Sequence) and all(_are_lengths(cuts) for cuts in sharing)):
        raise PlanError(
            f"sharing={shown(sharing)}",
            expected=f"one of {', '.join(SHARINGS)}; or for each query the lengths of its pieces, "
            "None for one that is by itself",
            hint="sharing=[(2, 1), (1, 2), None] cuts the first two of three queries",
        )


def _are_lengths(cuts: object) -> bool:
    if cuts is None:
        return True
    if isinstance(cuts, str) or not isinstance(cuts, Sequence):
        return False
    return all(isinstance(length, int) for length in cuts)


def check_functions(functions: object) -> None:
    """Check that aggregates of one's own are some.

    Raises:
        PatternError: They are none.
    """
    if functions is None:
        return
    if not isinstance(functions, Mapping):
        raise PatternError(
            f"functions= of the type {type(functions).__name__}",
            expected="a dict of column names and aggregates",
            hint=_HINT,
        )
    for name, function in functions.items():
        if isinstance(function, type):
            raise PatternError(
                f"functions= has the class {function.__name__} for {shown(name)}",
                expected="one of its objects",
                hint=f"is it {function.__name__}(...)?",
            )
        lacking = [part for part in _FUNCTION if not hasattr(function, part)]
        if lacking or not isinstance(name, str):
            raise PatternError(
                f"functions= has an object of the type {type(function).__name__} for {shown(name)}",
                expected="the name of a column, and an aggregate: an object with "
                f"{', '.join(_FUNCTION)}",
                hint=_HINT,
            )
