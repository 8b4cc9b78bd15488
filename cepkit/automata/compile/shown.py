"""Conditions with values in place of attributes: ``a.price < b.price`` becomes ``3 < 7``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

from cepkit.automata.events import Binding, Event
from cepkit.automata.scalars import Layout, value
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.closures import History
from cepkit.pattern.printer import expression_text
from cepkit.printing import time_text
from cepkit.stream.durations import duration_text

Shown: TypeAlias = Callable[[Binding], str]

_MOST_MEMBERS = 3


def shown(condition: c.Expression, layout: Layout) -> Shown:
    """Return a function that writes `condition` with the values of a binding.

    Of a set it shows the last members; for a condition between members, only the last one.
    """
    single = c.set_of_members(condition)
    without_sets = replace(layout, sets=frozenset())

    def text(binding: Binding) -> str:
        return expression_text(_filled(condition, layout, without_sets, binding, single))

    return text


def _filled(part: Any, layout: Layout, whole: Layout, binding: Binding, single: str | None) -> Any:
    match part:
        case c.Attribute(variable, name):
            place: Any = binding[layout.slots[variable]]
            index = layout.attributes[name]
            if variable == single:
                place = place[-1]
            if not isinstance(place, tuple):
                return _raw(_plain(place.values[index], layout.kinds[name]))
            texts = [_plain(e.values[index], layout.kinds[name]) for e in place[-_MOST_MEMBERS:]]
            more = "…, " if len(place) > _MOST_MEMBERS else ""
            listed = more + ", ".join(texts)
            return _raw(texts[0] if len(place) == 1 else f"[{listed}]")
        case c.Aggregate(function, str(variable)) if c.distance_of(function) >= len(
            _members(binding, layout, variable)
        ):
            return c.Literal(None)
        case c.Aggregate(_, _, attribute):
            kind = "integer" if attribute is None else layout.kinds[attribute]
            return _raw(_plain(value(part, whole)(binding), kind))
        case c.Call("corr", (c.Attribute(left), c.Attribute(right))) if (
            not {left, right} & layout.sets
        ):
            return _raw(_plain(value(part, whole)(binding), "float"))
        case tuple():
            return tuple(_filled(item, layout, whole, binding, single) for item in part)
        case c.Literal():
            return part
        case _ if is_dataclass(part) and not isinstance(part, type):
            inner = {
                field.name: _filled(getattr(part, field.name), layout, whole, binding, single)
                for field in fields(part)
                if field.name != "span"
            }
            return replace(part, **inner)
        case _:
            return part


def _members(binding: Binding, layout: Layout, variable: str) -> tuple[Event, ...]:
    place = binding[layout.slots[variable]]
    assert isinstance(place, tuple)
    return place


class _Raw(float):
    """A number whose repr, which the printer writes, is a chosen text."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _raw(text: str) -> c.Literal:
    number = _Raw()
    number.text = text
    return c.Literal(number)


def _plain(item: Any, kind: str) -> str:
    match item:
        case None:
            return "NULL"
        case History():
            return "[…]"
        case float():
            return f"{item:.6g}"
        case int() if kind == "timestamp":
            return time_text(item)
        case int() if kind == "duration":
            return duration_text(item)
        case str():
            return f"'{item}'"
        case _:
            return str(item)
