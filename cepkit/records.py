"""Dataclasses that are made quickly, for the modules that a detection imports.

`dataclasses` writes and compiles up to six functions for each class: that was half of the time of
importing those modules. Here only the initializer is compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, replace
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a dataclass of a class, with the options and the results of `dataclasses`.

        Only frozen ones of the usual kind are made here; `dataclasses` makes all others.
        """
        if cls is None:
            return partial(dataclass, **options)
        usual = options.get("frozen") and not {"order", "kw_only"} & options.keys()
        usual = usual and not any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
        given = [value for value in vars(cls).values() if isinstance(value, Field)]
        if usual and all(f.init and f.hash is None and f.kw_only is not True for f in given):
            return _frozen(cls, **options)
        return dataclasses.dataclass(**options)(cls)


class _New:
    """Stands for a default that is made anew for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_NEW = _New()
_NAMES: dict[str, Any] = {"_set": object.__setattr__, "_NEW": _NEW}
"""What the text of an initializer knows."""


def _frozen(cls: type, *, eq: bool = True, repr: bool = True, **options: bool) -> Any:  # noqa: A002 - as there
    own = {name for name, value in vars(cls).items() if name != "__hash__" or value is not None}
    options |= {"frozen": False, "init": False, "repr": False, "eq": False}
    made: Any = dataclasses.dataclass(**options)(cls)
    methods = {
        "__init__": _initializer(made, fields(made)),
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }
    if repr:
        methods["__repr__"] = _shown
    if options.get("slots"):
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    if eq:
        compared = [each.name for each in fields(made) if each.compare]
        methods |= _comparing(attrgetter(*compared) if compared else lambda _: ())
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    made.__dataclass_params__.frozen = True  # for classes that inherit from it
    return made


def _initializer(cls: type, given: Sequence[Field[Any]]) -> Any:
    made_anew = {f.name: f.default_factory for f in given if f.default_factory is not MISSING}
    defaults = {f.name: f.default for f in given if f.default is not MISSING}
    defaults |= dict.fromkeys(made_anew, _NEW)
    parameters, steps = ["self"], []
    for name in (each.name for each in given):
        parameters.append(f"{name}=None" if name in defaults else name)
        value = f"_make_{name}() if {name} is _NEW else {name}" if name in made_anew else name
        steps.append(f"_set(self, {name!r}, {value})")
    steps += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    text = f"def __init__({', '.join(parameters)}):\n {'; '.join(steps or ['pass'])}"
    names: dict[str, Any] = {f"_make_{name}": make for name, make in made_anew.items()}
    here: dict[str, Any] = {}
    exec(text, {**_NAMES, **names} if names else _NAMES, here)  # noqa: S102 - of names of fields
    made = here["__init__"]
    made.__defaults__ = tuple(defaults[each.name] for each in given if each.name in defaults)
    made.__annotations__ = {each.name: each.type for each in given} | {"return": None}
    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    return made


def _comparing(values: Callable[[Any], Any]) -> dict[str, Any]:
    def equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return {"__eq__": equal, "__hash__": lambda self: hash(values(self))}


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    if _is_fixed(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _is_fixed(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_fixed(self: Any, name: str) -> bool:
    """Return whether it is a field; a class that inherits may have more that is none."""
    return name in self.__dataclass_fields__ or "__dataclass_fields__" in vars(type(self))


@recursive_repr()
def _shown(self: Any) -> str:
    values = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(values)})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
