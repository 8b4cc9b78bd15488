"""Compiles loops with Numba, which keeps them on disk.

What the loops learned the hard way (`python -m benchmarks.aggregation`): arrays made anew inside of
a loop have their references counted on every turn, some 15 ns; and a loop that is as long for every
operation, over zeros too, is faster than one that is as long as need be.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, update_wrapper
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from cepkit.compiled_loops import LoopCache
from cepkit.native_loops import NativeLoop, flatten

F = TypeVar("F", bound=Callable[..., Any])

# What C would call a loop by takes as long to compile again.
_COMMON = {"error_model": "numpy", "no_cfunc_wrapper": True}

_MOST_NATIVE_CALLS = 20_000
"""After which Numba, whose calls take a tenth of the time, has been worth its import."""

_native_calls = itertools.count()


def compiled(function: F) -> F:
    """Compile a loop on its first call, and keep it on disk."""
    return _loop(function, nogil=True)


def interpreted(function: F) -> F:
    """Return a loop as Python runs it: for so little work that loading the loop takes longer."""
    return cast("F", cast("Any", function).py_func)


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
    from numba.core.ccallback import CFunc
    from numba.core.sigutils import normalize_signature

    options = {"error_model": "numpy"}

    def wrapped(function: F) -> Any:
        callback: Any = CFunc(function, normalize_signature(signature), locals={}, options=options)
        described = SimpleNamespace(py_func=function, targetoptions=options)
        callback._cache = LoopCache(described)  # noqa: SLF001 - Numba has no other way
        callback.compile()
        return callback

    return wrapped


class _Loop:
    """A loop, which comes from disk without Numba where it can, else from Numba."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = options
        self._native: dict[tuple[Any, ...], NativeLoop | None] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop."""
        if "dispatcher" not in self.__dict__:
            types: list[Any] = []
            words: list[Any] = []
            if flatten(arguments, types, words):
                key = tuple(types)
                if key not in self._native:
                    self._native[key] = LoopCache(self).load_native(arguments)
                native = self._native[key]
                if native is not None and next(_native_calls) < _MOST_NATIVE_CALLS:
                    with suppress(struct.error):  # an integer of more than 64 bits
                        return native(words)
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The loop as Numba calls it; the function itself with NUMBA_DISABLE_JIT."""
        from numba import njit

        loop: Any = njit(**self.targetoptions)(self.py_func)
        if hasattr(loop, "py_func"):
            loop._cache = LoopCache(self)  # noqa: SLF001 - Numba has no other way
        return loop

    @property
    def _numba_type_(self) -> Any:
        """What it is for a loop that calls it."""
        return self.dispatcher._numba_type_

    @property
    def stats(self) -> Any:
        """How often Numba found it on disk, and compiled it."""
        return self.dispatcher.stats


class _Inside(_Loop):
    """A function that compiled loops call: in Python it runs as it is written."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def _inside(function: F, **options: Any) -> F:
    """Compile a function without what Python would call it by, which takes longest to compile."""
    options |= {"nogil": True, "_nrt": False, "no_cpython_wrapper": True}
    return cast("F", _Inside(function, options | _COMMON))


def _loop(function: F, **options: Any) -> F:
    return cast("F", _Loop(function, options | _COMMON))
