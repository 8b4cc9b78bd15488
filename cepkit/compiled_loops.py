"""A disk cache of compiled loops, shared between processes.

Numba's own cache checks only the loop's own file: after an update of a helper in another file the
loop would keep using the old one. It fails without a writable folder, trusts any file in its
folder, breaks on damaged files, and lets two processes that start at once confuse loops. Here each
file holds one loop for certain argument types, preceded by a digest of its content and of
everything that it was compiled from.
"""

from __future__ import annotations

import contextvars
import hashlib
import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from cepkit import native_loops
from cepkit.caches import CacheFolder, cache_folders, keep, kept, warn_once
from cepkit.native_loops import NativeLoop
from cepkit.progress import is_watched, tell

_SIZE_BYTES = 8

SILENT_SECONDS = 1.0
"""Compiling that takes less is not mentioned."""


@dataclass(frozen=True, slots=True)
class LoopCache:
    """The cache of one loop, through which Numba loads and saves compiled code.

    Attributes:
        loop: The loop: a function as `py_func` with `targetoptions`.
    """

    loop: Any

    def load_overload(self, types: Any, target: Any) -> Any:
        """Return the loop compiled for arguments of these types, or None."""
        from numba.core.compiler import CompileResult

        target.refresh()
        found = self._kept(*self._name_and_parts(_kinds(types), target.codegen().magic_tuple()))
        if found is not None:
            # The digest is right, and nobody else can have written it. A class that has moved to
            # another module since is not found, though.
            with suppress(AttributeError, ImportError):
                parts = pickle.loads(found[1])  # noqa: S301
                return CompileResult._rebuild(target, *parts)  # noqa: SLF001
        _watch_compiling()
        return None

    def load_native(self, arguments: Sequence[Any]) -> NativeLoop | None:
        """Return the loop for such arguments, or None if it must come from Numba."""
        if not native_loops.may_run():
            return None
        kinds = [native_loops.kind_of(each) for each in arguments]
        name, made_of = self._name_and_parts((kinds, None), native_loops.processor())
        found = self._kept(name, made_of)
        if found is None or not found[0]:
            return None
        return native_loops.load(found[0], _entry(made_of), arguments)

    def has(self, arguments: Sequence[Any]) -> bool:
        """Return whether the loop is cached for such arguments, for Numba or as machine code."""
        kinds = [native_loops.kind_of(each) for each in arguments]
        name, made_of = self._name_and_parts((kinds, None), native_loops.processor())
        return self._kept(name, made_of) is not None

    def save_overload(self, types: Any, compiled: Any) -> None:
        """Store the compiled loop for later processes, in the first folder that takes it.

        Raises:
            KeyboardInterrupt: The compilation was interrupted.
        """
        from numba.core.serialize import dumps

        if compiled.library.has_dynamic_globals:  # addresses, which differ in other processes
            return
        name, made_of = self._name_and_parts(_kinds(types), compiled.codegen.magic_tuple())
        inside = self.loop.targetoptions.get("no_cpython_wrapper")  # compiled into its callers
        native = b"" if inside else native_loops.machine_code(compiled, _entry(made_of))
        parts = len(native).to_bytes(_SIZE_BYTES) + native
        try:
            parts += dumps(compiled._reduce())  # noqa: SLF001 - as Numba's own cache does
        except RuntimeError:
            # There is no object code: an interrupt came while LLVM called back, which loses both.
            raise KeyboardInterrupt from None
        refusals = keep(self._folders(), name, made_of, parts)
        if not refusals:
            return
        warn_once(
            "compiled loops cannot be cached on disk, so each process compiles them again, which"
            f" takes some seconds ({'; '.join(refusals)}).\n"
            "Hint: set NUMBA_CACHE_DIR to a folder of your own"
        )

    def _kept(self, name: str, made_of: bytes) -> tuple[bytes, bytes] | None:
        """Return a loop's cached machine code and Numba data; None if there is none."""
        parts = kept(self._folders(), name, made_of)
        if parts is None:
            return None
        end = _SIZE_BYTES + int.from_bytes(parts[:_SIZE_BYTES])
        return parts[_SIZE_BYTES:end], parts[end:]

    @property
    def cache_path(self) -> str:
        """The first folder to search, for Numba's `stats`."""
        return next((str(folder.path) for folder in self._folders()), "")

    def _folders(self) -> Iterator[CacheFolder]:
        return cache_folders(self.loop.py_func.__code__.co_filename)

    def _name_and_parts(self, kinds: Any, processor: Any) -> tuple[str, bytes]:
        """Return the name of the file, and everything that determines the compiled code.

        The name stays the same when the loop changes, so a new file replaces the old one. It also
        stays the same when the package moves: a cluster unpacks it into a new folder for each
        application.
        """
        function = self.loop.py_func
        what = (kinds, processor, self.loop.targetoptions)
        file = function.__code__.co_filename
        generated = None if Path(file).is_absolute() else file
        place = (generated, function.__qualname__, sys.implementation.cache_tag)
        digest = hashlib.sha256(repr((place, what)).encode()).hexdigest()[:24]
        parts = (_versions(), what, _sources(self.loop))
        return f"{function.__module__}.{function.__name__}-{digest}.nbc", repr(parts).encode()


