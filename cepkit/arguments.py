"""The arguments of a call, held against the annotations of the function: one check for all verbs.

    @typed
    def detect(stream: Stream, ..., limit: int | None = None): ...

    detect(stream, pattern, limit="3")
    # ArgumentError: limit='3' / Expected: a whole number, or None

Only what an annotation can say is checked here, and what is no annotation of a plain kind is let
through: functions check ranges, and their own kinds of things, by themselves. Numbers are finite,
and whole ones fit 64 bits. NumPy's numbers are numbers.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cache, wraps
from math import isfinite
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from cepkit.errors import ArgumentError, shown

P = ParamSpec("P")
R = TypeVar("R")


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, which then checks what it is given."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_call(function, *args, **kwargs)
        return function(*args, **kwargs)

    return checked


def called(function: Callable[..., R], /, *args: Any, **kwargs: Any) -> R:
    """Return what a function returns, its arguments checked."""
    check_call(function, *args, **kwargs)
    return function(*args, **kwargs)


def check_range(name: str, value: int, least: int, most: int = 2**63 - 1) -> None:
    """Check that a number lies within bounds, both included.

    Raises:
        ArgumentError: It does not.
    """
    if not least <= value <= most:
        bound = f"{least:,} or more" if most == 2**63 - 1 else f"{least:,} to {most:,}"
        raise ArgumentError(f"{name}={value}", expected=bound)


def check_call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    """Check the arguments of a call by the annotations of the function.

    Raises:
        ArgumentError: One is of another kind.
        TypeError: There are too many or too few, as Python says it.
    """
    hints = _hints(function)
    for name, value in inspect.signature(function).bind(*args, **kwargs).arguments.items():
        parameter, hint = hints[name]
        match parameter.kind:
            case parameter.VAR_POSITIONAL:
                wrong = any(_misfit(one, hint) for one in value)
            case parameter.VAR_KEYWORD:
                wrong = any(_misfit(one, hint) for one in value.values())
            case _:
                wrong = _misfit(value, hint)
        if wrong:
            raise ArgumentError(f"{name}={shown(value)}", expected=_words(hint))


@cache
def _hints(function: Callable[..., Any]) -> dict[str, tuple[inspect.Parameter, Any]]:
    """Return for each parameter its annotation; Any where that is a name for type checkers only."""
    names = vars(sys.modules[function.__module__])
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = parameter.annotation
        if isinstance(hint, str):
            try:
                hint = eval(hint, names)  # noqa: S307 - our own annotations
            except NameError:
                hint = Any
        found[name] = parameter, Any if hint is parameter.empty else hint
    return found


def _misfit(value: Any, hint: Any) -> bool:
    """Return whether a value is none of a kind."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return False
    if origin in (Union, UnionType):
        return all(_misfit(value, one) for one in inner)
    if origin is Literal:  # of another text the function says which is the nearest
        return not isinstance(value, tuple(map(type, inner)))
    if hint is int:
        whole = not isinstance(value, bool) and isinstance(value, Integral)
        return not (whole and -(2**63) <= value < 2**63)
    if hint is float:
        return type(value) is bool or not isinstance(value, Real) or not _is_finite(value)
    if hint in (None, NoneType):
        return value is not None
    if hint is bool:
        return type(value).__name__ not in ("bool", "bool_")
    if hint is str:
        return not isinstance(value, str)
    if origin is Mapping:
        return not isinstance(value, Mapping) or any(
            _misfit(key, inner[0]) or _misfit(one, inner[1]) for key, one in value.items()
        )
    if origin in (Sequence, Iterable):
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return True
        if isinstance(value, Iterator) or not isinstance(value, Sized):
            return origin is Sequence  # to look at one that can be read once is to lose it
        return any(_misfit(one, inner[0]) for one in value)
    if origin is Callable:
        return not callable(value)
    # Kinds of our own are told with a hint where they are needed.
    ours = getattr(hint, "__module__", "").startswith("cepkit")
    return isinstance(hint, type) and not ours and not isinstance(value, hint)


def _is_finite(value: Real) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


_WORDS: Mapping[Any, str] = {
    int: "a whole number of 64 bits",
    float: "a finite number",
    str: "a text",
    bool: "True or False",
    None: "None",
    NoneType: "None",
}


def _words(hint: Any, *, several: bool = False) -> str:
    """Return what a kind is called; several of them: without an article."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _WORDS:
        words = _WORDS[hint]
    elif origin in (Union, UnionType):
        words = " or ".join(dict.fromkeys(map(_words, inner)))
    elif origin is Literal:
        words = " or ".join(map(repr, inner))
    elif origin is Mapping:
        words = f"a dict of {_words(inner[1], several=True)}"
    elif origin in (Sequence, Iterable):
        words = f"a list of {_words(inner[0], several=True)}"
    elif origin is Callable:
        words = "a function"
    else:
        words = f"a {getattr(hint, '__name__', 'value')}"
    plural = {"a text": "texts", "a finite number": "numbers"}
    return plural.get(words, words.removeprefix("a ")) if several else words
