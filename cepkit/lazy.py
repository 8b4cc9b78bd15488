"""Slow modules, each imported on first use; and how to load much at once.

Write `from cepkit.lazy import pd`: a detection from a file to a count needs none of them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["llvm", "loading", "nx", "pc", "pd"]

if TYPE_CHECKING:
    import llvmlite.binding as llvm
    import networkx as nx
    import pandas as pd
    import pyarrow.compute as pc
else:

    class _Lazy:
        """A module that is imported on first access."""

        def __init__(self, name: str) -> None:
            self.__name__ = name

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module(self.__name__), name)
            setattr(self, name, value)  # cache it
            return value

    llvm = _Lazy("llvmlite.binding")
    nx = _Lazy("networkx")
    pc = _Lazy("pyarrow.compute")
    pd = _Lazy("pandas")


@contextmanager
def loading() -> Iterator[None]:
    """Pause the collection of garbage while modules, which stay, are loaded."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
