"""Compiled loops on disk, where each process finds what an earlier one has compiled.

Numba's own cache looks at the file of a loop alone: after an update of a helper in another file the
loop would go on with the old one. It does not start where it cannot write, trusts whatever lies in
its folder, stumbles over what is damaged there, and lets two processes that start at once take one
loop for another. Here a file holds one loop for arguments of certain types, behind a digest of
itself and of all that it was made of.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from cepkit.caches import CacheFolder, user_folder, warn_once
from cepkit.progress import is_watched

_DIGEST_BYTES = 32

_VERSIONS = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)


@dataclass(frozen=True, slots=True)
class LoopCache:
    """The cache of one loop, through which Numba loads and saves what it compiles.

    Attributes:
        loop: The loop, as Numba's dispatcher.
    """

    loop: Any

    def load_overload(self, types: Any, target: Any) -> Any:
        """Return the loop compiled for arguments of these types, or None."""
        target.refresh()
        name, made_of = self._name_and_parts(types, target.codegen())
        for folder in self._folders():
            content = folder.read(name) or b""
            digest, kept = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if digest == _digest(made_of, kept):
                # It is whole, and nobody else can have written it.
                return CompileResult._rebuild(target, *pickle.loads(kept))  # noqa: S301, SLF001
        # A loop that was written for a pattern stands in no file, and takes a moment.
        if Path(self.loop.py_func.__code__.co_filename).is_absolute():
            _say_once()
        return None

    def save_overload(self, types: Any, compiled: Any) -> None:
        """Keep what was compiled for later processes, in the first folder that takes it."""
        if compiled.library.has_dynamic_globals:  # addresses, which another process has elsewhere
            return
        name, made_of = self._name_and_parts(types, compiled.codegen)
        kept = dumps(compiled._reduce())  # noqa: SLF001 - as Numba's own cache does
        refusals = []
        for folder in self._folders():
            try:
                folder.write(name, _digest(made_of, kept) + kept)
            except OSError as error:
                refusals.append(folder.refusal() or f"{folder.path}: {error.strerror}")
            else:
                return
        warn_once(
            "compiled loops cannot be kept on disk, so that each process compiles them anew, which "
            f"takes some seconds ({'; '.join(refusals) or 'there is no home folder'}).\n"
            "Hint: set NUMBA_CACHE_DIR to a folder of your own"
        )

    @property
    def cache_path(self) -> str:
        """The folder that is asked first, for Numba's `stats`."""
        return next((str(folder.path) for folder in self._folders()), "")

    def _folders(self) -> Iterator[CacheFolder]:
        """Yield the folders that are asked in turn."""
        variable = getattr(numba.config, "CACHE_DIR", "")
        if variable:
            chosen = Path(variable)
            yield CacheFolder(chosen, top=chosen, mode=0o755)
            return
        # Beside Python's own: in a virtual environment, and in an image that was tried when it was
        # built. A loop that was generated stands in no file.
        beside = Path(self.loop.py_func.__code__.co_filename).parent / "__pycache__"
        if beside.is_absolute() and beside.is_dir():
            yield CacheFolder(beside, top=beside)
        own = user_folder("loops")
        if own is not None:
            yield own

    def _name_and_parts(self, types: Any, codegen: Any) -> tuple[str, bytes]:
        """Return the name of the file, and all that decides what is compiled.

        The name stays when the loop changes: a new file takes the place of the old one.
        """
        function = self.loop.py_func
        what = (types, codegen.magic_tuple(), self.loop.targetoptions)
        place = (function.__code__.co_filename, function.__qualname__, sys.implementation.cache_tag)
        digest = hashlib.sha256(repr((place, what)).encode()).hexdigest()[:24]
        fields = [_fields(each) for each in getattr(types, "args", types)]
        parts = (_VERSIONS, what, fields, _sources(self.loop))
        return f"{function.__module__}.{function.__name__}-{digest}.nbc", repr(parts).encode()


@cache
def _say_once() -> None:
    """Say, where somebody looks, what the first run of each kind of work waits for."""
    if is_watched():
        sys.stderr.write("compiling loops, once on this machine\n")
        sys.stderr.flush()


def _sources(loop: Any) -> list[Any]:
    """Return the code of a loop and of all that it calls, with the constants that it takes over.

    The code in memory is what is compiled, whatever has happened to its file since.
    """
    loops, sources = [loop], []
    for each in loops:  # which grows
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
        given = (each.targetoptions, function.__defaults__, function.__kwdefaults__)
        sources.append((given, names, around, [_instructions(code) for code in codes]))
    return sources


def _constant(value: Any) -> str:
    """Return a value as Numba takes it over: all of an array, a named tuple by its fields."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    return f"{value!r} {getattr(value, '_fields', '')}"


def _instructions(code: CodeType) -> tuple[Any, ...]:
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, constants


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _fields(kind: Any) -> Any:
    """Return the names of the fields of a type: its own name has only the types of these."""
    return getattr(kind, "fields", ()), [_fields(each) for each in getattr(kind, "types", ())]


def _digest(made_of: bytes, kept: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(made_of).digest() + kept).digest()
