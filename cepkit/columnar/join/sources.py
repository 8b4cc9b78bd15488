"""Generated source as modules, so that what Numba compiles of it can be kept on disk.

A module is named by its content: the next process finds the loops of the same module. The source
itself is never on disk, where somebody could write another one.
"""

from __future__ import annotations

import hashlib
import sys
import types
from functools import cache
from importlib.abc import ExecutionLoader
from importlib.util import module_from_spec, spec_from_loader

_HEAD = '''"""An inner loop that cepkit wrote (cepkit/columnar/join/generated.py)."""

import math

import numpy as np
from numpy import uintp

from cepkit.compiling import addressed
from cepkit.compiling import compiled as helper


@helper
def divided(x, y):
    return math.nan if y == 0.0 else x / y


@helper
def remainder(x, y):
    if y == 0.0 or math.isnan(x) or math.isnan(y) or math.isinf(x):
        return math.nan
    return np.fmod(x, y)


@helper
def root(x):
    return math.sqrt(x) if x >= 0.0 else math.nan


@helper
def logarithm(x):
    return math.log(x) if x > 0.0 else math.nan


@helper
def least(x, y):
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return x if x < y else y


@helper
def greatest(x, y):
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return x if x > y else y


@helper
def correlation(x, y):
    if x[0] != y[0]:
        return math.nan
    total = 0.0
    for i in range(1, min(x.size, y.size)):
        total += x[i] * y[i]
    # min and max would take a NaN for a number
    return total if math.isnan(total) else min(1.0, max(-1.0, total))


'''


@cache
def load(text: str) -> types.ModuleType:
    """Return the module of what `generated` writes."""
    source = _HEAD + text
    name = f"cepkit_loop_{hashlib.sha256(source.encode()).hexdigest()[:24]}"
    if name not in sys.modules:
        loader = _Source(source)
        spec = spec_from_loader(name, loader)
        assert spec is not None
        module = module_from_spec(spec)
        # Before its code runs: Numba looks a cached function's module up by name.
        sys.modules[name] = module
        loader.exec_module(module)
    return sys.modules[name]


class _Source(ExecutionLoader):
    """Makes a module of a text that stands in no file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the name of the module
        return self._source

    def get_filename(self, fullname: str) -> str:
        return f"<{fullname}>"
