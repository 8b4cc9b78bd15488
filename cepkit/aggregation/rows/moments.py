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
    """Rows in time order; at equal times in stream order.

    Attributes:
        ts: When, in microseconds.
        triggers: Whether the cause of the row is a trigger; otherwise an expiry.
        new: The number of matches that the trigger completes; Python integers if they are long.
        values: The lanes, or an element of `Together`, for each row.
        lanes: The lanes, if `values` holds them.
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
    """Return integers as 64-bit ones, or as Python integers if one is longer."""
    fit = all(-(2**63) <= value < 2**63 for value in values)
    return np.array(values, dtype=np.int64 if fit else object)
