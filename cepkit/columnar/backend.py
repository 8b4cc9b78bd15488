"""Which inner loops the engine runs: compiled ones, or NumPy where there is no Numba."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

Backend: TypeAlias = Literal["compiled", "plain"]


class Kernels(Protocol):
    """The contract of `compiled.py` and `plain.py`, which document it."""

    @property
    def JOINS(self) -> Sequence[Callable[..., tuple[int, int]]]: ...  # noqa: N802, D102

    def partition(  # noqa: D102
        self, types: Ints, slots: Ints, steps: Times, cursors: Times, rows: Ints
    ) -> None: ...

    def counting_sort(self, keys: Ints, starts: Times, order: Ints) -> None: ...  # noqa: D102

    def bounds(self, x_ts: Times, y_ts: Times, delta: int, table: Ints) -> None: ...  # noqa: D102

    def keyed_bounds(  # noqa: D102
        self, x_ts: Times, x_keys: Ints, y_ts: Times, starts: Times, delta: int, table: Ints
    ) -> None: ...

    def searched_bounds(  # noqa: D102
        self, wanted: Times, keys: Ints, y_ts: Times, starts: Times, out: Ints
    ) -> None: ...


@cache
def kernels(backend: Backend | None = None) -> Kernels:
    """Return the inner loops of `backend`; by default the compiled ones where Numba is there."""
    if backend is None:
        backend = "compiled" if importlib.util.find_spec("numba") else "plain"
    module: Any
    if backend == "compiled":
        from cepkit.columnar import compiled as module
    else:
        from cepkit.columnar import plain as module
    return cast("Kernels", module)
