"""Slow modules, each imported on first use; and how to load much at once.

Write `from cepkit.lazy import pd`: a detection from a file to a count needs none of them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__all__ = ["llvm", "loading", "nx", "pa", "pa_csv", "pa_json", "pc", "pd", "pq", "with_frames"]

if TYPE_CHECKING:
    import llvmlite.binding as llvm
    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pa_csv
    import pyarrow.json as pa_json
    import pyarrow.parquet as pq
else:

    class _Lazy:
        """A module that is imported on first access.

        Args:
            instead: The module in its place where it is not installed.
        """

        def __init__(self, name: str, instead: str | None = None) -> None:
            self.__name__, self._instead = name, instead

        def __getattr__(self, name: str) -> Any:
            try:
                module = import_module(self.__name__)
            except ModuleNotFoundError as error:
                package = self.__name__.partition(".")[0]
                if self._instead is None and error.name == package:
                    error.msg = f"this needs {package}, which is not installed"
                if self._instead is None:
                    raise
                module = import_module(self._instead)
            value = getattr(module, name)
            setattr(self, name, value)  # cache it
            return value

    llvm = _Lazy("llvmlite.binding")
    nx = _Lazy("networkx")
    pa = _Lazy("pyarrow", "cepkit.python_arrow")
    pa_csv = _Lazy("pyarrow.csv")
    pa_json = _Lazy("pyarrow.json")
    pc = _Lazy("pyarrow.compute")
    pd = _Lazy("pandas")
    pq = _Lazy("pyarrow.parquet")


@cache
def with_frames() -> bool:
    """Return whether pandas and PyArrow are installed: in a browser they may not be."""
    return find_spec("pandas") is not None and find_spec("pyarrow") is not None


@contextmanager
def loading() -> Iterator[None]:
    """Pause the collection of garbage while modules, which stay, are loaded."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():
                # All objects count as old at once; else each is looked at twice on the way there.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
