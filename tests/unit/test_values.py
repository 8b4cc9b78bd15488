"""Dataclasses are as Python's own, though their methods are written later."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from cepkit.values import dataclass

OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "weakref_slot": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "repr": False},
    {"frozen": True, "slots": True, "kw_only": True},
]


def pair(decorator: Callable[..., Any], options: dict[str, bool]) -> tuple[Any, Any]:
    """A class and one derived from it, made by a decorator."""

    @decorator(**options)
    class Base:
        """A base."""

        number: int
        names: tuple[str, ...] = ()

    @decorator(**options)
    class Point(Base):
        """A point."""

        x: float = field(default=0.5, kw_only=True)
        cached: list[int] = field(default_factory=list, compare=False)
        hidden: int = field(default=7, init=False, repr=False)
        made: dict[str, int] = field(default_factory=dict, init=False, compare=False)

        def twice(self) -> float:
            return 2 * self.x

    return Base, Point


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_dataclass_behaves_as_that_of_python(options: dict[str, bool]) -> None:
    told = []
    for decorator in (dataclasses.dataclass, dataclass):
        base, point = pair(decorator, options)
        one, same = point(number=1, names=("a",), x=2.0), point(number=1, names=("a",), x=2.0)
        other = replace(one, x=3.0)
        told.append(
            {
                "signature": str(inspect.signature(point)),
                "name": point.__init__.__qualname__,
                "fields": [(f.name, f.type, f.init, f.compare) for f in fields(point)],
                "repr": repr(one) if options.get("repr", True) else "",
                "equal": (one == same, one == other, one == base(number=1), one != 1),
                "hash": hash_of(one) == hash_of(same) if "eq" not in options else None,
                "hashable": hash_of(one) is not None,
                "values": (other.number, other.names, other.x, other.cached, other.hidden),
                "own": one.cached is not same.cached and one.made == {},
                "matched": point.__match_args__,
                "slots": getattr(point, "__slots__", None),
                "errors": [error_of(point, *given) for given in ((), (1, 2, 3, 4), (1,))],
                "frozen": [error_of(setattr, one, name, 3) for name in ("number", "x")],
                "deleted": error_of(delattr, same, "number"),
                "copied": copy.copy(other).x,
                "state": "__getstate__" in vars(point),
                "told": str(point.__dataclass_params__),
            }
        )
    assert told[0] == told[1]


def hash_of(value: object) -> int | None:
    try:
        return hash(value)
    except TypeError:
        return None


def error_of(function: Callable[..., Any], *arguments: Any) -> str | None:
    try:
        function(*arguments)
    except (TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values."""

    a: int
    b: Any = None

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError(self.a)


class Named(Pair):
    """A class derived without the decorator, which has an attribute of its own."""

    def __init__(self, a: int, name: str) -> None:
        super().__init__(a)
        self.name = name


def test_pickled_values_equal_the_originals() -> None:
    pairs = [Pair(1, "x"), Pair(2, Pair(3))]
    assert pickle.loads(pickle.dumps(pairs)) == copy.deepcopy(pairs) == pairs


def test_a_value_is_checked_when_it_is_made() -> None:
    with pytest.raises(ValueError, match="-1"):
        Pair(-1)


def test_derived_class_may_add_attributes_and_keeps_frozen_fields() -> None:
    named = Named(1, "n")
    named.name = "m"
    assert (named.a, named.name) == (1, "m")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        named.a = 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'c'"):
        Pair(1).c = 2  # type: ignore[attr-defined]
    assert Named(1, "n") != Pair(1)


@pytest.mark.parametrize("first", [dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("second", [dataclass, dataclasses.dataclass])
def test_frozen_classes_are_derived_from_frozen_ones_only(first: Any, second: Any) -> None:
    bases = {frozen: first(frozen=frozen)(type("Base", (), {})) for frozen in (True, False)}
    for frozen, base in bases.items():
        derived = second(frozen=frozen, slots=True)(type("Derived", (base,), {}))
        assert derived() == derived()
        with pytest.raises(TypeError, match="cannot inherit"):
            second(frozen=not frozen)(type("Derived", (base,), {}))


def test_methods_defined_by_the_class_are_kept() -> None:
    @dataclass(frozen=True, slots=True)
    class Modulo:
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Modulo) and self.value % 2 == other.value % 2

        def __hash__(self) -> int:
            return self.value % 2

        def __repr__(self) -> str:
            return "m"

    assert (len({Modulo(1), Modulo(3)}), repr(Modulo(1))) == (1, "m")


def test_repr_of_a_recursive_value_ends() -> None:
    @dataclass
    class Node:
        next: Any = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")
