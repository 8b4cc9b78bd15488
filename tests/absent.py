"""Environments in which some packages are not installed."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import cepkit

IN_A_BROWSER = ("numba", "llvmlite", "pyarrow", "pandas", "pyspark")
"""What a browser may lack."""


def without(folder: Path, *packages: str) -> dict[str, str]:
    """Return the environment of a `python -S` to which the packages are not installed.

    Args:
        folder: An empty one, for links to all others.
    """
    for place in map(Path, sys.path):
        for entry in place.iterdir() if place.name == "site-packages" else ():
            if not entry.name.startswith(packages):
                with suppress(FileExistsError):
                    (folder / entry.name).symlink_to(entry)
    return {"PYTHONPATH": os.pathsep.join([str(Path(cepkit.__file__).parents[1]), str(folder)])}
