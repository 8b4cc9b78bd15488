"""Output rows before their columns have types: time, group, cause and aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import Tracks
from cepkit.aggregation.semirings.functions import Element
from cepkit.aggregation.semirings.lanes import Lanes

Wide = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """Rows in the order of time; rows of one time in the order of the stream.

    Attributes:
        ts: When, in microseconds.
        groups: Of which group.
        triggers: Whether the row is there because of a trigger; otherwise of an expiry.
        new: How many matches the trigger completes; Python's integers where they are long.
        values: What the lanes hold, or an element of `Together` for each row.
        lanes: The lanes, where `values` is about them.
    """

    ts: Wide
    groups: npt.NDArray[np.int32]
    triggers: npt.NDArray[np.bool_]
    new: npt.NDArray[Any]
    values: Tracks | Sequence[Element]
    lanes: Lanes | None

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, at: Wide) -> Moments:
        """Return some of the rows."""
        mine = self.values
        values = mine.take(at) if isinstance(mine, Tracks) else [mine[i] for i in at]
        return Moments(
            self.ts[at], self.groups[at], self.triggers[at], self.new[at], values, self.lanes
        )


def integers(values: Sequence[int]) -> npt.NDArray[Any]:
    """Return integers as 64-bit ones, or as Python's own where one is longer."""
    fit = all(-(2**63) <= value < 2**63 for value in values)
    return np.array(values, dtype=np.int64 if fit else object)
