"""Dataclasses whose methods are written when they are first needed.

Python writes and compiles up to six methods of a dataclass where it is defined, which takes 0.4 ms.
A detection imports some 180 of them, makes values of half and compares those of a tenth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass  # noqa: TID251 - what type checkers know
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        repr: bool = True,  # noqa: A002 - the name that Python gave it
        eq: bool = True,
        frozen: bool = False,
        slots: bool = False,
        **options: bool,
    ) -> Any:
        """Make a class a dataclass: with the options of Python's own decorator but `order`."""
        if cls is None:
            return partial(dataclass, repr=repr, eq=eq, frozen=frozen, slots=slots, **options)
        own = {name for name, value in vars(cls).items() if value is not None}
        # Whether a class may be derived from another is Python's to check.
        derived = frozen and any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
        made = dataclasses.dataclass(  # noqa: TID251
            cls, init=False, repr=False, eq=False, frozen=derived, slots=slots, **options
        )
        options_of = made.__dataclass_params__
        options_of.init, options_of.repr, options_of.eq, options_of.frozen = True, repr, eq, frozen
        methods: dict[str, Any] = {"__init__": _Later(made, partial(_init, frozen=frozen))}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods["__eq__"] = _Later(made, _eq)
            methods["__hash__"] = _Later(made, _hash) if frozen else None
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if frozen and slots:  # pickle would set the fields
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name in methods.keys() - own:
            setattr(made, name, methods[name])
        return made


class _Later:
    """A method that is written when it is first looked up, and then replaces this object.

    Args:
        cls: The class that has it.
        write: Returns its lines, and adds the values that they name.
    """

    def __init__(self, cls: type, write: Callable[[type, dict[str, Any]], list[str]]) -> None:
        self._cls, self._write = cls, write

    def __get__(self, instance: object, owner: type) -> Any:
        names: dict[str, Any] = {"__name__": self._cls.__module__}
        exec("\n ".join(self._write(self._cls, names)), names)  # noqa: S102 - made of field names
        name, method = names.popitem()
        method.__qualname__ = f"{self._cls.__qualname__}.{name}"
        if name == "__init__":
            types = {each.name: each.type for each in fields(self._cls) if each.init}
            method.__annotations__ = {**types, "return": None}
        setattr(self._cls, name, method)
        return method.__get__(instance, owner)


class _Made:
    """Stands for a value that a field's factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


def _init(cls: Any, names: dict[str, Any], *, frozen: bool) -> list[str]:
    names |= {"__set": object.__setattr__, "__made": _Made()}
    parameters, named, lines = ["self"], ["*"], []
    for each in fields(cls):
        name = value = each.name
        default = ""
        if each.default_factory is not MISSING:
            names[f"__make_{name}"] = each.default_factory
            value = f"__make_{name}()"
            if each.init:
                default, value = "=__made", f"{value} if {name} is __made else {name}"
        elif each.default is not MISSING:
            names[f"__default_{name}"] = each.default
            default = f"=__default_{name}"
            value = name if each.init else default[1:]
        elif not each.init:
            continue
        if each.init:
            (named if each.kw_only else parameters).append(name + default)
        lines.append(f"__set(self, '{name}', {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join([*parameters, *(named if len(named) > 1 else [])])
    return [f"def __init__({head}):", *(lines or ["pass"])]


def _eq(cls: type, _: dict[str, Any]) -> list[str]:
    return [
        "def __eq__(self, other):",
        "if other.__class__ is self.__class__:",
        f" return {_tuple(cls, 'self')} == {_tuple(cls, 'other')}",
        "return NotImplemented",
    ]


def _hash(cls: type, _: dict[str, Any]) -> list[str]:
    return ["def __hash__(self):", f"return hash({_tuple(cls, 'self')})"]


def _tuple(cls: Any, value: str) -> str:
    """Return the fields of a value that are compared."""
    return f"({''.join(f'{value}.{each.name},' for each in fields(cls) if each.compare)})"


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    if _has(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _has(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _has(value: Any, name: str) -> bool:
    """Return whether an attribute is a field; classes derived from dataclasses have others."""
    return "__dataclass_fields__" in vars(type(value)) or name in value.__dataclass_fields__


def _state(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=False):
        object.__setattr__(self, each.name, value)
