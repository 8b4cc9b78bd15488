"""The events of each type in a slice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Step
from cepkit.columnar.kernels.loops import partition
from cepkit.stream.columns import EventColumns

Ints = npt.NDArray[np.int32]
TypeRows: TypeAlias = dict[frozenset[str] | None, Ints]
"""The rows of the events of some sets of types."""

_AT_ONCE = 1 << 17
"""The events searched at a time, so that the room for their rows stays in the cache."""


def find_types(steps: Iterable[Step], columns: EventColumns, rows: TypeRows) -> None:
    """Find the rows of the events of the types of steps, ascending.

    Args:
        rows: By types; known ones stay, and new ones are added. None: of any type.
    """
    n = len(columns)
    types_needed = {step.event.types for step in steps} - rows.keys()
    if None in types_needed:
        rows[None] = np.arange(n, dtype=np.int32)
    waiting = sorted((types for types in types_needed if types is not None), key=sorted)
    while waiting:
        # One pass over the events serves all sets without common types.
        together: list[frozenset[str]] = []
        for types in waiting:
            if all(not types & other for other in together):
                together.append(types)
        waiting = [types for types in waiting if types not in together]
        rows.update(_partition(together, columns))


def _partition(together: list[frozenset[str]], columns: EventColumns) -> TypeRows:
    n = len(columns)
    slots = np.zeros(max(1, len(columns.type_names)), dtype=np.int32)
    for code, name in enumerate(columns.type_names):
        for slot, types in enumerate(together, start=1):
            if name in types:
                slots[code] = slot
    steps = np.ones(len(together) + 1, dtype=np.int64)
    steps[0] = 0  # it collects unused types, all in the same place
    size = min(n, _AT_ONCE)
    begins = np.arange(len(steps)) * size + np.array([[0], [size // 2]])
    room = np.empty(len(steps) * size, dtype=np.int32)
    found: list[list[Ints]] = [[room[:0]] for _ in together]
    for first in range(0, n, _AT_ONCE):
        codes = columns.types[first : first + _AT_ONCE].astype(np.int32, copy=False)
        ends = begins.astype(np.int64)
        partition(codes, slots, steps, ends, room)
        for slot, parts in enumerate(found, start=1):
            parts += [room[begins[h, slot] : ends[h, slot]] + np.int32(first) for h in (0, 1)]
    return {types: np.concatenate(parts) for types, parts in zip(together, found, strict=True)}
