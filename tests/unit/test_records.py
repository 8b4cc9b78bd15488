"""Dataclasses of cepkit.records, beside those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any

import pytest

from cepkit import records


class Point:
    """A point."""

    x: int
    y: float = 2.5
    names: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", float(self.y))


class Own:
    """A class with methods of its own."""

    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and abs(self.x - other.x) < 2

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


class Equal:  # noqa: PLW1641 - that is the case
    """A class with an equality of its own, whose hash is of the fields."""

    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.x == other.x


class Empty:
    """A class without fields."""


def both(cls: type, **options: bool) -> tuple[Any, Any]:
    """Make a class by both, from equal copies."""

    def copied() -> type:
        left_out = ("__dict__", "__weakref__")
        return type(cls.__name__, (), {k: v for k, v in vars(cls).items() if k not in left_out})

    options = {"frozen": True, **options}
    return dataclasses.dataclass(**options)(copied()), records.dataclass(**options)(copied())


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize("cls", [Point, Own, Equal, Empty])
def test_a_class_by_records_is_what_dataclasses_makes(cls: type, slots: bool) -> None:
    answers = []
    for made in both(cls, slots=slots):
        few = () if cls is Empty else (1,)
        many = (1, 2, ["a"], "c") if cls is Point else few
        one, two = made(*few), made(*many)
        answers.append(
            (
                str(inspect.signature(made)), repr(one), repr(two), one == made(*few), one == two,
                one == (1,), one != two, made.__match_args__, made.__hash__ is None,
                [f.name for f in dataclasses.fields(one)], dataclasses.asdict(two),
                dataclasses.replace(one) == one, copy.copy(two) == two, copy.deepcopy(two) == two,
                hasattr(one, "__dict__"), made.__doc__, made.__init__.__qualname__,
                cls is Point or hash(one) == hash(made(*few)),
            )
        )  # fmt: skip
    assert answers[0] == answers[1]


@pytest.mark.parametrize("options", [{"eq": False}, {"repr": False}, {"order": True}])
def test_options_of_a_class_by_records_are_those_of_dataclasses(options: dict[str, bool]) -> None:
    for made in both(Point, **options):
        assert (made(1) == made(1)) == options.get("eq", True)
        assert repr(made(1)).startswith("Point(x=1") == options.get("repr", True)
        assert (made.__lt__ is object.__lt__) != ("order" in options)


@pytest.mark.parametrize("slots", [True, False])
def test_fields_of_a_frozen_class_cannot_be_set_or_deleted(slots: bool) -> None:
    for made in both(Point, slots=slots):
        point = made(1)
        for name in ("x",) if slots else ("x", "another"):
            with pytest.raises(dataclasses.FrozenInstanceError, match=name):
                setattr(point, name, 3)
            with pytest.raises(dataclasses.FrozenInstanceError, match=name):
                delattr(point, name)


@pytest.mark.parametrize("slots", [True, False])
def test_a_class_below_a_frozen_one_may_have_other_attributes(slots: bool) -> None:
    _, made = both(Point, slots=slots)
    below = type("Below", (made,), {})(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="x"):
        below.x = 3
    below.another = 3
    del below.another
    assert not hasattr(below, "another")


def test_a_default_that_is_made_is_made_for_each_object() -> None:
    _, made = both(Point)
    one, two = made(1), made(1)
    one.names.append("a")
    assert two.names == []


@pytest.mark.parametrize("own", [dataclasses.dataclass, records.dataclass])
def test_a_class_may_inherit_from_one_by_records(own: Any) -> None:
    _, made = both(Point)
    below = own(frozen=True)(type("Below", (made,), {"__annotations__": {"z": "int"}, "z": 4}))
    assert repr(below(1)) == "Below(x=1, y=2.5, names=[], z=4)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        below(1).z = 5


@records.dataclass(frozen=True, slots=True)
class Pickled:
    """A class that pickle finds."""

    x: int
    again: list[Any] = field(default_factory=list)


def test_an_object_of_a_frozen_class_with_slots_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(3, ["a"]))) == Pickled(3, ["a"])


def test_an_object_that_holds_itself_is_shown() -> None:
    one = Pickled(1)
    one.again.append(one)
    assert repr(one) == "Pickled(x=1, again=[...])"
