"""Progress bars, shown by one rule for Spark's jobs and for work in this process."""

from __future__ import annotations

import sys
from typing import Any, Literal

Progress = Literal["auto"] | bool
"""True for a bar; False for none; "auto" for one where somebody looks, after two seconds."""

SILENT_SECONDS = 2.0
"""What takes less shows nothing."""


def is_watched() -> bool:
    """Return whether somebody looks: a terminal, or a notebook."""
    # That ipykernel is imported says nothing: pyspark imports it wherever it is installed.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is not None:
        return True
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def is_shown(progress: Progress) -> bool:
    """Return whether a bar is wanted."""
    return progress is True or (progress == "auto" and is_watched())


class Bar:
    """A bar that says which of some parts of the work goes on, and how far it has come.

    Args:
        parts: How many there are.
        progress: Whether there is a bar at all.
    """

    def __init__(self, parts: int, progress: Progress) -> None:
        self._done = -1
        self._bar: Any = None
        if is_shown(progress):
            from tqdm.auto import tqdm

            self._bar = tqdm(
                total=parts,
                delay=SILENT_SECONDS if progress == "auto" else 0.0,
                bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}",
                leave=False,
            )

    def begin(self, part: str) -> None:
        """Show that the next part begins."""
        self._done += 1
        if self._bar is not None:
            self._bar.set_description(part, refresh=not self._bar.delay)
            self._bar.update(self._done - self._bar.n)

    def move(self, share: float) -> None:
        """Show which share of the part is done."""
        if self._bar is not None:
            self._bar.update(self._done + share - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
