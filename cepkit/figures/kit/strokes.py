"""Widths of edges by the logarithm of a number, on one scale for a whole figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from cepkit.costs.expectation import alive
from cepkit.figures.kit.canvas import THIN
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log_text
from cepkit.statistics.model import Statistics

_WIDEST = 7.0


@dataclass(frozen=True, slots=True)
class Strokes:
    """A scale of widths, from a thin one for 1 to the widest for the most.

    Attributes:
        most: The natural logarithm of the most that an edge carries.
    """

    most: float = 0.0

    @classmethod
    def of(cls, logarithms: Iterable[float | None]) -> Strokes:
        """Return the scale for edges with these numbers; None if they are unknown."""
        return cls(max((v for v in logarithms if v is not None), default=0.0))

    def width(self, logarithm: float | None) -> float:
        """Return the width of an edge in pixels."""
        if logarithm is None or logarithm <= 0:
            return THIN
        # If all edges carry little, none is wide.
        return THIN + (_WIDEST - THIN) * min(1.0, logarithm / max(self.most, math.log(100)))


def held_in_window(branch: Branch, statistics: Statistics) -> Callable[[Collection[str]], float]:
    """Return a function for the number of partial matches of some variables alive in a window.

    It returns the natural logarithm, as in the partial-matches cost model.
    """
    log_alive, bit = alive(branch, statistics), {v: 1 << i for i, v in enumerate(branch.variables)}
    return lambda variables: log_alive(sum(bit[v] for v in variables))


def carried(logarithm: float) -> str:
    """Return the label of an edge that carries this number."""
    return f"~{log_text(logarithm)}"
