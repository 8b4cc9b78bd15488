"""The types of `cepkit.python_arrow`, and values of Python in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - all are without a zone
_MICROSECOND = timedelta(microseconds=1)


class ArrowException(ValueError):  # noqa: N818 - PyArrow's name
    """A value that a column cannot hold."""


ArrowInvalid = ArrowNotImplementedError = ArrowException


@dataclass(frozen=True, slots=True)
class DataType:
    """The type of a column.

    Attributes:
        name: That of PyArrow's function.
        unit: The unit of times and durations.
        tz: The zone of times.
        inside: The fields of a struct, or that of the items of a list.
    """

    name: str
    unit: str | None = None
    tz: str | None = None
    inside: tuple[Field, ...] = ()

    @property
    def value_type(self) -> DataType:
        """The type of the items of a list."""
        return self.inside[0].type

    @property
    def num_fields(self) -> int:
        """The number of fields."""
        return len(self.inside)

    def field(self, place: int) -> Field:
        """Return the field at a place."""
        return self.inside[place]

    def to_pandas_dtype(self) -> Any:
        """Return the NumPy type of the values."""
        return _STORED[self.name]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.inside)

    def __str__(self) -> str:
        return {"float64": "double"}.get(self.name, self.name)


@dataclass(frozen=True, slots=True)
class Field:
    """The name and the type of a column."""

    name: str
    type: DataType
    metadata: None = None

    def with_type(self, kind: DataType) -> Field:
        """Return the field with another type."""
        return replace(self, type=kind)

    def with_name(self, name: str) -> Field:
        """Return the field with another name."""
        return replace(self, name=name)


_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_STORED: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in _INTEGERS},
    "bool_": np.bool_,
    "float64": np.float64,
    "date32": np.int32,
    "timestamp": np.int64,
    "duration": np.int64,
}
_GROUPS: Mapping[str, Sequence[str]] = {
    "integer": _INTEGERS,
    "floating": ("float64",),
    "boolean": ("bool_",),
    "date": ("date32",),
    "list": ("list_",),
    "nested": ("list_", "struct"),
}


class _Types:
    """Questions about types: `is_integer(kind)`."""

    def __getattr__(self, name: str) -> Callable[[DataType], bool]:
        group = name.removeprefix("is_")
        return lambda kind: kind.name in _GROUPS.get(group, (group,))


types = _Types()


def list_(item: DataType | Field) -> DataType:
    """Return a type of lists."""
    return DataType("list_", inside=(item if isinstance(item, Field) else Field("item", item),))


def struct(fields: Iterable[Field]) -> DataType:
    """Return a type of dictionaries."""
    return DataType("struct", inside=tuple(fields))


def type_of(values: Iterable[Any]) -> DataType:
    """Return the type of values."""
    present = [value for value in values if value is not None]
    kinds = {_kind_of(value) for value in present}
    if kinds == {"int64", "float64"}:
        return DataType("float64")
    if len(kinds) > 1:
        raise ArrowInvalid(f"values of several types: {', '.join(sorted(kinds))}")
    match next(iter(kinds), "null"):
        case "timestamp":
            zone, *more = {_zone(value) for value in present}
            if more:
                raise ArrowInvalid("times in several zones")
            return DataType("timestamp", "us", zone)
        case "duration":
            return DataType("duration", "us")
        case "list_":
            return list_(type_of(chain.from_iterable(present)))
        case "struct":
            names = dict.fromkeys(name for value in present for name in value)
            return struct(
                [Field(name, type_of(value.get(name) for value in present)) for name in names]
            )
        case "int64" if not all(-(2**63) <= value < 2**63 for value in present):
            raise OverflowError("an integer beyond 64 bits")
        case name:
            return DataType(name)


def converted(value: Any, kind: DataType) -> Any:
    """Return a value in the type of its column: 1 beside 2.5 as a float, a struct's fields all."""
    match kind.name:
        case "float64":
            return float(value)
        case "struct":
            return {field.name: value.get(field.name) for field in kind}
        case _:
            return value


def _kind_of(value: Any) -> str:
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    raise ArrowNotImplementedError(f"a {type(value).__name__}, which needs PyArrow")


_KINDS: Sequence[tuple[Any, str]] = (
    (bool | np.bool_, "bool_"),
    (int | np.integer, "int64"),
    (float | np.floating, "float64"),
    (str, "string"),
    (datetime, "timestamp"),
    (date, "date32"),
    (timedelta, "duration"),
    (Mapping, "struct"),
    (list | tuple, "list_"),
)


def _zone(moment: datetime) -> str | None:
    zone = moment.tzinfo
    return None if zone is None else getattr(zone, "key", str(zone).removeprefix("UTC") or "UTC")


def stored_number(value: Any) -> Any:
    """Return a value as the number by which NumPy holds it."""
    match value:
        case datetime():
            naive = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return (naive - _EPOCH) // _MICROSECOND
        case date():
            return (value - _EPOCH.date()).days
        case timedelta():
            return value // _MICROSECOND
        case _:
            return value


def conversion(given: DataType, kind: DataType) -> Callable[[Any], Any]:
    """Return the function that makes a value of one type from that of another."""
    match given.name, kind.name:
        case "bool_", "string":
            return lambda value: str(value).lower()
        case _, "string":
            return str
        case _, "float64":
            return float
        case _, name if name in _INTEGERS:
            return int
        case "string", "timestamp":
            return lambda text: _moment(text, kind)
        case "int64", "timestamp":
            return lambda value: _shown(_EPOCH + value * _MICROSECOND, kind)
        case "timestamp", "timestamp":
            return lambda value: _shown(_EPOCH + stored_number(value) * _MICROSECOND, kind)
        case "int64", "duration":
            return lambda value: value * _MICROSECOND
        case ("null", _) | ("list_", "list_") | ("struct", "struct"):
            return lambda value: value
        case _:
            raise ArrowNotImplementedError(f"{given.name} as {kind.name}, which needs PyArrow")


def _shown(moment: datetime, kind: DataType) -> datetime:
    if kind.tz is None:
        return moment
    offset = kind.tz[:1] in "+-"
    zone = datetime.strptime(kind.tz, "%z").tzinfo if offset else ZoneInfo(kind.tz)
    return moment.replace(tzinfo=UTC).astimezone(zone)


def _moment(text: str, kind: DataType) -> datetime:
    try:
        moment = datetime.fromisoformat(text if text[4:8:3] == "--" else "")
    except ValueError as error:
        raise ArrowInvalid(str(error)) from error
    if (moment.tzinfo is None) != (kind.tz is None):
        raise ArrowInvalid(f"{text!r} with or without a zone")
    return _shown(_EPOCH + stored_number(moment) * _MICROSECOND, kind)
