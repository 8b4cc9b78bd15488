"""Which inner loops the engine runs: compiled and generated ones, or NumPy without Numba."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Backend: TypeAlias = Literal["compiled", "generated", "interpreted", "plain"]
"""compiled: compiled loops, and generated ones for a step that looks at many candidates.
generated: the same, generated ones at once. interpreted: NumPy, and generated loops that are left
to Python, to test what is written. plain: NumPy alone."""

GENERATE_AFTER = 1 << 21
"""Candidates of one step after which writing and compiling a loop for it (under a second) pays."""


class Kernels(Protocol):
    """The contract of `compiled.py` and `plain.py`; the former says what each must do."""

    JOINS: Sequence[Callable[..., tuple[int, int]]]
    """The join for each number of bands."""

    EXISTS: Sequence[Callable[..., None]]
    """The search for each number of bands."""

    def partition(self, types: Ints, slots: Ints, steps: Times, cursors: Times, rows: Ints) -> None:
        """Part the events by slot."""
        ...

    def counting_sort(self, keys: Ints, starts: Times, order: Ints) -> None:
        """Sort rows by key."""
        ...

    def bounds(self, x_ts: Times, y_ts: Times, delta: int, table: Ints) -> None:
        """Find the first y in scope of each x."""
        ...

    def keyed_bounds(
        self, x_ts: Times, x_keys: Ints, y_ts: Times, starts: Times, delta: int, table: Ints
    ) -> None:
        """Find it among the y of the same key."""
        ...

    def searched_bounds(
        self, wanted: Times, keys: Ints, y_ts: Times, starts: Times, out: Ints
    ) -> None:
        """Find it by search."""
        ...

    def subsets(
        self,
        begins: Ints,
        ends: Ints,
        least: Ints,
        most: Ints,
        firsts: Ints,
        lasts: Ints,
        members: Ints,
        weights: Floats,
        caps: Floats,
        state: Times,
        stack: Ints,
        sums: Floats,
        parents: Ints,
        starts: Times,
        rows: Ints,
        falling: bool,
    ) -> int:
        """Choose sets from lists."""
        ...

    def take(self, values: npt.NDArray[Any], at: Ints) -> npt.NDArray[Any]:
        """Return the values at some places."""
        ...


@dataclass(frozen=True, slots=True)
class Loops:
    """The inner loops that a run uses.

    Attributes:
        kernels: Those that know nothing of a query.
        generate_after: Candidates of a step after which a loop is written for it; None: never.
        compiled: Whether loops that are written are compiled.
    """

    kernels: Kernels
    generate_after: int | None
    compiled: bool


@cache
def loops(backend: Backend | None = None) -> Loops:
    """Return the inner loops of `backend`; by default the compiled ones where Numba is there."""
    if backend is None:
        backend = "compiled" if importlib.util.find_spec("numba") else "plain"
    kernels: Any
    if backend in ("compiled", "generated"):
        from cepkit.columnar.kernels import compiled as kernels

        return Loops(
            cast("Kernels", kernels), 0 if backend == "generated" else GENERATE_AFTER, True
        )
    from cepkit.columnar.kernels import plain as kernels

    return Loops(cast("Kernels", kernels), 0 if backend == "interpreted" else None, False)
