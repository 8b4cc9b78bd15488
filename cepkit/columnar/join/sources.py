"""Generated source as importable modules, kept on disk so that Numba can cache what it compiles.

A file is named by its content, so it never changes and never need be written twice. The cache of
Numba lies beside it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import types
from functools import cache
from pathlib import Path
from typing import Any

_HEAD = '''"""An inner loop that cepkit wrote (cepkit/columnar/join/generated.py)."""

import math

import numpy as np
from numba import cfunc, njit
from numpy import uintp


def helper(function):
    return njit(cache=True, nogil=True, error_model="numpy")(function)


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
        sys.modules[name] = _module(name, source)
    return sys.modules[name]


def _module(name: str, source: str) -> types.ModuleType:
    for folder in _folders():
        try:
            path = _written(folder / f"{name}.py", source)
        except OSError:
            continue
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Before its code runs: Numba looks a cached function's module up by name.
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    raise OSError("no folder to keep generated loops in can be written")


def _folders() -> list[Path]:
    home = os.environ.get("XDG_CACHE_HOME")
    cache_home = Path(home) if home else Path("~/.cache").expanduser()
    fallback: Any = tempfile.gettempdir()
    return [cache_home / "cepkit" / "loops", Path(fallback) / f"cepkit-{os.getpid()}" / "loops"]


def _written(path: Path, source: str) -> Path:
    """Return `path` holding `source`; what another process wrote there whole is left alone."""
    if path.is_file() and path.read_text(encoding="utf-8") == source:
        return path
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(".py", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(source)
    Path(name).replace(path)
    return path
