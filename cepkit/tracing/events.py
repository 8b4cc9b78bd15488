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
        id: The arrival number of each event: how many events of the stream came before it.
        time: Its time in microseconds since 1970 UTC.
        attributes: The attributes that the pattern reads; None for missing values. Times are texts.
        name: Its name: ``B 7``, the type and the arrival number.
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
        name: Its name: "b2" is the second event of `b`'s type.
    """

    id: tuple[Number, ...] = field(metadata=keyed("row"))
    name: tuple[str, ...]

    def __post_init__(self) -> None:
        """Keep the given names."""


def shown_attributes(
    columns: EventColumns, names: Iterable[str], rows: npt.NDArray[np.integer]
) -> Attributes:
    """Return attributes of some events in the form of traces."""
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
