"""What the JSON of a trace of prefix counters must be: its shape, and that its parts fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from cepkit.aggregation.tracing.records import Action, CounterCounts
from cepkit.stream.shapes import (
    Attributes,
    Number,
    ShapeError,
    Time,
    Within,
    check,
    check_below,
    check_even,
    shown,
)

_Count: TypeAlias = Annotated[int, Within(0, 10**1000)]
"""Counts are exact; those of 2,000 events have some 600 digits at most."""


class _Events(TypedDict):
    row: list[Number]
    name: list[str]
    time: list[Time]
    type: list[str]
    attributes: Attributes


class _Moments(TypedDict):
    time: list[Time]
    event: list[Number | None]
    key: list[Number | None]
    action: list[Action]
    position: list[Number]
    trigger: list[bool]


class CounterTraceShape(TypedDict):
    """A trace of prefix counters, as docs/trace.md describes it."""

    pattern: str
    pieces: list[list[str]]
    absent: list[tuple[Number, str]]
    window: Time | None
    keys: list[str]
    events: _Events
    moments: _Moments
    steps: list[list[list[Any]]]
    counters: dict[str, list[_Count]]
    looked_at: Number


_CHANGES: Mapping[str, Any] = {
    "open": tuple[Literal["open"], Number, Number, Number, Number | None, Time | None],
    "save": tuple[Literal["save"], Number, Number, _Count],
    "add": tuple[Literal["add"], Number, Number, _Count, _Count],
    "clear": tuple[Literal["clear"], Number, Number, _Count],
    "drop": tuple[Literal["drop"], Number, Number],
    "close": tuple[Literal["close"], Number],
}


def check_counter_trace(data: Any) -> None:
    """Check what a trace of prefix counters should be.

    Raises:
        ShapeError: It is none, or names what it does not have.
    """
    check(data, CounterTraceShape)
    events, moments, steps = data["events"], data["moments"], data["steps"]
    count, size = len(events["row"]), len(steps)
    check_even({name: events[name] for name in ("name", "time", "type")}, count, "events")
    check_even(events["attributes"], count, "events.attributes")
    check_even({name: moments[name] for name in _Moments.__annotations__}, size, "moments")
    check_even({n: data["counters"].get(n, ()) for n in CounterCounts._fields}, size, "counters")
    if not data["pieces"] or not all(data["pieces"]):
        raise ShapeError("empty", "a piece or more, each of a variable or more", "pieces")
    length = sum(map(len, data["pieces"]))
    for i in range(size):
        check_below(moments["event"][i], count, "events", f"moments.event[{i}]")
        check_below(moments["key"][i], len(data["keys"]), "keys", f"moments.key[{i}]")
        if not 1 <= moments["position"][i] <= length:
            expected = f"a position, counted from 1 to {length}"
            raise ShapeError(shown(moments["position"][i]), expected, f"moments.position[{i}]")
        try:
            _check_changes(steps[i], data)
        except ShapeError as error:
            raise error.within(f"steps[{i}]") from None


def _check_changes(changes: list[list[Any]], data: Mapping[str, Any]) -> None:
    for number, change in enumerate(changes):
        name = change[0] if change else None
        form = _CHANGES.get(name) if isinstance(name, str) else None
        if form is None:
            raise ShapeError(f"a change {shown(name)} that is not known", "another name")
        try:
            check(change, form)
            if name == "open":
                check_below(change[2], len(data["keys"]), "keys", "[2]")
                check_below(change[3], len(data["pieces"]), "pieces", "[3]")
                check_below(change[4], len(data["events"]["row"]), "events", "[4]")
        except ShapeError as error:
            raise error.within(f"[{number}]") from None
