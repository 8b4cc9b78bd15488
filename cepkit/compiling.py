"""Compiles loops with Numba, cached on disk.

Lessons from measurements (`python -m benchmarks.aggregation`): arrays created inside a loop cost
reference counting at every turn, some 15 ns; and a loop of fixed length for every operation,
including zeros, is faster than one of minimal length.
"""

from __future__ import annotations

import itertools
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, update_wrapper
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from cepkit.caches import numba_setting
from cepkit.compiled_loops import LoopCache
from cepkit.native_loops import NativeLoop, flatten, is_installed

F = TypeVar("F", bound=Callable[..., Any])

# A C wrapper would double the compile time.
_COMMON = {"error_model": "numpy", "no_cfunc_wrapper": True}

_MOST_NATIVE_CALLS = 20_000
"""After this many calls importing Numba pays off, because its calls take a tenth of the time."""

_seconds = getattr(time, "thread_time", time.perf_counter)
PLAIN_SECONDS = 3.0
"""A loop that takes longer as plain Python, in all calls of a process, is compiled."""

_native_calls = itertools.count()

_loading = threading.RLock()
"""Held while a loop is loaded or made ready for Numba, whose import is no other thread's business
before it is complete."""


def compiled(function: F) -> F:
    """Compile a loop on its first call, and cache it on disk."""
    return _loop(function, nogil=True)


def compiled_beyond(events: int) -> Callable[[F], F]:
    """Compile a loop over events on its first call with long arrays.

    Some loops take many seconds to compile, and a tenth of one to run over a small stream as plain
    Python. They are compiled once they have run for `PLAIN_SECONDS`, too.

    Args:
        events: With at most so many in the arrays of its first argument, and nothing cached, it
            runs as plain Python.
    """
    return lambda function: _loop(function, events, nogil=True)


def interpreted(function: F) -> F:
    """Return the plain Python version of a loop, for work shorter than loading the compiled one."""
    return cast("F", cast("Any", function).py_func)


def inlined(function: F) -> F:
    """Inline a function into each loop that calls it: for functions with many array arguments."""
    return cast("F", _Inside(function, {"inline": "always"} | _COMMON))


def lent(function: F) -> F:
    """Compile a function that allocates nothing into the loops that call it.

    Numba would count references to its arrays at every call and pass each array as seven numbers,
    which can take longer than everything else. `_nrt` is the option that Numba's own non-allocating
    functions use.
    """
    return _inside(function, forceinline=True)


def called(function: F) -> F:
    """Compile a function without inlining: for long or rarely used code."""
    return _inside(function)


def addressed(signature: str, kind: str) -> Callable[[F], Any]:
    """Compile a function that loops of `compiled_beyond` call by its address.

    It is compiled for the first of them that does not run as plain Python.

    Args:
        signature: Its types, as Numba takes them.
        kind: The type of the function, as Numba writes it.
    """
    return lambda function: Addressed(function, signature, kind)


class Addressed:
    """A function that loops call by its address; see `addressed`."""

    def __init__(self, function: Callable[..., Any], signature: str, kind: str) -> None:
        self._function, self._signature, self.kind = function, signature, kind

    def __call__(self, *arguments: Any) -> Any:
        """Run it as plain Python; in place of the address of an array comes `array.ctypes`."""
        return self._function(*(getattr(each, "_arr", each) for each in arguments))

    @cached_property
    def callback(self) -> Any:
        """The compiled function; it itself where loops are interpreted."""
        if is_interpreted():
            return self
        from numba.core.ccallback import CFunc
        from numba.core.sigutils import normalize_signature

        options = {"error_model": "numpy"}
        types = normalize_signature(self._signature)
        callback: Any = CFunc(self._function, types, locals={}, options=options)
        described = SimpleNamespace(py_func=self._function, targetoptions=options)
        callback._cache = LoopCache(described)  # noqa: SLF001 - Numba has no other way
        callback.compile()
        return callback


def is_interpreted() -> bool:
    """Return whether loops run as plain Python: without Numba, or with NUMBA_DISABLE_JIT."""
    return not is_installed() or numba_setting("DISABLE_JIT") not in (0, "0", "")


