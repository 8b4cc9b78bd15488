"""Compiles the loops of this package with Numba, which keeps them on disk; else they are Python.

The generic methods (`prefix_counters`, `window_product`, `two_step`) are the judge of the compiled
ones and take their place where Numba is not installed.

Helpers of loops stand in the module of the loops, even where another module has the like: what is
on disk is taken as long as the time stamp of that one file is the same, whatever the loop calls.
What the loops learned the hard way (`python -m benchmarks.aggregation`): arrays made anew inside
of a loop have their references counted on every turn, some 15 ns; and a loop that is as long for
every operation, over zeros too, is faster than one that is as long as need be.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

HAS_NUMBA = importlib.util.find_spec("numba") is not None


def compiled(function: F) -> F:
    """Compile `function` on its first call."""
    if not HAS_NUMBA:
        return function
    from numba import njit

    return cast("F", njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile `function` into each loop that calls it: for what has many arrays to hand over."""
    if not HAS_NUMBA:
        return function
    from numba import njit

    return cast("F", njit(inline="always", error_model="numpy")(function))
