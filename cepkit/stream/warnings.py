"""What a user is told of a stream that is not as they may think."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence

from cepkit.errors import nearest
from cepkit.stream.columns import Dropped


class StreamWarning(UserWarning):
    """Something about a stream that is allowed but seldom meant."""


def warn_of_dropped(dropped: Dropped) -> None:
    """Warn of rows that are no events, if there are any."""
    if dropped:
        parts = [
            f"{count:,} without a {what}"
            for count, what in ((dropped.null_time, "time"), (dropped.null_type, "type"))
            if count
        ]
        _warn(f"rows left out of the stream: {' and '.join(parts)}")


def warn_of_absent(absent: Sequence[str], known: Iterable[str]) -> None:
    """Warn of types that a pattern names and that never occur, if there are any."""
    names = tuple(known)
    for name in absent:
        hint = nearest(name, names)
        _warn(f"no event has the type '{name}'" + (f": {hint}" if hint else ""))


def _warn(message: str) -> None:
    warnings.warn(message, StreamWarning, stacklevel=_levels_to_the_user())


def _levels_to_the_user() -> int:
    """Return how many calls up the code stands that is not cepkit's, to point at it."""
    frame, levels = sys._getframe(), 1  # noqa: SLF001 - what the inspect module would call
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("cepkit"):
        frame, levels = frame.f_back, levels + 1
    return levels - 1