def by_name(records: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of records whose fields loops can read by name, even as plain Python."""
    return records.view(np.recarray)


class _Loop:
    """A loop: loaded from disk without Numba if possible, else compiled by Numba."""

    def __init__(
        self, function: Callable[..., Any], options: dict[str, Any], plain_up_to: int = -1
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = options
        self._native: dict[tuple[Any, ...], NativeLoop | None] = {}
        self._plain_up_to, self._plain_seconds = plain_up_to, 0.0
        self._is_cached: bool | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop."""
        if "dispatcher" not in self.__dict__:
            types: list[Any] = []
            words: list[Any] = []
            native = None
            if flatten(arguments, types, words):
                key = tuple(types)
                if key not in self._native:
                    with _loading:
                        self._native.setdefault(key, LoopCache(self).load_native(arguments))
                native = self._native[key]
                if native is not None and next(_native_calls) < _MOST_NATIVE_CALLS:
                    with suppress(struct.error):  # an integer of more than 64 bits
                        return native(words)
            if native is None and self._is_brief(arguments):
                return self._run_plain(arguments)
        if self._plain_up_to >= 0:
            arguments = tuple(a.callback if isinstance(a, Addressed) else a for a in arguments)
        return self.dispatcher(*arguments)

    def _is_brief(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether plain Python is done before the loop is compiled."""
        if (
            self._plain_up_to < 0
            or self._plain_seconds >= PLAIN_SECONDS
            or is_interpreted()
            or _longest(arguments[:1]) > self._plain_up_to
        ):
            return False
        if self._is_cached is None:
            self._is_cached = LoopCache(self).has(arguments)
        return not self._is_cached

    def _run_plain(self, arguments: tuple[Any, ...]) -> Any:
        begin = _seconds()
        try:
            with np.errstate(all="ignore"):  # as compiled loops: integers wrap around
                return self.py_func(*arguments)
        finally:
            self._plain_seconds += _seconds() - begin

    @cached_property
    def dispatcher(self) -> Any:
        """The Numba dispatcher; the function itself where loops are interpreted."""
        with _loading:
            if "dispatcher" in self.__dict__:  # another thread was first
                return self.__dict__["dispatcher"]
            if is_interpreted():  # as compiled loops: integers wrap around
                return np.errstate(all="ignore")(self.py_func)
            _import_numba()
            from numba import njit

            loop: Any = njit(**self.targetoptions)(self.py_func)
            loop._cache = LoopCache(self)  # noqa: SLF001 - Numba has no other way
            # Set here already: another thread must not make a second one.
            return self.__dict__.setdefault("dispatcher", loop)

    @property
    def _numba_type_(self) -> Any:
        """Its Numba type, for loops that call it."""
        return self.dispatcher._numba_type_

    @property
    def stats(self) -> Any:
        """Numba's counts of cache hits and misses."""
        return self.dispatcher.stats


def _import_numba() -> None:
    """Import Numba in a thread, for which Ctrl-C waits: half imported it would stay broken."""
    done = threading.Event()  # an interrupted join takes a thread for ended

    def load() -> None:
        try:
            with suppress(ImportError):  # the caller's own import says why
                import_module("numba")
        finally:
            done.set()

    if "numba" not in sys.modules:
        threading.Thread(target=load, name="cepkit").start()
        try:
            done.wait()
        finally:
            done.wait()


class _Inside(_Loop):
    """A function that compiled loops call; called from Python it runs interpreted."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def _inside(function: F, **options: Any) -> F:
    """Compile a function without its Python wrapper, which takes longest to compile."""
    options |= {"nogil": True, "_nrt": False, "no_cpython_wrapper": True}
    return cast("F", _Inside(function, options | _COMMON))


def _loop(function: F, plain_up_to: int = -1, **options: Any) -> F:
    return cast("F", _Loop(function, options | _COMMON, plain_up_to))


def _longest(arguments: tuple[Any, ...]) -> int:
    """Return the length of the longest array, also inside of tuples; 0 if there is none."""
    lengths = [
        _longest(each) if isinstance(each, tuple) else max(np.shape(each), default=0)
        for each in arguments
    ]
    return max(lengths, default=0)
