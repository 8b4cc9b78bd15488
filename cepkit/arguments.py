"""Checks the arguments of a call against the function's annotations: one check for all verbs.

    @typed
    def detect(stream: Stream, ..., limit: int | None = None): ...

    detect(stream, pattern, limit="3")
    # ArgumentError: limit='3' / Expected: a 64-bit integer or None / Hint: limit=3, without quotes

It checks only plain annotations and lets other kinds through: functions check ranges and their own
types themselves. NumPy numbers arrive as Python numbers. An argument is never dropped or replaced
by its default.
"""

from __future__ import annotations

import builtins
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cache, wraps
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from cepkit.errors import ArgumentError, shown

P = ParamSpec("P")
R = TypeVar("R")

FORMER: dict[Callable[..., Any], Callable[[tuple[Any, ...], Mapping[str, Any]], Any]] = {}
"""For functions that had other arguments in an earlier release: what makes new ones of old ones."""


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with checked arguments.

    The returned function raises an ArgumentError if an argument is missing, superfluous or of
    another kind.
    """

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        call = _bound(function, args, kwargs)
        for name, value in call.arguments.items():
            parameter, hint = _hints(function)[name]
            values = [(name, value)]
            if parameter.kind is parameter.VAR_POSITIONAL:
                values = [(name, one) for one in value]
            elif parameter.kind is parameter.VAR_KEYWORD:
                values = list(value.items())
            for label, one in values:
                if _misfit(one, hint):
                    raise _refused(function, label, one, hint)
        return function(*call.args, **call.kwargs)

    return checked


def check_range(name: str, value: int, least: int, most: int = 2**63 - 1) -> None:
    """Check that a number lies within bounds, both included.

    Raises:
        ArgumentError: It lies outside.
    """
    if not least <= value <= most:
        bound = f"{least:,} or more" if most == 2**63 - 1 else f"{least:,} to {most:,}"
        raise ArgumentError(f"{name}={value}", expected=bound)


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Return the arguments of a call by the names of the function's parameters."""
    signature = _signature(function)
    plain = {name: _plain(value) for name, value in kwargs.items()}
    try:
        return signature.bind(*map(_plain, args), **plain)
    except TypeError as error:
        new = FORMER[function](args, kwargs) if function in FORMER else kwargs
        if new is not kwargs:
            return _bound(function, args, new)
        names = [name for name in signature.parameters if name != "self"]
        for name in kwargs.keys() - set(names):
            unknown = f"{_name(function)} has no argument {shown(name)}"
            raise ArgumentError.unknown(unknown, name, names) from None
        raise ArgumentError(
            f"{_name(function)}: {error}", expected=f"the arguments {', '.join(names)}"
        ) from None


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, other values unchanged."""
    # Look at its type: a Spark Connect DataFrame takes any attribute name for a column.
    kind = getattr(value.dtype, "kind", None) if hasattr(type(value), "dtype") else None
    number = kind in ("b", "i", "u", "f")
    return value.item() if number and getattr(value, "shape", None) == () else value


def _name(function: Callable[..., Any]) -> str:
    """Return the name of a function; of a class for its `__init__`."""
    return function.__qualname__.removesuffix(".__init__").rpartition(".")[2]


_signature = cache(inspect.signature)


class _Names(dict[str, Any]):
    """The names of a module; one that exists only for type checkers is a class of cepkit's own."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        return type(name, (), {"__module__": "cepkit"})


@cache
def _hints(function: Callable[..., Any]) -> dict[str, tuple[inspect.Parameter, Any]]:
    """Return the annotation of each parameter; names only for type checkers are not checked."""
    names = _Names(vars(sys.modules[function.__module__]))
    hints = {}
    for name, parameter in _signature(function).parameters.items():
        hint = Any if parameter.annotation is parameter.empty else parameter.annotation
        if isinstance(hint, str):
            try:
                hint = eval(hint, {}, names)  # noqa: S307 - our own annotations
            except (AttributeError, TypeError):  # `pd.DataFrame`, `Several[int]` of unknown names
                hint = Any
        hints[name] = parameter, hint
    return hints


def _refused(function: Callable[..., Any], name: str, value: Any, hint: Any) -> ArgumentError:
    """Return the error for a value of another kind."""
    advice = f"help({_name(function)}) describes each argument"
    if isinstance(value, str) and not _misfit(_number(value), hint):
        advice = f"{name}={value.strip()}, without quotes"
    return ArgumentError(f"{name}={shown(value)}", expected=_words(hint), hint=advice)


def _number(text: str) -> int | float | str:
    """Return the number in a text; the text itself if it is not a number."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _misfit(value: Any, hint: Any) -> bool:
    """Return whether a value does not have a kind."""
    value, origin, inner = _plain(value), get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return False
    if origin in (Union, UnionType):
        return all(_misfit(value, one) for one in inner)
    if origin is Literal:  # for another text the function itself suggests the nearest
        return not isinstance(value, tuple(map(type, inner)))
    if hint in (int, float):
        number = isinstance(value, hint | int) and not isinstance(value, bool)
        return not (number and _is_in_range(value, hint))
    if hint is None:
        return value is not None
    if origin is Mapping:
        return not isinstance(value, Mapping) or any(
            _misfit(key, inner[0]) or _misfit(one, inner[1]) for key, one in value.items()
        )
    if origin in (Sequence, Iterable):
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return True
        if isinstance(value, Iterator) or not isinstance(value, Sized):
            return origin is Sequence  # looking into an iterator would consume it
        return any(_misfit(one, inner[0]) for one in value)
    if origin is Callable:
        return not callable(value)
    kind = origin or hint  # tuple of tuple[str, ...]
    # Functions check cepkit's own kinds, with a hint.
    ours = getattr(kind, "__module__", "").startswith("cepkit")
    return isinstance(kind, type) and not ours and not isinstance(value, kind)


def _is_in_range(number: float, kind: type) -> bool:
    """Return whether an integer fits 64 bits, or a number is finite."""
    try:
        return -(2**63) <= number < 2**63 if kind is int else isfinite(number)
    except OverflowError:  # an integer that no float holds
        return False


_WORDS: Mapping[Any, tuple[str, str]] = {
    int: ("a 64-bit integer", "64-bit integers"),
    float: ("a finite number", "finite numbers"),
    str: ("a text", "texts"),
    bool: ("True or False", "True or False"),
    os.PathLike: ("a path", "paths"),
    None: ("None", "None"),
    NoneType: ("None", "None"),
}

_CONTAINERS: Mapping[Any, tuple[str, str]] = {
    Mapping: ("a dict", "dicts"),
    Sequence: ("a list", "lists"),
    Iterable: ("a list", "lists"),
    list: ("a list", "lists"),
    tuple: ("a tuple", "tuples"),
}


def _words(hint: Any, several: int = 0) -> str:
    """Return the name of a kind; with `several` the plural."""
    origin, inner = get_origin(hint), get_args(hint)
    if (kind := origin if origin is os.PathLike else hint) in _WORDS:
        return _WORDS[kind][several]
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_words(one, several) for one in inner))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in _CONTAINERS:
        name = _CONTAINERS[origin][several]
        of = inner[1] if origin is Mapping else inner[0]
        return name if of is Any else f"{name} of {_words(of, 1)}"
    if origin is Callable:
        return "functions" if several else "a function"
    return str(getattr(hint, "__name__", "value"))
