"""Compiles loops with Numba, which keeps them on disk.

What is on disk serves as long as the files of all functions that a loop may call are the same, and
the constants that it imports. Numba itself looks at the file of the loop alone, so that after an
update of a helper beside it a loop would go on with the old one.

What the loops learned the hard way (`python -m benchmarks.aggregation`): arrays made anew inside of
a loop have their references counted on every turn, some 15 ns; and a loop that is as long for every
operation, over zeros too, is faster than one that is as long as need be.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast
from zlib import crc32

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a loop on its first call, and keep it on disk."""
    return _loop(function, cache=True, nogil=True)


def inlined(function: F) -> F:
    """Compile a function into each loop that calls it: for what has many arrays to hand over."""
    return _loop(function, inline="always")


def lent(function: F) -> F:
    """Compile a function that allocates nothing into the loops that call it.

    Numba would count the references to its arrays at every call, and hand over each as seven
    numbers, which can take longer than all else. `_nrt` is what Numba's own functions that
    allocate nothing say.
    """
    return _loop(function, cache=True, nogil=True, forceinline=True, _nrt=False)


def called(function: F) -> F:
    """Compile the same as a function of its own: for what is long, or seldom needed."""
    return _loop(function, cache=True, nogil=True, _nrt=False)


def _loop(function: F, **options: Any) -> F:
    loop = njit(error_model="numpy", **options)(function)
    file: Any = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    if hasattr(file, "_source_stamp"):
        file._source_stamp = _stamp(function.__globals__)  # noqa: SLF001 - Numba has no other way
    return cast("F", loop)


def _stamp(names: dict[str, Any]) -> tuple[float, int, int]:
    """Return what tells whether a loop on disk is still the one that its source says.

    That is the last change and the size of the files of a module and of the loops in its names, and
    the constants in these names, which loops take over as they are.
    """
    files = {str(names["__file__"])}
    constants: list[tuple[str, Any]] = []
    seen: list[dict[str, Any]] = []
    todo = [names]
    while todo:
        at = todo.pop()
        seen.append(at)
        for name, value in sorted(at.items()):
            function = getattr(value, "py_func", None)
            if function is not None and not any(function.__globals__ is known for known in seen):
                files.add(str(function.__globals__["__file__"]))
                todo.append(function.__globals__)
            elif isinstance(value, int | float) or (isinstance(value, str) and name.isupper()):
                constants.append((name, value))
    found = [Path(file).stat() for file in files]
    last, size = max(each.st_mtime for each in found), sum(each.st_size for each in found)
    return last, size, crc32(repr(constants).encode())
