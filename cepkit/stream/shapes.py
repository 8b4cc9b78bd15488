"""Checks of external data against shapes declared by types.

    check({"time": [3, -4]}, dict[str, list[Annotated[int, Within(0)]]])
    # ShapeError: time[1] is -4, expected a whole number of 0 or more

Shapes are list, dict, tuple (a list of fixed length), Literal, unions, Annotated with `Within`,
None, and the values of JSON. Each type is compiled to functions once; a check then takes about
0.2 us for each value. `codec` checks the fields of dataclasses here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from cepkit import errors


class ShapeError(ValueError):
    """The error of data with an unexpected shape.

    Attributes:
        place: The place, as ``steps[3].events``; empty for the whole.
        found: The data there, in words.
        expected: The expected data, in words.
    """

    def __init__(self, found: str, expected: str, place: str = "") -> None:
        super().__init__(found, expected, place)
        self.found = found
        self.expected = expected
        self.place = place

    def within(self, place: str) -> ShapeError:
        """Return the error with `place` in front of its own place."""
        dot = "." if place and self.place and self.place[0] != "[" else ""
        return ShapeError(self.found, self.expected, f"{place}{dot}{self.place}")

    def __str__(self) -> str:
        return f"{self.place} is {self.found}" if self.place else self.found


@dataclass(frozen=True, slots=True)
class Within:
    """The bounds of a number, both included."""

    least: int
    most: int | None = None

    def __str__(self) -> str:
        if self.most is None:
            return f"of {self.least} or more"
        return f"from {self.least} to {self.most}" if self.most < 10**20 else "of fewer digits"


Number: TypeAlias = Annotated[int, Within(0, 2**63 - 1)]
"""A count, or an index from 0."""
Time: TypeAlias = Annotated[int, Within(1 - 2**62, 2**62 - 1)]
"""A time in microseconds since 1970, as in times.py."""
Value: TypeAlias = Annotated[int, Within(-(2**63), 2**64)] | bool | float | str | None
Attributes: TypeAlias = dict[str, list[Value | list[Value]]]
"""Attributes of events, a column each."""

_Check: TypeAlias = Callable[[Any], None]


def check(data: object, shape: Any) -> None:
    """Check that data have a shape.

    Raises:
        ShapeError: They have another shape.
    """
    _checker(shape)(data)


def check_below(number: int | None, size: int, what: str, place: str) -> None:
    """Check that a number is a valid index.

    Args:
        number: The number; None is always valid.
        what: The name of the things: ``"events"``.

    Raises:
        ShapeError: It is out of range.
    """
    if number is not None and number >= size:
        raise ShapeError(shown(number), f"one of {size:,} {what}, counted from 0", place)


def check_even(columns: Mapping[str, Sequence[object]], size: int, place: str = "") -> None:
    """Check that all columns have `size` rows.

    Raises:
        ShapeError: One has another number of rows.
    """
    for name, column in columns.items():
        if len(column) != size:
            raise ShapeError(shown(column), f"{size:,} values", name).within(place)


@cache
def _checker(shape: Any) -> _Check:
    if shape is Any:
        return lambda _: None
    if shape in _PLAIN:
        return _plain(shape)
    origin, arguments = get_origin(shape), get_args(shape)
    if origin in (Union, UnionType):
        return _one_of(arguments)
    if origin is Literal:
        return _constants(arguments)
    if origin is Annotated:
        return _within(*arguments)
    if origin is list:
        return _list(_checker(arguments[0]))
    if origin is tuple:
        return _row(tuple(map(_checker, arguments)))
    assert origin is dict, f"{shape} is not a shape"
    return _table(_checker(arguments[1]))


_PLAIN: Mapping[Any, str] = {
    int: "a whole number",
    float: "a finite number",
    str: "a text",
    bool: "true or false",
    NoneType: "null",
    list: "a list",
    dict: "an object",
}


def shown(data: object) -> str:
    """Return data as JSON text for a message."""
    match data:
        case True:
            return "true"
        case False:
            return "false"
        case None:
            return "null"
        case list() | tuple() | dict():
            size = f"{len(data):,} value{'' if len(data) == 1 else 's'}"
            return f"{'an object' if isinstance(data, dict) else 'a list'} of {size}"
        case str() if not data.isprintable():
            return ascii(data[:40])
        case _:
            return errors.shown(data)


def _plain(kind: Any) -> _Check:
    def checked(data: Any) -> None:
        if type(data) is not kind:
            raise ShapeError(shown(data), _PLAIN[kind])

    def finite(data: Any) -> None:
        if type(data) not in (int, float) or not _is_float(data):
            raise ShapeError(shown(data), _PLAIN[float])

    def text(data: Any) -> None:
        checked(data)
        if not data.isascii() and any("\ud800" <= c <= "\udfff" for c in data):
            raise ShapeError(shown(data), "a text of whole characters")

    return finite if kind is float else text if kind is str else checked


def _is_float(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond floats
        return False


def _within(kind: Any, bounds: Within) -> _Check:
    plain = _checker(kind)

    def checked(data: Any) -> None:
        plain(data)
        if data < bounds.least or (bounds.most is not None and data > bounds.most):
            raise ShapeError(shown(data), f"{_PLAIN[kind]} {bounds}")

    return checked


def _constants(options: tuple[Any, ...]) -> _Check:
    typed_options = {(type(option), option) for option in options}
    expected = " or ".join(shown(option) for option in options)

    def checked(data: Any) -> None:
        if isinstance(data, list | dict) or (type(data), data) not in typed_options:
            raise ShapeError(shown(data), expected)

    return checked


def _one_of(shapes: tuple[Any, ...]) -> _Check:
    checks = tuple(map(_checker, shapes))

    def checked(data: Any) -> None:
        errors = []
        for fits in checks:
            try:
                return fits(data)
            except ShapeError as error:
                errors.append(error)
        deepest = max(errors, key=lambda error: len(error.place))
        if deepest.place:
            raise deepest
        raise ShapeError(deepest.found, " or ".join(error.expected for error in errors))

    return checked


def _list(item: _Check) -> _Check:
    def checked(data: Any) -> None:
        if type(data) is not list:
            raise ShapeError(shown(data), _PLAIN[list])
        for i, one in enumerate(data):
            try:
                item(one)
            except ShapeError as error:
                raise error.within(f"[{i}]") from None

    return checked


def _row(items: tuple[_Check, ...]) -> _Check:
    def checked(data: Any) -> None:
        if type(data) is not list or len(data) != len(items):
            raise ShapeError(shown(data), f"a list of {len(items)}")
        for i, item in enumerate(items):
            try:
                item(data[i])
            except ShapeError as error:
                raise error.within(f"[{i}]") from None

    return checked


def _table(item: _Check) -> _Check:
    key = _checker(str)

    def checked(data: Any) -> None:
        if type(data) is not dict:
            raise ShapeError(shown(data), _PLAIN[dict])
        for name, one in data.items():
            key(name)
            try:
                item(one)
            except ShapeError as error:
                raise error.within(f"{shown(name)}") from None

    return checked
