"""Compiles loops with Numba, which keeps them on disk.

What the loops learned the hard way (`python -m benchmarks.aggregation`): arrays made anew inside of
a loop have their references counted on every turn, some 15 ns; and a loop that is as long for every
operation, over zeros too, is faster than one that is as long as need be.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.ccallback import CFunc
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from cepkit.compiled_loops import LoopCache

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a loop on its first call, and keep it on disk."""
    return _loop(function, nogil=True)


def inlined(function: F) -> F:
    """Compile a function into each loop that calls it: for what has many arrays to hand over."""
    return _loop(function, inline="always")


def lent(function: F) -> F:
    """Compile a function that allocates nothing into the loops that call it.

    Numba would count the references to its arrays at every call, and hand over each as seven
    numbers, which can take longer than all else. `_nrt` is what Numba's own functions that
    allocate nothing say.
    """
    return _inside(function, forceinline=True)


def called(function: F) -> F:
    """Compile the same as a function of its own: for what is long, or seldom needed."""
    return _inside(function)


def addressed(signature: str) -> Callable[[F], Any]:
    """Compile a function that loops call by its address, at once.

    Args:
        signature: Its types, as Numba writes them.
    """
    options = {"error_model": "numpy"}

    def wrapped(function: F) -> Any:
        callback: Any = CFunc(function, normalize_signature(signature), locals={}, options=options)
        described = SimpleNamespace(py_func=function, targetoptions=options)
        callback._cache = LoopCache(described)  # noqa: SLF001 - Numba has no other way
        callback.compile()
        return callback

    return wrapped


class _Inside(CPUDispatcher):
    """A function that compiled loops call: in Python it runs as it is written."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def _inside(function: F, **options: Any) -> F:
    """Compile a function without what Python would call it by, which takes longest to compile."""
    options |= {"nogil": True, "_nrt": False, "no_cpython_wrapper": True}
    loop: Any = _loop(function, **options)
    if isinstance(loop, CPUDispatcher):
        loop.__class__ = _Inside  # its own call, without a wrapper, would end the process
    return cast("F", loop)


def _loop(function: F, **options: Any) -> F:
    # What C would call it by takes as long to compile again.
    options |= {"error_model": "numpy", "no_cfunc_wrapper": True}
    loop: Any = njit(**options)(function)
    # Not with NUMBA_DISABLE_JIT, where the function comes back as it is.
    if hasattr(loop, "py_func"):
        loop._cache = LoopCache(loop)  # noqa: SLF001 - Numba has no other way
    return cast("F", loop)
