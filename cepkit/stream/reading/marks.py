"""Marks of files, which change with them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TypeAlias

from cepkit.errors import StreamError
from cepkit.stream.paths import shown
from cepkit.stream.reading import readers

_SETTLED = 100_000_000
"""After this many nanoseconds a change shows in a file's times."""

Mark: TypeAlias = tuple[tuple[object, ...], ...]
"""A fingerprint of files that changes with them."""


def mark_of(path: Path) -> Mark | None:
    """Return the mark of files; None if changes could go unnoticed."""
    marks, newest = [], 0
    try:
        for file in readers.data_at(path).files:
            status = file.stat()
            times = status.st_mtime_ns, status.st_ctime_ns
            newest = max(newest, *times)
            marks.append((str(file), status.st_dev, status.st_ino, status.st_size, *times))
    except OSError:
        return None
    return None if newest > time.time_ns() - _SETTLED else tuple(marks)


def check_unchanged(path: Path, mark: Mark) -> None:
    """Check that files still have a mark.

    Raises:
        StreamError: They have another one.
    """
    if mark_of(path) != mark:
        raise StreamError(
            f"{shown(path)} has changed since its events were read",
            hint="detect again, on a new stream of the file as it is now",
        )
