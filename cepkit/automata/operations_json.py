"""Operations as short lists and back; docs/trace.md has the list of them.

A list is the operation's name and its fields in their order; the last field is left out where it
has its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from cepkit.automata.operations import OPERATIONS, Checked, Operation, name_of


def encode_operation(operation: Operation) -> list[Any]:
    """Return an operation as a list whose first item names it."""
    form = _FORMS[name_of(operation)]
    row = [name_of(operation), *(_plain(getattr(operation, field)) for field in form.fields)]
    if form.may_lack and row[-1] is None:
        row.pop()
    return row


def decode_operation(row: list[Any]) -> Operation:
    """Return the operation that `encode_operation` made a list of."""
    name, *values = row
    form = _FORMS[name]
    read = [
        _READERS[field](value) if field in _READERS else value
        for field, value in zip(form.fields, values, strict=False)
    ]
    return OPERATIONS[name](*read)


@dataclass(frozen=True, slots=True)
class _Form:
    """How an operation is written.

    Attributes:
        fields: The names of its fields.
        may_lack: Whether the last one has a default, which is None.
    """

    fields: tuple[str, ...]
    may_lack: bool


_FORMS: Mapping[str, _Form] = {
    name: _Form(tuple(f.name for f in fields(kind)), fields(kind)[-1].default is not MISSING)
    for name, kind in OPERATIONS.items()
}


def _plain(value: Any) -> Any:
    """Return a field's value as what JSON can hold."""
    match value:
        case bool():
            return int(value)
        case Checked(clause, text, held):
            return [clause, text, int(held)]
        case tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _checked(rows: list[list[Any]]) -> tuple[Checked, ...]:
    return tuple(Checked(clause, text, bool(held)) for clause, text, held in rows)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "checked": _checked,
    "held": bool,
    "parents": tuple,
}
"""By its name, what a field that is no plain value is read with."""
