"""The events to learn from: those before the incidents, and all or some of the other times.

All stand on one clock. Each key, or each sampled piece of a key's time, is a cell of it; cells are
so far apart that no window reaches from one into the next. So the search needs no keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.calibration.labels import Integers
from cepkit.indexing import repeated
from cepkit.stream.columns import Column, EventColumns

Floats: TypeAlias = npt.NDArray[np.float64]
Truths: TypeAlias = npt.NDArray[np.bool_]

_MOST_EVENTS = 60_000
"""More events are sampled: cells before incidents all, others by chance."""
_PIECE = 8
"""The length of a sampled cell, in spans of `within`."""
_FEW_VALUES = 20
"""So many integers are categories as well."""


@dataclass(frozen=True, slots=True)
class KeyedTimes:
    """Times with the codes of their keys; zeros without keys."""

    times: Integers
    keys: Integers


@dataclass(frozen=True, eq=False, slots=True)
class Training:
    """The events to learn from.

    Attributes:
        clock: Their times on the common clock, ascending.
        events: The places of the events of each type.
        type_names: The names of the types.
        numbers: The attributes that are numbers; NaN where missing.
        codes: The attributes that are compared for equality, as codes; -1 where missing.
        constants: The texts of constants for the codes; attributes without any have too many.
        incidents: The times of incidents on the clock, ascending; one may be in several cells.
        numbered: Which incident each is.
        total: The number of incidents.
        within: How long before an incident an alarm may be.
        stride: The length of a cell with its margins.
        weights: For how many cells each one stands.
        by: The attribute of the key; None without keys.
    """

    clock: Integers
    events: tuple[Integers, ...]
    type_names: tuple[str, ...]
    numbers: Mapping[str, Floats]
    codes: Mapping[str, Integers]
    constants: Mapping[str, tuple[str, ...]]
    incidents: Integers
    numbered: Integers
    total: int
    within: int
    stride: int
    weights: Floats
    by: str | None

    def counts(self, alarms: Integers) -> Truths:
        """Return which alarms are in a cell and not in its margins."""
        place = alarms % self.stride
        return (place >= self.within) & (place < self.stride - 3 * self.within)

    def near(self, alarms: Integers, times: int = 1) -> tuple[Integers, Integers]:
        """Return the pairs of alarms and incidents that they hit.

        Args:
            alarms: The times of alarms, or of events.
            times: How many times `within` the incident may follow.
        """
        first = np.searchsorted(self.incidents, alarms, "left")
        last = np.searchsorted(self.incidents, alarms + times * self.within, "right")
        pairs, places = ranges(first, last)
        return pairs, self.numbered[places]

    def weight(self, alarms: Integers) -> Floats:
        """Return for how many false alarms each stands."""
        return self.weights[alarms // self.stride]


def ranges(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """Return the numbers of all ranges one after the other, and for each which range it is of."""
    counts = np.maximum(last - first, 0)
    owners = repeated(np.arange(len(counts)), counts)
    offsets = np.arange(len(owners)) - repeated(np.cumsum(counts) - counts, counts)
    return owners, first[owners] + offsets


def training_of(
    columns: EventColumns,
    keys: Integers,
    incidents: KeyedTimes,
    within: int,
    by: str | None,
    left_out: frozenset[str],
    rng: np.random.Generator,
) -> Training:
    """Return the events to learn from.

    Args:
        columns: The events.
        keys: The code of each event's key.
        incidents: The incidents, with codes of keys.
        within: How long before an incident an alarm may be, in microseconds.
        by: The attribute of the key.
        left_out: The attributes that no condition reads.
        rng: Draws the sample.
    """
    first = min(int(columns.ts[0]), int(incidents.times.min()))
    length = max(int(columns.ts[-1]), int(incidents.times.max())) - first + 1
    apart = length + 4 * within
    keyed = keys * apart + (columns.ts - first)
    order = np.argsort(keyed, kind="stable")
    keyed = keyed[order]
    alarms = incidents.keys * apart + (incidents.times - first)
    if len(keyed) <= _MOST_EVENTS:
        begins, width = np.unique(keyed // apart) * apart, length
        weights = np.ones(len(begins))
    else:
        width = _PIECE * within
        begins, weights = _sampled(keyed // apart, keyed % apart, alarms, apart, within, rng)
    stride = width + 4 * within
    cells, places = ranges(
        np.searchsorted(keyed, begins - within), np.searchsorted(keyed, begins + width + within)
    )
    clock = keyed[places] - begins[cells] + within + cells * stride
    by_time = np.argsort(alarms, kind="stable")
    ordered = alarms[by_time]
    inside, which = ranges(
        np.searchsorted(ordered, begins), np.searchsorted(ordered, begins + width + within)
    )
    rows = order[places]
    types = columns.types[rows]
    numbers, codes, constants = _values(columns, rows, left_out)
    return Training(
        clock,
        tuple(np.flatnonzero(types == code) for code in range(len(columns.type_names))),
        columns.type_names,
        numbers,
        codes,
        constants,
        ordered[which] - begins[inside] + within + inside * stride,
        by_time[which],
        len(alarms),
        within,
        stride,
        weights,
        by,
    )


def _sampled(
    keys: Integers,
    times: Integers,
    alarms: Integers,
    apart: int,
    within: int,
    rng: np.random.Generator,
) -> tuple[Integers, Floats]:
    """Return the begins of cells, and for how many each stands."""
    width = _PIECE * within
    begins = keys * apart + times // width * width
    cells, counts = np.unique(begins, return_counts=True)
    key, time = alarms // apart * apart, alarms % apart
    before = np.maximum(time - within, 0)
    needed = np.unique(np.concatenate([key + before // width * width, key + time // width * width]))
    is_needed = np.isin(cells, needed)
    room = max(_MOST_EVENTS - int(counts[is_needed].sum()), _MOST_EVENTS // 4)
    share = min(1.0, room / max(1, int(counts[~is_needed].sum())))
    chosen = is_needed | (rng.random(len(cells)) < share)
    weights = np.where(is_needed, 1.0, 1.0 / share)
    return cells[chosen], weights[chosen]


def _values(
    columns: EventColumns, rows: Integers, left_out: frozenset[str]
) -> tuple[dict[str, Floats], dict[str, Integers], dict[str, tuple[str, ...]]]:
    from cepkit.pattern.names import string_text

    numbers: dict[str, Floats] = {}
    codes: dict[str, Integers] = {}
    constants: dict[str, tuple[str, ...]] = {}
    for name, column in columns.attributes.items():
        if name in left_out:
            continue
        part: Column = column.take(rows)
        present = ~part.missing()
        match part.kind:
            case "float" | "integer":
                numbers[name] = np.where(present, part.values.astype(np.float64), np.nan)
                if part.kind == "integer":
                    distinct, places = np.unique(part.values, return_inverse=True)
                    codes[name] = np.where(present, places, -1)
                    if len(distinct) <= _FEW_VALUES:
                        constants[name] = tuple(map(str, distinct.tolist()))
            case "text":
                codes[name] = part.values.astype(np.int64)
                constants[name] = tuple(string_text(text) for text in part.dictionary)
            case "boolean":
                codes[name] = part.values.astype(np.int64)
                constants[name] = ("FALSE", "TRUE")
            case _:
                continue
    return numbers, codes, constants
