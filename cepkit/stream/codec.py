"""The codec of frozen values as JSON, which checks them by the types of their fields.

| type | JSON |
|---|---|
| a dataclass | an object; the metadata of a field may rename its key, or put its parts beside it |
| a tuple of a NamedTuple | an object of columns |
| a union of dataclasses | a short list: the name of the type, and its fields |
| a tuple, a mapping, a number ... | a list, an object, itself |

In short lists truth values are 0 and 1, dataclasses are lists of their fields, and a last field
with a default is left out if it is None. Integers are 0 or more unless their type says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from cepkit.stream.shapes import Number, ShapeError, check, check_even, shown

T = TypeVar("T")

INLINE: Mapping[str, Any] = {"inline": True}
"""Metadata of a field whose own fields are merged into the object."""

_Function: TypeAlias = Callable[[Any], Any]


SPARSE: Mapping[str, Any] = {"sparse": True}
"""Metadata of a field that an object leaves out if it has the default value."""


def keyed(name: str) -> Mapping[str, Any]:
    """Return the metadata of a field with another key."""
    return {"key": name}


def encode(value: Any) -> dict[str, Any]:
    """Return a dataclass as JSON data."""
    kind: Any = type(value)
    encoded: dict[str, Any] = _form(kind).write(value)
    return encoded


def decode(kind: type[T], data: Any) -> T:
    """Return the value of an object made by `encode`.

    Raises:
        ShapeError: The data are not such an object.
    """
    hint: Any = kind
    value: T = _form(hint).read(data)
    return value


@dataclass(frozen=True, slots=True)
class _Form:
    """The functions that read, with checks, and write values of a type."""

    read: _Function
    write: _Function


@dataclass(frozen=True, slots=True)
class _Part:
    """A field of a dataclass.

    Attributes:
        key: Its key in JSON.
        inline: Whether its own fields are merged into the object.
        absent: A tuple of its default value, if objects may leave the field out; else empty.
    """

    name: str
    key: str
    form: _Form
    inline: bool = False
    absent: tuple[Any, ...] = ()

    def read(self, data: Any) -> Any:
        """Return the value of the field from `data`."""
        try:
            return self.form.read(data)
        except ShapeError as error:
            raise error.within(self.key) from None

    def of(self, record: dict[str, Any]) -> Any:
        """Return the value of the field in an object."""
        if self.inline:
            return self.form.read(record)
        if self.key not in record:
            if self.absent:
                return self.absent[0]
            raise ShapeError("missing", "it to be there", self.key)
        return self.read(record[self.key])


def _is_columns(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "_fields")


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


def _is_plain(hint: Any) -> bool:
    """Return whether a type contains no record, so that JSON holds it almost unchanged."""
    return not (_is_record(hint) or _is_columns(hint)) and all(map(_is_plain, get_args(hint)))


@cache
def _form(hint: Any, *, in_row: bool = False) -> _Form:
    if _is_record(hint):
        return _row(hint) if in_row else _record(hint)
    if _is_columns(hint):
        return _record(hint)
    if hint is bool and in_row:
        return _Form(lambda data: bool(_checked(Literal[0, 1], data)), int)
    if _is_plain(hint):
        return _plain(hint)
    first, *others = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return _optional(first, in_row=in_row) if others == [type(None)] else _named(get_args(hint))
    assert others == [...], f"{hint} has no form"
    return _columns(first) if _is_columns(first) else _list(_form(first, in_row=in_row))


def _checked(shape: Any, data: Any) -> Any:
    check(data, shape)
    return data


def _parts(kind: Any, *, in_row: bool = False) -> tuple[_Part, ...]:
    hints = get_type_hints(kind, include_extras=True)
    if not is_dataclass(kind):
        return tuple(_Part(name, name, _form(hint)) for name, hint in hints.items())
    return tuple(
        _Part(
            f.name,
            f.metadata.get("key", f.name),
            _form(hints[f.name], in_row=in_row),
            f.metadata.get("inline", False),
            _absent(f) if f.metadata.get("sparse") else (),
        )
        for f in fields(kind)
        if f.init
    )


def _absent(spec: Field[Any]) -> tuple[Any, ...]:
    return (spec.default if spec.default_factory is MISSING else spec.default_factory(),)


def _record(kind: Any) -> _Form:
    parts = _parts(kind)

    def read(data: Any) -> Any:
        check(data, dict)
        return kind(**{part.name: part.of(data) for part in parts})

    def write(value: Any) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for part in parts:
            own = getattr(value, part.name)
            if part.absent == (own,):
                continue
            written = part.form.write(own)
            data.update(written if part.inline else {part.key: written})
        return data

    return _Form(read, write)


def _columns(kind: Any) -> _Form:
    hints = get_type_hints(kind, include_extras=True)
    parts = tuple(
        _Part(name, name, _plain(tuple[hint, ...]))  # type: ignore[valid-type]
        for name, hint in hints.items()
    )

    def read(data: Any) -> tuple[Any, ...]:
        check(data, dict)
        columns = {part.name: part.of(data) for part in parts}
        check_even(columns, len(columns[parts[0].name]))
        return tuple(map(kind._make, zip(*columns.values(), strict=True)))

    def write(rows: tuple[Any, ...]) -> dict[str, Any]:
        return {part.key: [getattr(row, part.name) for row in rows] for part in parts}

    return _Form(read, write)


def _list(item: _Form) -> _Form:
    def read(data: Any) -> tuple[Any, ...]:
        check(data, list)
        values = []
        for i, one in enumerate(data):
            try:
                values.append(item.read(one))
            except ShapeError as error:
                raise error.within(f"[{i}]") from None
        return tuple(values)

    return _Form(read, lambda values: list(map(item.write, values)))


def _optional(kind: Any, *, in_row: bool) -> _Form:
    form = _form(kind, in_row=in_row)
    return _Form(
        lambda data: None if data is None else form.read(data),
        lambda value: None if value is None else form.write(value),
    )


def _row(kind: Any, *, name: str | None = None) -> _Form:
    """Return the form of a dataclass as a short list, after `name` if there is one."""
    parts = _parts(kind, in_row=True)
    may_lack = fields(kind)[-1].default is not MISSING
    begin = 0 if name is None else 1
    size = begin + len(parts)

    def read(data: Any) -> Any:
        check(data, list)
        values = [*data, None] if may_lack and len(data) == size - 1 else data
        if len(values) != size:
            expected = f"{name} and {len(parts)} values" if name else f"a list of {size}"
            raise ShapeError(shown(data), expected)
        return kind(*(part.read(one) for part, one in zip(parts, values[begin:], strict=True)))

    def write(value: Any) -> list[Any]:
        row = [part.form.write(getattr(value, part.name)) for part in parts]
        if may_lack and row[-1] is None:
            row.pop()
        return row if name is None else [name, *row]

    return _Form(read, write)


def _named(kinds: tuple[Any, ...]) -> _Form:
    names = {kind: kind.__name__.lower() for kind in kinds}
    rows = {kind: _row(kind, name=name) for kind, name in names.items()}
    by_name = {name: rows[kind] for kind, name in names.items()}

    def read(data: Any) -> Any:
        check(data, list)
        name = data[0] if data else None
        row = by_name.get(name) if isinstance(name, str) else None
        if row is None:
            raise ShapeError(f"an operation {shown(name)} that is not known", "another name")
        return row.read(data)

    return _Form(read, lambda value: rows[type(value)].write(value))


def _plain(hint: Any) -> _Form:
    shape = _shape(hint)
    if get_origin(shape) in (list, tuple, dict, Union, UnionType):
        return _Form(lambda data: _frozen(_checked(shape, data)), _thawed)
    return _Form(lambda data: _checked(shape, data), lambda value: value)


def _shape(hint: Any) -> Any:
    """Return the shape of a plain type in JSON."""
    if hint is int:
        return Number
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Union[tuple(map(_shape, arguments))]  # noqa: UP007 - made at run time
    if origin is tuple and arguments[-1] is ...:
        return list[_shape(arguments[0])]  # type: ignore[misc]
    if origin is tuple:
        return tuple[tuple(map(_shape, arguments))]  # type: ignore[misc]
    if origin is Mapping:
        return dict[str, _shape(arguments[1])]  # type: ignore[misc]
    return hint


def _frozen(data: Any) -> Any:
    """Convert lists to tuples."""
    if isinstance(data, list):
        return tuple(map(_frozen, data))
    return {key: _frozen(one) for key, one in data.items()} if isinstance(data, dict) else data


def _thawed(value: Any) -> Any:
    """Convert tuples to lists, and infinities to texts."""
    if isinstance(value, tuple):
        return list(map(_thawed, value))
    if isinstance(value, Mapping):
        return {key: _thawed(one) for key, one in value.items()}
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
