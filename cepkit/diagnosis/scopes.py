"""Where a further variable is looked for: in its scope, and beyond while violations are left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepkit.diagnosis.measures import Limit, Measures
from cepkit.diagnosis.partials import Partials
from cepkit.diagnosis.requirements import Before, Requirement, SamePartition, SideBySide, Within
from cepkit.diagnosis.scene import Ints, scope, spans

STRETCH = 2.0
"""How many times as long as allowed a window may be, to be a near miss."""


class Scopes:
    """Says between which events a variable is looked for.

    Attributes:
        one_partition: Whether PARTITION BY is never given up: places inside of a partition, which
            a window counts, mean nothing in another one.

    Args:
        measures: Of the branch.
        active: The requirements that are looked at.
        tolerance: How many of them may be violated.
        stretch: How many times as long as allowed a window may be.
    """

    def __init__(
        self, measures: Measures, active: Sequence[Requirement], tolerance: int, stretch: float
    ) -> None:
        self._scene, self._branch = measures.scene, measures.branch
        self._tolerance, self._stretch = tolerance, stretch
        self._ordered = {(r.first, r.second) for r in active if isinstance(r, Before)}
        limits = [
            measures.limit(r, len(measures.branch.positive))
            for r in active
            if isinstance(r, Within | SideBySide)
        ]
        partitioned = any(isinstance(r, SamePartition) for r in active)
        self.one_partition = partitioned and any(limit.clock == "place" for limit in limits)
        self._limits = [one for one in limits if one.clock != "place" or self.one_partition]

    def of(self, variable: str, partials: Partials) -> tuple[Ints, Ints]:
        """Return for each partial match the first event and the one after the last.

        Args:
            variable: What is to be bound.
            partials: With at least one variable bound.
        """
        rows, size = partials.rows, len(partials)
        near, far = [], []
        for limit in self._limits:
            stretched = self.stretched(limit)
            beyond = spans(self._scene.clock(limit.clock), rows) > limit.most
            near.append((limit.clock, np.where(beyond, stretched, limit.most)))
            far.append((limit.clock, stretched))
        low, high = scope(
            self._scene,
            rows,
            size,
            after=[x for x in rows if (x, variable) in self._ordered],
            before=[y for y in rows if (variable, y) in self._ordered],
            windows=near,
        )
        free = partials.violations < self._tolerance
        if not free.any():
            return low, high
        lowest, highest = scope(self._scene, rows, size, windows=far)
        return np.where(free, lowest, low), np.where(free, highest, high)

    def stretched(self, limit: Limit) -> int:
        """Return how far apart two events may be that violate a limit."""
        return int(min(self._stretch * max(limit.most, 1), 2.0**60))
