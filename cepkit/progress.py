"""Whether progress is shown: one rule for Spark's jobs and for searches in this process."""

from __future__ import annotations

import sys
from typing import Literal

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
