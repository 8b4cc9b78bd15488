"""The events of a trace, with the attributes that the pattern reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.printing import time_text
from cepkit.stream.codec import keyed
from cepkit.stream.columns import Column, EventColumns
from cepkit.stream.durations import duration_text
from cepkit.stream.shapes import Number, Time, Value
from cepkit.stream.values import plain_values

Attributes: TypeAlias = Mapping[str, tuple[Value | tuple[Value, ...], ...]]


@dataclass(frozen=True, slots=True)
class EventTable:
    """The events of a trace, in stream order.

    Attributes:
        id: For each its arrival number: how many events of the stream came before it.
        time: Its time in microseconds since 1970 UTC.
        attributes: What the pattern reads; None where a value is missing. Times are texts.
        name: What it is called: ``B 7``, its type and arrival number.
    """

    id: tuple[Number, ...]
    time: tuple[Time, ...]
    type: tuple[str, ...]
    attributes: Attributes
    name: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(f"{kind} {number}" for kind, number in zip(self.type, self.id, strict=False))
        object.__setattr__(self, "name", names)

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True)
class CountedEvents(EventTable):
    """The events of a trace of counters, in stream order.

    Attributes:
        id: For each its row in the source.
        name: What it is called: "b2" is the second event of the type of `b`.
    """

    id: tuple[Number, ...] = field(metadata=keyed("row"))
    name: tuple[str, ...]

    def __post_init__(self) -> None:
        """Keep the names that it was given."""


def shown_attributes(
    columns: EventColumns, names: Iterable[str], rows: npt.NDArray[np.integer]
) -> Attributes:
    """Return attributes of some events as a trace shows them."""
    return {name: tuple(shown_values(columns.attributes[name], rows.tolist())) for name in names}


def shown_values(column: Column, rows: Sequence[int]) -> list[Any]:
    """Return values of a column: times and durations as texts, arrays as tuples."""
    values = plain_values(column)
    return [None if values[row] is None else _shown(values[row], column.kind) for row in rows]


def _shown(value: Any, kind: str) -> Any:
    match kind:
        case "timestamp":
            return time_text(value)
        case "duration":
            return duration_text(value)
        case "array":
            return tuple(None if isnan(one) else one for one in value)
        case _:
            return value
