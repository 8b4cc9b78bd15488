"""The functions that a condition may call: the built-in ones and those a user registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cepkit.errors import PatternError, nearest
from cepkit.pattern.aggregates import AGGREGATES


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language: its name and how many arguments it takes (None: any more)."""

    name: str
    minimum: int
    maximum: int | None


BUILTINS: dict[str, Builtin] = {
    builtin.name: builtin
    for builtin in (
        Builtin("abs", 1, 1),
        Builtin("sqrt", 1, 1),
        Builtin("log", 1, 1),
        Builtin("least", 2, None),
        Builtin("greatest", 2, None),
        Builtin("corr", 2, 2),
    )
}

SET_FUNCTIONS = (*AGGREGATES, "first", "last")

UserFunction = Callable[..., Any]

_registered: dict[str, UserFunction] = {}


def register_function(name: str, function: UserFunction) -> None:
    """Make `function` callable in pattern texts under `name`.

    Args:
        name: An identifier in lower or mixed case that no built-in function has.
        function: Takes NumPy arrays of equal length, one for each argument (floats with NaN for
            missing values, texts as object arrays with None, times as datetime64[us] and
            durations as timedelta64[us] with NaT), and returns an array of that length: of
            floats, or of truth values where it stands as a condition. It must be vectorised and
            must not keep state; on Spark it is sent to the workers.

    Raises:
        PatternError: The name is no identifier, or taken by the language.
    """
    if not name.isidentifier():
        raise PatternError(f"'{name}' cannot name a function", expected="an identifier")
    if name.lower() in BUILTINS or name.lower() in SET_FUNCTIONS:
        raise PatternError(
            f"'{name}' is a function of the language", hint="register it under another name"
        )
    if not callable(function):
        raise PatternError(f"what was given for '{name}' cannot be called")
    _registered[name] = function


def registered_function(name: str) -> UserFunction:
    """Return the function registered under `name`.

    Raises:
        PatternError: There is none.
    """
    try:
        return _registered[name]
    except KeyError:
        raise PatternError(
            f"no function is registered as '{name}'",
            hint=nearest(name, known_functions()) or f"cepkit.register_function('{name}', ...)",
        ) from None


def known_functions() -> tuple[str, ...]:
    """Return the names that a condition may call now, built-in ones first."""
    return (*BUILTINS, *SET_FUNCTIONS, *sorted(_registered))