def _kinds(types: Any) -> Any:
    """Return the argument types in the form of `native_loops.kind_of`, and the result type."""
    return [_kind(each) for each in getattr(types, "args", types)], getattr(
        types, "return_type", None
    )


def _kind(kind: Any) -> Any:
    from numba import types
    from numba.np.numpy_support import as_dtype

    members = native_loops.members(kind)
    if members is not None:
        container = getattr(kind, "instance_class", tuple)
        return native_loops.tuple_kind(container, [_kind(each) for each in members])
    aligned = isinstance(kind, types.Array) and (
        kind.aligned or isinstance(kind.dtype, types.Record)
    )
    if aligned and kind.layout == "C":
        return native_loops.array_kind(as_dtype(kind.dtype), kind.ndim, writeable=kind.mutable)
    return repr(kind)


def _entry(made_of: bytes) -> str:
    return f"cepkit_{hashlib.sha256(made_of).hexdigest()[:32]}"


@cache
def _versions() -> tuple[Any, ...]:
    """Return the versions of all compilers, without importing Numba."""
    import llvmlite

    calls = [
        _instructions(code)
        for each in vars(native_loops).values()
        if isinstance(each, FunctionType) and each.__module__ == native_loops.__name__
        for code in _codes(each.__code__)
    ]
    made_by = (sys.version, native_loops.numba_version(), llvmlite.__version__, np.__version__)
    return *made_by, native_loops.RESULTS, native_loops.MEMORY, calls


class _Clock:
    """The time that this process spends compiling: after a second it says so, once.

    Numba compiles in one thread at a time, a loop inside of the loop that calls it.
    """

    def __init__(self) -> None:
        self._inside, self._begin, self._spent = 0, 0.0, 0.0
        self._alarm: threading.Timer | None = None
        self._said = False

    def notify(self, event: Any) -> None:
        """Note that Numba begins or ends to compile a loop, with an error or without."""
        self._inside += 1 if event.is_start else -1
        if event.is_start and self._inside == 1:
            self._begin = perf_counter()
            if not self._said and is_watched():
                self._set_alarm()
        elif not self._inside:
            self._spent += perf_counter() - self._begin
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None

    def _set_alarm(self) -> None:
        # A notebook shows it below the calling cell, which this thread's context identifies.
        run = contextvars.copy_context().run
        self._alarm = threading.Timer(max(0.0, SILENT_SECONDS - self._spent), run, [self._say])
        self._alarm.daemon = True
        self._alarm.start()

    def _say(self) -> None:
        self._said = True
        tell("compiling loops, once on this machine")


@cache
def _watch_compiling() -> None:
    from numba.core.event import Listener, register

    Listener.register(_Clock)
    register("numba:compile", _Clock())


def _sources(loop: Any) -> list[Any]:
    """Return the code of a loop and of everything it calls, with the constants it uses.

    The code in memory is what is compiled, even if its file has changed since.
    """
    loops, sources = [loop], []
    for each in loops:  # `loops` grows meanwhile
        function, names = each.py_func, {}
        codes = list(_codes(function.__code__))
        for name in sorted({name for code in codes for name in code.co_names}):
            value = function.__globals__.get(name)
            if hasattr(value, "py_func"):
                if value not in loops:
                    loops.append(value)
                names[name] = f"loop {loops.index(value)}"
            else:
                names[name] = _constant(value)
        around = [_constant(cell.cell_contents) for cell in function.__closure__ or ()]
        # What Numba keeps of a loop names the modules of all functions in it.
        place = function.__module__
        given = (place, each.targetoptions, function.__defaults__, function.__kwdefaults__)
        sources.append((given, names, around, [_instructions(code) for code in codes]))
    return sources


def _constant(value: Any) -> str:
    """Return a constant as Numba compiles it in: the whole array, a named tuple by its fields."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    return f"{value!r} {getattr(value, '_fields', '')}"


def _instructions(code: CodeType) -> tuple[Any, ...]:
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, constants


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of its nested functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
