"""Checks of options and of lists of patterns, before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cepkit.errors import ArgumentError, PatternError, PlanError, StreamError, shown

_FUNCTION = ("zero", "one", "plus", "times", "reads", "lift", "result")
_HINT = "cepkit.aggregation.semirings.functions describes aggregates"


def are_several(pattern: object) -> bool:
    """Return whether several patterns are given, valid or not."""
    return isinstance(pattern, Iterable) and not isinstance(pattern, str)


def check_name(option: str, name: object, names: Iterable[str]) -> None:
    """Check that an option has one of its values.

    Raises:
        StreamError: It has another value.
    """
    if not (isinstance(name, str) and name in names):
        raise StreamError.unknown(f"{option}={shown(name)}", shown(name), names)


def refuse(where: str, **given: bool) -> None:
    """Refuse options that are given although they say nothing there.

    Args:
        where: Where they say nothing, as "for one pattern".
        **given: Whether the option of this name is given.

    Raises:
        ArgumentError: One of them is given.
    """
    for name in (name for name, is_given in given.items() if is_given):
        raise ArgumentError(f"{name}= {where}", hint=f"leave {name}= out")


def check_pieces(share: object) -> None:
    """Check a plan of shared counters as far as possible without the patterns.

    Raises:
        PlanError: It is neither lengths of pieces nor the plan of a result.
    """
    from cepkit.routes.sharing import SHARES, SharingPlan

    lengths = isinstance(share, Sequence) and all(map(_are_lengths, share))
    if not (lengths or isinstance(share, SharingPlan)):
        raise PlanError(
            f"share={shown(share)}",
            expected=f"one of {', '.join(SHARES)}; or a plan: that of a result, or for each pattern"
            " the lengths of its pieces, None for one that is by itself",
            hint="share=[(2, 1), (1, 2), None] cuts the first two of three patterns",
        )


def _are_lengths(cuts: object) -> bool:
    if cuts is None:
        return True
    if isinstance(cuts, str) or not isinstance(cuts, Sequence):
        return False
    return all(isinstance(length, int) for length in cuts)


def check_functions(functions: Mapping[str, object] | None) -> None:
    """Check that user-defined aggregates are valid.

    Raises:
        PatternError: They are not.
    """
    for name, function in (functions or {}).items():
        if isinstance(function, type):
            raise PatternError(
                f"functions= has the class {function.__name__} for {shown(name)}",
                expected="one of its objects",
                hint=f"is it {function.__name__}(...)?",
            )
        lacking = [part for part in _FUNCTION if not hasattr(function, part)]
        if lacking:
            raise PatternError(
                f"functions= has an object of the type {type(function).__name__} for {shown(name)}",
                expected=f"an aggregate: an object with {', '.join(_FUNCTION)}",
                hint=_HINT,
            )
