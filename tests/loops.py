"""Ways to evaluate residual predicates: by generated loops, compiled or in Python, or by NumPy.

Compiling takes a third of a second for each shape, so hypothesis draws mostly sources that run in
Python; they are the same generated.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

import numba
import numpy as np
import pytest

from cepkit import compiling
from cepkit.columnar.join import generated, step

Way: TypeAlias = Literal["numpy", "python", "compiled"]
"""numpy: joins evaluate residual predicates by NumPy, as small ones do. python: they generate
loops at once and run them in Python. compiled: they generate loops at once and compile them.
First-match search compiles a predicate only in the last way; else it runs in Python."""

_load = generated.load


@contextmanager
def evaluated(way: Way) -> Iterator[None]:
    """Evaluate residual predicates in one of the ways."""
    with pytest.MonkeyPatch.context() as patch:
        if way != "numpy":
            patch.setattr(step, "GENERATE_AFTER", 0)
        if way != "compiled":
            patch.setattr(generated, "load", _partly if way == "numpy" else in_python)
        yield


def _partly(text: str) -> Any:
    return in_python(text) if "def predicate(" in text else _load(text)


@cache
def in_python(text: str) -> Any:
    """Return the functions that a source defines, without compilation."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "compiled", lambda function: function)
        patch.setattr(compiling, "addressed", lambda *_: lambda function: function)
        exec(generated.module_text(text), names)
    if "predicate" in names:
        return SimpleNamespace(predicate=_Callback(names["predicate"]))
    return SimpleNamespace(
        **{n: _quiet(names[n]) for n in ("join", "count", "exists", "first") if n in names}
    )


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    return np.errstate(all="ignore")(function)


class _Callback(numba.types.WrapperAddressProtocol):
    """A Python function that compiled code calls by its address."""

    def __init__(self, function: Callable[[int, Any], bool]) -> None:
        kind = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64, ctypes.POINTER(ctypes.c_double))
        self._function = kind(function)

    def __wrapper_address__(self) -> int:
        return ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def signature(self) -> Any:
        return numba.boolean(numba.int64, numba.types.CPointer(numba.float64))
